"""Curves, clinical values and decisions of rows that stay where they are: those of arrays.

The first test is a table: every function on every engine, equal to arrays in memory.
"""

from __future__ import annotations

import math
import pickle
from dataclasses import asdict
from functools import cache

import numpy as np
import pytest

import calibrant as cal
from calibrant._api import clinical_of_frame, pooled_folds
from calibrant._core.errors import InputError
from calibrant._data import columns
from calibrant._data.links import sigmoid
from calibrant._engines.frames import curves
from every_engine import ENGINES, call
from needs import need

N = 600


@cache
def world(n: int = N, seed: int = 0) -> dict[str, np.ndarray]:
    """Overconfident predictions, some of them 0 and 1 and many of them equal; soft labels, weights,
    clusters whose outcomes go together, and slices.
    """
    rng = np.random.default_rng(seed)
    cluster = np.arange(n) // 3
    h = rng.normal(0, 1.2, n) + rng.normal(0, 0.8, n)[cluster]
    p = sigmoid(1.4 * h)
    p[: n // 30], p[-3:] = 0.3, (0.0, 1.0, 1e-9)
    return {
        "y": (rng.random(n) < sigmoid(h)).astype(int),
        "p": p,
        "q": np.clip(p + rng.normal(0, 0.1, n), 0.0, 1.0),
        "r": np.sqrt(p),
        "f": p.astype(np.float32),
        "h": np.clip(1.4 * h, -30, 30),
        "s": np.clip(sigmoid(h) + rng.normal(0, 0.1, n), 0.0, 1.0),
        "w": rng.random(n) + 0.5,
        "v": np.where(rng.random(n) < 0.1, 0.0, rng.random(n)),
        "g": cluster,
        "c": np.array(["de", "fr", "it"])[rng.integers(0, 3, n)],
    }


def known(function, y, p, **options):
    """The result of arrays in memory. Names of columns become the columns."""
    columns = world()
    names = {name: columns[options.pop(name)] for name in OF_ROWS if name in options}
    predictions = np.stack([columns[each] for each in p], 1) if isinstance(p, list) else columns[p]
    return function(columns[y], predictions, **names, **options)


OF_ROWS = ("sample_weight", "groups", "by")


def two_models(y, p, **options):
    """The decision curves of two models, whose predictions are the columns of p."""
    models = p if "data" in options else (p[:, 0], p[:, 1])
    return cal.decision_curve(y, dict(zip(("a", "b"), models, strict=True)), **options)


def same_cox(found, expected, near=1e-9):
    """All numbers of two fits are equal."""
    a, b = asdict(found), asdict(expected)
    rest = a.pop("without_clipped"), b.pop("without_clipped")
    assert {k: v for k, v in a.items() if not isinstance(v, float)} == {
        k: v for k, v in b.items() if not isinstance(v, float)
    }
    numbers = [[v for v in each.values() if isinstance(v, float)] for each in (a, b)]
    assert numbers[0] == pytest.approx(numbers[1], rel=near, abs=1e-12, nan_ok=True)
    assert (rest[0] is None) == (rest[1] is None)
    if rest[0] is not None:
        same_cox(found.without_clipped, expected.without_clipped, near)


def same_weight(found, expected):
    """The weight of all rows is equal; None where rows have none."""
    weights = [
        math.nan if each.n_weighted is None else each.n_weighted for each in (found, expected)
    ]
    assert weights[0] == pytest.approx(weights[1], rel=1e-12, nan_ok=True)


EXACT = {"slope", "intercept", "intercept_in_the_large"}


def same_clinical(found, expected, near=0.2):
    """Values are equal; limits to the error of draws, and to rounding where none are made."""
    assert (found.n, list(found.subgroups)) == (expected.n, list(expected.subgroups))
    assert found.events == pytest.approx(expected.events, rel=1e-12)
    same_weight(found, expected)
    for name, one in expected.items():
        other, width = found[name], one.high - one.low
        assert float(other) == pytest.approx(float(one), rel=1e-9, abs=1e-12), name
        share = 1e-9 if name in EXACT else 5e-3 if name[0] in "obcs" else near
        for end in ("low", "high", "estimate"):
            ends = getattr(other, end), getattr(one, end)
            assert ends[0] == pytest.approx(ends[1], abs=share * width), (name, end)
    for name in expected.subgroups:
        same_clinical(found.subgroups[name], expected.subgroups[name], near)


def same_decisions(found, expected, near=1e-9, maps=1e-9):
    """Net benefits are equal, and so are limits; those of recalibrated models nearly."""
    assert (found.n, found.recalibration) == (expected.n, expected.recalibration)
    for name, one in expected.benefits.items():
        for key, values in vars(one).items():
            if values is None:
                assert getattr(found.benefits[name], key) is None
                continue
            size = maps if "gain" in key or key == "recalibrated" else near
            size = 1e-11 if key in ("tp_rate", "fp_rate", "value") else size
            np.testing.assert_allclose(
                getattr(found.benefits[name], key), values, atol=size, rtol=size, err_msg=key
            )
    for pair, values in expected.pairs.items():
        np.testing.assert_allclose(found.pairs[pair], values, atol=near, rtol=near)


def nearly_same_decisions(found, expected):
    """Net benefits and limits are equal, and those of maps that were fitted to cells nearly."""
    same_decisions(found, expected, maps=0.02)


def same_table(found, expected):
    """Bins, their counts and their limits are equal."""
    a, b = found.intervals(), expected.intervals()
    assert a["n"] == b["n"]
    for name, values in b.items():
        np.testing.assert_allclose(a[name], values, rtol=1e-9, atol=1e-12, err_msg=name)


def same_curve(found, expected, near=1e-9):
    """Points, weights and bands of two curves are equal."""
    assert (found.n, found.band, found.notion) == (expected.n, expected.band, expected.notion)
    for name, values in expected.points.items():
        np.testing.assert_allclose(found.points[name], values, atol=near, rtol=near, err_msg=name)
    np.testing.assert_allclose(found.shares, expected.shares, atol=1e-12)
    assert found.span == pytest.approx(expected.span, nan_ok=True)


def same_split(found, expected):
    """The parts of a loss, their intervals and the maps are equal."""
    assert (found.map, found.n) == (expected.map, expected.n)
    names = ("loss", "calibration", "refinement", "overconfidence", "underconfidence", "in_sample")
    for name in names:
        assert getattr(found, name) == pytest.approx(getattr(expected, name), abs=1e-9), name
    for name, ends in expected.intervals.items():
        assert found.intervals[name] == pytest.approx(ends, abs=1e-9), name


# What is called, of which columns and with which options, and how results are compared.
TABLE = {
    "cox": (cal.cox_calibration, "y", "p", {}, same_cox),
    "cox, weights": (cal.cox_calibration, "s", "f", {"sample_weight": "v"}, same_cox),
    "clinical": (cal.clinical_summary, "y", "p", {"n_resamples": 50}, same_clinical),
    "decisions": (
        two_models,
        "y",
        ["p", "q"],
        {"thresholds": [0.2, 0.3, 0.7], "recalibration": None},
        same_decisions,
    ),
    "reliability": (cal.reliability, "s", "p", {"sample_weight": "w"}, same_table),
    "isotonic curve": (cal.reliability_curve, "y", "p", {}, same_curve),
    "local curve": (
        cal.reliability_curve,
        "y",
        "p",
        {"method": "local", "sample_weight": "w"},
        same_curve,
    ),
}
# The same of clusters, which `call` gives to frames alone.
OF_CLUSTERS = {
    "cox": (cal.cox_calibration, "y", "p", {"groups": "g", "sample_weight": "v"}, same_cox),
    "clinical": (
        cal.clinical_summary,
        "y",
        "p",
        {"n_resamples": 50, "groups": "g", "by": "c"},
        same_clinical,
    ),
    "decisions": (two_models, "y", ["p", "q"], {"groups": "g"}, nearly_same_decisions),
    "reliability": (cal.reliability, "y", "p", {"groups": "g"}, same_table),
    "isotonic curve": (cal.reliability_curve, "y", "p", {"groups": "g"}, same_curve),
    "local curve": (
        cal.reliability_curve,
        "s",
        "p",
        {"method": "local", "groups": "g"},
        same_curve,
    ),
    "decompose": (cal.decompose, "y", "p", {"groups": "g"}, same_split),
}
_KNOWN: dict[str, object] = {}


def checked(engine_name, table, case):
    """Compare a case of a table on an engine with arrays, which are computed once."""
    function, y, p, options, same = table[case]
    key = f"{case} {'groups' in options}"
    if key not in _KNOWN:
        _KNOWN[key] = known(function, y, p, **options)
    same(call(engine_name, function, world(), y, p, **options), _KNOWN[key])


# Frames in memory become arrays in one place: each function takes one of them. Arrays of "native"
# are those that all are compared with, and Polars runs the same queries in memory as streaming.
EAGER = ("pandas", "polars", "pyarrow")
ALIKE = ("native", "polars in memory")
OTHERS = [engine for engine in ENGINES if engine not in (*EAGER, *ALIKE)]


@pytest.mark.parametrize(
    ("engine_name", "case"),
    [(engine, case) for at, case in enumerate(TABLE) for engine in (EAGER[at % 3], *OTHERS)],
)
def test_every_function_is_that_of_arrays_on_every_engine(engine_name, case):
    checked(engine_name, TABLE, case)


@pytest.mark.parametrize("engine_name", ["duckdb", "polars streaming", "dask", "ibis", "spark"])
@pytest.mark.parametrize("case", ["cox", "isotonic curve", "decompose"])
def test_clusters_are_those_of_arrays_on_every_engine(engine_name, case):
    checked(engine_name, OF_CLUSTERS, case)


@pytest.mark.parametrize("case", OF_CLUSTERS)
def test_every_function_takes_clusters(case):
    checked("duckdb", OF_CLUSTERS, case)


@pytest.mark.parametrize(
    ("y", "p", "options"),
    [
        ("y", "p", {"eps": 0.05}),
        ("y", "q", {"notion": "confidence"}),
        ("y", "h", {"from_logits": True}),
        ("s", "p", {}),
        ("s", "q", {"groups": "g"}),
        ("y", "r", {"sample_weight": "w", "level": 0.9}),
        ("y", ["o", "q"], {}),
    ],
)
def test_cox_fits_of_sums_are_those_of_rows(y, p, options):
    columns = {**world(), "o": 1.0 - world()["q"]}
    given = {name: columns[options[name]] for name in OF_ROWS if name in options}
    rest = {name: value for name, value in options.items() if name not in OF_ROWS}
    rows = np.stack([columns[each] for each in p], 1) if isinstance(p, list) else columns[p]
    expected = cal.cox_calibration(columns[y], rows, **given, **rest)
    same_cox(call("duckdb", cal.cox_calibration, columns, y, p, **options), expected)


@pytest.mark.parametrize("slope", [0.1, 3.0, 12.0])
def test_steep_and_flat_slopes_are_those_of_rows(slope):
    """A steep curve is a polynomial of a cell to fewer digits."""
    rng = np.random.default_rng(3)
    h = rng.normal(0, 0.5, 3000)
    rows = {"p": sigmoid(h), "y": (rng.random(3000) < sigmoid(slope * h)).astype(int)}
    expected = cal.cox_calibration(rows["y"], rows["p"])
    same_cox(call("duckdb", cal.cox_calibration, rows, "y", "p"), expected, 1e-7)


@pytest.mark.parametrize("centre", [0.5, 0.3])
@pytest.mark.parametrize(("width", "close"), [(1e-3, 1e-7), (1e-4, 1e-4)])
@pytest.mark.parametrize("options", [{}, {"sample_weight": "w"}])
def test_slopes_of_predictions_next_to_each_other_are_those_of_rows(centre, width, close, options):
    """All predictions are in one cell, whose centre is far from them as steep slopes have it."""
    rng = np.random.default_rng(1)
    p = centre + (rng.random(3000) - 0.5) * width
    rows = {"p": p, "y": (rng.random(3000) < p).astype(int), "w": rng.random(3000)}
    given = {name: rows[column] for name, column in options.items()}
    expected = cal.cox_calibration(rows["y"], p, **given)
    found = call("duckdb", cal.cox_calibration, rows, "y", "p", **options)
    for name in ("slope", "slope_low", "slope_high", "intercept", "intercept_low"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=close), name


@pytest.mark.parametrize("weight", [1e-300, 1e300])
def test_weights_that_cannot_be_squared_are_an_error_that_says_what_to_do(weight):
    columns = {"y": np.arange(50) % 2, "p": np.linspace(0.1, 0.9, 50), "w": np.full(50, weight)}
    with pytest.raises(InputError, match="multiply all weights by one number"):
        call("duckdb", cal.cox_calibration, columns, "y", "p", sample_weight="w")


@pytest.mark.parametrize(
    ("y", "p"),
    [
        ([1, 1, 1, 1], [0.2, 0.3, 0.4, 0.9]),
        ([0, 1, 0, 1], [0.4, 0.4, 0.4, 0.4]),
        ([0, 0, 1, 1], [0.1, 0.2, 0.3, 0.4]),
        ([1, 0, 0, 1, 0], [0.0, 0.0, 1.0, 1.0, 1.0]),
        ([0, 1, 0, 1, 1, 0], [0.2, 0.21, 0.6, 0.7, 0.9, 0.91]),
    ],
)
def test_what_is_not_estimable_of_rows_is_not_of_sums(y, p):
    rows = {"y": np.array(y), "p": np.array(p)}
    expected = cal.cox_calibration(rows["y"], rows["p"])
    same_cox(call("duckdb", cal.cox_calibration, rows, "y", "p"), expected)


@pytest.mark.parametrize(
    ("y", "options"), [("s", {}), ("y", {"sample_weight": "w"}), ("s", {"sample_weight": "w"})]
)
def test_clinical_values_with_weights_and_soft_labels(y, options):
    given = {"n_resamples": 50, **options}
    expected = known(cal.clinical_summary, y, "p", **given)
    same_clinical(call("duckdb", cal.clinical_summary, world(), y, "p", **given), expected)


def test_clinical_values_of_many_rows_come_from_cells(monkeypatch):
    monkeypatch.setattr(clinical_of_frame, "MOST_LEVELS", 0)
    expected = known(cal.clinical_summary, "y", "p", n_resamples=50)
    found = call("duckdb", cal.clinical_summary, world(), "y", "p", n_resamples=50)
    for name in ("c_statistic", "ici", "e50", "e90", "emax"):
        assert float(found[name]) == pytest.approx(float(expected[name]), abs=2e-4), name
        assert found[name].note.endswith("from about 2,500 cells of predictions")
    assert found["brier"].note == expected["brier"].note
    assert float(found["slope"]) == pytest.approx(float(expected["slope"]), rel=1e-9)


def test_subgroups_without_weight_have_no_values():
    rows = {**world(), "z": np.where(world()["c"] == "de", 0.0, 1.0)}
    options = {"sample_weight": "z", "by": "c", "n_resamples": 50}
    found = call("duckdb", cal.clinical_summary, rows, "y", "p", **options)
    assert list(found.subgroups) == ["de", "fr", "it"] and found.by == "c"
    assert "no row has any weight" in repr(found.subgroups["de"]["brier"])
    assert found.subgroups["fr"].n == np.count_nonzero(rows["c"] == "fr")


def test_crowded_cells_have_values_and_no_limits():
    rng = np.random.default_rng(75)
    p = np.exp(rng.normal(np.log(7e-4), 0.35, 20_000))
    rows = {"y": (rng.random(20_000) < 1.3 * p).astype(int), "p": p}
    found = call("duckdb", cal.clinical_summary, rows, "y", "p", n_resamples=50)
    c = found["c_statistic"]
    assert float(c) == pytest.approx(cal.auroc(rows["y"], p), rel=1e-12)
    assert math.isnan(c.low) and c.note.startswith(
        "no interval from sums: it needs the order of predictions"
    )
    assert found["brier"].low < found["brier"] < found["brier"].high


@pytest.mark.parametrize(
    ("y", "p", "options", "near"),
    [
        ("y", {"a": "p", "b": "q", "c": "r"}, {"recalibration": None}, 1e-9),
        ("y", "f", {"thresholds": [0, 0.3, 0.7], "recalibration": None}, 1e-9),
        ("y", "h", {"from_logits": True, "recalibration": None}, 1e-9),
        ("s", {"a": "p", "b": "q"}, {"recalibration": None, "thresholds": [0.2, 0.5]}, 1e-6),
    ],
)
def test_decisions_count_rows_at_thresholds(y, p, options, near):
    columns = world()
    arrays = {k: columns[v] for k, v in p.items()} if isinstance(p, dict) else columns[p]
    expected = cal.decision_curve(columns[y], arrays, **options)
    frame = need("polars").DataFrame(columns).lazy()
    same_decisions(cal.decision_curve(y, p, data=frame, **options), expected, near)


def test_weighted_decisions_have_the_values_of_rows():
    options = {"thresholds": [0.2, 0.5], "recalibration": None, "sample_weight": "w"}
    expected = known(two_models, "y", ["p", "q"], **options)
    found = call("duckdb", two_models, world(), "y", ["p", "q"], **options)
    for name, one in expected.benefits.items():
        other, width = found.benefits[name], one.high - one.low
        np.testing.assert_allclose(other.value, one.value, atol=1e-12)
        np.testing.assert_allclose(other.low, one.low, atol=0.06 * width.max())
        np.testing.assert_allclose(other.high, one.high, atol=0.06 * width.max())


def test_recalibrated_decisions_differ_by_their_folds_alone():
    """Folds are drawn anew: gains of sums lie among those of other seeds of the rows."""
    rows = world(3000, 1)
    lazy = need("polars").DataFrame(rows).lazy()

    def gains(seed, y, p, **options):
        found = cal.decision_curve(y, p, thresholds=[0.1, 0.3, 0.6], seed=seed, **options)
        assert found.recalibration == "isotonic, 5-fold cross-fitted"
        return found.benefits["model"].gain

    of_rows = np.array([gains(seed, rows["y"], rows["p"]) for seed in range(12)])
    of_sums = np.array([gains(seed, "y", "p", data=lazy) for seed in range(12)])
    assert np.unique(of_sums, axis=0).shape[0] == 12
    error = np.sqrt((of_rows.var(axis=0) + of_sums.var(axis=0)) / 11)
    assert (np.abs(of_rows.mean(axis=0) - of_sums.mean(axis=0)) < 4 * error + 1e-4).all()
    ratio = of_sums.std(axis=0) / of_rows.std(axis=0)
    assert ((ratio > 0.2) & (ratio < 5.0)).all()


def test_pooled_rows_are_dealt_as_rows_are():
    n = np.array([1.0, 4.0, 95.0, 1000.0])
    rng = np.random.default_rng(0)
    drawn = []
    for _ in range(400):
        row, fold, share = pooled_folds.deal_into_folds(n, None, 5, rng)
        table = np.zeros((5, 4))
        table[fold, row] = share * n[row]
        assert table.sum(axis=0) == pytest.approx(n)
        assert set(np.rint(table.sum(axis=1))) == {220.0}
        drawn.append(table[0, 2])
    # Hypergeometric: 95 rows of 1,100, of which 220 are in the fold.
    variance = 95 * 0.2 * 0.8 * (1100 - 95) / 1099
    assert np.mean(drawn) == pytest.approx(19.0, abs=4 * math.sqrt(variance / 400))
    assert np.var(drawn) == pytest.approx(variance, rel=0.3)
    groups = np.array([0, 0, 1, 2])
    row, fold, share = pooled_folds.deal_into_folds(n, groups, 2, rng)
    assert row.tolist() == [0, 1, 2, 3] and (share == 1.0).all() and fold[0] == fold[1]


@pytest.mark.parametrize("name", ["decision_curve", "decompose"])
def test_a_seed_gives_the_same_folds_again(name):
    """Engines return groups in any order, and rows may be in another one."""
    rows = world(3000, 1)
    lazy = need("polars").DataFrame(rows).lazy()
    options = {"thresholds": [0.1, 0.3, 0.6]} if name == "decision_curve" else {}

    def numbers(data):
        found = getattr(cal, name)("y", "p", data=data, **options)
        if name == "decompose":
            return [found.calibration, found.refinement, *found.candidates.values()]
        return found.benefits["model"].gain

    first = numbers(lazy)
    for data in [lazy] * 3 + [lazy.reverse()]:
        assert numbers(data) == pytest.approx(first, rel=1e-8)


def test_more_rows_than_can_be_dealt_are_divided_by_chance(monkeypatch):
    monkeypatch.setattr(pooled_folds, "_MOST_DEALT", 0)
    n = np.array([3.0, 10_000.0])
    row, fold, share = pooled_folds.deal_into_folds(n, None, 4, np.random.default_rng(1))
    table = np.zeros((4, 2))
    table[fold, row] = share * n[row]
    assert table.sum(axis=0) == pytest.approx(n)
    assert table[:, 1] == pytest.approx(2500, abs=5 * math.sqrt(10_000 * 0.25 * 0.75))


def test_losses_are_split_as_those_of_rows_are():
    """Folds are drawn anew: parts of sums lie among those of other seeds of the rows."""
    rows = world(3000, 1)
    lazy = need("polars").DataFrame(rows).lazy()

    def parts(seed, y, p, **options):
        found = cal.decompose(y, p, recalibrate="platt", seed=seed, **options)
        return found.loss, found.calibration, found.overconfidence, found.in_sample

    of_rows = np.array([parts(seed, rows["y"], rows["p"]) for seed in range(12)])
    of_sums = np.array([parts(seed, "y", "p", data=lazy) for seed in range(12)])
    np.testing.assert_allclose(of_sums[:, [0, 3]], of_rows[:, [0, 3]], atol=1e-9)
    error = np.sqrt((of_rows.var(axis=0) + of_sums.var(axis=0)) / 11)
    assert (np.abs(of_rows.mean(axis=0) - of_sums.mean(axis=0)) < 4 * error + 1e-9).all()


@pytest.mark.parametrize(
    ("y", "options", "mean", "most"),
    [
        ("y", {}, 2e-3, 0.05),
        ("y", {"sample_weight": "w"}, 2e-3, 0.05),
        ("y", {"method": "local"}, 3e-4, 3e-3),
        ("s", {"method": "local"}, 3e-4, 3e-3),
        ("y", {"groups": "g", "method": "local"}, 3e-4, 3e-3),
    ],
)
def test_curves_of_many_rows_come_from_cells(monkeypatch, y, options, mean, most):
    """What docstrings say of the difference."""
    monkeypatch.setattr(curves, "MOST_ROWS", 0)
    rows = world(40_000, 2)
    given = {name: rows[options[name]] for name in OF_ROWS if name in options}
    rest = {name: value for name, value in options.items() if name not in OF_ROWS}
    expected = cal.reliability_curve(rows[y], rows["h"], from_logits=True, **given, **rest)
    found = call("duckdb", cal.reliability_curve, rows, y, "h", from_logits=True, **options)
    at = np.sort(sigmoid(rows["h"]))[200:-200]
    off = np.abs(found.at(at) - expected.at(at))
    assert 0 < off.mean() < mean and off.max() < most
    assert found.n == expected.n == 40_000
    assert found.shares == pytest.approx(expected.shares, abs=1e-12)


def test_confidence_bands_of_cells_reach_no_further_than_cells(monkeypatch):
    rows = world(40_000, 2)
    expected = cal.reliability_curve(rows["y"], rows["p"], band="confidence")
    monkeypatch.setattr(curves, "MOST_ROWS", 0)
    found = call("duckdb", cal.reliability_curve, rows, "y", "p", band="confidence")
    at = np.sort(rows["p"])[200:-200]
    for end in ("low", "high"):
        ends = [
            np.interp(at, each.points["prediction"], each.points[end]) for each in (found, expected)
        ]
        assert np.abs(ends[0] - ends[1]).mean() < 2e-3


def test_tables_of_lazy_frames_have_curves():
    table = call("duckdb", cal.reliability, world(), "y", "p")
    same_curve(table.curve(), known(cal.reliability_curve, "y", "p"))
    same_curve(table.curve("local"), known(cal.reliability_curve, "y", "p", method="local"))
    copied = pickle.loads(pickle.dumps(table))
    same_curve(copied.curve(), table.curve())
    clustered = call("duckdb", cal.reliability, world(), "y", "p", groups="g")
    same_curve(clustered.curve(), known(cal.reliability_curve, "y", "p", groups="g"))


def test_parquet_files_are_read_where_they_are(tmp_path):
    pyarrow, path = need("pyarrow"), tmp_path / "rows.parquet"
    columns = {name: pyarrow.array(values) for name, values in world().items()}
    need("pyarrow.parquet").write_table(pyarrow.table(columns), path)
    rest = {"n_resamples": 50}
    same_cox(cal.cox_calibration("y", "p", data=path), known(cal.cox_calibration, "y", "p"))
    same_clinical(
        cal.clinical_summary("y", "p", data=str(path), **rest),
        known(cal.clinical_summary, "y", "p", **rest),
    )
    same_curve(cal.reliability_curve("y", "p", data=path), known(cal.reliability_curve, "y", "p"))
    found = cal.decision_curve("y", "p", data=path, recalibration=None)
    same_decisions(found, known(cal.decision_curve, "y", "p", recalibration=None))
    same_table(cal.reliability("y", "p", data=path), known(cal.reliability, "y", "p"))
    same_split(
        cal.decompose("y", "p", data=path, groups="g"),
        known(cal.decompose, "y", "p", groups="g"),
    )


@pytest.mark.parametrize(
    ("function", "p", "options", "message"),
    [
        (cal.decompose, ["o", "p"], {}, "needs one outcome"),
        (cal.clinical_summary, ["o", "p"], {}, "needs one outcome"),
        (cal.decision_curve, ["o", "p"], {}, "needs one outcome"),
        (
            cal.reliability_curve,
            "p",
            {"band": "confidence", "sample_weight": "w"},
            "does not support weights",
        ),
        (cal.reliability_curve, "p", {"band": "confidence", "groups": "g"}, "needs hard labels"),
        (cal.reliability_curve, ["o", "p"], {"notion": "classwise"}, "a curve needs one problem"),
        (cal.cox_calibration, "p", {"groups": "nobody"}, "which data does not have"),
        (cal.cox_calibration, "p", {"groups": "m"}, "groups is missing in 600 rows"),
        (cal.decompose, "p", {"folds": 1000}, "folds=1000 needs at least as many rows"),
        (
            cal.decompose,
            "p",
            {"folds": 300, "groups": "g"},
            "folds=300 needs at least as many clusters",
        ),
        (cal.clinical_summary, "p", {"by": "x"}, "which data does not have"),
        (cal.reliability, "x", {}, "outside"),
    ],
)
def test_what_sums_do_not_give_is_refused_in_a_line(function, p, options, message):
    rows = {**world(), "o": 1 - world()["p"], "m": np.full(N, None), "x": 2 * world()["p"]}
    if options.get("by") == "x":
        options = {"by": "nothing"}
    with pytest.raises(InputError, match=message) as error:
        call("duckdb", function, rows, "y", p, **options)
    assert "\n" not in str(error.value)


# --- streams --------------------------------------------------------------------------------------


def stream(y="y", *, weights=None, **options):
    """An Accumulator that was given the world in four parts."""
    columns, out = world(), cal.Accumulator(**options)
    for some in np.array_split(np.arange(N), 4):
        given = {} if weights is None else {"sample_weight": columns[weights][some]}
        out.update(columns[y][some], columns["p"][some], **given)
    return out


@pytest.mark.parametrize(("y", "weights"), [("y", None), ("s", None), ("y", "w")])
def test_streams_have_clinical_values(y, weights):
    found = stream(y, weights=weights).evaluate(uncertainty=True, n_resamples=50).clinical
    given = {} if weights is None else {"sample_weight": weights}
    expected = known(cal.clinical_summary, y, "p", n_resamples=50, **given)
    assert found.n == expected.n and found.events == pytest.approx(expected.events, rel=1e-12)
    same_weight(found, expected)
    for name, one in expected.items():
        near = 1e-10 if name[:3] in ("slo", "int", "obs", "bri", "sca") else 2e-3
        assert float(found[name]) == pytest.approx(float(one), abs=near), name
    hard = y == "y" and weights is None
    for name in EXACT:
        near = 1e-9 if hard else 2e-3
        width = expected[name].high - expected[name].low
        assert found[name].low == pytest.approx(expected[name].low, abs=near * width), name
    assert found["c_statistic"].note.endswith("cells of predictions")
    assert math.isnan(found["brier"].low) == math.isnan(found["scaled_brier"].low) == (y == "s")


def test_streams_have_curves_of_their_cells():
    for method in ("isotonic", "local"):
        found = stream().reliability_curve(method=method)
        expected = known(cal.reliability_curve, "y", "p", method=method)
        at = np.sort(world()["p"])[20:-20]
        off = np.abs(found.at(at) - expected.at(at))
        assert off.mean() < 5e-3 and found.n == N and found.band == expected.band
        assert found.points["weight"].sum() > 0
    with pytest.raises(InputError, match="need sums in fine cells"):
        stream(measures=["ece"]).reliability_curve()
    with pytest.raises(InputError, match="holds no samples"):
        cal.Accumulator().reliability_curve()


def test_streams_count_rows_at_the_edges_of_their_bins():
    found = stream(bins=100).decision_curve(recalibration=None)
    same_decisions(found, known(cal.decision_curve, "y", "p", recalibration=None))
    assert stream(bins=100).decision_curve().recalibration.startswith("isotonic, 5-fold")
    few = stream(bins=5).decision_curve(thresholds=[0.2, 0.8], recalibration=None)
    assert few.thresholds.tolist() == [0.2, 0.8]
    with pytest.raises(InputError, match="is not an edge of the stream's cells"):
        stream(bins=5).decision_curve(thresholds=[0.3])
    with pytest.raises(InputError, match="labels of 0 and 1 and unweighted rows"):
        stream(bins=100, weights="w").decision_curve(recalibration="platt")
    weighted = stream(bins=100, weights="w").decision_curve()
    expected = known(cal.decision_curve, "y", "p", sample_weight="w", recalibration=None)
    assert weighted.net_benefit("model") == pytest.approx(expected.net_benefit("model"), abs=1e-12)


def test_evaluations_of_sums_have_clinical_summaries():
    found = call("duckdb", cal.evaluate, world(), "y", "p", uncertainty=True, n_resamples=50)
    expected = known(cal.clinical_summary, "y", "p", n_resamples=50)
    same_clinical(found.clinical, expected)
    named = call("duckdb", cal.evaluate, world(), "y", "p", uncertainty=True, measures=["ece"])
    assert named.clinical is None


def test_streams_with_predictions_of_0_and_1_have_a_slope_without_them():
    rng = np.random.default_rng(93)
    p = np.clip(rng.normal(0.5, 0.4, 3000), 0.0, 1.0)
    y = (rng.random(3000) < 0.1 + 0.8 * p).astype(int)
    summed = cal.Accumulator().update(y, p).evaluate(uncertainty=True).clinical["slope"]
    fit = cal.clinical_summary(y, p)["slope"]
    assert "clipped to" in fit.note and summed.note == fit.note
    assert (summed.low, summed.high) == pytest.approx((fit.low, fit.high), rel=1e-3)


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_a_file_that_is_no_parquet_is_an_error_of_its_own(tmp_path, monkeypatch, engine):
    path = tmp_path / "bad.parquet"
    path.write_bytes(b"not a parquet file")
    known = columns.importlib.util.find_spec
    others = {"polars", "duckdb"} - {engine}
    monkeypatch.setattr(
        columns.importlib.util, "find_spec", lambda name: None if name in others else known(name)
    )
    for function in (cal.evaluate, cal.cox_calibration, cal.verdict):
        with pytest.raises(InputError, match=r"bad.parquet' cannot be read as Parquet: \w"):
            function("y", "p", data=str(path))


def test_what_needs_rows_says_so_of_a_path(tmp_path):
    for function in (cal.conventions, cal.report):
        with pytest.raises(
            InputError, match=r"names a file, but this function needs its rows in memory"
        ):
            function("y", "p", data=tmp_path / "rows.parquet")
