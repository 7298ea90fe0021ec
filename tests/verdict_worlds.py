"""The worlds of `benchmarks/verdicts.py`, and the tests behind a verdict in them."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from calibrant._api.metrics.uncertainty import _uncertainty_of_measure
from calibrant._data.to_samples import to_samples
from calibrant._inference import calibration_tests as tests

FILE = Path(__file__).resolve().parents[1] / "benchmarks" / "verdicts.py"
if not FILE.is_file():
    pytest.skip("the benchmarks are not at hand", allow_module_level=True)
_spec = importlib.util.spec_from_file_location("benchmark_of_verdicts", FILE)
worlds = importlib.util.module_from_spec(_spec)
sys.modules["benchmark_of_verdicts"] = worlds
_spec.loader.exec_module(worlds)

WITHOUT_VOTES = [world for world in worlds.CALIBRATED if "votes" not in world]


def judged(y, u, measure="ece", **options):
    """The tests behind a verdict."""
    uncertainty, chosen, summary = _uncertainty_of_measure(
        to_samples(y, u, options.get("sample_weight")),
        measure,
        15,
        n_resamples=500,
        seed=0,
        groups=options.get("groups"),
    )
    floor = uncertainty.noise_floor(chosen, chosen.compute(summary))
    return tests.calibration_tests(uncertainty, chosen, floor)


def false_alarms(world, n_samples):
    """How many samples of 200 calibrated predictions have a p-value below 0.05."""
    rng, alarms = np.random.default_rng(8), 0
    for _ in range(n_samples):
        found = worlds.CALIBRATED[world](200, rng)
        y, u = found.pop("y_true"), found.pop("y_proba")
        alarms += judged(y, u, **found).p_value < 0.05
    return alarms
