"""How often the intervals behind a judge's answers contain the truth (docs/howto/llm-judge.md).

The short form is in tests/inference/test_judge.py.
"""

from __future__ import annotations

import pytest

from calibrant._inference.judged import prediction_powered, rogan_gladen
from judge_worlds import JudgeWorld, covered, decided

DRAWS = 2000
JUDGES = ((0.97, 0.97), (0.8, 0.9), (0.9, 0.75))


@pytest.mark.parametrize("scores", [False, True], ids=["answers", "scores"])
@pytest.mark.parametrize("rate", [0.02, 0.1, 0.5, 0.95])
@pytest.mark.parametrize("n", [20, 50, 100, 300])
def test_coverage(n, rate, scores):
    for sens, spec in JUDGES:
        world = JudgeWorld(n, 2000, rate, sens, spec, scores=scores)
        share, _ = covered(world, prediction_powered, rate, draws=DRAWS)
        # Few errors, or few of the rarer outcome, make them wider than they need be.
        few = n * min(rate, 1 - rate) < 10 or n * (1 - sens) < 5 or n < 100
        assert 0.93 <= share <= (1.0 if few else 0.97), (sens, spec, share)
        share, _ = covered(world, lambda rows: rogan_gladen(decided(rows)), rate, draws=DRAWS)
        assert share >= 0.93, (sens, spec, share)
        if n * min(rate, 1 - rate) > 100 and sens < 0.95:
            assert share <= 0.975, (sens, spec, share)


@pytest.mark.parametrize(("cluster", "alike"), [(5, 0.5), (10, 0.8)])
@pytest.mark.parametrize("n", [100, 200, 500])
def test_coverage_of_clusters(n, cluster, alike):
    world = JudgeWorld(n, 2000, 0.6, 0.9, 0.8, cluster=cluster, alike=alike)
    assert 0.93 <= covered(world, prediction_powered, 0.6, draws=DRAWS)[0] <= 0.98
    assert covered(world, lambda rows: rogan_gladen(decided(rows)), 0.6, draws=DRAWS)[0] >= 0.93
