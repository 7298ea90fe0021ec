"""Samples to be judged: which problems they hold, and measures of what is drawn for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.binning import EqualWidth, Rule
from calibrant.errors import InputError
from calibrant.inference.cells import Problem, problem_of
from calibrant.measures.catalogue import Measure
from calibrant.samples.samples import Notion, Samples
from calibrant.summary import Summary

Array = NDArray[np.float64]


@dataclass
class Judged:
    """One set of samples to be judged: its problems, and what was drawn for them."""

    samples: Samples
    fixed: Rule
    quantile: Rule
    measures: tuple[Measure, ...]
    level: float = 0.95
    n_resamples: int = 1000
    seed: int = 0
    groups: NDArray[np.intp] | None = None
    votes: Any = None
    problems: dict[Any, Problem | None] = field(default_factory=dict)
    wholes: dict[Any, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Rows without weight are not there: a resample of nothing else would have no value."""
        weights = self.samples.weights
        if weights is None or (weights > 0).all() or not (weights > 0).any():
            return
        held = np.flatnonzero(weights > 0)
        s = self.samples
        self.samples = replace(
            s, reports=s.reports[held], targets=s.targets[held], weights=weights[held]
        )
        if self.groups is not None:
            self.groups = np.unique(self.groups[held], return_inverse=True)[1].astype(np.intp)
        if np.ndim(self.votes):
            self.votes = self.votes[held]

    @cached_property
    def scalar(self) -> Notion:
        return "confidence" if self.samples.multiclass else "binary"

    @cached_property
    def soft(self) -> bool:
        problem = self.problem(("scalar", "fixed"))
        return not problem.hard if problem is not None else bool(self.plain_problem.hard is False)

    @cached_property
    def plain_problem(self) -> Problem:
        """The scalar problem in plain bins: for measures that have none."""
        if self.fixed == EqualWidth(15):
            problem = self.problem(("scalar", "fixed"))
        else:
            problem = problem_of(self.samples, self.scalar, EqualWidth(15))
        assert problem is not None
        return problem

    def problem(self, key: tuple[str, str]) -> Problem | None:
        if key not in self.problems:
            notion: Notion = self.scalar if key[0] == "scalar" else "confidence"
            rule = self.fixed if key[1] == "fixed" else self.quantile
            self.problems[key] = problem_of(self.samples, notion, rule)
        return self.problems[key]

    def binned(self, measure: Measure) -> tuple[tuple[str, str], Problem] | None:
        """The binned problem that a measure is a formula of, or None."""
        keys = {
            "bins": ("scalar", "fixed"),
            "quantile_bins": ("scalar", "quantile"),
            "confidence_bins": ("confidence", "quantile"),
        }
        key = keys.get(measure.statistic)
        if key is None or measure.of_tables is None:
            return None
        if self.samples.multiclass:  # the scalar problem is that of the top label: one for both
            key = ("scalar", key[1])
        dropping = getattr(self.fixed if key[1] == "fixed" else self.quantile, "drop_one", False)
        problem = None if dropping else self.problem(key)
        return None if problem is None else (key, problem)

    @property
    def counts_rows(self) -> bool:
        """Whether rows are interchangeable: unweighted, not grouped, hard."""
        return self.samples.weights is None and self.groups is None and not self.soft

    def by_cells(self, measure: Measure) -> bool:
        """Whether cells will do for rows. Not for bins: rules that come here see single reports."""
        scalar = measure.notion in ("scalar", "loss") and not self.samples.multiclass
        in_bins = measure.statistic.endswith("bins") or measure.statistic == "above"
        return (scalar or measure.notion == "scalar") and not in_bins and self.counts_rows

    @property
    def n_whole(self) -> int:
        """Resamples where a whole measure is computed for each."""
        return max(50, self.n_resamples // 5)

    def summary(self, samples: Samples) -> Summary:
        return Summary(samples, self.fixed, self.quantile)

    def measured(
        self, measure: Measure, kind: str, draws: Callable[[], Any], leave_out: Sequence[str] = ()
    ) -> Array:
        """The measure of each drawn sample; all that read the same statistic are taken together,
        but for those that have what is drawn from elsewhere.
        """
        key = (kind, measure.statistic)
        group = [
            m for m in self.measures if m.statistic == measure.statistic and m.name not in leave_out
        ]
        if key not in self.wholes:
            rows = []
            for sample in draws():
                summary = self.summary(sample)
                # A resample may hold nothing that a measure is about: no report above a threshold.
                with suppress(InputError):
                    rows.append([m.compute(summary) for m in group])
            if not rows:
                rows = [[m.compute(self.summary(self.samples)) for m in group]]
            self.wholes[key] = np.array(rows)
        out: Array = self.wholes[key][:, [m.name for m in group].index(measure.name)]
        return out


def checked_votes(votes: Any, samples: Samples) -> Any:
    """Votes behind soft labels: a whole number, or one per row."""
    if votes is None:
        return None
    array, shapes = samples.own_rows(np.asarray(votes)), ((), (samples.n,))
    if array.dtype.kind not in "iu" or array.shape not in shapes or (array < 1).any():
        raise InputError(
            f"votes must be a whole number of at least 1, or one per row; got {votes!r}"
        )
    return array.astype(np.int64)
