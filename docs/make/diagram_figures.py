"""The figures of the guide to diagrams, drawn while the site is built."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import calibrant as cal
from calibrant import examples
from calibrant.plots import BinSensitivityDisplay, ClasswiseDisplay

# What each one shows, for those who do not see it.
SAID = {
    "reliability": "Reliability diagram in ten bins: all points but the lowest lie below the "
    "diagonal, so predictions are too high",
    "smooth": "Smoothed reliability curve with its band, below the diagonal nearly everywhere",
    "classwise": "Six small reliability diagrams, one for each of the worst classes",
    "comparison": "Four models with the intervals of two measures, best first",
    "bin-sensitivity": "Four measures over 1 to 100 bins: one keeps rising, others level off",
    "windows": "A calibration error day by day; in the last week it leaves the grey area of chance",
}


def files() -> dict[str, bytes]:
    """Every figure: its path, and its content."""
    return {f"assets/{name}.svg": _saved(draw()) for name, draw in _DRAWN.items()}


def _saved(display: Any) -> bytes:
    import matplotlib.pyplot as plt

    with tempfile.TemporaryDirectory() as folder:
        content = display.save(Path(folder) / "figure.svg").read_bytes()
    plt.close(display.figure_.figure)
    return bytes(content)


def _shirt() -> tuple[Any, Any]:
    shirt = examples.load("fashion-shirt")
    return shirt.test_labels, shirt.test_proba


def _classwise() -> Any:
    fashion = examples.load("fashion")
    return ClasswiseDisplay.from_predictions(
        fashion.test_labels, fashion.test_proba, classes=fashion.class_names, cap=6
    )


def _comparison() -> Any:
    fashion = examples.load("fashion")
    models = {}
    for t in (0.8, 1, 1.5, 2):
        odds = np.exp(fashion.test_logits / t)
        models[f"T = {t}"] = odds / odds.sum(axis=1, keepdims=True)
    found = cal.compare(fashion.test_labels, models, measures=["ece", "brier"], n_resamples=200)
    return found.plot(measures=["ece", "brier"])


def _bin_sensitivity() -> Any:
    names = ["ece", "ace", "debiased_l2", "smooth_ece"]
    return BinSensitivityDisplay.from_predictions(*_shirt(), measures=names)


def _windows() -> Any:
    rng = np.random.default_rng(0)
    said = rng.beta(0.5, 3, 30_000)
    day = rng.integers(0, 30, 30_000)
    happened = rng.random(30_000) < np.where(day < 22, said, 0.7 * said)
    time = np.datetime64("2026-01-05") + day.astype("timedelta64[D]")
    monitor = cal.Monitor(every="1d").update(happened.astype(int), said, time=time)
    return monitor.evaluate().plot()


_DRAWN: dict[str, Callable[[], Any]] = {
    "reliability": lambda: cal.reliability(*_shirt(), bins=10).plot(name="as trained"),
    "smooth": lambda: cal.smooth_reliability(*_shirt()).plot(),
    "classwise": _classwise,
    "comparison": _comparison,
    "bin-sensitivity": _bin_sensitivity,
    "windows": _windows,
}
