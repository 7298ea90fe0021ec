"""The clinical summary: against R's loess, formulas by hand, and rows that give no answer."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

import calibrant as cal
import twins
from calibrant._inference.cells import Cells, Drawn, Problem
from calibrant._inference.clinical import scaled_brier
from calibrant._measures.local_regression import (
    Vertices,
    e50s,
    e90s,
    emaxs,
    icis,
    local_fit,
    local_fits,
)
from clinical_worlds import limits_that_hold

KEYS = [
    "slope", "intercept", "intercept_in_the_large", "observed_expected", "c_statistic", "brier",
    "scaled_brier", "ici", "e50", "e90", "emax",
]  # fmt: skip
# R: cars.lo <- loess(dist ~ speed, cars); predict(cars.lo, data.frame(speed = ...)), as in ?loess.
CARS_SPEED = [4, 4, 7, 7, 8, 9, 10, 10, 10, 11, 11, 12, 12, 12, 12, 13, 13, 13, 13, 14, 14, 14, 14,
              15, 15, 15, 16, 16, 17, 17, 17, 18, 18, 18, 18, 19, 19, 19, 20, 20, 20, 20, 20, 22,
              23, 24, 24, 24, 24, 25]  # fmt: skip
CARS_DIST = [2, 10, 4, 22, 16, 10, 18, 26, 34, 17, 28, 14, 20, 24, 28, 26, 34, 34, 46, 26, 36, 60,
             80, 20, 26, 54, 32, 40, 32, 40, 50, 42, 56, 76, 84, 36, 46, 68, 32, 48, 52, 56, 64, 66,
             54, 70, 92, 93, 120, 85]  # fmt: skip
R_LOESS = {7: 12.499786, 8: 15.281082, 9: 18.446568, 10: 21.865315, 11: 25.517015, 12: 29.350386,
           13: 33.230660, 15: 41.205226, 16: 45.055736, 17: 48.355889, 18: 49.824812,
           19: 51.986702, 20: 56.461318, 22: 68.569313, 23: 76.316068, 24: 85.212121,
           25: 95.324047}  # fmt: skip


def data_a() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r = np.random.default_rng(12345)
    p = r.random(2000)
    return (r.random(2000) < p**1.3).astype(int), p, r.random(2000)


def test_the_curve_is_that_of_r() -> None:
    """The same 37 of 50 neighbours; 14 is left out, where R breaks a tie by the number of a row."""
    u, at = np.unique(np.array(CARS_SPEED, dtype=float), return_inverse=True)
    curve = local_fit(u, np.bincount(at).astype(float), np.bincount(at, CARS_DIST), 37 / 50)
    found = dict(zip(u.astype(int).tolist(), curve.tolist(), strict=True))
    assert {s: found[s] for s in R_LOESS} == pytest.approx(R_LOESS, abs=1e-6)


@pytest.mark.parametrize("kind", ["tied", "crowded", "few", "weighted"])
def test_the_curve_agrees_with_its_twin(kind: str) -> None:
    rng = np.random.default_rng(len(kind))
    p = {
        "tied": rng.integers(0, 21, 60) / 20,
        "crowded": rng.beta(0.1, 0.1, 60),
        "few": rng.choice([0.1, 0.3, 0.4, 0.8, 0.9], 60),
        "weighted": rng.random(60),
    }[kind]
    y = (rng.random(60) < p).astype(float)
    w = rng.integers(0, 4, 60).astype(float) if kind == "weighted" else np.ones(60)
    problem = twins.Problem(p.tolist(), y.tolist(), w.tolist())
    u, at = np.unique(p[w > 0], return_inverse=True)
    sums = np.bincount(at, w[w > 0]), np.bincount(at, (w * y)[w > 0])
    assert local_fit(u, *sums) == pytest.approx(twins.loess(problem, u.tolist()), abs=1e-7)


@pytest.mark.parametrize("kind", ["many", "on a line"])
def test_curves_of_draws_are_those_of_each(kind: str) -> None:
    """Of weights that are alike in all draws, and of targets that differ."""
    rng = np.random.default_rng(4)
    u = (
        np.sort(rng.random(80))
        if kind == "many"
        else np.repeat([0.1, 0.5], 40) + 1e-9 * rng.random(80)
    )
    u, w = np.sort(u), rng.integers(1, 9, 80).astype(float)
    wz = rng.binomial(w.astype(int), u, (5, 80)).astype(float)
    zeros = np.zeros(80, dtype=np.intp)
    cells = Cells(zeros, zeros, 1, w, w, w, u, wz[0], wz[0])
    weights = np.broadcast_to(w, wz.shape)
    drawn = Drawn(cells, weights, weights * u, wz, wz)
    each = np.array([local_fit(u, w, row) for row in wz])
    np.testing.assert_allclose(local_fits(drawn), each, rtol=1e-9, atol=1e-12)
    far = np.abs(each - u)
    assert icis(drawn) == pytest.approx(far @ w / w.sum(), rel=1e-9)
    rows = [np.sort(np.repeat(row, w.astype(int))) for row in far]
    assert e50s(drawn) == pytest.approx([np.median(row) for row in rows], rel=1e-9)
    nine = [
        (row[math.ceil(0.9 * row.size) - 1] + row[math.floor(0.9 * row.size)]) / 2 for row in rows
    ]
    assert e90s(drawn) == pytest.approx(nine, rel=1e-9)
    assert emaxs(drawn) == pytest.approx(far.max(axis=1), rel=1e-9)


def test_three_places_or_fewer_are_as_they_are() -> None:
    y, p = [0, 1, 1, 0, 1, 1], [0.2, 0.2, 0.5, 0.5, 0.9, 0.9]
    assert cal.ici(y, p) == pytest.approx((0.3 + 0.0 + 0.1) / 3)
    assert cal.ici(y, p, part="emax") == pytest.approx(0.3)
    assert cal.ici([1, 0], [0.7, 0.7]) == pytest.approx(0.2)


def test_the_values_are_those_of_other_tools_and_of_formulas() -> None:
    y, p, _ = data_a()
    found = cal.clinical_summary(y, p, n_resamples=200)
    assert list(found) == KEYS and len(found) == 11
    assert found["slope"] == pytest.approx(1.0645882587809685, abs=1e-6)  # calzone
    assert found["intercept"] == pytest.approx(-0.3882699312169107, abs=1e-6)
    assert found["observed_expected"] == pytest.approx(y.sum() / p.sum())
    assert found["c_statistic"] == pytest.approx(cal.auroc(y, p))
    assert found["brier"] == pytest.approx(((p - y) ** 2).mean())
    base = y.mean() * (1 - y.mean())
    assert found["scaled_brier"] == pytest.approx(1 - ((p - y) ** 2).mean() / base)
    assert found["ici"] == cal.ici(y, p) and found["emax"] == cal.ici(y, p, part="emax")
    assert found["e50"] == cal.evaluate(y, p, measures=["e50"])["e50"] < found["e90"]
    for name, value in found.items():
        assert value.low < value < value.high and value.method and value.title, name
        assert value.value == float(value) and value.estimable
    # The truth is p ** 1.3: on the whole 1 / 2.3 events a row, where 1 / 2 are predicted.
    assert found["observed_expected"].low < 2 / 2.3 < found["observed_expected"].high


def test_weights_are_repetitions() -> None:
    y, p, _ = (part[:60] for part in data_a())
    w = np.random.default_rng(0).integers(1, 4, 60)
    weighted = cal.clinical_summary(y, p, sample_weight=w, n_resamples=100)
    repeated = cal.clinical_summary(np.repeat(y, w), np.repeat(p, w), n_resamples=100)
    assert {k: float(v) for k, v in weighted.items()} == pytest.approx(
        {k: float(v) for k, v in repeated.items()}, rel=1e-8
    )


def test_limits_hold_the_truth() -> None:
    """Of three samples, two or more with a chance of 0.99; `make long` has ten."""
    inside = limits_that_hold(3)
    assert min(inside.values()) >= 2, inside


@pytest.mark.parametrize("sharper", [0.7, 1.0, 1.5])
def test_the_scaled_brier_score_of_few_events(sharper: float) -> None:
    """Six events in 200 rows: what these lost did not tell what others would, and the truth was
    outside in 9 to 32 of 100 samples.
    """
    rng = np.random.default_rng(5)
    h = rng.normal(-4.0, 1.0, 200_000)
    q, u = 1 / (1 + np.exp(-h)), 1 / (1 + np.exp(-sharper * h))
    mean = q.mean()
    truth = 1 - (q * (1 - u) ** 2 + (1 - q) * u**2).mean() / (mean * (1 - mean))
    outside = 0
    for _ in range(60):
        rows = rng.integers(0, h.size, 200)
        y = (rng.random(200) < q[rows]).astype(float)
        problem = Problem(u[rows], y, None, np.zeros(200, np.intp), 1, hard=True)
        found = scaled_brier(problem, None, 0.95)
        outside += y.any() and not found.low <= truth <= found.high
    assert outside <= 7  # at 5 % more have a chance of 2 in 1,000, at 30 % fewer one of 5 in 10,000


def test_the_scaled_brier_score_of_next_to_no_event() -> None:
    y = np.zeros(100, int)
    y[0] = 1
    one = cal.clinical_summary(y, np.linspace(0.02, 0.04, 100), n_resamples=50)["scaled_brier"]
    assert -10 < one.low < -1 and one.high < 0.1  # there may be one in 4,000, or six in 100
    y[:3] = 1
    constant = cal.clinical_summary(y, np.full(100, 0.03), n_resamples=50)["scaled_brier"]
    assert constant == pytest.approx(0.0) and constant.high == pytest.approx(0.0, abs=1e-9)
    assert constant.low < -0.03  # the rate itself is not known


def test_one_outcome_is_not_estimable() -> None:
    found = cal.clinical_summary([0] * 5, [0.1, 0.2, 0.3, 0.2, 0.4], n_resamples=100)
    for name in ("slope", "intercept", "intercept_in_the_large", "c_statistic", "scaled_brier"):
        value = found[name]
        assert not value.estimable and value.value is None and math.isnan(value), name
        assert value.note and repr(value).startswith("not estimable: ")
    assert found["observed_expected"] == 0.0 and found["observed_expected"].high > 1
    assert found["brier"].estimable and "not estimable" in repr(found)
    assert found.to_dict()["values"]["slope"]["value"] is None


def test_separation_is_not_estimable() -> None:
    y, p = [0] * 20 + [1] * 20, np.linspace(0.05, 0.95, 40)
    found = cal.clinical_summary(y, p, n_resamples=100)
    assert not found["slope"].estimable and "separate the outcomes" in found["slope"].note
    assert found["intercept_in_the_large"].estimable
    assert found["c_statistic"] == 1.0 and found["c_statistic"].low < 0.9


def test_subgroups_frames_and_pickles() -> None:
    pd = pytest.importorskip("pandas")
    y, p, w = (part[:300] for part in data_a())
    frame = pd.DataFrame({"y": y, "p": p, "sex": np.where(w > 0.5, "f", "m")})
    found = cal.clinical_summary("y", "p", data=frame, by="sex", n_resamples=100)
    own = frame[frame.sex == "f"]
    alone = cal.clinical_summary(own.y, own.p, n_resamples=100)
    assert found.subgroup("f")["ici"] == alone["ici"] and found.by == "sex"
    assert found.subgroup("f")["slope"].low == alone["slope"].low
    table = found.to_frame("pandas")
    assert table.shape == (33, 9) and set(table["subgroup"]) == {"all", "f", "m"}
    again = pickle.loads(pickle.dumps(found))
    assert again["slope"] == found["slope"] and again["slope"].low == found["slope"].low
    with pytest.raises(cal.InputError, match="no subgroup is called"):
        found.subgroup("x")
    with pytest.raises(KeyError, match="slope"):
        found["slpe"]


def test_evaluate_has_it_for_binary_outcomes() -> None:
    y, p, w = (part[:100] for part in data_a())
    found = cal.evaluate(y, p, uncertainty=True, n_resamples=50, by=np.where(w > 0.5, "a", "b"))
    assert found.clinical is not None and list(found.clinical.subgroups) == ["a", "b"]
    alone = cal.clinical_summary(y, p, n_resamples=50)
    # The summary shares the resamples of the evaluation, whatever its bins: the same limits.
    binned = cal.evaluate(y, p, uncertainty=True, n_resamples=50, bins=7).clinical
    for name, value in alone.items():
        for other in (found.clinical, binned):
            assert (other[name].low, other[name], other[name].high) == (
                value.low,
                value,
                value.high,
            )
    assert "ici" not in found.values  # it is in the summary
    assert cal.evaluate(y, p).clinical is None
    rows = np.stack([1 - p, p / 2, p / 2], axis=1)
    few = cal.evaluate(y, rows, uncertainty=True, n_resamples=50, measures=["ece"])
    assert few.clinical is None
    with pytest.raises(cal.InputError, match="needs one outcome"):
        cal.clinical_summary(y, rows)
    with pytest.raises(cal.InputError, match="needs one outcome"):
        cal.ici(y, rows)
    with pytest.raises(cal.InputError, match="did you mean 'e90'"):
        cal.ici(y, p, part="e95")


@pytest.mark.parametrize("span", [0.75, 0.3, 0.05])
def test_a_vertex_reaches_the_share_of_the_weight_that_it_should(span):
    """Every distance is tried, where the library bisects those of all vertices at once."""
    rng = np.random.default_rng(4)
    for n in (5, 9, 40, 150):
        u = np.unique(rng.random(n).round(2))
        w = rng.integers(1, 4, u.size).astype(float)
        found = Vertices.from_levels(u, w, span)
        for v, reach in zip(found.at, found.reach, strict=True):
            far = np.abs(u - v)
            within = np.array([w[far <= d * (1 + 1e-14)].sum() for d in far])
            enough = far[within >= span * w.sum() * (1 - 1e-12)].min()
            fourth = np.sort(far)[3] if u.size > 3 else 0.0
            assert reach == max(enough, fourth)


def test_rows_and_events_are_told_in_one_unit():
    y, p = np.array([0, 1, 0, 1] * 9), np.array([0.1, 0.6, 0.5, 0.3] * 9)
    plain = cal.clinical_summary(y, p, n_resamples=50)
    assert plain.n_weighted is None and "36 rows, 18 events;" in plain.title
    found = cal.clinical_summary(y, p, sample_weight=np.full(36, 2.5), n_resamples=50)
    assert "36 rows, 45 events of a total weight of 90;" in found.title
    assert found.to_dict()["n"] == 36


def test_a_case_control_sample_is_reweighted_to_its_prevalence():
    """The twin: a sample in which each kind of row is repeated until its share is right."""
    rng = np.random.default_rng(8)
    p = rng.beta(1.0, 2.0, 200)
    y = (rng.random(200) < p).astype(int)
    y[:2] = 0, 1
    cases, others = int(y.sum()), int((1 - y).sum())
    # One event in five: 1 * cases * others against 4 * cases * others.
    times = np.where(y == 1, others, 4 * cases)
    twin = cal.clinical_summary(np.repeat(y, times), np.repeat(p, times), n_resamples=50)
    found = cal.clinical_summary(y, p, prevalence=0.2, n_resamples=50)
    assert {k: float(v) for k, v in found.items()} == pytest.approx(dict(twin), rel=1e-7)
    assert found["c_statistic"] == pytest.approx(cal.auroc(y, p), rel=1e-12)
    assert found.prevalence == 0.2
    assert "40 events of a total weight of 200, reweighted to a prevalence of 0.2" in found.title
    assert math.isnan(found["ici"].low) and "weights depend" in found["ici"].note
    assert found["slope"].low < found["slope"] < found["slope"].high
    part = cal.clinical_summary(y, p, prevalence=0.2, by=p > 0.4, n_resamples=50).subgroup("True")
    assert part["observed_expected"] < found["observed_expected"] * 2 and part.prevalence == 0.2


def test_limits_of_a_case_control_sample_hold():
    """150 events and 150 others of a population in which one in twenty has the event."""
    rng = np.random.default_rng(3)
    h = rng.normal(-3.8, 1.2, 400_000)
    q, u = 1 / (1 + np.exp(-h)), 1 / (1 + np.exp(-1.3 * h - 0.6))
    y = (rng.random(h.size) < q).astype(int)
    mean = y.mean()
    all_rows = cal.cox_calibration(y, u)
    truth = {
        "slope": all_rows.slope,
        "intercept_in_the_large": all_rows.intercept_at_slope_1,
        "observed_expected": mean / u.mean(),
        "c_statistic": cal.auroc(y, u),
    }
    inside = dict.fromkeys(truth, 0)
    for _ in range(15):
        rows = np.concatenate([rng.choice(np.flatnonzero(y == one), 150) for one in (0, 1)])
        found = cal.clinical_summary(y[rows], u[rows], prevalence=mean, n_resamples=50)
        for name, value in truth.items():
            inside[name] += found[name].low <= value <= found[name].high
    assert min(inside.values()) >= 12, inside  # at 95 % fewer have a chance of 0.5 %


def test_what_prevalence_cannot_do():
    y, p = [0, 1, 0, 1], [0.1, 0.6, 0.5, 0.3]
    with pytest.raises(cal.InputError, match=r"prevalence must be the share .* got 5"):
        cal.clinical_summary(y, p, prevalence=5)
    with pytest.raises(cal.InputError, match="soft labels"):
        cal.clinical_summary([0, 0.5, 0, 1], p, prevalence=0.1)
    with pytest.raises(cal.InputError, match="every outcome is 0"):
        cal.clinical_summary([0, 0, 0, 0], p, prevalence=0.1)


def test_the_table_of_a_paper():
    y, p, w = (part[:300] for part in data_a())
    group = np.where(w > 0.5, "A & B", "c")
    found = cal.clinical_summary(y, p, by=group, n_resamples=50)
    columns, slope = found.paper_columns(), found["slope"]
    assert list(columns) == ["quantity", "all rows", "A & B", "c"]
    text = f"{slope:.2f} ({slope.low:.2f} to {slope.high:.2f})"
    assert columns["all rows"][:3] == ["300", str(y.sum()), text]
    latex = found.to_latex(caption="50% more", label="tab:a")
    assert rf"calibration slope & {text} &" in latex and r"& A \& B &" in latex
    assert r"\caption{50\% more}" in latex and latex.count(r" \\") == 14
    assert f"| calibration slope | {text} |" in found.to_markdown()
    alone = cal.clinical_summary([0] * 5, [0.1, 0.2, 0.3, 0.2, 0.4], n_resamples=50)
    assert "| C-statistic | not estimable |" in alone.to_markdown()
