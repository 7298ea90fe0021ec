"""Table 1 of Lu, Wu, Hartline and Hu on its own ground: pools of checkpoints on CIFAR-100.

Each checkpoint of the pool is measured on several halves of the test images, so that a rank
correlation has an interval over training runs (traces) and over test images. Some halves are
measured a second time with labels drawn from the predictions: a null of predictors that are exactly
calibrated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from calibrant._core.errors import InputError, counted
from calibrant._core.typing import Array, Mask
from calibrant._inference.ranks import (
    correlation_interval,
    jackknife_variance,
    left_out_correlations,
    maximum_dominance_set,
    spearman_margin,
    spearman_table,
)
from calibrant._research.papers.folder import columns_of
from calibrant._research.papers.pool import BIN_COUNTS, ERRORS, LOSSES
from calibrant._research.papers.truthful_printed import NAMES, TABLE_1

Columns = dict[str, list[Any]]
# What is ranked: the classification error, and each error at each number of bins.
RANKED = ("classification_error", *(f"{e}_{m}" for e in ERRORS for m in BIN_COUNTS))
REAL, DRAWN = "real", "drawn"


@dataclass(frozen=True)
class Part:
    """Some checkpoints of a pool, by their error and by how much of their run is done."""

    name: str
    keeps: Callable[[Array, Array], Mask]


# The paper leaves out warm-up epochs "by classification error" and does not say by which, so that
# several parts stand beside each other.
PARTS = (
    Part("all epochs", lambda error, done: done > 0),
    Part("last 2/5 of epochs", lambda error, done: done > 0.6),
    Part("error below 50 %", lambda error, done: error < 0.5),
)


class Cell(NamedTuple):
    """A cell of table 1: an error, and what is correlated, "loss" or numbers of bins."""

    error: str
    first: str
    second: str

    @property
    def at(self) -> tuple[int, int]:
        """The places of the two columns in RANKED."""
        first = RANKED[0] if self.first == "loss" else f"{self.error}_{self.first}"
        return RANKED.index(first), RANKED.index(f"{self.error}_{self.second}")

    @property
    def words(self) -> str:
        """The cell in a sentence."""
        first, second = (
            f"{int(m):,} bins" if m != "loss" else "the classification error"
            for m in (self.first, self.second)
        )
        return f"{NAMES[self.error]}, {first} against {second}"


class Interval(NamedTuple):
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        if math.isnan(self.value):  # one of the two is the same for all checkpoints
            return ""
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"

    def sign(self) -> int:
        """1 or -1 where the interval leaves no doubt of the sign, else 0."""
        return int(self.low > 0) - int(self.high < 0)


@dataclass(frozen=True, eq=False)
class Ranks:
    """Rank correlations of a part of a pool, on each half of the images and without each trace.

    `halves` is (halves, columns, columns) in the order of RANKED; `left_out` is (traces, columns,
    columns), each the mean over the halves; `n` is the number of checkpoints.
    """

    halves: Array
    left_out: Array
    n: int

    @cached_property
    def value(self) -> Array:
        """The mean over the halves."""
        return self.halves.mean(axis=0)

    @cached_property
    def over_traces(self) -> Array:
        """The variance of the mean over traces, by a jackknife."""
        return jackknife_variance(self.left_out)

    @cached_property
    def over_images(self) -> Array:
        """The variance of the mean over test images.

        Two complementary halves share no image, so that each has the variance of half of their
        squared difference; two halves of different splits share half of their images. With S
        splits, each used both ways, the mean has half of the variance of one half. That is what the
        2 S values have about their mean, with S degrees of freedom.
        """
        return self.halves.var(axis=0)

    def interval(self, cell: Cell) -> Interval:
        """A correlation with its interval over traces and test images."""
        value, at = float(self.value[cell.at]), cell.at
        images = float(self.over_images[at])
        variance, df = _sum_of_variances(
            self._traces(float(self.over_traces[at])), self._images(images)
        )
        return Interval(value, *correlation_interval(value, variance, df))

    def less(self, other: Ranks, cell: Cell) -> Interval:
        """A correlation less that of other labels: traces are the same on both sides."""
        at = (..., *cell.at)
        traces = float(jackknife_variance(self.left_out[at] - other.left_out[at]))
        return _difference(
            float(self.value[cell.at] - other.value[cell.at]),
            self._traces(traces),
            self._images(float(self.over_images[cell.at])),
            other._images(float(other.over_images[cell.at])),
        )

    def contrast(self, cell: Cell, other: Cell) -> Interval:
        """A correlation less another one of the same checkpoints and labels."""
        halves = self.halves[(..., *cell.at)] - self.halves[(..., *other.at)]
        left_out = self.left_out[(..., *cell.at)] - self.left_out[(..., *other.at)]
        return _difference(
            float(halves.mean()),
            self._traces(float(jackknife_variance(left_out))),
            self._images(float(halves.var())),
        )

    def _traces(self, variance: float) -> Variance:
        """A variance over traces, with a degree of freedom fewer than there are traces."""
        return Variance(variance, len(self.left_out) - 1)

    def _images(self, variance: float) -> Variance:
        """A variance over test images, with a degree of freedom for each split into halves."""
        return Variance(variance, len(self.halves) // 2)


class Variance(NamedTuple):
    """The variance of an estimate from one source, with its degrees of freedom."""

    value: float
    df: int


def _sum_of_variances(*parts: Variance) -> tuple[float, float]:
    """The sum of variances, and its degrees of freedom (Satterthwaite)."""
    total = sum(part.value for part in parts)
    below = sum(part.value**2 / part.df for part in parts)
    return total, total**2 / below if below > 0 else 1.0


def _difference(value: float, *parts: Variance) -> Interval:
    """A difference of correlations with its interval, by Student's t."""
    from scipy.special import stdtrit

    variance, df = _sum_of_variances(*parts)
    reach = float(stdtrit(df, 0.975)) * math.sqrt(variance)
    return Interval(value, value - reach, value + reach)


class HalvedPool:
    """The table of a pool whose checkpoints were measured on halves of the test images.

    `columns` have, besides those of `pool.measure_predictor`, `trace`, `epoch`, `half` and
    `labels`, which are "real", or "drawn" from the predictions.
    """

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self.trace, self.labels = (np.asarray(columns[name]) for name in ("trace", "labels"))
        self.epoch, self.half = (np.asarray(columns[name]) for name in ("epoch", "half"))
        self.table = np.stack([np.asarray(columns[name]) for name in RANKED], axis=1)
        trace = np.unique(self.trace, return_inverse=True)[1]
        last = np.zeros(trace.max() + 1)
        np.maximum.at(last, trace, self.epoch)
        self.done = self.epoch / last[trace]
        # A checkpoint's error over all test images: the same on each of its rows.
        checkpoint = trace * (int(self.epoch.max()) + 1) + self.epoch
        real = self.labels == REAL
        sums = np.bincount(checkpoint[real], self.table[real, 0], checkpoint.max() + 1)
        self.error = (sums / np.bincount(checkpoint[real], minlength=len(sums)).clip(1))[checkpoint]

    def halves(self, labels: str) -> list[int]:
        """The numbers of the halves that were measured with these labels."""
        return [int(half) for half in np.unique(self.half[self.labels == labels])]

    def rows(self, labels: str, half: int) -> Mask:
        """The rows of one half with these labels."""
        return (self.labels == labels) & (self.half == half)

    def of_half(self, half: int) -> Columns:
        """The columns of the rows of one half, with the real labels."""
        rows = np.flatnonzero(self.rows(REAL, half)).tolist()
        return {name: [values[i] for i in rows] for name, values in self.columns.items()}

    def ranks(self, part: Part, labels: str) -> Ranks | None:
        """The rank correlations of a part of the checkpoints, with these labels; None if there are
        fewer than three checkpoints or two traces.
        """
        kept = part.keeps(self.error, self.done)
        halves, left_out, n = [], [], 0
        for half in self.halves(labels):
            rows = self.rows(labels, half) & kept
            if rows.sum() < 3 or len(set(self.trace[rows])) < 2:
                return None
            halves.append(spearman_table(self.table[rows]))
            left_out.append(left_out_correlations(self.table[rows], self.trace[rows]))
            n = int(rows.sum())
        return Ranks(np.stack(halves), np.mean(left_out, axis=0), n) if halves else None

    def dominance(self) -> tuple[list[list[int]], Columns]:
        """The maximum dominance set on each half (rows of `of_half`), and the mean over the halves
        of each error's rank correlation with its order: a column for each number of bins.
        """
        chains, found = [], []
        for half in self.halves(REAL):
            rows = self.rows(REAL, half)
            losses = np.stack([np.asarray(self.columns[name])[rows] for name in LOSSES], axis=1)
            chain = maximum_dominance_set(losses)
            chains.append(chain.tolist())
            place = np.arange(len(chain), dtype=np.float64)[:, None]
            found.append(spearman_table(place, self.table[rows][chain])[0])
        mean = dict(zip(RANKED, np.mean(found, axis=0).tolist(), strict=True))
        columns: Columns = {"error": [NAMES[error] for error in ERRORS]}
        for m in BIN_COUNTS:
            columns[f"{m} bins"] = [mean[f"{error}_{m}"] for error in ERRORS]
        return chains, columns


NO_INTERVAL = Interval(math.nan, math.nan, math.nan)
CELLS = tuple(Cell(*key) for key in TABLE_1)
# Between 2,000 and 5 bins the paper's correlations differ most between errors.
WIDEST = {error: Cell(error, "2000", "5") for error in ERRORS}


class TableOne:
    """Table 1 of one pool: each cell in each part, measured, of the null, and as printed.

    `setting` is 0 for the paper's within-model numbers, and 1 for its cross-model ones.
    """

    def __init__(self, pool: HalvedPool, setting: int) -> None:
        self.pool, self.setting = pool, setting
        found = {part.name: (pool.ranks(part, REAL), pool.ranks(part, DRAWN)) for part in PARTS}
        self.real = {name: real for name, (real, _) in found.items() if real is not None}
        self.null = {name: null for name, (_, null) in found.items() if null is not None}
        if not self.real.keys() & self.null.keys():
            raise InputError(
                "the table of a pool with halves must have three checkpoints or more, of two "
                f"traces or more, with labels {REAL!r} and as many with labels {DRAWN!r}"
            )

    @property
    def networks(self) -> str:
        """How many networks were trained, in words."""
        return counted(len(set(self.pool.columns["architecture"])), "network")

    def printed(self, cell: Cell) -> float:
        """The paper's value of a cell."""
        return TABLE_1[cell][self.setting][0]

    def wide(self) -> Columns:
        """The table for the page: a row for each cell, two columns for each part."""
        columns: Columns = {
            "error": [NAMES[cell.error] for cell in CELLS],
            "first": [_side_text(cell.first) for cell in CELLS],
            "second": [_side_text(cell.second) for cell in CELLS],
            "paper": [f"{self.printed(cell):.2f}" for cell in CELLS],
        }
        for name in self.real:
            columns[name] = [str(self.real[name].interval(cell)) for cell in CELLS]
            if name in self.null:
                null = self.null[name].value
                columns[f"null, {name}"] = [f"{null[cell.at]:.2f}" for cell in CELLS]
        return columns

    def long(self) -> Columns:
        """Everything about each cell of each part, a row each."""
        rows = []
        for name, real in self.real.items():
            null = self.null.get(name)
            for cell in CELLS:
                found = real.interval(cell)
                apart = NO_INTERVAL if null is None else real.less(null, cell)
                value, margin = TABLE_1[cell][self.setting]
                rows.append(
                    {
                        "part": name,
                        "checkpoints": real.n,
                        "traces": len(real.left_out),
                        **cell._asdict(),
                        "paper": value,
                        "paper_margin": margin,
                        **found._asdict(),
                        "sd_over_traces": math.sqrt(real.over_traces[cell.at]),
                        "sd_over_images": math.sqrt(real.over_images[cell.at]),
                        "margin_as_in_the_paper": spearman_margin(found.value, real.n),
                        "null": math.nan if null is None else float(null.value[cell.at]),
                        "less_null": apart.value,
                        "less_null_low": apart.low,
                        "less_null_high": apart.high,
                    }
                )
        return columns_of(rows)

    def claims(self) -> Columns:
        """What the paper says between 2,000 and 5 bins, and whether it holds in each part."""
        return columns_of(
            {"between 2,000 and 5 bins": words, "paper": f"{paper:.2f}"}
            | {name: f"{_verdict(found, paper)}: {found}" for name, found in intervals.items()}
            for words, paper, intervals in self._claims()
        )

    def _claims(self) -> list[tuple[str, float, Mapping[str, Interval]]]:
        """Each claim: its words, the paper's number, and the interval in each part."""
        out: list[tuple[str, float, Mapping[str, Interval]]] = []
        for error, cell in WIDEST.items():
            paper = self.printed(cell)
            words = f"{NAMES[error]} {'keeps' if paper > 0 else 'reverses'} the order"
            out.append((words, paper, {n: r.interval(cell) for n, r in self.real.items()}))
        for better, worse in (
            ("conf_ce_corrected", "conf_ce"),
            ("classwise_ce", "conf_ece"),
            ("classwise_ce", "conf_ce_corrected"),
        ):
            cells = WIDEST[better], WIDEST[worse]
            paper = self.printed(cells[0]) - self.printed(cells[1])
            words = f"{NAMES[better]} keeps the order better than {NAMES[worse]}"
            out.append((words, paper, {n: r.contrast(*cells) for n, r in self.real.items()}))
        return out

    def paragraphs(self) -> tuple[str, ...]:
        """What the numbers say, in sentences."""
        return (
            self._method_sentence(),
            *(self._agreement_in_part(name) for name in self.real),
            self._verdicts_sentence(),
            self._margins_sentence(),
            self._null_sentence(),
        )

    def _method_sentence(self) -> str:
        """How many checkpoints there are, and how they were measured."""
        real = next(iter(self.real.values()))
        return (
            f"{real.n:,} checkpoints: {counted(len(real.left_out), 'training run')} (traces) of "
            f"{self.networks}, each with a temperature fitted on one half of the "
            f"test images and measured on the other, for {len(real.halves)} halves. Each value is "
            "the mean over the halves; its 95 % interval reflects traces and test images. In the "
            "null, labels are drawn from the same scaled predictions, which are then exactly "
            "calibrated; temperatures are fitted again."
        )

    def _agreement_in_part(self, name: str) -> str:
        """How many cells of one part agree with the paper."""
        real = self.real[name]
        found = [(real.interval(cell), self.printed(cell)) for cell in CELLS]
        inside = sum(each.low <= paper <= each.high for each, paper in found)
        verdicts = [_verdict(each, paper) for each, paper in found]
        return (
            f"{name[0].upper()}{name[1:]} ({real.n:,} checkpoints): of {len(CELLS)} cells, "
            f"{verdicts.count(HOLDS)} have the paper's sign, {verdicts.count(FAILS)} have the "
            f"other sign, and {verdicts.count(OPEN)} are undecided. The interval contains the "
            f"paper's value in {inside}."
        )

    def _verdicts_sentence(self) -> str:
        """Which claims hold in every part, in some, and in none."""
        lists: dict[str, list[str]] = {HOLDS: [], FAILS: [], OPEN: [], "": []}
        for words, paper, intervals in self._claims():
            verdicts = {_verdict(found, paper) for found in intervals.values()}
            lists[verdicts.pop() if len(verdicts) == 1 else ""].append(words)
        named = (
            (HOLDS, "in every part it holds that"),
            (FAILS, "in no part does it hold that"),
            (OPEN, "in no part can it be told whether"),
            ("", "it depends on the part whether"),
        )
        said = [f"{start} {'; '.join(lists[key])}." for key, start in named if lists[key]]
        return " ".join(f"Between 2,000 and 5 bins, {each}" for each in said)

    def _margins_sentence(self) -> str:
        """What the paper's margin would be here, beside the intervals and the two noises."""
        widths, ratios, images = [], [], []
        for real in self.real.values():
            for cell in CELLS:
                found = real.interval(cell)
                margin = spearman_margin(found.value, real.n)
                widths.append((found.high - found.low) / 2)
                ratios.append(widths[-1] / margin if margin > 0 else 1.0)
                images.append(math.sqrt(2.0 * real.over_images[cell.at]))
        return (
            "The paper's margin, 1.96 (1 - rho^2) / sqrt(N), assumes that checkpoints are "
            "independent and test images are fixed. The intervals here are "
            f"{np.nanmedian(ratios):.0f} times as wide (median over the cells). Another half of "
            "the test images alone changes a correlation by a standard deviation of up to "
            f"{np.nanmax(images):.2f}."
        )

    def _null_sentence(self) -> str:
        """What exactly calibrated predictors show, and where the measured value differs."""
        cell = WIDEST["conf_ece"]
        nulls = [float(null.value[cell.at]) for null in self.null.values()]
        apart = [
            self.real[name].less(null, each).sign() != 0
            for name, null in self.null.items()
            for each in CELLS
        ]
        return (
            f"Exactly calibrated predictors have {min(nulls):.2f} to {max(nulls):.2f} for "
            f"{cell.words}: the number of bins changes an error's order even without "
            f"miscalibration. The measured value differs from the null in {sum(apart)} of "
            f"{len(apart)} cells of all parts."
        )


HOLDS, FAILS, OPEN = "holds", "does not hold", "undecided"


def _verdict(found: Interval, paper: float) -> str:
    """Whether an interval has the sign of the paper's number beyond doubt."""
    if found.sign() == 0:
        return OPEN
    return HOLDS if found.sign() * paper > 0 else FAILS


def _side_text(name: str) -> str:
    """One side of a cell in the table."""
    return "classification error" if name == "loss" else f"{name} bins"
