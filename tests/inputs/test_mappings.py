"""A mapping of names to columns is taken as `data`, as a frame is."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError
from calibrant.scaling import PlattScaling
from needs import need

rng = np.random.default_rng(3)
N = 240
P = rng.dirichlet([1, 1, 2], N)
ODDS = {f"p{k}": P[:, k].tolist() for k in range(3)}
COLUMNS = {
    "y": (rng.random(N) < P[:, 0]).astype(int).tolist(),
    "label": rng.integers(0, 3, N).tolist(),
    **ODDS,
    "site": ["north", "south", "east"] * 80,
    "patient": np.repeat(np.arange(N // 2), 2),
    "weight": np.linspace(1, 2, N),
    "model": np.repeat(["a", "b"], N // 2),
    "id": np.tile(np.arange(N // 2), 2),
    "time": np.repeat(np.datetime64("2026-01-01") + np.arange(4), N // 4),
}
MODELS = {"a": "p0", "b": "p1"}
VALIDATION = {"y_true": "y", "y_proba": MODELS}


def of_stream(data):
    stream = cal.Accumulator(bins=10)
    stream.update("y", "p0", sample_weight="weight", data=data)
    return stream.evaluate()


def of_monitor(data, groups=None):
    monitor = cal.Monitor(every="1d", grouped=groups is not None)
    monitor.update("y", "p0", time="time", groups=groups, data=data)
    return monitor.windows()


CALLS = {
    "one number": lambda data: cal.ece("y", "p0", data=data),
    "several classes": lambda data: cal.classwise_ce("label", [*ODDS], data=data),
    "a weight": lambda data: cal.brier("y", "p0", sample_weight="weight", data=data),
    "slices": lambda data: cal.evaluate("y", "p0", by=["site", "model"], data=data).slices,
    "clusters": lambda data: cal.truthful_test("y", "p0", groups="patient", data=data),
    "cells": lambda data: cal.evaluate("y", "p0", bins=cal.Cells("site"), data=data),
    "models": lambda data: cal.compare("y", MODELS, groups="patient", data=data),
    "rows of models": lambda data: cal.compare("y", "p0", models="model", ids="id", data=data),
    "recalibrated": lambda data: cal.compare(
        "y", MODELS, data=data, scale_on={**VALIDATION, "data": data}
    ),
    "a fit": lambda data: PlattScaling().fit("y", "p0", data=data).transform("p0", data=data),
    "a stream": of_stream,
    "a monitor": of_monitor,
    "a monitor of clusters": lambda data: of_monitor(data, "patient"),
}


@pytest.mark.filterwarnings("ignore::calibrant.CalibrantWarning")
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_it_gives_what_a_frame_gives(call):
    frame = need("pandas").DataFrame(COLUMNS)
    assert str(call(COLUMNS)) == str(call(frame))


@pytest.mark.filterwarnings("ignore::calibrant.CalibrantWarning")
@pytest.mark.parametrize("names", ["p", ["q", "p"]])
def test_rows_with_missing_values_are_dropped(names):
    gaps = {"y": [0, 1, None, 1], "p": [0.2, 0.7, 0.5, None], "q": [0.8, 0.3, 0.5, 0.1]}
    found = cal.evaluate("y", names, data=gaps, missing="drop")
    assert (found.recipe["n"], found.recipe["n_missing"]) == (2, 2)
    assert found["classification_error"] == 0


@pytest.mark.parametrize(
    ("columns", "names", "words"),
    [
        ({"p": [0.5, 0.5]}, "q", "y_proba names the column 'q', which data does not have"),
        ({"p": [0.5], "q": [0.5, 0.5]}, ["q", "p"], r"names the column 'p' of the shape \(1,\)"),
        ({"p": [0.5, 0.5]}, [], "y_proba must name a column"),
        ({"p": [0.5, 0.5, 0.5]}, "p", "same number of rows"),
    ],
)
def test_what_is_wrong_is_said(columns, names, words):
    with pytest.raises(InputError, match=words):
        cal.brier("y", names, data={"y": [0, 1], **columns})


def test_anything_else_is_an_error():
    with pytest.raises(InputError, match="or map names to columns; got list"):
        cal.ece("y", "p", data=[[0, 1], [0.5, 0.5]])
