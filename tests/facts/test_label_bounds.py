"""Bounds over labels that are sets: attained by labels between the ends, and never exceeded."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

import calibrant as cal
from needs import need

BINARY = [m.name for m in cal.catalogue("binary") if m.label_bounds]
MULTI = [m.name for m in cal.catalogue("multiclass") if m.label_bounds]
BINNED = ("ece", "rmsce", "mce", "ace", "tace", "lin_ce")
FUNCTIONS = {
    "ece": cal.ece,
    "rmsce": lambda y, p, **o: cal.ece(y, p, norm="l2", **o),
    "mce": lambda y, p, **o: cal.ece(y, p, norm="max", **o),
    "ace": cal.ace,
    "tace": cal.tace,
    "lin_ce": cal.lin_ce,
    "top_label_ece": cal.top_label_ece,
    "classwise_ece": lambda y, p, **o: cal.ece(y, p, notion="classwise", **o),
    "classwise_ce": cal.classwise_ce,
    "confidence_ce_uncorrected": lambda y, p, **o: cal.confidence_ce(y, p, corrected=False, **o),
}
LOSSES = {
    "brier": cal.brier_score,
    "log_loss": cal.log_loss,
    "spherical_loss": cal.spherical_loss,
    "classification_error": cal.classification_error,
    "confidence_loss": cal.confidence_loss,
    "accuracy": cal.accuracy,
}


def value(name, y, p, bins, w):
    """The ordinary value of a measure at labels y, by its public function."""
    if name in LOSSES:
        return LOSSES[name](y, p, sample_weight=w)
    return FUNCTIONS[name](y, p, bins=bins, sample_weight=w)


def binary_case(seed, n=8):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    p[0] = 0.5
    ends = np.sort(rng.random((2, n)) ** 2, axis=0)
    ends[:, 1] = (0.0, 1.0)
    return p, *ends, rng.random(n) + 0.1, rng


def class_case(seed, n=7, k=3):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(k), n)
    centre = rng.dirichlet(np.ones(k), n)
    lo = np.maximum(centre - 0.4 * rng.random((n, k)), 0)
    hi = np.minimum(centre + 0.4 * rng.random((n, k)), 1)
    return p, lo, hi, rng.random(n) + 0.1, rng


def corners(lo, hi):
    """Every corner of the distributions between two rows: all classes but one are at an end."""
    k, found = len(lo), []
    for own in range(k):
        for ends in itertools.product(*[(lo[r], hi[r]) for r in range(k) if r != own]):
            row = np.insert(np.array(ends), own, 1 - sum(ends))
            if lo[own] - 1e-12 <= row[own] <= hi[own] + 1e-12:
                found.append(row)
    return np.array(found)


def inside(lo, hi, rng):
    """A random distribution between two rows."""
    each = corners(lo, hi)
    return rng.dirichlet(np.full(len(each), 0.3)) @ each


@pytest.mark.parametrize("bins", [3, cal.Quantile(4), cal.EqualWidth(1)])
@pytest.mark.parametrize("seed", [1, 2])
def test_no_labels_between_the_ends_go_beyond_the_bounds_of_binary_measures(seed, bins):
    p, lo, hi, w, rng = binary_case(seed)
    names = [name for name in BINARY if name not in ("ace", "tace") or bins != cal.EqualWidth(1)]
    bounds = cal.evaluate(cal.Between(lo, hi), p, bins=bins, measures=names, sample_weight=w)
    every_corner = [np.where(c, hi, lo) for c in itertools.product([0, 1], repeat=len(p))]
    between = [lo + (hi - lo) * rng.random(len(p)) for _ in range(100)]
    for name in names:
        found = [value(name, z, p, bins, w) for z in (*every_corner, *between)]
        assert bounds[name].low - 1e-12 <= min(found)
        # Measures are convex in the labels or linear: the largest value is that of a corner.
        assert bounds[name].high == pytest.approx(max(found), abs=1e-12)
        assert bounds[name].exact


@pytest.mark.parametrize("seed", [3, 4, 5])
@pytest.mark.parametrize("name", BINARY)
def test_some_labels_attain_the_lower_bound_of_binary_measures(name, seed):
    """A search over labels ends there, and labels written down bin by bin are there."""
    p, lo, hi, w, _ = binary_case(seed, n=12)
    low = cal.evaluate(cal.Between(lo, hi), p, bins=3, measures=[name], sample_weight=w)[name].low
    if name not in BINNED:
        ends = [np.clip(p, lo, hi), lo, hi, np.where(p > 0.5, hi, lo), np.where(p > 0.5, lo, hi)]
        assert min(value(name, z, p, 3, w) for z in ends) == pytest.approx(low, abs=1e-12)
        return
    if name in ("ece", "rmsce", "mce"):
        where = np.minimum((3 * p).astype(int), 2)
    else:  # four of twelve rows in each bin, as far as weights are even
        w = np.ones(12)
        low = cal.evaluate(cal.Between(lo, hi), p, bins=3, measures=[name])[name].low
        where = np.argsort(np.argsort(p)) // 4
    z = lo.copy()
    for b in set(where):
        rows = where == b
        least, most = (w * lo)[rows].sum(), (w * hi)[rows].sum()
        t = np.clip(((w * p)[rows].sum() - least) / (most - least), 0, 1)
        z[rows] = (lo + t * (hi - lo))[rows]
    assert value(name, z, p, 3, w) == pytest.approx(low, abs=1e-12)
    if name in ("ece", "lin_ce"):  # convex, and so a search finds the least value there is
        done = minimize(
            lambda labels: value(name, np.clip(labels, lo, hi), p, 3, w),
            z + 1e-3 * (hi - lo) * (0.5 - np.arange(12) % 2),
            bounds=list(zip(lo, hi, strict=True)),
            method="L-BFGS-B",
        )
        assert done.fun >= low - 1e-12


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("seed", [6, 7])
def test_no_distributions_between_the_ends_go_beyond_the_bounds_of_classes(seed, k):
    p, lo, hi, w, rng = class_case(seed, k=k)
    bounds = cal.evaluate(cal.Between(lo, hi), p, bins=3, measures=MULTI, sample_weight=w)
    for _ in range(60):
        z = np.array([inside(*row, rng) for row in zip(lo, hi, strict=True)])
        for name in MULTI:
            found = value(name, z, p, 3, w)
            assert bounds[name].low - 1e-9 <= found <= bounds[name].high + 1e-9, name
    not_exact = {bound.name for bound in bounds.bounds if not bound.exact}
    assert not_exact == {"classwise_ece", "ace", "tace", "classwise_ce"}


def row_by_row(lo, hi, cost, choose):
    """The corner of each row at which a cost is smallest or largest."""
    rows = zip(lo, hi, range(len(lo)), strict=True)
    return np.array([choose(corners(a, b), key=lambda z: cost(i, z)) for a, b, i in rows])


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("seed", [8, 9])
def test_some_distributions_attain_the_bounds_of_losses(seed, k):
    p, lo, hi, w, _ = class_case(seed, k=k)
    bounds = cal.evaluate(cal.Between(lo, hi), p, sample_weight=w, measures=[*LOSSES])
    top = p.argmax(axis=1)
    costs = {
        "log_loss": lambda i, z: -(z * np.log(p[i])).sum(),
        "spherical_loss": lambda i, z: -(z * p[i]).sum(),
        "classification_error": lambda i, z: -z[top[i]],
        "confidence_loss": lambda i, z: -z[top[i]],
        "accuracy": lambda i, z: z[top[i]],
    }
    for name, cost in costs.items():
        for end, choose in (("low", min), ("high", max)):
            z = row_by_row(lo, hi, cost, choose)
            assert getattr(bounds[name], end) == pytest.approx(value(name, z, p, 3, w), abs=1e-9)
    z = row_by_row(lo, hi, lambda i, z: ((z - p[i]) ** 2).sum(), max)
    assert bounds["brier"].high == pytest.approx(cal.brier_score(z, p, sample_weight=w), abs=1e-9)
    nearest = []
    for a, b, row in zip(lo, hi, p, strict=True):
        done = minimize(
            lambda z, row=row: ((z - row) ** 2).sum(),
            corners(a, b).mean(axis=0),
            jac=lambda z, row=row: 2 * (z - row),
            bounds=list(zip(a, b, strict=True)),
            constraints={"type": "eq", "fun": lambda z: z.sum() - 1},
            options={"ftol": 1e-14},
        )
        nearest.append(done.fun)
    assert bounds["brier"].low == pytest.approx(np.average(nearest, weights=w), abs=1e-7)


@pytest.mark.parametrize("seed", [10, 11])
def test_some_distributions_attain_the_bounds_of_the_top_label(seed):
    """The target of the top label takes every value that a linear program gives it, row by row."""
    p, lo, hi, w, _ = class_case(seed, n=20)
    u, top = p.max(axis=1), p.argmax(axis=1)
    ends = np.empty((2, 20))
    for i in range(20):
        for side, sign in enumerate((1, -1)):
            box = list(zip(lo[i], hi[i], strict=True))
            goal = sign * np.eye(3)[top[i]]
            ends[side, i] = sign * linprog(goal, A_eq=[[1] * 3], b_eq=[1], bounds=box).fun
    bounds = cal.evaluate(
        cal.Between(lo, hi), p, bins=4, sample_weight=w, measures=["ece", "top_label_ece"]
    )
    cells = {
        "ece": np.minimum((4 * u).astype(int), 3),
        "top_label_ece": np.minimum((4 * u).astype(int), 3) + 10 * top,
    }
    for name, cell in cells.items():
        low = high = 0.0
        for b in set(cell):
            rows = cell == b
            mass, least, most = ((w * x)[rows].sum() for x in (u, *ends))
            low += max(0.0, least - mass, mass - most)
            high += max(abs(mass - least), abs(mass - most))
        assert bounds[name].low == pytest.approx(low / w.sum(), abs=1e-9)
        assert bounds[name].high == pytest.approx(high / w.sum(), abs=1e-9)


def test_bounds_over_classes_may_not_be_attained():
    """Class by class 0.2, 0 and 0 are attained, but then the row sums to 0.8: the least is 0.4."""
    p, lo, hi = [[0.5, 0.3, 0.2]], [[0.0, 0.3, 0.2]], [[0.3, 1.0, 1.0]]
    found = cal.evaluate(cal.Between(lo, hi), p, measures=["classwise_ece"], bins=1)
    least = min(
        cal.ece([z], p, notion="classwise", bins=1)
        for z in ([0.3, 0.5, 0.2], [0.3, 0.3, 0.4], [0.3, 0.4, 0.3], [0.0, 0.6, 0.4])
    )
    assert least == pytest.approx(0.4 / 3)
    assert found["classwise_ece"].low == pytest.approx(0.2 / 3)
    assert not found["classwise_ece"].exact
    assert "not exact" in repr(found)


def test_ends_that_are_equal_give_the_ordinary_values_to_the_last_bit():
    p, lo, *_ = binary_case(12, n=200)
    bounds = cal.evaluate(cal.Between(lo, lo), p, measures=BINARY)
    for name in BINARY:
        bins = {} if name in LOSSES else {"bins": 15}
        own = (LOSSES | FUNCTIONS)[name](lo, p, **bins)
        assert bounds[name].low == bounds[name].high == own, name
    rng = np.random.default_rng(13)
    p, q = rng.dirichlet(np.ones(4), 200), rng.dirichlet(np.ones(4), 200)
    bounds = cal.evaluate(cal.Between(q, q), p, measures=MULTI)
    ordinary = cal.evaluate(q, p, measures=MULTI)
    assert bounds.low == bounds.high == ordinary.values


def test_predictions_between_the_ends_may_be_perfect():
    p = np.linspace(0.1, 0.9, 50)
    bounds = cal.evaluate(cal.Between(p - 0.05, p + 0.05), p)
    assert bounds["SMECE"].low == bounds["brier"].low == bounds["lin_ce"].low == 0.0
    assert bounds["ece"].high == pytest.approx(0.05)


def test_rows_of_frames_logits_weights_and_gaps():
    p, lo, hi, w, _ = binary_case(14, n=30)
    frame = need("polars").DataFrame({"p": p, "lo": lo, "hi": hi, "w": w})
    plain = cal.evaluate(cal.Between(lo, hi), p, sample_weight=w)
    named = cal.evaluate(cal.Between("lo", "hi"), "p", data=frame, sample_weight="w")
    assert named.to_dict() == plain.to_dict()
    logits = cal.evaluate(
        cal.Between(lo, hi), np.log(p / (1 - p)), from_logits=True, sample_weight=w
    )
    assert logits.high == pytest.approx(plain.high)
    gaps = np.where(np.arange(30) == 4, np.nan, hi)
    with pytest.raises(cal.InputError, match=re.escape("y_true[4]")):
        cal.evaluate(cal.Between(lo, gaps), p)
    kept = np.arange(30) != 4
    dropped = cal.evaluate(cal.Between(lo, gaps), p, missing="drop")
    assert dropped.low == cal.evaluate(cal.Between(lo[kept], hi[kept]), p[kept]).low
    assert dropped.recipe["n_missing"] == 1 and "1 row was dropped" in dropped.notes[0]


def test_classes_named_by_columns():
    p, lo, hi, *_ = class_case(15, n=20)
    columns = {
        f"{name}{r}": x[:, r] for name, x in (("p", p), ("a", lo), ("b", hi)) for r in (0, 1, 2)
    }
    names = [[f"{name}{r}" for r in (0, 1, 2)] for name in "pab"]
    found = cal.evaluate(
        cal.Between(names[1], names[2]), names[0], data=need("polars").DataFrame(columns)
    )
    assert found.low == cal.evaluate(cal.Between(lo, hi), p).low


def test_the_table_of_bins_and_its_diagram():
    need("matplotlib")
    bounds = cal.evaluate(cal.Between([0.1, 0.6, 0.7], [0.3, 0.9, 0.8]), [0.25, 0.55, 0.5], bins=2)
    bins = bounds.reliability.columns()
    assert bins["low"] == pytest.approx([0.1, 0.65]) and bins["high"] == pytest.approx([0.3, 0.85])
    assert bins["gap_low"] == pytest.approx([0.0, 0.125])
    assert bins["gap_high"] == pytest.approx([0.15, 0.325])
    display = bounds.plot(name="mine")
    (first, second) = (segment[:, 1] for segment in display.intervals_.get_segments())
    assert first == pytest.approx([0.1, 0.3]) and second == pytest.approx([0.65, 0.85])
    assert display.line_.get_ydata() == pytest.approx([0.25, 0.65])
    assert display.line_.get_label() == "mine: SMECE 0.083 to 0.267"
    assert display.line_.get_linestyle() == "None"
    assert "<svg" in bounds._repr_html_()


def test_the_report_is_a_page_of_bounds(tmp_path):
    need("jinja2")
    need("altair")
    need("vl_convert")
    need("matplotlib")
    p, lo, hi, *_ = binary_case(16, n=50)
    bounds = cal.report(cal.Between(lo, hi), p, name="my sets", measures=["brier"], source="a file")
    assert list(bounds) == ["ece", "brier"]
    page = bounds.save(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<title>my sets" in page and bounds.sentence in page and "a file" in page
    assert bounds.to_dict()["bounds"][1]["high"] == bounds["brier"].high


@pytest.mark.parametrize(
    ("lo", "hi", "p", "options", "message"),
    [
        ([0.5], [0.4], [0.1], {}, "lo[0] is 0.5, above hi[0], which is 0.4"),
        ([0.5], [1.4], [0.1], {}, "hi[0] is 1.4"),
        ([0.5], [0.6, 0.7], [0.1], {}, "one shape"),
        (["a"], ["b"], [0.1], {}, "must be bounds of labels, numbers"),
        ("a", "b", [0.1], {}, "there is no data="),
        ([0.5], [0.6], [[0.1, 0.9]], {}, "one column per class"),
        ([[0.5, 0.6]], [[1, 1]], [[0.1, 0.9]], {}, "lo[0] sums to 1.1"),
        ([[0.0, 0.1]], [[0.2, 0.3]], [[0.1, 0.9]], {}, "hi[0] sums to 0.5"),
        ([0.1], [0.2], [0.1], {"uncertainty": True}, "uncertainty needs known labels"),
        ([0.1], [0.2], [0.1], {"votes": 3}, "votes needs known labels"),
        ([0.1], [0.2], [0.1], {"measures": ["smooth_ece"]}, "ece, rmsce, mce"),
    ],
)
def test_errors_say_what_is_wrong(lo, hi, p, options, message):
    with pytest.raises(cal.InputError, match=re.escape(message)):
        cal.evaluate(cal.Between(lo, hi), p, **options)


@pytest.mark.parametrize(
    "function", [cal.ece, cal.check, cal.reliability, cal.interval, cal.recommend]
)
def test_other_functions_name_evaluate(function):
    more = {"at_most": {"ece": 0.1}} if function is cal.check else {}
    with pytest.raises(cal.InputError, match=re.escape("evaluate(...) and report(...)")):
        function(cal.Between([0.1, 0.2], [0.3, 0.4]), [0.2, 0.3], **more)


def test_many_classes_have_no_largest_brier_score():
    q = np.full((2, 9), 1 / 9)
    bounds = cal.evaluate(cal.Between(q / 2, np.minimum(2 * q, 1)), q)
    assert "brier" not in bounds.low and "at most 8 classes" in bounds.notes[-1]
    with pytest.raises(cal.NotDefined, match="at most 8 classes"):
        cal.evaluate(cal.Between(q / 2, 2 * q), q, measures=["brier"])
