"""Optimism: against a plain loop, against many new rows, and models that cannot be fitted."""

from __future__ import annotations

import math

import numpy as np
import pytest

import calibrant as cal


def logistic(x: np.ndarray, y: np.ndarray):
    """A logistic regression by Newton's method, with a little ridge so that it ends."""
    rows = np.column_stack([np.ones(len(x)), x])
    theta = np.zeros(rows.shape[1])
    for _ in range(12):
        p = 1 / (1 + np.exp(-np.clip(rows @ theta, -30, 30)))
        information = rows.T @ (rows * (p * (1 - p))[:, None]) + 1e-3 * np.eye(theta.size)
        theta += np.linalg.solve(information, rows.T @ (y - p) - 1e-3 * theta)
    return lambda z: (
        1 / (1 + np.exp(-np.clip(np.column_stack([np.ones(len(z)), z]) @ theta, -9, 9)))
    )


def population(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Ten predictors, three of which matter."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 10))
    return x, (rng.random(n) < 1 / (1 + np.exp(0.5 - 0.6 * x[:, :3].sum(axis=1)))).astype(int)


def auroc(y: np.ndarray, p: np.ndarray) -> float:
    wins = [(a > b) + 0.5 * (a == b) for a in p[y == 1] for b in p[y == 0]]
    return sum(wins) / len(wins)


def test_it_is_the_loop_of_the_definition() -> None:
    x, y = population(60, 0)
    found = cal.optimism(logistic, x, y, measures=["brier", "c_statistic"], n_resamples=50, seed=4)
    model, gaps = logistic(x, y), []
    rng = np.random.default_rng((4, 19))
    for _ in range(50):
        rows = rng.integers(0, 60, 60)
        own = logistic(x[rows], y[rows])
        pairs = [(y[rows], own(x[rows])), (y, own(x))]
        gaps.append(
            [
                np.subtract(*(f(*pair) for pair in pairs))
                for f in (lambda a, b: ((a - b) ** 2).mean(), auroc)
            ]
        )
    mean = np.mean(gaps, axis=0)
    assert found["brier"].apparent == pytest.approx(((y - model(x)) ** 2).mean(), rel=1e-12)
    assert found["c_statistic"].apparent == pytest.approx(auroc(y, model(x)), rel=1e-12)
    for row, gap in zip(found, mean, strict=True):
        assert row.optimism == pytest.approx(gap, rel=1e-9)
        assert row.corrected == row.apparent - row.optimism


def test_corrected_values_are_those_of_new_rows() -> None:
    """On average over samples of 200 rows; the slope is 1 on its own rows, and less on new."""
    new_x, new_y = population(20_000, 99)
    names, rows = ["slope", "c_statistic", "brier"], []
    for seed in range(12):
        x, y = population(200, seed)
        found = cal.optimism(logistic, x, y, measures=names, n_resamples=60, seed=seed)
        p = logistic(x, y)(new_x)
        true = [cal.cox_calibration(new_y, p).slope, cal.auroc(new_y, p), ((new_y - p) ** 2).mean()]
        rows.append(
            [(row.apparent - t, row.corrected - t) for row, t in zip(found, true, strict=True)]
        )
    off = np.array(rows)  # (samples, measures, 2)
    mean, error = off.mean(axis=0), off.std(axis=0, ddof=1) / math.sqrt(len(rows))
    assert (np.abs(mean[:, 1]) < 3 * error[:, 1]).all(), (mean, error)
    assert (np.abs(mean[:, 0]) > 3 * error[:, 0]).all(), (mean, error)
    assert (np.abs(mean[:, 1]) < 0.5 * np.abs(mean[:, 0])).all()


def test_estimators_frames_and_clusters() -> None:
    pd = pytest.importorskip("pandas")
    linear = pytest.importorskip("sklearn.linear_model")
    x, y = population(120, 1)
    model = linear.LogisticRegression()
    found = cal.optimism(model, pd.DataFrame(x), y, n_resamples=50)
    assert not hasattr(model, "coef_")  # copies are fitted
    assert found.to_frame("pandas").shape == (7, 6)
    assert found["slope"].optimism > 0.05 and found["c_statistic"].corrected < 1
    alone = cal.optimism(model, x, y, n_resamples=50, groups=np.arange(120), measures=["slope"])
    pairs = cal.optimism(
        model, x, y, n_resamples=50, groups=np.arange(120) // 60, measures=["slope"]
    )
    assert alone["slope"].apparent == pairs["slope"].apparent != pairs["slope"].corrected


def test_models_that_cannot_be_fitted() -> None:
    x, y = population(40, 2)
    calls = []

    def sometimes(x: np.ndarray, y: np.ndarray):
        calls.append(1)
        if len(calls) % 4 == 0:
            raise ValueError("no convergence")
        return logistic(x, y)

    found = cal.optimism(sometimes, x, y, n_resamples=50, measures=["brier"])
    assert found["brier"].resamples == 38 and "12 of 50 bootstrap samples" in found.note
    calls.clear()

    def once(x: np.ndarray, y: np.ndarray):
        calls.append(1)
        if len(calls) > 1:
            raise ValueError("no convergence")
        return logistic(x, y)

    with pytest.raises(cal.InputError, match=r"failed on 50 of 50 .* no convergence"):
        cal.optimism(once, x, y, n_resamples=50)
    with pytest.raises(cal.InputError, match="must return a function of X"):
        cal.optimism(lambda a, b: None, x, y, n_resamples=50)
    with pytest.raises(cal.InputError, match=r"the same number of rows; got 39 and 40"):
        cal.optimism(logistic, x[1:], y, n_resamples=50)
    with pytest.raises(cal.InputError, match="0 or 1, for each row"):
        cal.optimism(logistic, x, y + 0.5, n_resamples=50)
    with pytest.raises(cal.InputError, match="did you mean"):
        cal.optimism(logistic, x, y, measures=["brierr"], n_resamples=50)
