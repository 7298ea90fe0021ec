"""Comparisons from sums: of predictors whose rows stay in another engine or on a device.

Each predictor's own sums give its values and intervals. For each pair the engine pools the rows
where both predictors have the same cells, and differences are those of these pooled rows: the noise
of a label that both are compared with cancels, as it does row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from calibrant._api.evaluate_samples import choose_measures, describe_input, notes_of
from calibrant._api.model_rows import own_labels_note
from calibrant._api.resampling import Resampling
from calibrant._api.summed_predictor import SummedPredictor
from calibrant._core.binning import Rule
from calibrant._core.errors import InputError, errors_about
from calibrant._core.typing import Array
from calibrant._inference.differences import Differences
from calibrant._inference.pooled_rows import PooledSums
from calibrant._inference.uncertainty import Uncertainty
from calibrant._measures.catalogue import Measure, listed
from calibrant.results._comparison import Comparison
from calibrant.results._reliability import ReliabilityTable


@dataclass(frozen=True, kw_only=True)
class SummedComparison:
    """The checked options of a comparison of predictors by their sums."""

    measures: Any
    resampling: Resampling
    # Whether no coefficients are compared too, so that some measure must be named.
    alone: bool = True

    @property
    def rules(self) -> tuple[Rule, Rule]:
        """The rule of the ordinary bins, and that of the bins of truthful measures."""
        return self.resampling.rules

    def compare(self, predictors: Mapping[str, SummedPredictor], clusters: Any) -> Comparison:
        """The comparison, with an interval of each value and of each difference. `clusters` says
        which cluster each row is of, None for independent rows.
        """
        first = next(iter(predictors.values()))
        chosen, notes = self._choose(predictors)
        asked = self.measures is not None
        values = {}
        for name, each in predictors.items():
            with errors_about(name):
                values[name] = each.values(chosen, asked=asked)
        absent = [m.name for m in chosen if any(m.name not in own for own in values.values())]
        chosen = tuple(measure for measure in chosen if measure.name not in absent)
        notes += (
            (f"{', '.join(absent)}: not computed, not defined for some predictor",)
            if absent
            else ()
        )
        table = [[own[measure.name] for measure in chosen] for own in values.values()]
        singles = [self._uncertainty(each.sums, chosen) for each in predictors.values()]
        limits = []
        for single, row in zip(singles, table, strict=True):
            intervals = map(single.interval, chosen, row)
            limits.append([(each.low, each.high, each.estimate) for each in intervals])
        pairs, n_own = self._pairs(list(predictors.values()), singles, chosen, table, clusters)
        n, findings = singles[0].n_rows, first.summary.findings
        engine = getattr(first.samples, "where", None)
        return Comparison(
            names=tuple(predictors),
            measures=tuple(measure.name for measure in chosen),
            higher_is_better=tuple(measure.higher_is_better for measure in chosen),
            values=np.array(table),
            limits=np.array(limits),
            pairs=pairs,
            level=self.resampling.level,
            robustness=None,
            slices=None,
            inferred=(*describe_input(first.samples, findings), *own_labels_note(n_own, n)),
            shape=first.samples.shape,
            soft=findings.soft,
            notes=(*_notes(predictors, [m.name for m in chosen]), *notes),
            recipe={
                "n": n,
                "n_classes": first.samples.n_classes,
                "bins": str(self.rules[0]),
                "truthful_bins": str(self.rules[1]),
                "bin_counts": [],
                "from_logits": first.samples.from_logits,
                "weighted": first.samples.weighted,
                "level": self.resampling.level,
                "n_resamples": self.resampling.n_resamples,
                "seed": self.resampling.seed,
                "grouped": clusters is not None,
                "matched_by_ids": False,
                **({} if engine is None else {"engine": engine}),
                **({"own_labels": True} if n_own else {}),
            },
            tables=tuple(_reliability(each, self.rules[0]) for each in predictors.values()),
            ceiling=None,
        )

    def _choose(
        self, predictors: Mapping[str, SummedPredictor]
    ) -> tuple[tuple[Measure, ...], tuple[str, ...]]:
        """The measures to compare, and a note on those that sums give no interval of.

        Measures that were asked for by name raise an error where they have no interval.
        """
        first = next(iter(predictors.values()))
        shape = first.samples.shape
        if self.measures is not None:
            chosen = choose_measures(self.measures, shape)
            if not chosen and self.alone:
                raise InputError("measures must name at least one measure")
            for each in predictors.values():
                each.sums.refuse(chosen)
            return tuple(chosen), ()
        every = listed("compare", shape)
        reasons: dict[str, list[str]] = {}
        for measure in every:
            why = next(filter(None, (p.sums.why_not(measure) for p in predictors.values())), "")
            reasons.setdefault(why, []).append(measure.name)
        kept = reasons.pop("", [])
        notes = tuple(f"{', '.join(names)}: not computed, {why}" for why, names in reasons.items())
        return tuple(measure for measure in every if measure.name in kept), notes

    def uncertainties(self, several: Sequence[PooledSums]) -> list[Uncertainty]:
        """The Uncertainty of each of several sums, of the rows that they stand for."""
        return [self._uncertainty(sums, ()) for sums in several]

    def _uncertainty(self, sums: PooledSums, chosen: tuple[Measure, ...]) -> Uncertainty:
        """The Uncertainty of the measures from one predictor's sums."""
        given = self.resampling
        return sums.uncertainty(chosen, given.level, given.n_resamples, given.seed)

    def _pairs(
        self,
        predictors: Sequence[SummedPredictor],
        singles: Sequence[Uncertainty],
        chosen: tuple[Measure, ...],
        values: Sequence[Sequence[float]],
        clusters: Any,
    ) -> tuple[Array, int]:
        """The result of `limits_of_pairs`, and the number of rows in which some predictor has other
        labels than the first. `values` are (predictors, measures).
        """
        n_own = 0

        def differences_of(a: int, b: int) -> Differences:
            """The differences of two predictors, on the rows pooled where both have the same
            cells.
            """
            nonlocal n_own
            both = predictors[a].joint_sums(predictors[b], self.rules, clusters)
            if a == 0 and not predictors[a].samples.multiclass:
                n_own = max(n_own, _count_differing(*both))
            ours, theirs = (self._uncertainty(sums, chosen) for sums in both)
            for i, uncertainty in ((a, ours), (b, theirs)):
                # The limits of each value alone are those that are shown.
                _share_intervals(singles[i], uncertainty, chosen, values[i])
            return Differences(ours, theirs)

        pairs = limits_of_pairs(values, chosen, self.resampling.level, differences_of)
        return pairs, n_own


def limits_of_pairs(
    values: Sequence[Sequence[float]],
    chosen: tuple[Measure, ...],
    level: float,
    differences_of: Callable[[int, int], Differences],
) -> Array:
    """The confidence interval of every difference between two predictors, (measures, predictors,
    predictors, 3).

    The last axis has the lower limit, the upper limit and the estimate of the first's value less
    the second's. `values` are (predictors, measures); `differences_of` takes the numbers of two
    predictors.
    """
    k = len(values)
    out = np.zeros((len(chosen), k, k, 3))
    for a, b in combinations(range(k), 2):
        differences = differences_of(a, b)
        for j, measure in enumerate(chosen):
            pair = values[a][j], values[b][j]
            low, high, estimate = differences.limits(measure, pair, level)
            out[j, a, b] = low, high, estimate
            out[j, b, a] = 0.0 - high, 0.0 - low, 0.0 - estimate
    return out


def _share_intervals(
    single: Uncertainty, joint: Uncertainty, chosen: tuple[Measure, ...], values: Sequence[float]
) -> None:
    """Let the rows of a pair have the intervals that the predictor's own finer rows gave it."""
    for measure, value in zip(chosen, values, strict=True):
        key = ("interval", measure.name, value, single.level)
        joint.once(key, partial(single.interval, measure, value))


def _count_differing(first: PooledSums, second: PooledSums) -> int:
    """The number of rows in which two predictors have different labels."""
    ours, theirs = (np.asarray(each.rows.samples.targets) for each in (first, second))
    counts = first.rows.counts
    differ = ours != theirs
    return round(float(differ.sum() if counts is None else counts[differ].sum()))


def _reliability(predictor: SummedPredictor, rule: Rule) -> ReliabilityTable:
    """The reliability table of a predictor in the ordinary bins."""
    table, cuts = predictor.table
    return ReliabilityTable(table, rule, cuts, predictor.summary.scalar)


def _notes(predictors: Mapping[str, SummedPredictor], measures: Sequence[str]) -> tuple[str, ...]:
    """The notes on each predictor's predictions, after its name."""
    return tuple(
        f"{name}: {note}"
        for name, each in predictors.items()
        for note in notes_of(
            each.summary.findings,
            each.table[0],
            each.summary.n_logits_clipped,
            measures=measures,
        )
    )
