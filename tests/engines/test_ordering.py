"""Distinct predictions in order, by every engine, beside a dictionary of exact sums."""

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import astuple, replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

import calibrant as cal
from calibrant._core.bin_tables import FIELDS, STRETCH, BinTable
from calibrant._core.binning import MiddleRanks, middle_rank_bins
from calibrant._core.level_table import LevelTable
from calibrant._data.to_samples import to_samples
from calibrant._engines.arrays import ordering, passes
from calibrant._engines.arrays.ordering import level_table, stable_order
from calibrant._measures import ordered
from calibrant._measures.decomposition import decompose_isotonic, isotonic_blocks
from calibrant._measures.ordered import ks_error, sweep_error
from every_engine import available, each_array_engine, engine
from pairs import pairs

Array = NDArray[Any]
LANES_FROM = 4096
MANY = LANES_FROM + 1001


@pytest.fixture(autouse=True)
def early_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have rows shared out to lanes where a dictionary of them is soon made."""
    for module in (ordering, passes):
        monkeypatch.setattr(module, "LANES_FROM", LANES_FROM)


def twin(u: Array, z: Array, w: Array | None) -> tuple[list[float], Array]:
    """Distinct predictions and their sums, from the definition of a bin table's columns."""
    rows: dict[float, list[tuple[float, float]]] = defaultdict(list)
    weights = np.ones(len(u)) if w is None else w
    for a, b, c in zip(
        u.astype(float).tolist(), z.astype(float).tolist(), weights.tolist(), strict=True
    ):
        rows[a + 0.0].append((b, c))
    values, sums = [], []
    for a in sorted(rows):
        parts = [
            (c > 0, c, c * c, c * a, c * b, c * a * a, c * a * b, c * b * b, c * c * b)
            for b, c in rows[a]
        ]
        if any(part[0] for part in parts):
            values.append(a)
            sums.append([math.fsum(column) for column in zip(*parts, strict=True)])
    return values, np.array(sums)


def predictions(kind: str, n: int) -> Array:
    rng = np.random.default_rng(n)
    u = rng.random(n)
    out: Array = {
        "spread": u,
        "crowded at 0": u**8,
        "as small as can be": 5e-324 * rng.integers(0, 9, n),
        "crowded at 1": 1.0 - 1e-9 * u**4,
        "next to 1": np.where(u < 0.5, 1.0 - 2.0**-53, 1.0),
        "at both ends": np.where(u < 0.5, 1e-5 * u, 1.0 - 1e-5 * u),
        "crowded at one value": np.where(u < 0.9, 0.3, 0.3 + 2.0**-54 * rng.integers(0, 50, n)),
        "three digits": np.round(u, 3),
        "zeros, minus zeros and ones": rng.choice([0.0, -0.0, 1.0], n),
        "one value": np.full(n, 0.7),
    }[kind]
    return out


KINDS = (
    "spread",
    "crowded at 0",
    "as small as can be",
    "crowded at 1",
    "next to 1",
    "at both ends",
    "crowded at one value",
    "three digits",
    "zeros, minus zeros and ones",
    "one value",
)


def problems() -> Iterator[Any]:
    for kind in KINDS:
        for n in (1, 2, 30, 900):
            yield pytest.param(kind, n, "hard", id=f"{kind}, {n}")
    for kind in ("spread", "three digits", "at both ends", "zeros, minus zeros and ones"):
        for labels in ("soft", "weighted", "soft and weighted"):
            yield pytest.param(kind, 900, labels, id=f"{kind}, {labels}")
    for labels in ("hard", "soft", "weighted"):
        yield pytest.param("three digits", MANY, labels, id=f"many, {labels}")


def rows_of(kind: str, n: int, labels: str) -> tuple[Array, Array, Array | None]:
    rng = np.random.default_rng([n, len(labels)])
    z = rng.random(n) if "soft" in labels else rng.integers(0, 2, n)
    w = rng.exponential(size=n) * (rng.random(n) < 0.7) if "weighted" in labels else None
    return predictions(kind, n), z, w


@pytest.mark.parametrize(("kind", "n", "labels"), list(problems()))
def test_levels_are_those_of_a_dictionary(kind: str, n: int, labels: str) -> None:
    u, z, w = rows_of(kind, n, labels)
    values, sums = twin(u, z, w)
    for engine_name in available():
        with engine(engine_name):
            table, findings = level_table(to_samples(z, u, sample_weight=w), "binary")
        np.testing.assert_array_equal(table.mean_u[0], values, engine_name)
        np.testing.assert_array_equal(table.sums[0, :, 0], sums[:, 0], engine_name)
        np.testing.assert_allclose(table.sums[0], sums, 1e-13, 1e-300, err_msg=engine_name)
        assert findings.soft == ("soft" in labels), engine_name


@each_array_engine
@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int8, np.int32, np.float64])
@pytest.mark.parametrize("precision", [np.float16, np.float32, np.float64])
def test_levels_of_every_type(dtype: Any, precision: Any, engine_name: str) -> None:
    rng = np.random.default_rng(1)
    u, z = rng.random(900).astype(precision), rng.integers(0, 2, 900).astype(dtype)
    values, sums = twin(u[::3], z[::3], None)
    with engine(engine_name):
        table, _ = level_table(to_samples(z[::3], u[::3]), "binary")
    np.testing.assert_array_equal(table.mean_u[0], values)
    np.testing.assert_allclose(table.sums[0], sums, rtol=1e-13)


@each_array_engine
def test_levels_of_the_top_label(engine_name: str) -> None:
    rng = np.random.default_rng(2)
    p, y = rng.dirichlet([0.3] * 4, 2000), rng.integers(0, 4, 2000)
    scalar, z = rng.random(2000), rng.integers(0, 2, 2000)
    cases: list[tuple[Array, Array, Array, Array]] = [
        (y, p, p.max(axis=1), p.argmax(axis=1) == y),
        (z, scalar, np.maximum(scalar, 1 - scalar), (scalar > 0.5) == z),
    ]
    for targets, rows, top, hit in cases:
        values, sums = twin(top, hit, None)
        with engine(engine_name):
            table, _ = level_table(to_samples(targets, rows), "confidence")
        np.testing.assert_array_equal(table.mean_u[0], values)
        np.testing.assert_allclose(table.sums[0], sums, rtol=1e-13)


def test_columns_of_levels_are_those_of_their_table() -> None:
    u, z, w = rows_of("three digits", 3000, "soft and weighted")
    levels, _ = level_table(to_samples(z, u, sample_weight=w), "binary")
    table = BinTable(levels.sums)
    for name in (*FIELDS[1:], "n", "residual", "mean_u", "mean_z", "total_weight"):
        np.testing.assert_allclose(getattr(levels, name), getattr(table, name), rtol=1e-14)
    assert (levels.n_bins, levels.n_classes, levels.n_dropped) == (table.n_bins, 1, 0)
    for formula in (ks_error, sweep_error):
        assert formula(levels) == pytest.approx(formula(table), rel=1e-12)
    parts, expected = (decompose_isotonic(either) for either in (levels, table))
    assert parts.note == expected.note == ""
    numbers = [astuple(replace(each, note=0.0)) for each in (parts, expected)]
    assert numbers[0] == pytest.approx(numbers[1], rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("last", [1.0, 0.0])
def test_a_sweep_over_rising_levels_looks_at_no_number_of_bins(
    last: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Labels that the predictions tell apart: a sweep over 10^5 rows took half an hour."""
    looks = []
    falls = ordered._means_fall
    monkeypatch.setattr(ordered, "_means_fall", lambda *given: looks.append(1) or falls(*given))
    rng = np.random.default_rng(8)
    u, w = np.sort(rng.random(60)), rng.random(60)
    z = (u > 0.4) * 1.0
    z[-1] = last  # a fall at the end is seen
    levels = LevelTable(u, w, w * z)
    merged = ordered.sweep_bins(levels)
    assert bool(looks) == (last == 0.0)
    monkeypatch.setattr(ordered, "_Levels", _NeverSure)
    np.testing.assert_array_equal(merged.sums, ordered.sweep_bins(levels).sums)


class _NeverSure(ordered._Levels):
    """Levels of which nobody knows whether they rise."""

    def __init__(self, ranks: MiddleRanks, wz: Array) -> None:
        super().__init__(ranks, wz)
        self.rising = False


@pytest.mark.parametrize(
    ("kind", "labels", "engine_name"),
    pairs(
        product(
            ("spread", "three digits", "crowded at 0", "one value"),
            ("hard", "soft", "weighted", "float32", "two classes"),
            available(),
        )
    ),
)
def test_one_order_gives_what_each_measure_has_alone(
    kind: str, labels: str, engine_name: str
) -> None:
    u, z, w = rows_of(kind, 200, labels)
    u = u.astype(np.float32) if labels == "float32" else u
    p = np.stack([1 - u, u], axis=1) if labels == "two classes" else u
    with engine(engine_name):
        every = cal.evaluate(z, p, sample_weight=w, bins=10)
        for name in every.values:
            alone = cal.evaluate(z, p, sample_weight=w, bins=10, measures=[name])
            assert every[name] == pytest.approx(alone[name], rel=1e-12, abs=1e-15), name


@each_array_engine
@pytest.mark.parametrize("threads", ["1", "3"])
def test_order_is_stable_whatever_the_threads(
    threads: str, engine_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CALIBRANT_THREADS", threads)
    for kind in ("three digits", "at both ends", "one value"):
        u = predictions(kind, MANY)
        with engine(engine_name):
            np.testing.assert_array_equal(stable_order(u), np.argsort(u, kind="stable"))


@each_array_engine
@pytest.mark.parametrize("row", [0, 5, MANY - 1])
def test_the_first_bad_row_is_named(row: int, engine_name: str) -> None:
    y, p = np.zeros(MANY, dtype=int), np.full(MANY, 0.25)
    p[[row, -1]] = math.nan
    with engine(engine_name), pytest.raises(cal.InputError, match=rf"y_proba\[{row}\]"):
        cal.ks_error(y, p)


@each_array_engine
@pytest.mark.parametrize("kind", ["labels", "means", "falling", "rising", "equal", "one"])
def test_isotonic_blocks_are_those_of_a_loop(kind: str, engine_name: str) -> None:
    rng = np.random.default_rng(3)
    for n in (1, 2, 3, 50, 2000, STRETCH + 77):
        w = rng.exponential(size=n) + 1e-3
        z = {
            "labels": (rng.random(n) < np.linspace(0, 1, n)).astype(float),
            "means": (rng.random(n) + np.linspace(0, 1, n)) / 2,
            "falling": np.linspace(1, 0, n),
            "rising": np.linspace(0, 1, n),
            "equal": np.full(n, 0.5),
            "one": np.eye(1, n, n // 2)[0],
        }[kind]
        u = np.arange(n) / n
        with engine(engine_name):
            levels, _ = level_table(to_samples(z, u, sample_weight=w), "binary")
        weight, target, square = isotonic_blocks(levels)
        expected = isotonic_regression(z, weights=w)
        firsts = expected.blocks[:-1]
        np.testing.assert_allclose(weight, np.add.reduceat(w, firsts), rtol=1e-12)
        np.testing.assert_allclose(target / weight, expected.x[firsts], rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(square, np.add.reduceat(w * z * z, firsts), rtol=1e-12)


def firsts_by_formula(mass, m):
    return np.searchsorted(middle_rank_bins(mass, m), np.arange(m + 1))


@pytest.mark.parametrize("kind", ["ones", "counts", "weights", "one heavy", "tiny and huge"])
@pytest.mark.parametrize("n", [1, 2, 7, 400])
def test_bins_of_equal_mass_found_by_search_are_those_of_the_formula(kind, n):
    rng = np.random.default_rng(n)
    mass = {
        "ones": np.ones(n),
        "counts": rng.integers(1, 9, n).astype(float),
        "weights": rng.random(n) + 1e-3,
        "one heavy": np.where(np.arange(n) == n // 2, 1e6, 1.0),
        "tiny and huge": 10.0 ** rng.integers(-9, 9, n),
    }[kind]
    ranks = MiddleRanks.from_mass(mass)
    for m in (1, 2, 3, 10, 15, 64, 3 * n):
        np.testing.assert_array_equal(ranks.firsts(m), firsts_by_formula(mass, m))
