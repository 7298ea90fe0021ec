"""Slices of a monitor: one state, windows of each, and alarms corrected for their number."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest

import calibrant as cal
from calibrant._inference.streams import corrected_e_values
from monitored import DAY, LABELS, OUTCOMES, REPORTS, ROWS, SECONDS, N, states
from needs import need

NAMES = np.array(["de", "fr", "it"])[np.random.default_rng(0).integers(0, 3, N)]


@pytest.mark.parametrize("options", [{}, {"keep": 2}, {"missing": "drop"}, {"grouped": True}])
@pytest.mark.parametrize("kind", ["binary", "multiclass"])
def test_each_slice_is_a_monitor_of_its_rows(options, kind):
    y, p = (OUTCOMES, REPORTS) if kind == "binary" else (LABELS, ROWS)
    groups = np.arange(N) if "grouped" in options else None
    if "missing" in options:
        p = p.copy()
        p[::17] = np.nan
    every = cal.Monitor(by="country", **options)
    for rows in (slice(0, 1000), slice(1000, N)):
        own = None if groups is None else groups[rows]
        every.update(y[rows], p[rows], time=SECONDS[rows], by=NAMES[rows], groups=own)
    for name in np.unique(NAMES):
        rows = name == NAMES
        alone = cal.Monitor(**options)
        own = None if groups is None else groups[rows]
        alone.update(y[rows], p[rows], time=SECONDS[rows], groups=own)
        found, expected = every.evaluate().slices[name].windows, alone.evaluate()
        assert found.columns()["n"] == expected.columns()["n"]
        for column in ("ece", "e_value", "n_missing", "p_value"):
            assert found.columns().get(column) == pytest.approx(
                expected.columns().get(column), rel=1e-9, nan_ok=True
            )
    whole = cal.Monitor(**options).update(y, p, time=SECONDS, groups=groups)
    assert every.n_rows == whole.n_rows and every.n_missing == whole.n_missing
    assert every.evaluate().columns()["ece"] == pytest.approx(whole.evaluate().columns()["ece"])


def test_one_state_is_saved_loaded_copied_and_merged(tmp_path):
    half = [
        cal.Monitor(by="country").update(OUTCOMES[r], REPORTS[r], time=SECONDS[r], by=NAMES[r])
        for r in (slice(0, None, 2), slice(1, None, 2))
    ]
    whole = cal.Monitor(by="country").update(OUTCOMES, REPORTS, time=SECONDS, by=NAMES)
    half[0].save(tmp_path / "a.state")
    merged = cal.Monitor.load(tmp_path / "a.state").merge(half[1])
    merged.save(tmp_path / "b.state")
    again = pickle.loads(pickle.dumps(cal.Monitor.load(tmp_path / "b.state")))
    assert again.by == ("country",) and again.recipe()["by"] == ["country"]
    assert states(again) == states(merged)
    for name in ("de", "fr", "it"):
        assert states(again.slice_monitor(name)) == states(merged.slice_monitor(name))
    mine, theirs = again.evaluate().slices.columns(), whole.evaluate().slices.columns()
    assert mine["country"] == theirs["country"] and mine["n"] == theirs["n"]
    assert mine["e_corrected"] == pytest.approx(theirs["e_corrected"], rel=1e-9)
    with pytest.raises(cal.StateError, match="by"):
        again.merge(cal.Monitor().update([0], [0.5], time=0))


@pytest.mark.parametrize("engine", ["pandas", "polars", "lazy", "duckdb"])
def test_slices_of_a_frame(engine):
    rows = {"y": OUTCOMES, "p": REPORTS, "c": NAMES, "d": (np.arange(N) % 2).astype(str)}
    polars = need("polars")
    frame = polars.DataFrame({**rows, "at": (SECONDS * 1e6).astype("datetime64[us]")})
    if engine == "duckdb":
        duckdb = need("duckdb")
        arrow = frame.to_arrow()
        data = duckdb.connect().from_arrow(arrow)
    else:
        data = {"pandas": frame.to_pandas, "polars": lambda: frame, "lazy": frame.lazy}[engine]()
    found = cal.Monitor(by=["c", "d"]).update("y", "p", time="at", data=data).evaluate()
    plain = cal.Monitor(by=["c", "d"])
    names = [f"{c}, {d}" for c, d in zip(rows["c"], rows["d"], strict=True)]
    expected = plain.update(OUTCOMES, REPORTS, time=SECONDS, by=names).evaluate()
    assert len(found.slices) == 6
    for each in found.slices:
        same = expected.slices[each.name]
        assert each.n == same.n
        assert each.windows.columns()["ece"] == pytest.approx(same.windows.columns()["ece"])


def slow_corrected(values):
    """The least mean of an e-value with any others, over all sets."""
    k = range(len(values))
    sets = [s for size in range(1, len(values) + 1) for s in itertools.combinations(k, size)]
    return [min(np.mean([values[j] for j in s]) for s in sets if i in s) for i in k]


def test_corrected_e_values_are_least_means_over_all_sets():
    rng = np.random.default_rng(1)
    values = np.exp(rng.normal(0, 3, (40, 7)))
    found = corrected_e_values(values)
    for row, mine in zip(values, found, strict=True):
        assert mine == pytest.approx(slow_corrected(row.tolist()))


def sliced(seed, bad=None, n_slices=20, days=15, n=150):
    rng = np.random.default_rng((81, seed))
    size = n_slices * days * n
    p, by = rng.beta(1, 3, size), np.repeat(np.arange(n_slices), days * n)
    day = np.tile(np.repeat(np.arange(days), n), n_slices)
    y = (rng.random(size) < np.where(by == bad, 0.5 * p, p)).astype(int)
    return cal.Monitor(by="c", measures=["brier"]).update(y, p, time=day * DAY, by=by)


def test_alarms_name_the_slice_that_is_off_and_no_other():
    table = sliced(0, bad=7).evaluate()
    assert [row.name for row in table.slices.alarms] == ["7"]
    first = table.slices["7"]
    assert table.slices.rows[0] is first and first.e_corrected < first.e_value
    assert first.alarm >= first.windows.alarm.start  # which is corrected for no number of slices
    assert "alarm in 1 slice by c, corrected for the number of slices (20): 7" in table.notes
    assert not any(sliced(seed).evaluate().slices.alarms for seed in range(1, 6))


def test_a_baseline_is_that_of_each_slice():
    """A slice that has always been off gives no alarm beside its own first days, nor its twin."""
    monitor = sliced(2, bad=7, n_slices=3, n=400)
    bad = sliced(3, bad=1, n_slices=3, n=1000)
    for base in (monitor, (None, 7 * DAY)):
        calm = monitor.evaluate(baseline=base).slices
        assert calm.evidence == "e_change" and not calm.alarms
        assert not any(np.isnan(row.e_corrected) for row in calm)
    table = bad.evaluate(baseline=sliced(4, n_slices=2, n=1000)).slices
    assert [row.name for row in table.alarms] == ["1"]
    assert any(
        "2: no e_change, because the baseline does not have this slice" in note
        for note in table.notes
    )
    none = bad.evaluate(baseline=bad.total()).slices
    assert none.notes == ("slices have no e_change, because the baseline has no slices",)


@pytest.mark.parametrize(
    ("options", "given", "said"),
    [
        ({"by": "c"}, {}, "give the slice of each row with by="),
        ({}, {"by": ["a", "b"]}, "needs a Monitor with slices"),
        ({"by": "c"}, {"by": ["a"]}, "by must hold a value for each of the 2 rows"),
        ({"by": "c"}, {"data": "frame"}, "by names the column 'c'"),
        ({"by": 3}, {}, "by must be the name of a column"),
    ],
)
def test_what_is_refused(options, given, said):
    rows = ("y", "p") if "data" in given else ([0, 1], [0.2, 0.7])
    if "data" in given:
        given = {"data": need("polars").DataFrame({"y": [0, 1], "p": [0.2, 0.7]})}
    with pytest.raises(cal.InputError, match=said):
        cal.Monitor(**options).update(*rows, time=0, **given)
