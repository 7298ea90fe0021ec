"""Context: one set of samples, how they are drawn anew, and what is made of them once."""

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
    Whole,
    above_threshold,
    problem_by_class,
    problem_of,
)
from calibrant._inference.class_bins import ClassBins, class_bins, full_bins
from calibrant._inference.means import row_values
from calibrant._inference.vote_limits import VoteLimits
from calibrant._inference.voted_rows import ONE_VOTE, VotedRows
from calibrant._measures.catalogue import Measure
from calibrant._measures.measure import only_distance
from calibrant._measures.statistics import STATISTICS
from calibrant._summaries.samples import Summary

T = TypeVar("T")


@dataclass(eq=False)
class Problems:
    """Scalar problems, the bins of all classes and the losses of rows, made when first asked for.

    Intervals, noise floors and the resamples that several predictors share read the same ones.
    """

    samples: Samples
    _made: dict[Any, Any] = field(default_factory=dict)

    def _once(self, key: Any, make: Callable[[], T]) -> T:
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    @property
    def notion(self) -> Notion:
        """The notion of the scalar problem: of several classes that of the top label."""
        return "confidence" if self.samples.multiclass else "binary"

    def whole(self, notion: Notion) -> Whole:
        """Predictions, targets and weights of a scalar problem, and what was found in them."""
        return self._once(("whole", notion), partial(whole_problem, self.samples, notion))

    def scalar(self, rule: Rule, notion: Notion | None = None) -> Problem | None:
        """A scalar problem in the bins of a rule; None where the rule drops rows."""
        own = notion or self.notion
        return self._once((own, rule), lambda: problem_of(self.samples, own, rule, self.whole(own)))

    def by_class(self, rule: Rule) -> Problem | None:
        """The top label's problem given the class that is predicted."""
        return self._once(
            ("by class", rule),
            lambda: problem_by_class(self.samples, rule, self.whole("confidence")),
        )

    def classes(self, rule: Rule, *, above: bool = False) -> tuple[ClassBins, int] | None:
        """The bins of every class, and their number; with `above` without small predictions."""
        key = ("classes", above, rule)
        return self._once(key, partial(class_bins, self.samples, rule, above=above))

    def full(self, rule: Rule) -> tuple[ClassBins, int] | None:
        """The cells of vector predictions times classes, and the number of classes."""
        return self._once(
            ("full", rule), lambda: full_bins(self.samples, rule, self.whole("confidence"))
        )

    def row_values(self, *, distribution: bool) -> dict[str, Array]:
        """The losses of every row; with `distribution` the distances of distributions."""
        key = ("rows", distribution)
        return self._once(key, partial(row_values, self.samples, distribution=distribution))


def rows_of_weight(samples: Samples) -> Index | None:
    """The rows that have weight; None where all have, or none."""
    weights = samples.weights
    if weights is None or (weights > 0).all() or not (weights > 0).any():
        return None
    return np.flatnonzero(weights > 0)


def take_rows(
    samples: Samples, groups: Index | None, kept: Index | None
) -> tuple[Samples, Index | None]:
    """Some rows and their clusters, these numbered anew; all rows where `kept` is None."""
    if kept is None:
        return samples, groups
    if groups is not None:
        groups = np.unique(groups[kept], return_inverse=True)[1].astype(np.intp)
    return samples.take(kept), groups


@dataclass
class Context:
    """One set of samples with their rules, clusters and votes; what is costly is made once."""

    samples: Samples
    fixed: Rule
    quantile: Rule
    measures: tuple[Measure, ...]
    level: float = 0.95
    n_resamples: int = 1000
    seed: int = 0
    groups: Index | None = None
    votes: Any = None
    # Blocks of the same rows, where several predictors are resampled together.
    common_blocks: Blocks | None = None
    # What is drawn anew: "rows", their "votes", "both", or "" for both where votes are known.
    resample: str = ""
    # What was made, by name: the same for every level.
    kept: dict[Any, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Rows without weight are not there: a resample of nothing else would have no value."""
        own = rows_of_weight(self.samples)
        if own is None:
            return
        self.samples, self.groups = take_rows(self.samples, self.groups, own)
        if np.ndim(self.votes):
            self.votes = self.votes[own]

    def once(self, key: Any, make: Callable[[], T]) -> T:
        """What was made under a key, made when first asked for."""
        if key not in self.kept:
            self.kept[key] = make()
        return self.kept[key]

    @property
    def made(self) -> Problems:
        """What is made of the samples, once for all measures and levels."""
        return self.once("made", lambda: Problems(self.samples))

    @cached_property
    def soft(self) -> bool:
        return not self.plain_problem.hard

    @cached_property
    def blocks(self) -> Blocks:
        """Clusters, or rows, in the blocks that are resampled."""
        common = self.common_blocks
        if common is not None and common.index.size == self.samples.n:
            return common
        return blocks_of(self.samples.n, self.groups, self.seed)

    @cached_property
    def plain_problem(self) -> Problem:
        """The scalar problem in plain bins: for measures that have none."""
        problem = self.made.scalar(EqualWidth(15))
        assert problem is not None
        return problem

    def problem(self, key: tuple[str, str]) -> Problem | None:
        """The problem of a statistic, by what it is about and how it is binned."""
        what, binning = key
        rules = {"fixed": self.fixed, "quantile": self.quantile}
        rule = rules.get(binning) or equal_mass_rule(self.quantile)
        if what == "above":
            make = partial(problem_of, notion=self.made.notion, rule=rule)
            return self.once(("problem", key), lambda: make(above_threshold(self.samples)))
        if what == "by class":
            return self.made.by_class(rule)
        return self.made.scalar(rule, "confidence" if what == "confidence" else None)

    def binned(self, measure: Measure) -> tuple[tuple[str, str], Problem] | None:
        """The binned problem that a measure is a formula of, or None."""
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
            # The scalar problem is that of the top label: one for both.
            key = ("scalar", key[1])
        problem = self.problem(key)
        return None if problem is None else (key, problem)

    # --- what is drawn anew ----------------------------------------------------------------------

    @cached_property
    def vote_rows(self) -> VotedRows | None:
        """The votes behind soft labels; None where they are not known."""
        if self.votes is None or not self.soft:
            return None
        return VotedRows(self.samples, self.votes, self.seed, self.groups)

    @cached_property
    def resampling(self) -> str:
        """What is drawn anew: "rows", "votes" or "both"."""
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
        """The noise of votes, where it is taken out."""
        assert self.vote_rows is not None
        return VoteLimits(
            self.vote_rows,
            self.level,
            self.many_draws,
            self.few_draws,
            lambda measure, samples: measure.compute(self.summary(samples, measure)),
        )

    def takes_out_votes(self, measure: Measure) -> bool:
        """Whether noise of votes that is in the value is not to be in the limits."""
        return self.resampling == "both" and measure.votes_add

    @property
    def many_draws(self) -> int:
        """Draws of what costs little."""
        return many_draws(self.n_resamples)

    @property
    def few_draws(self) -> int:
        """Draws of what costs much."""
        return few_draws(self.n_resamples)

    # --- rows and their problems ---------------------------------------------------------------

    def summary(self, samples: Samples, *measures: Measure) -> Summary:
        """What measures read: all of them, or those that are named."""
        return Summary(samples, self.fixed, self.quantile, distance=only_distance(measures))

    @cached_property
    def fewest_outcomes(self) -> int | None:
        """How often the rarer outcome of the scalar problem was seen; None for soft labels."""
        if self.soft:
            return None
        hits = int(np.count_nonzero(self.plain_problem.z > 0.5))
        return min(hits, self.samples.n - hits)
