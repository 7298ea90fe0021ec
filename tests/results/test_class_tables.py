"""Reliability tables of every class: each the table of its own column, the worst first."""

from __future__ import annotations

import json

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError, classwise_reliability

NAMES = ("red", "green", "<b>blue</b>", "black")


def sample(n=200, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(4, 0.7), n)
    return rng.integers(0, 4, n), p, rng.random(n)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "bins",
    [
        7,
        cal.Quantile(5),
        cal.Quantile(5, ties="rank"),
        cal.Edges([0, 0.2, 1]),
        cal.LevelSets(),
        cal.EqualWidth(5, closed="right"),
    ],
    ids=str,
)
def test_each_is_the_table_of_its_column(bins, weighted):
    y, p, w = sample()
    options = {"bins": bins, "sample_weight": w if weighted else None}
    if weighted and getattr(bins, "ties", "") == "rank":
        options["sample_weight"] = None
    found = classwise_reliability(y, p, classes=NAMES, **options)
    errors = []
    for name, table in found:
        r = NAMES.index(name)
        expected = cal.reliability(y == r, p[:, r], **options).columns()
        for key, values in table.columns().items():
            np.testing.assert_allclose(values, expected[key], rtol=1e-12, atol=1e-14)
        errors.append(table.ece)
    assert errors == sorted(errors, reverse=True)
    assert found.columns()["ece"] == errors


def test_soft_labels_and_logits():
    y, p, _ = sample()
    soft = 0.8 * np.eye(4)[y] + 0.05
    found = classwise_reliability(soft, np.log(p), from_logits=True, bins=3)
    column = cal.reliability(soft[:, 2], p[:, 2], bins=3)
    np.testing.assert_allclose(found["2"].columns()["gap"], column.columns()["gap"], atol=1e-12)


def test_forms_of_class_tables():
    y, p, _ = sample()
    found = classwise_reliability(y, p, bins=3, classes=NAMES)
    assert len(found) == 4 and set(found.columns()["class"]) == set(NAMES)
    assert found.columns()["mean_target"][found.names.index("green")] == (y == 1).mean()
    long = found.bins(level=0.9)
    assert len(long["class"]) == 12 and long["low"][0] < long["high"][0]
    loaded = json.loads(found.to_json())
    assert loaded["classes"]["ece"] == found.columns()["ece"]
    assert "4 classes, worst first" in repr(found)
    html = found._repr_html_()
    assert "<b>blue" not in html and "&lt;b&gt;blue" in html


def test_frames_of_class_tables():
    pandas = pytest.importorskip("pandas")
    y, p, _ = sample()
    frame = classwise_reliability(y, p, bins=3, classes=NAMES).to_frame(level=0.95)
    assert isinstance(frame, pandas.DataFrame) and len(frame) == 12
    assert {"class", "mean_predicted", "low", "high"} <= set(frame.columns)


def test_what_is_wrong_is_said():
    y, p, _ = sample()
    with pytest.raises(InputError, match=r"shape \(n, k\)"):
        classwise_reliability([0, 1], [0.2, 0.7])
    with pytest.raises(InputError, match="did you mean 'green'"):
        classwise_reliability(y, p, classes=NAMES)["gren"]
    bad = p.copy()
    bad[3] = 0.9
    for bins in (5, cal.Quantile(5)):
        with pytest.raises(InputError, match=r"y_proba\[3\] sums to 3.6"):
            classwise_reliability(y, bad, bins=bins)
