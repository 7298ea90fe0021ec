"""Every engine takes every documented option of every measure, or refuses it in our words."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant._core.errors import InputError
from every_engine import call

RNG = np.random.default_rng(22)
N, K = 90, 3
P = np.concatenate([RNG.random(N // 2), np.round(RNG.random(N // 2), 1)])
LOGITS = RNG.normal(size=(N, K)) * 2
ROWS = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
NAMED = {
    "p": [f"p{r}" for r in range(K)],
    "h": [f"h{r}" for r in range(K)],
    "q": [f"q{r}" for r in range(K)],
}
COLUMNS: dict[str, Any] = {
    "y": (RNG.random(N) < P).astype(np.int64),
    "s": np.round(np.clip(P + RNG.normal(0, 0.2, N), 0, 1), 3),
    "p": P,
    "h": LOGITS[:, 0].copy(),
    "label": RNG.integers(0, K, N),
    "w": RNG.integers(0, 4, N).astype(np.float64),
    **dict(zip(NAMED["p"], ROWS.T.copy(), strict=True)),
    **dict(zip(NAMED["h"], LOGITS.T.copy(), strict=True)),
    **dict(zip(NAMED["q"], RNG.dirichlet(np.ones(K), N).T.copy(), strict=True)),
}
BINARY, SOFT, MULTI, SOFT_ROWS = (
    ("y", "p"), ("s", "p"), ("label", NAMED["p"]), (NAMED["q"], NAMED["p"]),
)  # fmt: skip
BINS = [
    5, cal.EqualWidth(5, "right"), cal.EqualWidth(5, drop_one=True), cal.Quantile(4),
    cal.Quantile(4, ties="rank"), cal.Edges([0, 0.2, 0.7, 1]), cal.LevelSets(), "quantile",
]  # fmt: skip
NORMS = ["l1", "l2", "max"]
LOSSES = [
    cal.brier_score, cal.log_loss, cal.spherical_loss, cal.classification_error,
    cal.confidence_loss, cal.dist_ce, cal.ent_ce, cal.rank_cs, cal.brier_decomposition,
]  # fmt: skip


def cases() -> list[Any]:
    """Functions with columns and options: each option by itself, and some together."""
    out: list[tuple[Any, Any, dict[str, Any]]] = []
    for bins in BINS:
        out += [(cal.ece, BINARY, {"bins": bins}), (cal.reliability, MULTI, {"bins": bins})]
        out += [(cal.ece, MULTI, {"bins": bins, "notion": "classwise"})]
        out += [(cal.debiased_l2, SOFT, {"bins": bins, "sample_weight": "w"})]
        out += [(cal.lin_ce, BINARY, {"bins": bins}), (cal.lin_ce, MULTI, {"bins": bins})]
        out += [(cal.classwise_ce, SOFT_ROWS, {"bins": bins, "sample_weight": "w"})]
        out += [(cal.confidence_ce, MULTI, {"bins": bins, "corrected": bins == 5})]
        out += [(cal.brier_decomposition, BINARY, {"bins": bins})]
        out += [(cal.ace, BINARY, {"bins": bins}), (cal.tace, MULTI, {"bins": bins})]
    for norm in NORMS:
        out += [(cal.ece, MULTI, {"norm": norm}), (cal.soft_ece, SOFT_ROWS, {"norm": norm})]
        out += [(cal.ace, MULTI, {"norm": norm}), (cal.ace, SOFT, {"norm": norm})]
        out += [(cal.tace, BINARY, {"norm": norm, "threshold": 0.3})]
        out += [(cal.sweep_ece, MULTI, {"norm": norm})]
    for phi in ([0, 1, 2], [[1, 0], [0, 1], [1, 1]], [[5], [5], [5]], np.eye(3)):
        for columns in (MULTI, SOFT_ROWS):
            out += [(cal.lin_ce, columns, {"phi": phi, "bins": bins}) for bins in (3, BINS[1])]
        out += [(cal.lin_ce, MULTI, {"phi": phi, "sample_weight": "w"})]
    for notion in ("confidence", "classwise", "binary", "full"):
        for columns in (BINARY, MULTI):
            for function in (cal.ece, cal.ks_error, cal.sweep_ece, cal.smooth_ece, cal.ls_ece):
                out += [(function, columns, {"notion": notion})]
    for sigma in (0.1, 1.0, "schedule"):
        out += [(cal.ls_ece, SOFT, {"sigma": sigma, "sample_weight": "w"})]
        out += [(cal.ls_ece, MULTI, {"sigma": sigma, "eps": 1e-3})]
    out += [(cal.ls_ece, BINARY, {"noise": "uniform"})]
    rng = {"method": "monte-carlo", "n_draws": 50}
    out += [(cal.ls_ece, BINARY, rng), (cal.smooth_ece, MULTI, {"sigma": 0.1})]
    for kind in ("unit", "logit"):
        out += [(cal.smooth_reliability, columns, {"kind": kind}) for columns in (BINARY, MULTI)]
    for function in (cal.ece, cal.ace, cal.tace, cal.lin_ce, cal.ls_ece, cal.smooth_ece, *LOSSES):
        out += [(function, ("y", "h"), {"from_logits": True})]
        out += [(function, ("label", NAMED["h"]), {"from_logits": True, "sample_weight": "w"})]
    for function in LOSSES:
        out += [(function, columns, {"sample_weight": "w"}) for columns in (SOFT, SOFT_ROWS)]
    return [
        pytest.param(*each, id=f"{j} {each[0].__name__} {_said(each[2])}")
        for j, each in enumerate(out)
    ]


def _said(options: dict[str, Any]) -> str:
    return " ".join(f"{name}={str(value)[:24]}" for name, value in options.items())


CASES = cases()


def found(engine: str, function: Any, columns: Any, options: dict[str, Any]) -> Any:
    """The numbers, or the error that says why not."""
    rng = {"rng": np.random.default_rng(1)} if "n_draws" in options else {}
    try:
        result = call(engine, function, COLUMNS, *columns, **options, **rng)
    except InputError as error:
        return error
    if isinstance(result, cal.SmoothCurve):
        # Where next to nothing lies, the mean target is a ratio of roundings.
        return np.stack(
            [result.columns()[name] for name in ("prediction", "density", "difference")]
        )
    if dataclasses.is_dataclass(result) and hasattr(result, "table"):
        return result.table.sums  # type: ignore[attr-defined]
    return dataclasses.astuple(result) if dataclasses.is_dataclass(result) else result


def held_against_arrays(engine: str, function: Any, columns: Any, options: dict[str, Any]) -> None:
    expected = found("native", function, columns, options)
    value = found(engine, function, columns, options)
    if isinstance(expected, InputError):
        # What makes no sense in memory makes none elsewhere.
        assert isinstance(value, InputError)
    elif isinstance(value, InputError):
        # In our words: what is needed, and what to do.
        assert "collect the frame" in str(value), value
        assert engine not in ("torch", "numpy")
    else:
        np.testing.assert_allclose(value, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("engine", ["polars streaming", "duckdb", "torch"])
@pytest.mark.parametrize(("function", "columns", "options"), CASES)
def test_every_option_is_taken_or_refused_in_our_words(engine, function, columns, options):
    held_against_arrays(engine, function, columns, options)


# A Spark query takes seconds to plan: what is special there, and one of each kind.
SPARK = [
    (cal.lin_ce, MULTI, {"phi": [0, 1, 2], "bins": 3}),
    (cal.lin_ce, SOFT_ROWS, {"phi": [[5], [5], [5]], "bins": cal.EqualWidth(5, "right")}),
    (cal.lin_ce, MULTI, {"phi": [[1, 0], [0, 1], [1, 1]], "sample_weight": "w"}),
    (cal.ace, BINARY, {"bins": cal.Quantile(4)}),
    (cal.ece, MULTI, {"bins": cal.Quantile(4, ties="rank")}),
    (cal.ls_ece, BINARY, {"noise": "uniform"}),
]


@pytest.mark.parametrize("engine", ["dask", "ibis", "spark"])
@pytest.mark.parametrize(("function", "columns", "options"), SPARK)
def test_some_options_in_the_other_engines(engine, function, columns, options):
    held_against_arrays(engine, function, columns, options)
