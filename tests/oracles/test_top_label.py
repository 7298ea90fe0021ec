"""Calibration of the top label given its class: the twin under every rule and engine, streams, the
order against the ECE, and what its intervals and noise floors are of.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import calibrant as cal
import twins
from calibrant import InputError
from every_engine import call

N, K = 240, 4
NAMES = [f"p{r}" for r in range(K)]
ENGINES = ("numpy", "native", "torch", "polars streaming", "duckdb")
RULES: dict[str, tuple[Any, twins.Rule]] = {
    "count": (7, twins.equal_width(7)),
    "right": (cal.EqualWidth(10, "right"), twins.equal_width(10, "right")),
    "drop one": (cal.EqualWidth(5, drop_one=True), twins.equal_width(5, drop_one=True)),
    "edges": ([0, 0.4, 0.55, 1], twins.edges([0, 0.4, 0.55, 1])),
    "quantile": (cal.Quantile(6), twins.quantile_ties_together(6)),
    "rank": (cal.Quantile(6, ties="rank"), twins.quantile_by_rank(6)),
    "levels": (cal.LevelSets(), twins.level_sets()),
}
IN_ORDER = ("rank", "levels")


def columns(kind: str) -> dict[str, Any]:
    rng = np.random.default_rng(3)
    p = rng.dirichlet(np.full(K, 0.7), N)
    p[: N // 2] = rng.multinomial(10, np.full(K, 1 / K), N // 2) / 10  # on edges, and tied
    p[0] = [0, 0, 1, 0]
    q = rng.dirichlet(np.ones(K), N)
    out = dict(zip(NAMES, p.T.copy(), strict=True))
    out |= {f"q{r}": q[:, r].copy() for r in range(K)} if kind == "soft" else {}
    return out | {"y": rng.integers(0, K, N), "w": rng.integers(0, 4, N).astype(float)}


def rows_of(data: dict[str, Any], kind: str) -> tuple[Any, Any, Any]:
    p = np.stack([data[name] for name in NAMES], axis=1).tolist()
    if kind == "soft":
        return p, np.stack([data[f"q{r}"] for r in range(K)], axis=1).tolist(), data["w"].tolist()
    return p, [twins.one_hot(y, K) for y in data["y"].tolist()], data["w"].tolist()


@pytest.mark.parametrize("kind", ["hard", "soft"])
@pytest.mark.parametrize("rule", RULES)
def test_every_engine_has_the_number_of_the_twin(rule, kind):
    data, (given, twin) = columns(kind), RULES[rule]
    # What takes long has every rule with labels of one kind, and either kind with half of them.
    quick = (list(RULES).index(rule) + (kind == "soft")) % 2 == 1
    y: Any = [f"q{r}" for r in range(K)] if kind == "soft" else "y"
    for norm in ("l1", "l2", "max"):
        expected = twins.top_label_error(*rows_of(data, kind), twin, norm)
        engines = ENGINES[: -1 if quick else None] if norm == "l1" else ("native", "torch")
        for engine in engines:
            if rule in IN_ORDER and engine not in ("numpy", "native", "torch"):
                with pytest.raises(InputError, match="frame"):
                    call(engine, cal.top_label_ece, data, y, NAMES, bins=given)
                continue
            found = call(
                engine, cal.top_label_ece, data, y, NAMES, bins=given, sample_weight="w", norm=norm
            )
            assert found == pytest.approx(expected, rel=1e-12), (engine, norm)


def test_predictions_from_logits_and_in_float32_are_the_same_on_every_engine():
    data = columns("hard")
    logits = {name: np.log(data[name] + 0.05) for name in NAMES} | {"y": data["y"]}
    values = [
        call(engine, cal.top_label_ece, logits, "y", NAMES, from_logits=True) for engine in ENGINES
    ]
    assert values == pytest.approx([values[0]] * len(values), rel=1e-12)
    single = {name: data[name].astype(np.float32) for name in NAMES} | {"y": data["y"]}
    values = [call(engine, cal.top_label_ece, single, "y", NAMES) for engine in ENGINES]
    assert values == pytest.approx([values[0]] * len(values), rel=1e-12)


def test_streams_hold_its_sums_where_it_is_named_and_merge():
    rng = np.random.default_rng(5)
    p, y = rng.dirichlet(np.ones(K), N), rng.integers(0, K, N)
    parts = [cal.Accumulator(measures=["ece", "TL-ECE"]) for _ in range(2)]
    parts[0].update(y[:100], p[:100])
    parts[1].update(y[100:], p[100:])
    whole = parts[0].merge(parts[1])
    assert whole.packed()["by_class"].shape == (K, 15, 9)
    assert whole.packed()["by_class"][..., 0].sum() == N
    assert whole.evaluate()["top_label_ece"] == pytest.approx(cal.top_label_ece(y, p), rel=1e-12)
    usual = cal.Accumulator().update(y, p)
    assert "by_class" not in usual.packed()
    with pytest.raises(InputError, match=r"not for 'top_label_ece': name it with measures="):
        usual.evaluate(measures=["top_label_ece"])


def test_the_error_by_class_is_never_below_the_ece_and_equal_where_one_class_is_predicted():
    rng = np.random.default_rng(8)
    for _ in range(20):
        p, y = rng.dirichlet(np.full(K, 0.5), 90), rng.integers(0, K, 90)
        assert cal.top_label_ece(y, p) >= cal.ece(y, p) - 1e-15
        one = np.sort(p, axis=1)
        assert cal.top_label_ece(y, one) == pytest.approx(cal.ece(y, one), rel=1e-13)


def test_classes_that_are_never_predicted_change_nothing():
    rng = np.random.default_rng(9)
    p, y = rng.dirichlet(np.ones(3), 60), rng.integers(0, 3, 60)
    wider = np.hstack([p, np.zeros((60, 40))])
    assert cal.top_label_ece(y, wider) == pytest.approx(cal.top_label_ece(y, p), rel=1e-13)


def by_class(n: int, seed: int) -> tuple[Any, Any, float]:
    """Too high where class 0 is predicted, and as much too low where 1 is: an ECE of 0."""
    rng = np.random.default_rng(seed)
    top, c = rng.integers(0, 2, n), 0.7
    p = np.where(top[:, None] == np.arange(3), c, 0.15)
    right = rng.random(n) < c + np.where(top == 0, -0.1, 0.1)
    return np.where(right, top, 2), p, 0.1


def test_what_cancels_between_classes_is_found_and_judged():
    y, p, true = by_class(4000, 0)
    result = cal.evaluate(y, p, measures=["ece", "top_label_ece"], uncertainty=True)
    ece, given = result.estimate("ece"), result.estimate("top_label_ece")
    assert ece.value < 0.02 and given.value == pytest.approx(true, abs=0.02)
    assert given.interval.low < true < given.interval.high and given.interval.low > 0.05
    assert given.noise_floor.p_value < 1e-2 < ece.noise_floor.p_value
    assert cal.check(y, p, at_most={"top_label_ece": 0.05}).code == 1


def test_intervals_hold_the_true_value():
    held = 0
    for seed in range(40):
        y, p, true = by_class(500, seed)
        found = cal.interval(y, p, measure="top_label_ece", n_resamples=200)
        held += found.low <= true <= found.high
    assert held >= 35


def test_more_bins_than_can_be_drawn_are_resampled_as_rows(set_limits):
    y, p, true = by_class(600, 1)
    set_limits(drawn_bins=1)
    found = cal.interval(y, p, measure="top_label_ece", n_resamples=100)
    assert "bootstrap" in found.method and found.low < true < found.high
    assert cal.noise_floor(y, p, measure="top_label_ece", n_resamples=100).p_value < 0.05


def test_comparisons_and_bin_counts_have_it():
    y, p, _ = by_class(800, 2)
    flat = 0.5 * p + 0.5 / 3
    table = cal.compare(y, {"a": p, "b": flat}, measures=["top_label_ece"], n_resamples=50)
    table = table.columns()
    expected = [cal.top_label_ece(y, p), cal.top_label_ece(y, flat)]
    assert table["top_label_ece"] == pytest.approx(expected, rel=1e-12)
    found = cal.bin_sensitivity(y, p, measures=["top_label_ece"], bins=[3, 8, 15])
    values = found["top_label_ece"]
    expected = [cal.top_label_ece(y, p, bins=m) for m in (3, 8, 15)]
    assert list(values) == pytest.approx(expected, rel=1e-12)


def test_binary_predictions_are_told_what_to_do():
    with pytest.raises(InputError, match=r"top_label_ece needs y_proba of the shape \(n, k\)"):
        cal.top_label_ece([0, 1], [0.2, 0.7])
    with pytest.raises(InputError, match="not defined for binary"):
        cal.evaluate([0, 1], [0.2, 0.7], measures=["top_label_ece"])
