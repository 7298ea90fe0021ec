"""Families: one set of samples, and the least-favourable families that its measures have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.binning import Rule, equal_mass_rule
from calibrant._core.errors import InputError
from calibrant._engines.arrays.draws import MOST_LABELS
from calibrant._inference.blocks import blocks_of
from calibrant._inference.budget import few_draws, many_draws
from calibrant._inference.cells import Cells, Drawn, Problem
from calibrant._inference.class_bins import recalibrated
from calibrant._inference.class_errors import table_errors, vector_errors
from calibrant._inference.classes import ClassFamily, Errors, Luck
from calibrant._inference.family import SHAPES, Family, Limits, Member, VoteScatter, invert
from calibrant._inference.resampling import Resampler
from calibrant._inference.tails import Law, Laws
from calibrant._inference.vote_limits import VoteLimits
from calibrant._inference.voted_rows import ONE_VOTE, VotedRows
from calibrant._measures.catalogue import Measure
from calibrant._measures.statistics import STATISTICS

Array = NDArray[np.float64]


@dataclass
class Families(Resampler):
    """Families of scalar problems and of all classes, made once; rows or their votes are drawn."""

    _families: dict[Any, Family] = field(default_factory=dict)
    _classes: dict[Any, tuple[ClassFamily, int] | None] = field(default_factory=dict)
    _luck: Luck | None = None

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
            self.vote_rows, self.groups, self.level, self.many_draws, self.few_draws,
            lambda measure, samples: measure.compute(self.summary(samples, measure)),
        )  # fmt: skip

    @property
    def _scalar_votes(self) -> VoteScatter | None:
        return self.voted.rows.scalar_scatter if self.resampling == "votes" else None

    @property
    def many_draws(self) -> int:
        """Draws of what costs little."""
        return many_draws(self.n_resamples)

    @property
    def few_draws(self) -> int:
        """Draws of what costs much."""
        return few_draws(self.n_resamples)

    # --- scalar problems -------------------------------------------------------------------------

    def family(self, key: Any, problem: Problem, cells: Cells, n_draws: int) -> Family:
        """The family of a scalar problem, for one predictor."""
        if key not in self._families:
            same = problem.n == self.samples.n
            blocks = self.blocks if same else blocks_of(problem.n, self.groups, self.seed)
            if self.resampling == "votes":
                blocks = blocks_of(problem.n, None, self.seed)  # clusters are of rows, which stay
            self._families[key] = Family(
                problem, cells, blocks, n_draws, self.seed, votes=self._scalar_votes
            )
        return self._families[key]

    # --- all classes -----------------------------------------------------------------------------

    def class_family(self, measure: Measure) -> tuple[ClassFamily, Errors] | None:
        """The family of an error over all classes, and its formula; None for others."""
        statistic = STATISTICS[measure.statistic]
        if not statistic.over_classes or measure.interval_method != "inversion":
            return None
        rule = self.fixed if statistic.binning == "fixed" else self.quantile
        if measure.equal_mass:
            rule = equal_mass_rule(rule)
        if rule.drops_one:
            return None
        key = (measure.statistic, str(rule))
        if key not in self._classes:
            self._classes[key] = self._family_over_classes(measure.statistic, rule)
        classes = self._classes[key]
        if classes is None:
            return None
        family, k = classes
        if statistic.problem == "full":
            assert measure.of_vectors is not None
            return family, vector_errors(measure.of_vectors, k)
        assert measure.table_formula is not None
        return family, table_errors(measure.table_formula, k)

    def _family_over_classes(self, statistic: str, rule: Rule) -> tuple[ClassFamily, int] | None:
        full = statistic == "full_bins"
        bins = self.made.full(rule) if full else self.made.classes(rule, above=statistic == "above")
        if bins is None:
            return None
        own, k = bins
        luck = votes = None
        if self.resampling == "votes":
            votes = self.voted.rows.scatter
            if votes.residual.shape != own.u.shape:  # a class that no prediction is about
                return None
        # Labels can be drawn of all classes, and not of some of them alone.
        if own.u.shape[1] == self.samples.n_classes <= MOST_LABELS:
            if self._luck is None:
                self._luck = Luck(own.u, recalibrated(own, self.samples), self.seed)
            luck = self._luck
        blocks = self.blocks if votes is None else blocks_of(own.n, None, self.seed)
        return ClassFamily(own, blocks, self.many_draws, self.seed, luck, votes=votes), k


def limits_of_family(
    family: Family,
    statistic: Callable[[Drawn], Array],
    value: float,
    level: float,
    population: Callable[[Drawn], Array] | None = None,
    shapes: Sequence[str] = SHAPES,
) -> Limits:
    """Limits of a statistic of cells; of a population it is another one, where that is given."""
    true = population or statistic
    # Where families meet, and at their ends, a member is asked for again.
    known: dict[Drawn, Member] = {}

    def member(shape: str, t: float) -> Member:
        truth, drawn = family.member(shape, t)
        if drawn not in known:
            rare = family.rare_member(shape, t)
            laws = [Law(statistic(each)) for each in (drawn, rare) if each is not None]
            known[drawn] = Member(lambda: float(true(truth)[0]), Laws(laws))
        return known[drawn]

    return invert(value, member, {shape: family.grid(shape) for shape in shapes}, level)


def limits_of_classes(family: ClassFamily, errors: Errors, value: float, level: float) -> Limits:
    """Limits of an error over all classes."""
    known: dict[bytes, Member] = {}

    def member(shape: str, t: float) -> Member:
        gap = family.gaps(shape, t)
        key = (gap + 0.0).tobytes()  # -0 is 0
        if key not in known:
            laws = Laws([Law(drawn) for drawn in family.drawn(gap, errors)])
            known[key] = Member(lambda: family.truth(gap, errors), laws)
        return known[key]

    return invert(value, member, {shape: family.grid(shape) for shape in SHAPES}, level)
