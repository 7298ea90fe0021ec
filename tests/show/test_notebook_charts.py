"""Interactive charts: the same numbers as the tables, as a specification that Vega-Lite knows."""

from __future__ import annotations

import json

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError, bin_sensitivity
from needs import need

need("altair")
EVIL = "<script>alert(1)</script>"


def sample(n=300, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return (rng.random(n) < p).astype(int), p


def data_of(chart):
    """Every row of data in a chart; Altair has checked the whole against Vega-Lite's schema."""
    found = []

    def look(part):
        if isinstance(part, dict):
            values = part.get("data", {}).get("values") if isinstance(part.get("data"), dict) else 0
            found.extend(values or [])
            for key, inner in part.items():
                if key != "data":
                    look(inner)
        elif isinstance(part, list):
            for inner in part:
                look(inner)

    spec = chart.to_dict()
    json.dumps(spec, allow_nan=False)
    look(spec)
    found.extend(row for rows in spec.get("datasets", {}).values() for row in rows)
    return found


def test_a_chart_of_reliability():
    y, p = sample()
    table = cal.reliability(y, p, bins=40)
    rows = {row["bin"]: row for row in data_of(table.chart(level=0.9)) if "bin" in row}
    columns = table.intervals(0.9)
    assert len(rows) == 40
    for i in range(40):
        for key in ("n", "mean_predicted", "mean_target", "low", "high"):
            value = columns[key][i]
            assert rows[i][key] == (None if value != value else value)
    whole = cal.evaluate(y, p, bins=40, measures=["ece"])
    assert whole.chart(level=0.9).to_dict() == table.chart(level=0.9).to_dict()


def test_a_chart_of_a_comparison():
    y, p = sample()
    found = cal.compare(y, {EVIL: p, "other": p**2}, measures=["ece", "brier"], n_resamples=50)
    chart = found.chart()
    rows = [row for row in data_of(chart) if "predictor" in row]
    seen = {(row["measure"], row["predictor"]): row["value"] for row in rows}
    assert seen == {(m, n): found.value(n, m) for m in found.measures for n in found.names}
    params = chart.to_dict()["params"]
    assert params[0]["bind"]["options"] == ["ece", "brier"]


def test_bin_sensitivity():
    found = bin_sensitivity(*sample(), bins=[2, 5, 9])
    rows = [row for row in data_of(found.chart()) if "bins" in row]
    seen = {(row["measure"], row["bins"]): row["value"] for row in rows}
    assert seen == {(name, m): found.at(m)[name] for name in found.measures for m in found.bins}


def test_a_chart_of_windows():
    y, p = sample()
    time = np.datetime64("2026-01-01") + (np.arange(300) // 50).astype("timedelta64[D]")
    table = cal.Monitor(every="1d").update(y, p, time=time).evaluate()
    rows = [row for row in data_of(table.chart()) if "start" in row]
    assert [row["value"] for row in rows] == table.columns()["ece"]
    assert [row["noise"] for row in rows] == table.columns()["noise_95"]
    assert rows[0]["start"] == "2026-01-01T00:00:00+00:00"


def test_too_many_marks_are_refused():
    y, p = sample(6000)
    with pytest.raises(InputError, match="6,000 marks is too much"):
        cal.reliability(y, p, bins=cal.LevelSets()).chart()
