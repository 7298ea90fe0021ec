"""Every engine takes every documented option of every measure, or refuses it in our words."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError
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
    ("y", "p"),
    ("s", "p"),
    ("label", NAMED["p"]),
    (NAMED["q"], NAMED["p"]),
)
BINS = [
    5,
    cal.EqualWidth(5, "right"),
    cal.EqualWidth(5, drop_one=True),
    cal.Quantile(4),
    cal.Quantile(4, ties="rank"),
    cal.Edges([0, 0.2, 0.7, 1]),
    cal.LevelSets(),
    "quantile",
]
NORMS = ["l1", "l2", "max"]
LOSSES = [
    cal.brier_score, cal.log_loss, cal.spherical_loss, cal.classification_error,
    cal.confidence_loss, cal.dist_ce, cal.ent_ce, cal.rank_cs, cal.jsd, cal.kl,
    cal.wasserstein, cal.brier_decomposition,
]  # fmt: skip


Case = tuple[Any, Any, dict[str, Any]]


def blocks() -> Iterator[list[Case]]:
    """Functions with columns and options: a block for each value of an option, functions in the
    same order in each.
    """
    for bins in BINS:
        yield [
            (cal.ece, BINARY, {"bins": bins}),
            (cal.reliability, MULTI, {"bins": bins}),
            (cal.ece, MULTI, {"bins": bins, "notion": "classwise"}),
            (cal.debiased_l2, SOFT, {"bins": bins, "sample_weight": "w"}),
            (cal.lin_ce, BINARY, {"bins": bins}),
            (cal.lin_ce, MULTI, {"bins": bins}),
            (cal.classwise_ce, SOFT_ROWS, {"bins": bins, "sample_weight": "w"}),
            (cal.confidence_ce, MULTI, {"bins": bins, "corrected": bins == 5}),
            (cal.brier_decomposition, BINARY, {"bins": bins}),
            (cal.ace, BINARY, {"bins": bins}),
            (cal.tace, MULTI, {"bins": bins}),
        ]
    for norm in NORMS:
        yield [
            (cal.ece, MULTI, {"norm": norm}),
            (cal.soft_ece, SOFT_ROWS, {"norm": norm}),
            (cal.ace, MULTI, {"norm": norm}),
            (cal.ace, SOFT, {"norm": norm}),
            (cal.tace, BINARY, {"norm": norm, "threshold": 0.3}),
            (cal.sweep_ece, MULTI, {"norm": norm}),
        ]
    for phi in ([0, 1, 2], [[1, 0], [0, 1], [1, 1]], [[5], [5], [5]], np.eye(3)):
        yield [
            *((cal.lin_ce, MULTI, {"phi": phi, "bins": bins}) for bins in (3, BINS[1])),
            (cal.lin_ce, MULTI, {"phi": phi, "sample_weight": "w"}),
            *((cal.lin_ce, SOFT_ROWS, {"phi": phi, "bins": bins}) for bins in (3, BINS[1])),
        ]
    functions = (cal.ece, cal.ks_error, cal.sweep_ece, cal.smooth_ece, cal.ls_ece)
    for notion in ("confidence", "classwise", "binary", "full"):
        yield [(f, columns, {"notion": notion}) for columns in (BINARY, MULTI) for f in functions]
    for sigma in (0.1, 1.0, "schedule"):
        yield [
            (cal.ls_ece, SOFT, {"sigma": sigma, "sample_weight": "w"}),
            (cal.ls_ece, MULTI, {"sigma": sigma, "eps": 1e-3}),
        ]
    for function in (cal.ece, cal.ace, cal.tace, cal.lin_ce, cal.ls_ece, cal.smooth_ece, *LOSSES):
        yield [
            (function, ("y", "h"), {"from_logits": True}),
            (function, ("label", NAMED["h"]), {"from_logits": True, "sample_weight": "w"}),
        ]
    for function in LOSSES:
        yield [(function, columns, {"sample_weight": "w"}) for columns in (SOFT_ROWS, SOFT)]


ALONE: list[Case] = [
    (cal.ls_ece, BINARY, {"noise": "uniform"}),
    (cal.ls_ece, BINARY, {"method": "monte-carlo", "n_draws": 50}),
    (cal.smooth_ece, MULTI, {"sigma": 0.1}),
    (cal.wasserstein, MULTI, {"positions": [0, 1, 3]}),
    (cal.wasserstein, SOFT_ROWS, {"positions": [0, 1, 3]}),
    *(
        (cal.smooth_reliability, columns, {"kind": kind})
        for kind in ("unit", "logit")
        for columns in (BINARY, MULTI)
    ),
]


def _said(options: dict[str, Any]) -> str:
    return " ".join(f"{name}={str(value)[:24]}" for name, value in options.items())


CASES: list[Case] = []
# Frames of either kind run the same expressions, which take long to build: like the colours of a
# chessboard, cases go to one or the other, so that each function meets some of an option's values
# in each, and each value some of the functions; DuckDB, which takes longest, has a ninth of them.
# Of two ways to call a function with an option, one goes to frames: what a loss sums for soft rows
# with weights it sums for soft labels too, and from logits one function has what the next has not.
# Norms are taken here, of the same sums: frames have each function with one, each norm with two.
FRAMES: list[tuple[str, ...]] = []
for row, block in enumerate(blocks()):
    for column, case in enumerate(block):
        CASES.append(case)
        if (len(block) == 2 and (row + column) % 2) or ("norm" in case[2] and (row + column) % 3):
            FRAMES.append(())
        else:
            FRAMES.append(("duckdb" if (row + column) % 9 == 2 else "polars streaming",))
CASES += ALONE
FRAMES += [(("polars streaming", "duckdb")[at % 2],) for at in range(len(ALONE))]
NAMES = [f"{j} {case[0].__name__} {_said(case[2])}" for j, case in enumerate(CASES)]


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
    if dataclasses.is_dataclass(result) and not isinstance(result, type):
        # Of two columns an array's result has a note, which is no number.
        return [each for each in dataclasses.astuple(result) if not isinstance(each, str)]
    return result


def held_against_arrays(engines: Iterable[str], case: Case) -> None:
    function, columns, options = case
    expected = found("native", function, columns, options)
    for engine in engines:
        _held(engine, found(engine, function, columns, options), expected)


def _held(engine: str, value: Any, expected: Any) -> None:
    if isinstance(expected, InputError):
        # What makes no sense in memory makes none elsewhere.
        assert isinstance(value, InputError), engine
    elif isinstance(value, InputError):
        # In our words: what is needed, and what to do.
        assert "collect the frame" in str(value), value
        assert engine not in ("torch", "numpy"), engine
    else:
        np.testing.assert_allclose(value, expected, rtol=1e-9, atol=1e-12, err_msg=engine)


@pytest.mark.parametrize("case", range(len(CASES)), ids=NAMES)
def test_every_option_is_taken_or_refused_in_our_words(case):
    held_against_arrays(("torch", *FRAMES[case]), CASES[case])


# A Spark query takes a second to plan: what is special there, and one of each kind. Weighted
# vectors are in test_lin_ece.py, and quantiles of a binary problem in every evaluation.
SPARK = [
    (cal.lin_ce, MULTI, {"phi": [0, 1, 2], "bins": 3}),
    (cal.lin_ce, SOFT_ROWS, {"phi": [[5], [5], [5]], "bins": cal.EqualWidth(5, "right")}),
    (cal.ece, MULTI, {"bins": cal.Quantile(4, ties="rank")}),
    (cal.ls_ece, BINARY, {"noise": "uniform"}),
]


@pytest.mark.parametrize("case", SPARK, ids=[f"{c[0].__name__} {_said(c[2])}" for c in SPARK])
def test_some_options_in_spark_and_the_other_engines(case):
    held_against_arrays(("dask", "ibis", "spark"), case)
