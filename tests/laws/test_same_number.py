"""The same name, the same number (SPEC, section 6): from the function, `evaluate`, files, lazy
frames, streams, the page, `compare` and `check`; or the name is not offered there, and it is said.
"""

from __future__ import annotations

import inspect
import json
from functools import cache
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant import check
from calibrant._api.evaluate_samples import Options, evaluate_samples
from calibrant._data.to_samples import to_samples
from calibrant._measures.catalogue import find
from every_engine import frame
from needs import need

N, K = 400, 3
WAYS = [
    pytest.param(shape, kind, weighted, id=f"{shape} {kind}{' weighted' * weighted}")
    for shape in ("binary", "multiclass")
    for kind in ("hard", "soft")
    for weighted in (False, True)
]
# Half of the ways, in which every two of shape, kind and weights meet; and the other half.
HALVES = tuple(
    [way for way in WAYS if sum(x in ("multiclass", "soft", True) for x in way.values) % 2 == odd]
    for odd in (0, 1)
)
DOORS = ("csv", "jsonl", "npz", "parquet", "feather", "polars", "duckdb", "stream", "monitor")
# Through every door two ways that have nothing in common, and two others through the next, which
# shares most of its code: files, frames, streams.
AT_THE_DOORS = [
    pytest.param(*way.values, door, id=f"{door} {way.id}")
    for at, door in enumerate(DOORS)
    for way in (WAYS[at % 4], WAYS[7 - at % 4])
]


def rows(shape: str, kind: str, weighted: bool) -> tuple[Any, Any, Any]:
    """Some predictions crowd near 0 and 1, some are tied, some are equal to the threshold of
    tace.
    """
    rng = np.random.default_rng(N)
    soft = kind == "soft"
    y: Any
    if shape == "binary":
        p = np.concatenate([rng.beta(0.3, 0.5, N // 2), np.round(rng.random(N // 2), 2)])
        y = rng.random(N) < p**1.3 if not soft else np.clip(p + rng.normal(0, 0.1, N), 0, 1)
        y = y.astype(np.float64 if soft else np.int64)
    else:
        p = rng.dirichlet(np.full(K, 0.5), N)
        p[: N // 2] = rng.multinomial(20, np.full(K, 1 / K), N // 2) / 20
        y = rng.dirichlet(np.ones(K), N) if soft else rng.integers(0, K, N)
    return y, p, rng.integers(0, 4, N).astype(np.float64) if weighted else None


def columns_of(y: Any, p: Any, w: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Columns, and how they are called."""
    columns: dict[str, Any] = {}
    names: dict[str, Any] = {}
    for argument, stem, values in (("y_true", "label", y), ("y_proba", "p", p)):
        if values.ndim == 1:
            columns[stem], names[argument] = values, stem
        else:
            names[argument] = [f"{stem}_{r}" for r in range(values.shape[1])]
            columns |= dict(zip(names[argument], values.T.copy(), strict=True))
    if w is not None:
        columns["w"], names["sample_weight"] = w, "w"
    return columns, names


def written(path: Any, columns: dict[str, Any]) -> Any:
    """A file of the kind that its name says."""
    if path.suffix == ".npz":
        np.savez(path, **columns)
    elif path.suffix == ".jsonl":
        lists = [values.tolist() for values in columns.values()]
        records = (dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True))
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    else:
        write = {
            ".csv": lambda table, to: need("pyarrow.csv").write_csv(table, to),
            ".parquet": lambda table, to: need("pyarrow.parquet").write_table(table, to),
            ".feather": lambda table, to: need("pyarrow.feather").write_feather(table, to),
        }
        write[path.suffix](need("pyarrow").table(columns), str(path))
    return path


def through(door: str, y: Any, p: Any, w: Any, folder: Any, **options: Any) -> Any:
    """The evaluation, as this door gives it."""
    columns, names = columns_of(y, p, w)
    if door == "stream":
        stream = cal.Accumulator(**options)
        for part in (slice(0, 130), slice(130, None)):
            weights = None if w is None else w[part]
            stream.update(y[part], p[part], sample_weight=weights)
        return stream.evaluate()
    if door == "monitor":
        monitor = cal.Monitor(every="1d", **{"measures": "all", **options})
        return monitor.update(y, p, sample_weight=w, time=0).total().evaluate()
    if door in ("polars", "duckdb", "spark", "dask", "ibis"):
        data = frame("polars streaming" if door == "polars" else door, columns)
        labels, predictions = names.pop("y_true"), names.pop("y_proba")
        return cal.evaluate(labels, predictions, data=data, **names, **options)
    return cal.evaluate_file(written(folder / f"rows.{door}", columns), **names, **options)


def by_its_function(name: str, shape: str, y: Any, p: Any, w: Any) -> float:
    """As the catalogue says that users get it: ``ece(norm='l2')``, all else by default."""
    called, _, options = find(name, shape).function.rstrip(")").partition("(")  # type: ignore[arg-type]
    result = getattr(cal, called)(y, p, sample_weight=w, **eval(f"dict({options})"))
    if called == "brier_decomposition":
        return float(getattr(result, name.removeprefix("brier_")))
    return float(result)


def same(found: float, expected: float) -> bool:
    return found == pytest.approx(expected, rel=1e-12, abs=1e-16)


def usual_names(shape: str, kind: str) -> set[str]:
    usual = [m for m in cal.catalogue(shape) if kind == "soft" or not m.soft_only]
    return {m.name for m in usual if not m.on_request}


@cache
def evaluated(shape: str, kind: str, weighted: bool) -> Any:
    """What every door is held to."""
    y, p, w = rows(shape, kind, weighted)
    return cal.evaluate(y, p, sample_weight=w)


@pytest.mark.parametrize(("shape", "kind", "weighted"), WAYS)
def test_every_name_is_a_function(shape, kind, weighted):
    y, p, w = rows(shape, kind, weighted)
    # What is computed from parts refuses hard labels: see tests/votes/test_grouping_gap.py.
    names = [m.name for m in cal.catalogue(shape) if kind != "hard" or not m.parts]
    expected = cal.evaluate(y, p, sample_weight=w, measures=names).values
    for name in names:
        assert name in cal.__all__ and inspect.isfunction(getattr(cal, name)), name
        assert same(getattr(cal, name)(y, p, sample_weight=w), expected[name]), name


@pytest.mark.parametrize(("shape", "kind", "weighted"), WAYS)
def test_every_name_has_one_value(shape, kind, weighted):
    expected = evaluated(shape, kind, weighted)
    assert set(expected.values) == usual_names(shape, kind)
    for name, value in expected.values.items():
        assert same(by_its_function(name, shape, *rows(shape, kind, weighted)), value), name


@pytest.mark.parametrize(("shape", "kind", "weighted", "door"), AT_THE_DOORS)
def test_every_name_has_one_value_at_every_door(shape, kind, weighted, door, tmp_path):
    expected, names = evaluated(shape, kind, weighted), usual_names(shape, kind)
    found = through(door, *rows(shape, kind, weighted), tmp_path)
    assert set(found.values) <= names
    for name, value in found.values.items():
        assert same(value, expected[name]), name
        assert found.estimate(name).rule == expected.estimate(name).rule, name
    left_out = names - set(found.values)
    told = {name for note in found.notes for name in note.split(": not computed")[0].split(", ")}
    assert left_out <= told
    if door not in ("stream", "monitor"):
        assert not left_out
        for name, values in (expected.classes or {}).items():
            if name != "class":  # files have columns to call them by
                assert found.classes[name] == pytest.approx(values), name
    np.testing.assert_array_equal(found.reliability.table.n, expected.reliability.table.n)


@pytest.mark.parametrize("shape", ["binary", "multiclass"])
@pytest.mark.parametrize("kind", ["hard", "soft"])
def test_measures_on_request_have_one_value(kind, shape, tmp_path):
    asked = [m for m in cal.catalogue(shape) if m.on_request]
    names = [m.name for m in asked if kind == "soft" or not m.soft_only]
    assert names
    y, p, w = rows(shape, kind, True)
    expected = cal.evaluate(y, p, sample_weight=w, measures=names)
    for name in names:
        assert same(by_its_function(name, shape, y, p, w), expected[name]), name
    # Every door with either kind and with either shape.
    either = (kind == "hard") == (shape == "binary")
    for door in ("csv", "polars") if either else ("parquet", "duckdb"):
        found = through(door, y, p, w, tmp_path, measures=names)
        for name in names:
            assert same(found[name], expected[name]), (door, name)


@pytest.mark.parametrize(("shape", "kind", "weighted"), HALVES[0])
def test_comparison_and_gate_have_the_same_values(shape, kind, weighted):
    y, p, w = rows(shape, kind, weighted)
    expected = evaluated(shape, kind, weighted).values
    few = ("ece", "debiased_l2", "classwise_ce", "confidence_ce", "ls_ece", "brier")
    limits: dict[str, dict[str, float]] = {"at_least": {}, "at_most": {}}
    for name in expected:
        measure = find(name, shape)
        side = "at_least" if measure.higher_is_better else "at_most"
        limits[side][name] = 0.5 * (measure.low + min(measure.high, 1.0))
    found = check(y, p, point=True, sample_weight=w, **limits)
    assert {row.limit.measure: row.value for row in found.rows} == expected
    few = [name for name in few if name in expected]
    models = {"one": p, "other": p[::-1].copy()}
    options: dict[str, Any] = {"n_resamples": 50, "bin_counts": (5,)}
    compared = cal.compare(y, models, measures=few, sample_weight=w, **options)
    for name in few:
        assert compared.value("one", name) == expected[name], name


@pytest.mark.parametrize("door", ["dask", "ibis", "spark"])
def test_names_that_were_two_things_by_name(door, tmp_path):
    """Each of these was another number from files, frames and streams, or not to be had there.

    Files and other frames are held to all names above.
    """
    y, p, w = rows("multiclass", "hard", True)
    names = ["classwise_ce", "ace", "tace", "lin_ce", "debiased_l2", "ls_ece", "ks_error"]
    # Each query takes Spark seconds to plan, and the others a part of one; those that are left
    # have quantiles of classes, vectors, and grids.
    names = names[:3] if door == "spark" else ["classwise_ce", "lin_ce", "ls_ece"]
    expected = cal.evaluate(y, p, sample_weight=w, measures=names)
    found = through(door, y, p, w, tmp_path, measures=names)
    for name in names:
        assert same(found[name], expected[name]), name
        assert found.estimate(name).rule == expected.estimate(name).rule


@pytest.mark.parametrize("bins", [cal.EqualWidth(8), cal.Edges([0, 0.2, 0.7, 1], "right")])
@pytest.mark.parametrize("shape", ["binary", "multiclass"])
def test_a_rule_for_all_is_the_same_everywhere(shape, bins, tmp_path):
    y, p, w = rows(shape, "hard", False)
    expected = cal.evaluate(y, p, bins=bins)
    # Every door with either shape and either rule.
    either = (shape == "binary") == isinstance(bins, cal.Edges)
    for door in ("parquet", "polars") if either else ("duckdb", "stream"):
        found = through(door, y, p, w, tmp_path, bins=bins)
        for name, value in found.values.items():
            assert same(value, expected[name]), (door, name)
            assert found.estimate(name).rule == expected.estimate(name).rule, (door, name)
        assert {"debiased_l2", "confidence_ce"} < set(found.values)


def test_many_distinct_predictions_leave_out_what_needs_their_order(tmp_path, monkeypatch):
    """A file is never held: where that would be needed the name is not offered, and it is said."""
    from calibrant._api.files import refinement

    monkeypatch.setattr(refinement, "MOST_LEVELS", 50)
    monkeypatch.setattr("calibrant._api.evaluate_frame.LEVELS_UP_TO", 50)
    y, p, w = rows("binary", "hard", False)
    expected = cal.evaluate(y, p)
    ordered = {
        m.name
        for m in cal.catalogue("binary")
        if m.statistic == "levels" and m.needs_order and m.name in expected
    }
    assert {"ks_error", "sweep_ece", "atb", "auroc"} <= ordered
    for door in ("csv", "polars"):
        found = through(door, y, p, w, tmp_path)
        assert set(expected.values) - set(found.values) == ordered
        told = [note.split(": not computed")[0].split(", ") for note in found.notes]
        for name in ordered:
            assert any(name in names for names in told)
        for name, value in found.values.items():
            assert same(value, expected[name]), name
    path = written(tmp_path / "rows.csv", columns_of(y, p, w)[0])
    with pytest.raises(cal.InputError, match=r"'ks_error' has no value.*more than 50 distinct"):
        cal.evaluate_file(path, measures=["ks_error"])
    quick = cal.evaluate_file(path, exact=False)
    told = next(note for note in quick.notes if note.startswith("approximate, from 2526 cells"))
    assert all(name in told for name in ordered)


def test_a_smooth_error_below_the_grid_of_streams(tmp_path):
    """Rows are read again on a finer grid; a stream, which cannot, does not offer the name."""
    y, p, w = rows("binary", "soft", False)
    y = np.clip(p + 1e-4, 0, 1)
    expected = cal.evaluate(y, p)["smooth_ece"]
    assert expected == cal.smooth_ece(y, p) < 1e-3
    for door in ("npz", "polars", "duckdb"):
        found = through(door, y, p, w, tmp_path, measures=["smooth_ece"])
        assert found["smooth_ece"] == pytest.approx(expected, rel=1e-9)
    stream = through("stream", y, p, w, tmp_path)
    assert "smooth_ece" not in stream
    assert any(note.startswith("smooth_ece: not computed") for note in stream.notes)


# --- one interval ---------------------------------------------------------------------------------

JUDGED = {
    "binary": ("ece", "debiased_l2", "lin_ce", "ks_error", "ace", "ls_ece", "brier"),
    "multiclass": ("ece", "classwise_ce", "confidence_ce", "log_loss"),
}


def limits(interval: Any) -> Any:
    return pytest.approx((interval.low, interval.high), rel=1e-12)


@pytest.mark.parametrize("shape", ["binary", "multiclass"])
def test_the_same_rows_have_one_interval(shape):
    # Of rows that crowd and of others.
    y, p = (given[::4] for given in rows(shape, "hard", False)[:2])
    names = JUDGED[shape]
    page = cal.report(y, p, measures=names, recalibrate="temperature").evaluation
    whole = cal.evaluate(y, p, uncertainty=True)
    assert page.values == {name: whole[name] for name in page.values}
    terminal = evaluate_samples(to_samples(y, p), Options(measures=names, intervals="cheap"))
    two = {"one": p, "other": p[::-1].copy()}
    compared = cal.compare(y, two, measures=names[::2], bin_counts=(5,))
    few = cal.evaluate(y, p, uncertainty=True, measures=names)
    for at, name in enumerate(names):
        expected = cal.interval(y, p, measure=name)
        doors = [door.estimate(name).interval for door in (whole, few, page, terminal)]
        # One name at a time goes through these, which know of no other.
        if at == 1:
            alone = cal.evaluate(y, p, uncertainty=True, measures=[name])
            doors.append(alone.estimate(name).interval)
        elif at % 2 == 0:
            gate = check(y, p, at_most={name: 0.1})
            doors += [gate.rows[0].interval, cal.verdict(y, p, measure=name)]
        for found in doors:
            # The terminal judges some only if asked.
            assert found is None or (found.low, found.high) == limits(expected), name
        if at % 2 == 0:
            own = compared.limits[0, at // 2, :2]
            assert np.isnan(own).all() or tuple(own) == limits(expected), name


def test_every_default_of_draws_is_one_number():
    from calibrant._core.validation import N_RESAMPLES

    doors = (cal.evaluate, cal.interval, cal.verdict, cal.noise_floor, cal.compare, check)
    for door in doors:
        assert inspect.signature(door).parameters["n_resamples"].default == N_RESAMPLES, door
    y, p, _ = rows("binary", "hard", False)
    y, p = np.tile(y, 300), np.tile(p, 300)  # which had half as many
    terminal = evaluate_samples(to_samples(y, p), Options(measures=["ece"], intervals="cheap"))
    assert terminal.recipe["n_resamples"] == N_RESAMPLES
