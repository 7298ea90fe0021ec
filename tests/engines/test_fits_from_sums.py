"""Recalibration maps fitted to rows that stay where they are: those of arrays, to 1e-8."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant._core.errors import CalibrantWarning, InputError, NeedsRows
from calibrant._data.links import sigmoid, softmax
from calibrant._data.readers.columns import ReadRequest
from calibrant._engines import level_sums
from calibrant._engines.frames import curves, fits
from calibrant.scaling import SCALERS, PlattScaling, PriorShift, from_json
from calibrant.scaling._summed_rows import RowsOfFiles
from every_engine import call
from needs import need

N, K = 900, 3
P, L, S = ([f"{letter}{r}" for r in range(K)] for letter in "pls")
FRAMES = ("duckdb", "polars streaming", "dask", "ibis", "spark")
SUMMED = sorted(name for name, kind in SCALERS.items() if kind._needs_rows is None)
OF_CLASSES = [name for name in SUMMED if name not in ("MatrixScaling", "DirichletCalibration")]


@cache
def world() -> dict[str, np.ndarray]:
    """Overconfident predictions of two and of three classes, some of them 0 and 1; hard and soft
    labels, and weights of which some are 0.
    """
    rng = np.random.default_rng(0)
    h = rng.normal(0, 1.5, N)
    p = sigmoid(1.6 * h + 0.3)
    p[:30], p[-4:] = 0.3, (0.0, 1.0, 1e-9, 1e-13)
    truth = 1.3 * rng.normal(size=(N, K)) + np.linspace(0, 0.6, K)
    soft, logits = softmax(truth), 2.2 * truth + rng.normal(size=(N, K)) / 2
    proba = softmax(logits)
    proba[:9] = np.eye(K)[np.arange(9) % K]
    columns = {
        "y": (rng.random(N) < sigmoid(h)).astype(int),
        "s": np.clip(sigmoid(h) + rng.normal(0, 0.1, N), 0.0, 1.0),
        "p": p,
        "f": p.astype(np.float32),
        "h": 1.6 * h + 0.3,
        "w": np.where(rng.random(N) < 0.1, 0.0, rng.random(N)),
        "label": np.array([rng.choice(K, p=row) for row in soft]),
    }
    for names, values in ((P, proba), (L, logits), (S, soft)):
        columns |= dict(zip(names, values.T, strict=True))
    return columns


@cache
def rows_for(engine_name: str) -> dict[str, np.ndarray]:
    """The world; in Spark, whose plans take milliseconds a row if not compiled, some of it."""
    some = np.r_[:116, N - 4 : N] if engine_name == "spark" else slice(None)
    return {name: values[some] for name, values in world().items()}


# Labels, predictions and weights of a fit.
BINARY = (("y", "p", None), ("s", "f", "w"), ("y", "h", "w"))
CLASSES = (("label", P, "w"), (S, L, None))


def rows_of(names: Any, engine_name: str = "") -> Any:
    """The columns of these names in memory."""
    rows = rows_for(engine_name)
    if names is None or isinstance(names, str):
        return None if names is None else rows[names]
    return np.stack([rows[name] for name in names], axis=1)


def fitted(kind: str, predictions: Any, fit: Any, **options: Any) -> tuple[Any, list[str]]:
    """A map after a fit, and its warnings."""
    scaler = SCALERS[kind](from_logits=predictions in ("h", L), **options)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        fit(scaler)
    own = [str(each.message) for each in told if isinstance(each.message, CalibrantWarning)]
    return scaler, [each.replace("class p", "class ").replace("class l", "class ") for each in own]


def in_memory(
    kind: str, y: Any, p: Any, w: Any, engine_name: str = "", **options: Any
) -> tuple[Any, list[str]]:
    """The map fitted to arrays, of the rows that an engine has."""
    given, weight = (rows_of(y, engine_name), rows_of(p, engine_name)), rows_of(w, engine_name)
    return fitted(kind, p, lambda s: s.fit(*given, sample_weight=weight), **options)


def flat(values: Any) -> np.ndarray:
    """A fitted attribute as one array."""
    return (
        np.concatenate([np.ravel(each) for each in values])
        if isinstance(values, tuple)
        else (np.ravel(values))
    )


def same_maps(found: tuple[Any, list[str]], expected: tuple[Any, list[str]], near: float = 1e-8):
    """Two maps have the same parameters, losses, counts and warnings."""
    (one, told), (other, known) = found, expected
    losses = ["loss_before_", *([] if np.isnan(one.loss_) else ["loss_"])]
    for name in (*one._learned, *losses):
        a, b = flat(getattr(one, name)), flat(getattr(other, name))
        np.testing.assert_allclose(a, b, rtol=near, atol=near, err_msg=name)
    assert (one.n_rows_, one.n_classes_) == (other.n_rows_, other.n_classes_)
    assert told == known


def on_frame(engine_name: str, kind: str, y: Any, p: Any, w: Any, **options: Any):
    """The map fitted to a lazy frame."""

    def fit(scaler: Any) -> None:
        call(engine_name, scaler.fit, rows_for(engine_name), y, p, sample_weight=w)

    return fitted(kind, p, fit, **options)


# One map for each kind of query: plans of Spark take seconds.
ONE_OF_EACH = (
    "TemperatureScaling",
    "VectorScaling",
    "PriorShift",
    "BetaCalibration",
    "IsotonicCalibration",
)
OF_SPARK = [*ONE_OF_EACH, "HistogramBinning"]


@pytest.mark.parametrize(
    ("kind", "engine_name"),
    [(k, e) for k in SUMMED for e in FRAMES if e != "spark" or k in OF_SPARK],
)
def test_maps_of_two_classes_are_those_of_arrays_on_every_engine(engine_name, kind):
    y, p, w = BINARY[SUMMED.index(kind) % len(BINARY)]
    same_maps(on_frame(engine_name, kind, y, p, w), in_memory(kind, y, p, w, engine_name))


# Each step towards a map of classes is a query: DuckDB and Polars have every kind, and the engines
# that take long to plan share them, a softmax with its offset and one without among those of each.
OF_SLOW = {
    "dask": ("VectorScaling", "PriorShift", "IsotonicCalibration"),
    "ibis": ("TemperatureScaling", "PriorShift", "BetaCalibration"),
    "spark": ("TemperatureScaling", "PriorShift", "BetaCalibration", "IsotonicCalibration"),
}


@pytest.mark.parametrize(
    ("kind", "engine_name"),
    [(k, e) for k in ONE_OF_EACH for e in FRAMES if k in OF_SLOW.get(e, ONE_OF_EACH)],
)
def test_maps_of_several_classes_are_those_of_arrays_on_every_engine(engine_name, kind):
    y, p, w = CLASSES[OF_CLASSES.index(kind) % len(CLASSES)]
    same_maps(on_frame(engine_name, kind, y, p, w), in_memory(kind, y, p, w, engine_name))


# Each map with the forms of rows that it is fitted to from sums; others are refused.
EVERY_FORM = [
    *((kind, rows) for kind in SUMMED for rows in BINARY),
    *((kind, rows) for kind in SUMMED if kind in OF_CLASSES for rows in CLASSES),
]


@pytest.mark.parametrize(("kind", "rows"), EVERY_FORM, ids=str)
def test_every_form_of_rows_is_that_of_arrays(kind, rows):
    same_maps(on_frame("polars streaming", kind, *rows), in_memory(kind, *rows))


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    pyarrow = need("pyarrow")
    path = tmp_path_factory.mktemp("fits") / "rows.parquet"
    table = pyarrow.table(world())
    need("pyarrow.parquet").write_table(table, path, row_group_size=250)
    return str(path)


@pytest.mark.parametrize(("kind", "rows"), EVERY_FORM, ids=str)
def test_files_are_fitted_in_passes_as_arrays_are(file, kind, rows):
    y, p, w = rows
    request = ReadRequest.build(
        file, y_true=y, y_proba=p, sample_weight=w, from_logits=p in ("h", L)
    )
    summed = RowsOfFiles.of_request(request)
    found, expected = fitted(kind, p, lambda s: s._fit_summed(summed)), in_memory(*(kind, *rows))
    same_maps((found[0], []), (expected[0], []))
    own, other = found[0]._fitted_rows, expected[0]._fitted_rows
    assert np.array_equal(own.hashes, other.hashes) and np.array_equal(own.counts, other.counts)


def test_a_path_is_scanned_where_it_is(file):
    found = fitted("PlattScaling", "p", lambda s: s.fit("y", "p", data=file))
    same_maps(found, in_memory("PlattScaling", "y", "p", None))
    with pytest.raises(InputError, match="must be a frame, or the path of a Parquet file"):
        PlattScaling().fit("y", "p", data="rows.csv")


@pytest.mark.parametrize("shift", [0.0, 3.0])
@pytest.mark.parametrize("scale", [1 / 3000, 1 / 40, 40.0])
@pytest.mark.parametrize("kind", ["PlattScaling", "BetaCalibration", "TemperatureScaling"])
def test_steep_and_flat_maps_take_cells_of_their_own(kind, scale, shift):
    polars = need("polars")
    h, y = world()["h"] * scale + shift, world()["y"]
    frame = polars.LazyFrame({"y": y, "h": h})
    found = fitted(kind, "h", lambda s: s.fit("y", "h", data=frame))
    same_maps(found, fitted(kind, "h", lambda s: s.fit(y, h)))


def test_rows_that_a_map_is_right_on_are_as_separable_as_in_memory():
    polars = need("polars")
    h = np.linspace(-2.0, 2.0, 50)
    frame = polars.LazyFrame({"y": h > 0.3, "h": h})
    found = fitted("PlattScaling", "h", lambda s: s.fit("y", "h", data=frame))
    expected = fitted("PlattScaling", "h", lambda s: s.fit(h > 0.3, h))
    assert "right on every row" in found[1][0] and found[1] == expected[1]


@pytest.mark.parametrize(
    "given", [{"prior": 0.02}, {"source_prior": 0.3}, {"prior": 0.02, "source_prior": 0.3}]
)
def test_priors_that_are_given_are_kept(given):
    found = on_frame("duckdb", "PriorShift", "y", "p", None, **given)
    same_maps(found, in_memory("PriorShift", "y", "p", None, **given))
    of_three = {name: [0.2, 0.3, 0.5] for name in given}
    found = on_frame("duckdb", "PriorShift", "label", P, "w", **of_three)
    same_maps(found, in_memory("PriorShift", "label", P, "w", **of_three))


def test_many_predictions_are_those_of_narrow_cells(monkeypatch, file):
    known = in_memory("IsotonicCalibration", "y", "p", None)[0]
    x = np.linspace(0.02, 0.98, 50)
    monkeypatch.setattr(fits, "MOST_ROWS", 100)
    monkeypatch.setattr(curves, "MOST_ROWS", 100)
    monkeypatch.setattr(level_sums, "MOST_LEVELS", 100)
    request = ReadRequest.build(file, y_true="y", y_proba="p")
    for fit in (
        lambda s: call("duckdb", s.fit, world(), "y", "p"),
        lambda s: s._fit_summed(RowsOfFiles.of_request(request)),
    ):
        scaler, _ = fitted("IsotonicCalibration", "p", fit)
        assert scaler.loss_ == pytest.approx(known.loss_, abs=1e-3)
        np.testing.assert_allclose(scaler.transform(x), known.transform(x), atol=0.02)


def test_loss_that_is_not_summed_is_unknown_also_in_the_file():
    scaler, _ = on_frame("duckdb", "IsotonicCalibration", "label", P, None)
    assert np.isnan(scaler.loss_) and scaler.loss_before_ > 0
    assert "log loss 1.1562 on the 900 rows" in repr(scaler)
    assert np.isnan(from_json(scaler.to_json()).loss_)


@pytest.mark.parametrize("bins", [7, "cbrt", cal.Quantile(6), cal.Edges([0.0, 0.1, 0.5, 1.0])])
@pytest.mark.parametrize("rows", [BINARY[0], CLASSES[0]], ids=str)
def test_bins_are_those_of_arrays(file, bins, rows):
    y, p, w = rows
    expected = in_memory("HistogramBinning", y, p, w, bins=bins)
    same_maps(on_frame("duckdb", "HistogramBinning", y, p, w, bins=bins), expected)
    request = ReadRequest.build(file, y_true=y, y_proba=p, sample_weight=w)
    summed = RowsOfFiles.of_request(request)
    found = fitted("HistogramBinning", p, lambda s: s._fit_summed(summed), bins=bins)
    same_maps(found, expected)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("PlattScaling", {"smooth_targets": True}),
        ("QuadraticScaling", {"increasing": True}),
        ("DirichletCalibration", {"l2": 0.1}),
    ],
)
def test_options_of_maps_are_kept(kind, options):
    found = on_frame("duckdb", kind, "y", "p", "w", **options)
    same_maps(found, in_memory(kind, "y", "p", "w", **options))


@pytest.mark.parametrize("kind", sorted(set(SCALERS) - set(SUMMED)))
def test_maps_that_need_the_rows_are_refused_in_one_line(kind):
    with pytest.raises(NeedsRows, match=f"^{kind} needs the rows in memory \\(.*collect") as told:
        on_frame("duckdb", kind, "y", "p", None)
    assert "\n" not in str(told.value)


def test_what_is_refused_says_why():
    with pytest.raises(NeedsRows, match="MatrixScaling needs the rows in memory"):
        on_frame("duckdb", "MatrixScaling", "label", P, None)
    with pytest.raises(InputError, match="a fit to a lazy frame cannot sum votes"):
        call("duckdb", PlattScaling().fit, world(), "y", "p", votes="label")
    with pytest.raises(InputError, match="use fit, then to_sql"):
        call("duckdb", PlattScaling().fit_transform, world(), "y", "p")
    with pytest.raises(InputError, match="y_true has no label of class 1"):
        call("duckdb", PriorShift(prior=0.1).fit, {"y": [0, 0], "p": [0.2, 0.3]}, "y", "p")
