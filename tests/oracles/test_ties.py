"""Ties of the top label: equation 2.2 of Chidambaram et al. (2024) counts a label in the argmax."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import calibrant as cal
import twins
from every_engine import call
from needs import need

K = 3
COIN = ([1, 1, 0, 0], [[0.5, 0.5]] * 4)


def sample(kind: str) -> tuple[Any, Any, Any]:
    """Predictions in tenths, of which a third are tied."""
    rng = np.random.default_rng(0)
    p = rng.multinomial(10, np.full(K, 1 / K), 200) / 10
    q = rng.dirichlet(np.ones(K), 200) if kind == "soft" else rng.integers(0, K, 200)
    return q, p, rng.integers(1, 4, 200).astype(float)


def problem(q: Any, p: Any, w: Any, ties: str) -> twins.Problem:
    """The confidence, and how far the label is right, row by row."""
    right = []
    for label, row in zip(q.tolist(), p.tolist(), strict=True):
        target = label if isinstance(label, list) else twins.one_hot(label, K)
        top = [r for r in range(K) if row[r] == max(row)]
        hit = sum(target[r] for r in top)
        first = target[top[0]]
        right.append({"first": first, "any": hit, "share": hit / len(top)}[ties])
    return twins.Problem([max(row) for row in p.tolist()], right, w.tolist())


def test_a_coin_is_right_always_half_of_the_time_or_by_its_first_class() -> None:
    assert [cal.ece(*COIN, ties=ties) for ties in ("first", "any", "share")] == [0.0, 0.5, 0.0]
    assert [cal.accuracy(*COIN, ties=ties) for ties in ("first", "any", "share")] == [0.5, 1.0, 0.5]
    only_second = [1, 1, 1, 1], COIN[1]
    assert cal.ece(*only_second) == 0.5 and cal.ece(*only_second, ties="share") == 0.0
    # Of (n,) predictions 1/2 is a tie.
    assert cal.accuracy([1, 0], [0.5, 0.5], ties="any") == 1.0
    assert cal.ece([1, 0], [0.5, 0.5], notion="confidence", ties="any") == 0.5


@pytest.mark.parametrize("kind", ["hard", "soft"])
@pytest.mark.parametrize("ties", ["first", "any", "share"])
def test_measures_of_the_top_label_have_the_number_of_the_twin(ties: str, kind: str) -> None:
    q, p, w = sample(kind)
    rows = problem(q, p, w, ties)
    found = cal.ece(q, p, bins=10, ties=ties, sample_weight=w)
    assert found == pytest.approx(twins.binned_error(rows, twins.equal_width(10)), rel=1e-12)
    assert cal.soft_ece(q, p, bins=10, ties=ties, sample_weight=w) == found
    as_binary = rows.z, rows.u
    for measure in (cal.ls_ece, cal.smooth_ece):
        expected = measure(*as_binary, sample_weight=w)
        assert measure(q, p, ties=ties, sample_weight=w) == pytest.approx(expected, rel=1e-11)
    expected = twins.weighted_mean(rows.z, rows.w)
    assert cal.accuracy(q, p, ties=ties, sample_weight=w) == pytest.approx(expected, rel=1e-12)


def test_without_ties_nothing_changes() -> None:
    rng = np.random.default_rng(1)
    p, y = rng.dirichlet(np.ones(K), 100), rng.integers(0, K, 100)
    h = np.log(p)
    for ties in ("any", "share"):
        assert cal.ece(y, p, ties=ties) == pytest.approx(cal.ece(y, p), rel=1e-13)
        found = cal.ece(y, h, from_logits=True, ties=ties)
        assert found == pytest.approx(cal.ece(y, h, from_logits=True), rel=1e-12)
        short = p.astype(np.float32)
        assert cal.ece(y, short, ties=ties) == pytest.approx(cal.ece(y, short), rel=1e-6)


def test_tensors_are_read_and_lazy_frames_are_refused_in_one_line() -> None:
    torch = need("torch")
    q, p, _ = sample("hard")
    found = cal.ece(torch.tensor(q), torch.tensor(p), ties="any")
    assert found == cal.ece(q, p, ties="any")
    data = {f"p{r}": p[:, r] for r in range(K)} | {"y": q}
    names = [f"p{r}" for r in range(K)]
    with pytest.raises(cal.InputError, match="collect the frame") as refused:
        call("duckdb", cal.ece, data, "y", names, ties="any")
    assert "\n" not in str(refused.value)


def test_ties_are_of_the_top_label() -> None:
    q, p, _ = sample("hard")
    with pytest.raises(cal.InputError, match="needs notion='confidence'"):
        cal.ece(q, p, notion="classwise", ties="any")
    with pytest.raises(cal.InputError, match="ties"):
        cal.ece(q, p, ties="last")
