"""Figures 3 to 5 of Chidambaram et al. (2024) on saved predictions of any classifiers."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant._api.metrics.binned import ece
from calibrant._api.metrics.smooth import ls_ece, smooth_ece
from calibrant._core.progress import TaskProgress
from calibrant._research.papers.folder import Columns
from calibrant._research.papers.predictions import Predictions, Predictor

BINS = (1, *range(10, 101, 10))
OTHERS = ("LS-ECE", "LS-ECE, uniform", "smECE")


def curves(
    predictions: Predictions, progress: TaskProgress, bins: tuple[int, ...] = BINS
) -> Columns:
    """Every error of every predictor at every number of bins: one row each."""
    names = ("set", "predictor", "n", "bins", "binned ECE", *OTHERS)
    columns: dict[str, list[Any]] = {name: [] for name in names}
    with progress.task("Saved predictions", len(predictions.predictors)) as step:
        for predictor in predictions.predictors:
            for m, values in zip(bins, _errors(predictor, bins), strict=True):
                row = (predictor.rows, predictor.name, len(predictor.labels), m, *values)
                for name, value in zip(names, row, strict=True):
                    columns[name].append(value)
            step()
    return columns


def _errors(predictor: Predictor, bins: tuple[int, ...]) -> list[tuple[float, ...]]:
    y, p = predictor.labels, predictor.predictions
    given: dict[str, Any] = {"from_logits": predictor.from_logits}
    smooth = smooth_ece(y, p, **given)  # it chooses its own bandwidth: one value for all
    return [
        (
            ece(y, p, bins=m, **given),
            ls_ece(y, p, sigma=1 / m, **given),
            ls_ece(y, p, sigma=1 / m, noise="uniform", **given),
            smooth,
        )
        for m in bins
    ]


def differences(errors: Columns) -> Columns:
    """Mean and standard deviation over predictors of |ECE - other|, by set and bins."""
    sets, bins = np.array(errors["set"]), np.array(errors["bins"])
    columns: dict[str, list[Any]] = {"set": [], "predictors": [], "bins": []}
    for rows in dict.fromkeys(errors["set"]):
        for m in dict.fromkeys(errors["bins"]):
            here = (sets == rows) & (bins == m)
            columns["set"].append(rows)
            columns["predictors"].append(int(here.sum()))
            columns["bins"].append(m)
            for other in OTHERS:
                gaps = np.abs(np.array(errors["binned ECE"]) - np.array(errors[other]))[here]
                columns.setdefault(other, []).append(float(gaps.mean()))
                columns.setdefault(f"{other} sd", []).append(float(gaps.std()))
    return columns


def by_predictor(errors: Columns, at: int = 10) -> Columns:
    """One row a predictor: its errors at ten bins, and the mean differences over the others.

    One bin stands apart, as in the paper's figures: it measures the mean prediction alone.
    """
    names, bins = np.array(errors["predictor"]), np.array(errors["bins"])
    sets = np.array(errors["set"])
    columns: dict[str, list[Any]] = {"set": [], "predictor": [], "n": []}
    for rows, name in dict.fromkeys(zip(errors["set"], errors["predictor"], strict=True)):
        here = (names == name) & (sets == rows)
        chosen = int(np.flatnonzero(here & (bins == at))[0])
        columns["set"].append(rows)
        columns["predictor"].append(name)
        columns["n"].append(errors["n"][chosen])
        for measure in ("binned ECE", *OTHERS):
            columns.setdefault(measure, []).append(errors[measure][chosen])
        for other in OTHERS:
            gaps = np.abs(np.array(errors["binned ECE"]) - np.array(errors[other]))[
                here & (bins > 1)
            ]
            columns.setdefault(f"|ECE - {other}|", []).append(float(gaps.mean()))
    return columns
