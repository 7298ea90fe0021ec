"""How often verdicts find what is off, and how rarely they condemn what is calibrated."""

import pytest

from verdict_worlds import WITHOUT_VOTES, false_alarms, worlds


@pytest.mark.parametrize(
    ("world", "n", "least", "named"),
    [
        ("slope", 1300, 22, "slope"),
        ("normal logits, too extreme", 1300, 23, "slope"),
        ("shift", 2500, 23, "mean"),
        ("normal logits, shift", 2500, 21, "mean"),
        ("oscillation", 3000, 25, ""),
        ("oscillation in the middle", 3000, 22, ""),
        ("four waves", 3000, 21, ""),
    ],
)
def test_power_of_verdicts_in_thirty_samples(world, n, least, named):
    """80 to 90 % are expected; the noise floor alone has 32 to 72 %."""
    found = worlds.power(world, n, 30, seed=5)
    assert 30 - found[""] >= least, found
    if named:  # and what is wrong is named
        assert found[named] >= 20, found
    else:
        assert found["curve"] >= 5, found


@pytest.mark.parametrize("world", WITHOUT_VOTES)
def test_false_alarms_of_verdicts_in_forty_samples(world):
    """Five in a hundred are allowed: of 40, seven or more have a chance of 0.003."""
    assert false_alarms(world, 40) <= 6
