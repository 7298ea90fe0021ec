"""Context: one set of samples, how it is resampled, and a cache of what intervals need of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np

from calibrant._core.binning import EqualWidth, Rule, equal_mass_rule
from calibrant._core.errors import InputError
from calibrant._core.typing import Array, Counts, Index, Mask
from calibrant._data.samples import Notion, Samples
from calibrant._engines.arrays.passes import whole_problem
from calibrant._inference.blocks import Blocks, blocks_of
from calibrant._inference.budget import few_draws, many_draws
from calibrant._inference.cells import (
    Problem,
    ScalarRows,
    above_threshold,
    problem_by_class,
    problem_of,
)
from calibrant._inference.means import row_values
from calibrant._inference.slots import Slots, class_slots, full_slots
from calibrant._inference.vote_limits import VoteLimits
from calibrant._inference.voted_rows import ONE_VOTE, VotedRows
from calibrant._measures.catalogue import Measure
from calibrant._measures.measure import only_distance
from calibrant._measures.statistics import STATISTICS
from calibrant._summaries.samples import Summary

T = TypeVar("T")


@dataclass(eq=False)
class Problems:
    """What intervals read of one set of samples: its scalar problems (one predicted probability a
    row, in bins), its bins of all classes, and the losses of its rows.

    Each is made when first asked for. Intervals, noise floors and differences of predictors read
    the same ones, and keep other costly results by `once`.
    """

    samples: Samples
    # How many equal rows each row stands for, (n,), with their weight; None for one each.
    given_counts: Array | None = None
    _cache: dict[Any, Any] = field(default_factory=dict)

    def once(self, key: Any, make: Callable[[], T]) -> T:
        """The value kept under a key; `make` computes it when it is first asked for."""
        if key not in self._cache:
            self._cache[key] = make()
        return self._cache[key]

    @property
    def counts(self) -> Array:
        """How many equal rows each row stands for, (n,)."""
        return np.ones(self.samples.n) if self.given_counts is None else self.given_counts

    @property
    def notion(self) -> Notion:
        """What the scalar problem is about: "confidence", the top label's, with several classes;
        else "binary".
        """
        return "confidence" if self.samples.multiclass else "binary"

    def scalar_rows(self, notion: Notion) -> ScalarRows:
        """Predictions, targets and weights of every row, and what their checks found,
        for a notion.
        """
        return self.once(("rows of", notion), partial(whole_problem, self.samples, notion))

    def scalar(self, rule: Rule, notion: Notion | None = None) -> Problem | None:
        """One predicted probability a row in the bins of a rule; None where the rule drops rows."""
        own = notion or self.notion
        return self.once(
            ("scalar", own, rule),
            lambda: problem_of(
                self.samples, own, rule, self.scalar_rows(own), counts=self.given_counts
            ),
        )

    def by_class(self, rule: Rule) -> Problem | None:
        """The top label's problem, with bins of their own for the rows of each predicted class;
        None where the rule drops rows, or where bins are too many.
        """
        return self.once(
            ("by class", rule),
            lambda: problem_by_class(self.samples, rule, self.scalar_rows("confidence")),
        )

    def classes(self, rule: Rule, *, above: bool = False) -> Slots | None:
        """The bins of every class; with `above` only of predictions above the threshold. None where
        the rule drops rows, or where no prediction is above the threshold.
        """
        key = ("classes", above, rule)
        return self.once(key, partial(class_slots, self.samples, rule, above=above))

    def full(self, rule: Rule) -> Slots | None:
        """A slot for every class in each cell of vector predictions (rows with one top label and
        one bin of its probability, or with equal predictions); None where the rule drops rows.
        """
        return self.once(
            ("full", rule), lambda: full_slots(self.samples, rule, self.scalar_rows("confidence"))
        )

    def row_values(self, *, distribution: bool) -> dict[str, Array]:
        """The losses of every row, (n,), by name; with `distribution` the distances between
        predicted distribution and label instead.
        """
        key = ("row values", distribution)
        return self.once(key, partial(row_values, self.samples, distribution=distribution))


def rows_of_weight(samples: Samples) -> Index | None:
    """The numbers of the rows of positive weight; None where all rows have one, or none has."""
    weights = samples.weights
    if weights is None or (weights > 0).all() or not (weights > 0).any():
        return None
    return np.flatnonzero(weights > 0)


def take_rows(
    samples: Samples, groups: Index | None, kept: Index | None
) -> tuple[Samples, Index | None]:
    """The samples and clusters of the rows with the numbers `kept`, clusters renumbered from 0;
    both unchanged where `kept` is None.
    """
    if kept is None:
        return samples, groups
    if groups is not None:
        groups = np.unique(groups[kept], return_inverse=True)[1].astype(np.intp)
    return samples.take(kept), groups


@dataclass
class Context:
    """One set of samples with its bin rules, clusters and votes, and how it is resampled.

    `fixed` is the bin rule of ordinary measures, `quantile` that of truthful ones.
    """

    samples: Samples
    fixed: Rule
    quantile: Rule
    measures: tuple[Measure, ...]
    level: float = 0.95
    n_resamples: int = 1000
    seed: int = 0
    groups: Index | None = None
    votes: Any = None
    # The blocks that several predictors on the same rows share.
    common_blocks: Blocks | None = None
    # What is resampled: "rows", their "votes", "both", or "" for both where votes are known.
    resample: str = ""
    # Shared by copies for another level.
    cached: Problems | None = None
    # How many equal rows each row stands for, (n,), with their weight; None for one each.
    counts: Array | None = None
    # The number of rows that the given ones stand for, where weights make it another than counts'.
    rows_given: int | None = None
    # Whether the rows of two outcomes are the top labels of several classes, right or wrong.
    of_top_labels: bool = False
    # Whether labels say if an answer was right, where the samples themselves do not tell.
    of_answers: bool = False

    def __post_init__(self) -> None:
        """Drop rows of weight 0: a resample of only these rows would have no value."""
        own = rows_of_weight(self.samples)
        if own is not None:
            self.samples, self.groups = take_rows(self.samples, self.groups, own)
            if self.counts is not None:
                self.counts = self.counts[own]
            if np.ndim(self.votes):
                self.votes = self.votes[own]
        if self.cached is None:
            self.cached = Problems(self.samples, self.counts)

    @property
    def problems(self) -> Problems:
        """The cached problems of the samples, for all measures and levels."""
        assert self.cached is not None
        return self.cached

    @property
    def about_confidence(self) -> bool:
        """Whether predictions are confidences of top labels of several classes."""
        return self.samples.multiclass or self.of_top_labels

    @property
    def of_confidences(self) -> bool:
        """Whether predictions are confidences, in top labels or in answers that were given."""
        return self.about_confidence or self.of_answers or self.samples.answers

    def once(self, key: Any, make: Callable[[], T]) -> T:
        """The value kept under a key; `make` computes it when it is first asked for."""
        return self.problems.once(key, make)

    @cached_property
    def soft(self) -> bool:
        """Whether some label is soft: a share of votes, and not 0 or 1."""
        return not self.plain_problem.hard

    @cached_property
    def blocks(self) -> Blocks:
        """The blocks of rows, or of clusters, that are resampled whole; those in common with other
        predictors where they are given for as many rows.
        """
        common = self.common_blocks
        if common is not None and common.index.size == self.samples.n:
            return common
        return blocks_of(self.samples.n, self.groups, self.seed)

    @cached_property
    def plain_problem(self) -> Problem:
        """One predicted probability a row in 15 bins of equal width, for measures that are not of
        bins.
        """
        problem = self.problems.scalar(EqualWidth(15))
        assert problem is not None
        return problem

    def problem(self, key: tuple[str, str]) -> Problem | None:
        """The binned problem with a key (what, binning); None where the rule drops rows.

        The first is "above" (predictions above the threshold), "by class" (bins for each predicted
        class), "confidence" (the top label), or else the scalar problem. The second is "fixed",
        "quantile" or "equal mass".
        """
        what, binning = key
        rules = {"fixed": self.fixed, "quantile": self.quantile}
        rule = rules.get(binning) or equal_mass_rule(self.quantile)
        if what == "above":
            make = partial(problem_of, notion=self.problems.notion, rule=rule, counts=self.counts)
            return self.once(("problem", key), lambda: make(above_threshold(self.samples)))
        if what == "by class":
            return self.problems.by_class(rule)
        return self.problems.scalar(rule, "confidence" if what == "confidence" else None)

    def binned(self, measure: Measure) -> tuple[tuple[str, str], Problem] | None:
        """The key, as `problem` takes it, and the binned problem that a measure is computed from;
        None for a measure that is not a formula of one bin table, and where its rule drops rows.
        """
        statistic = STATISTICS[measure.statistic]
        key: tuple[str, str] = (statistic.problem, statistic.binning)
        if measure.statistic == "above" and not self.samples.multiclass:
            key = ("above", "quantile")
        elif not statistic.merges or statistic.over_classes:
            return None
        if measure.table_formula is None:
            return None
        if measure.equal_mass and equal_mass_rule(self.quantile) != self.quantile:
            key = (key[0], "equal mass")
        if self.samples.multiclass and key[0] != "by class":
            # The scalar problem is the top label's: both keys mean the same.
            key = ("scalar", key[1])
        problem = self.problem(key)
        return None if problem is None else (key, problem)

    # --- what is resampled -----------------------------------------------------------------------

    @cached_property
    def vote_rows(self) -> VotedRows | None:
        """The samples with the votes behind their soft labels; None for hard labels, and where
        votes are not known.
        """
        if self.votes is None or not self.soft:
            return None
        return VotedRows(self.samples, self.votes, self.seed, self.groups)

    @cached_property
    def resampling(self) -> str:
        """What is resampled: "rows", "votes" or "both". An error if votes are asked for and do not
        tell how they vary.
        """
        rows = self.vote_rows
        single = self.votes is not None and not np.any(np.asarray(self.votes) > 1)
        why_not = ONE_VOTE if single else "" if rows is None else rows.why_not
        if why_not and self.resample in ("votes", "both"):
            raise InputError(
                f"resample={self.resample!r} needs to know how votes vary, but {why_not}. Use "
                "resample='rows' for intervals against the given labels"
            )
        return "rows" if rows is None or why_not else self.resample or "both"

    @cached_property
    def voted(self) -> VoteLimits:
        """Intervals of measures against the label distributions; votes must be known."""
        assert self.vote_rows is not None
        return VoteLimits(
            self.vote_rows,
            self.level,
            self.many_draws,
            self.few_draws,
            lambda measure, samples: measure.compute(self.summary(samples, measure)),
        )

    def removes_vote_noise(self, measure: Measure) -> bool:
        """Whether the noise that votes add to a measure's value is removed from its limits."""
        return self.resampling == "both" and measure.votes_add

    @property
    def many_draws(self) -> int:
        """The number of draws of a measure that is a sum over bins, which are cheap."""
        return many_draws(self.n_resamples)

    @property
    def few_draws(self) -> int:
        """The number of draws of a measure that costs more than a sum over bins."""
        return few_draws(self.n_resamples)

    # --- rows and their problems ---------------------------------------------------------------

    def summary(self, samples: Samples, *measures: Measure) -> Summary:
        """The statistics of samples that the named measures read; those of all measures if none is
        named.
        """
        return Summary(samples, self.fixed, self.quantile, distance=only_distance(measures))

    @cached_property
    def fewest_outcomes(self) -> int | None:
        """The number of rows with the rarer outcome: of class 1 or its absence or, with several
        classes, of right or wrong top labels. None for soft labels.
        """
        if self.soft:
            return None
        hits = self.plain_problem.z > 0.5
        return min(self.count_rows(hits), self.count_rows(~hits))

    @property
    def n_rows(self) -> int:
        """The number of rows that the given ones stand for."""
        if self.rows_given is not None:
            return self.rows_given
        return self.count_rows(np.ones(self.samples.n, dtype=bool))

    @property
    def votes_of_rows(self) -> Counts:
        """The number of votes of each row, (n,), or of equal rows that it stands for: 1 where
        neither is known.
        """
        if self.votes is not None:
            return np.broadcast_to(self.votes, self.samples.n)
        return np.rint(self.problems.counts).astype(np.int64)

    def count_rows(self, which: Mask) -> int:
        """How many rows the given rows in `which`, (n,), stand for."""
        return round(float(self.problems.counts[which].sum()))
