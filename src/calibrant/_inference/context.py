"""Context: one set of samples, how it is resampled, and a cache of what intervals need of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np

from calibrant._core.binning import EqualWidth, Rule, equal_mass_rule
from calibrant._core.errors import InputError
from calibrant._core.typing import Array, Index
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
    """The scalar problems, the class slots and the row losses of one set of samples.

    Each is made when first asked for. Intervals, noise floors and differences of predictors read
    the same ones, and keep by `once` what else is costly.
    """

    samples: Samples
    _cache: dict[Any, Any] = field(default_factory=dict)

    def once(self, key: Any, make: Callable[[], T]) -> T:
        """The value under a key; `make` is called when it is first asked for."""
        if key not in self._cache:
            self._cache[key] = make()
        return self._cache[key]

    @property
    def notion(self) -> Notion:
        """The notion of the scalar problem: with several classes that of the top label."""
        return "confidence" if self.samples.multiclass else "binary"

    def scalar_rows(self, notion: Notion) -> ScalarRows:
        """Predictions, targets and weights of a scalar problem, without bins."""
        return self.once(("rows of", notion), partial(whole_problem, self.samples, notion))

    def scalar(self, rule: Rule, notion: Notion | None = None) -> Problem | None:
        """A scalar problem in the bins of a rule; None where the rule drops rows."""
        own = notion or self.notion
        return self.once(
            ("scalar", own, rule),
            lambda: problem_of(self.samples, own, rule, self.scalar_rows(own)),
        )

    def by_class(self, rule: Rule) -> Problem | None:
        """The top label's problem, with bins of their own for the rows of each predicted class."""
        return self.once(
            ("by class", rule),
            lambda: problem_by_class(self.samples, rule, self.scalar_rows("confidence")),
        )

    def classes(self, rule: Rule, *, above: bool = False) -> Slots | None:
        """The bins of every class; with `above` only of predictions above the threshold."""
        key = ("classes", above, rule)
        return self.once(key, partial(class_slots, self.samples, rule, above=above))

    def full(self, rule: Rule) -> Slots | None:
        """The cells of vector predictions times the classes."""
        return self.once(
            ("full", rule), lambda: full_slots(self.samples, rule, self.scalar_rows("confidence"))
        )

    def row_values(self, *, distribution: bool) -> dict[str, Array]:
        """The losses of every row; with `distribution` the distances between distributions."""
        key = ("row values", distribution)
        return self.once(key, partial(row_values, self.samples, distribution=distribution))


def rows_of_weight(samples: Samples) -> Index | None:
    """The rows of positive weight; None where all rows have one, or none has."""
    weights = samples.weights
    if weights is None or (weights > 0).all() or not (weights > 0).any():
        return None
    return np.flatnonzero(weights > 0)


def take_rows(
    samples: Samples, groups: Index | None, kept: Index | None
) -> tuple[Samples, Index | None]:
    """The rows `kept` and their clusters, renumbered from 0; all rows where `kept` is None."""
    if kept is None:
        return samples, groups
    if groups is not None:
        groups = np.unique(groups[kept], return_inverse=True)[1].astype(np.intp)
    return samples.take(kept), groups


@dataclass
class Context:
    """One set of samples with its bin rules, clusters, votes and how it is resampled."""

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

    def __post_init__(self) -> None:
        """Drop rows of weight 0: a resample of such rows alone would have no value."""
        own = rows_of_weight(self.samples)
        if own is not None:
            self.samples, self.groups = take_rows(self.samples, self.groups, own)
            if np.ndim(self.votes):
                self.votes = self.votes[own]
        if self.cached is None:
            self.cached = Problems(self.samples)

    @property
    def problems(self) -> Problems:
        """The problems of the samples, for all measures and levels."""
        assert self.cached is not None
        return self.cached

    def once(self, key: Any, make: Callable[[], T]) -> T:
        """The value under a key; `make` is called when it is first asked for."""
        return self.problems.once(key, make)

    @cached_property
    def soft(self) -> bool:
        """Whether labels are soft."""
        return not self.plain_problem.hard

    @cached_property
    def blocks(self) -> Blocks:
        """The blocks of rows, or of clusters, that are resampled."""
        common = self.common_blocks
        if common is not None and common.index.size == self.samples.n:
            return common
        return blocks_of(self.samples.n, self.groups, self.seed)

    @cached_property
    def plain_problem(self) -> Problem:
        """The scalar problem in 15 bins of equal width, for measures that are not of bins."""
        problem = self.problems.scalar(EqualWidth(15))
        assert problem is not None
        return problem

    def problem(self, key: tuple[str, str]) -> Problem | None:
        """The problem with a key: (notion or subset of rows, way of binning)."""
        what, binning = key
        rules = {"fixed": self.fixed, "quantile": self.quantile}
        rule = rules.get(binning) or equal_mass_rule(self.quantile)
        if what == "above":
            make = partial(problem_of, notion=self.problems.notion, rule=rule)
            return self.once(("problem", key), lambda: make(above_threshold(self.samples)))
        if what == "by class":
            return self.problems.by_class(rule)
        return self.problems.scalar(rule, "confidence" if what == "confidence" else None)

    def binned(self, measure: Measure) -> tuple[tuple[str, str], Problem] | None:
        """The binned problem whose table a measure is a formula of, after its key; else None."""
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
        """The votes behind soft labels; None where they are not known."""
        if self.votes is None or not self.soft:
            return None
        return VotedRows(self.samples, self.votes, self.seed, self.groups)

    @cached_property
    def resampling(self) -> str:
        """What is resampled: "rows", "votes" or "both"."""
        rows = self.vote_rows
        single = self.votes is not None and not np.any(np.asarray(self.votes) > 1)
        why_not = ONE_VOTE if single else "" if rows is None else rows.why_not
        if why_not and self.resample in ("votes", "both"):
            raise InputError(
                f"resample={self.resample!r} needs to know how votes scatter, but {why_not}: "
                "resample='rows' is about the labels given"
            )
        return "rows" if rows is None or why_not else self.resample or "both"

    @cached_property
    def voted(self) -> VoteLimits:
        """Limits of measures against the distributions behind the votes."""
        assert self.vote_rows is not None
        return VoteLimits(
            self.vote_rows,
            self.level,
            self.many_draws,
            self.few_draws,
            lambda measure, samples: measure.compute(self.summary(samples, measure)),
        )

    def removes_vote_noise(self, measure: Measure) -> bool:
        """Whether the noise of votes, which is in the value, is removed from its limits."""
        return self.resampling == "both" and measure.votes_add

    @property
    def many_draws(self) -> int:
        """The number of draws of a measure that is a sum over bins."""
        return many_draws(self.n_resamples)

    @property
    def few_draws(self) -> int:
        """The number of draws of a measure that costs more."""
        return few_draws(self.n_resamples)

    # --- rows and their problems ---------------------------------------------------------------

    def summary(self, samples: Samples, *measures: Measure) -> Summary:
        """The statistics of samples, for all measures or for those named."""
        return Summary(samples, self.fixed, self.quantile, distance=only_distance(measures))

    @cached_property
    def fewest_outcomes(self) -> int | None:
        """The number of rows with the rarer outcome of the scalar problem; None for soft labels."""
        if self.soft:
            return None
        hits = int(np.count_nonzero(self.plain_problem.z > 0.5))
        return min(hits, self.samples.n - hits)
