"""Uncertainty: confidence intervals and noise floors of measures, each by the way that fits it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.bin_tables import FIELDS, BinTable
from calibrant._core.binning import Rule, equal_mass_rule
from calibrant._core.errors import InputError
from calibrant._engines.arrays.draws import MOST_LABELS
from calibrant._inference.blocks import blocks_of, summed
from calibrant._inference.bootstrap import basic_limits
from calibrant._inference.budget import TABLE_ENTRIES, few_draws, many_draws
from calibrant._inference.cells import Cells, Drawn, Problem, as_seen, empty_tables, table_of
from calibrant._inference.class_bins import recalibrated
from calibrant._inference.classes import ClassFamily, Errors, Luck
from calibrant._inference.decomposition import discrimination_limits, uncertainty_limits
from calibrant._inference.family import SHAPES, Family, Limits, VoteScatter, invert
from calibrant._inference.means import (
    Influences,
    few_event_limits,
    influences,
    mean_limits,
    null_losses,
)
from calibrant._inference.null import drawn_samples, null_drawn, null_mean
from calibrant._inference.paired import (
    PAIRED_MEMBERS,
    Scatter,
    best_member,
    draw_blocks,
    replicates,
)
from calibrant._inference.resampling import Resampler
from calibrant._inference.tails import lower_tail, upper_chance, upper_tail
from calibrant._inference.vote_limits import VoteLimits, note_on_votes
from calibrant._inference.voted_rows import VotedRows
from calibrant._measures.catalogue import Measure
from calibrant._measures.statistics import STATISTICS
from calibrant.results._uncertainty import Interval, NoiseFloor, estimand_of

Array = NDArray[np.float64]

# Outcomes of the rarer kind below which limits rest on the predictions more than on the outcomes.
FEW_EVENTS = 5
INVERTED = "test inversion over a least-favourable family"
INVERTED_VOTES = f"{INVERTED}, the votes of these rows drawn anew"
OUTCOMES, SCATTER = "outcomes drawn from the predictions", "scatter of the labels given"

SOFT_HAVE_NO_FLOOR = (
    "soft labels have no noise floor for this measure: how much they would scatter about the right "
    "predictions depends on how they came about. Give votes=, the number of votes behind each label"
)


def why_no_floor(measure: Measure) -> str:
    """Why a measure of these samples has no noise floor."""
    if measure.is_ranking:
        return (
            f"{measure.name} measures ranking, not calibration: there is no value that calibrated "
            "predictions show. cal.interval gives its confidence interval"
        )
    return SOFT_HAVE_NO_FLOOR


@dataclass
class Uncertainty(Resampler):
    """Intervals and noise floors of one set of samples; draws are shared between measures."""

    _families: dict[Any, Family] = field(default_factory=dict)
    _classes: dict[Any, tuple[ClassFamily, int] | None] = field(default_factory=dict)
    _null: dict[Any, Any] = field(default_factory=dict)
    _wholes: dict[Any, Any] = field(default_factory=dict)
    _luck: Luck | None = None

    def prepare(self) -> None:
        """Make what all measures read, before threads do so at the same time."""
        self._null_drawn(self.plain_problem, self.plain_problem.fine_cells)

    # --- intervals -------------------------------------------------------------------------------

    def interval(self, measure: Measure, value: float) -> Interval:
        """A confidence interval for the true value."""
        low, high, method, error, centre = self._limits(measure, value)
        low = min(max(low, measure.low), measure.high)
        high = min(max(high, low), measure.high)
        low, high = self._beyond_certainty(measure, low, high)
        centre = value if centre is None else min(max(centre, low), high)
        notes = ["" if measure.interval_method == "influence" else self._note()]
        notes.append(self.vote_note(measure))
        return Interval(
            measure.name, value, low, high, self.level, method, self.seed, error, centre,
            "; ".join(filter(None, notes)), self._estimand(measure),
        )  # fmt: skip

    # --- the noise of votes ----------------------------------------------------------------------

    @cached_property
    def vote_rows(self) -> VotedRows | None:
        """The votes behind soft labels; None where they are not known."""
        if self.votes is None or not self.soft:
            return None
        return VotedRows(self.samples, self.votes, self.seed, self.measures)

    @cached_property
    def resampling(self) -> str:
        """What is drawn anew: "rows", "votes" or "both"."""
        rows = self.vote_rows
        if rows is None:
            return "rows"
        if rows.why_not and self.resample in ("votes", "both"):
            raise InputError(
                f"resample={self.resample!r} needs to know how votes scatter, but {rows.why_not}: "
                "resample='rows' is about the labels given"
            )
        return "rows" if rows.why_not else self.resample or "both"

    @cached_property
    def voted(self) -> VoteLimits:
        """The noise of votes, where it is taken out."""
        assert self.vote_rows is not None
        return VoteLimits(
            self.vote_rows, self.blocks, self.groups, self.level, self._many_draws,
            self._few_draws, self.seed,
            lambda measure, samples: measure.compute(self.summary(samples)),
        )  # fmt: skip

    def _takes_out_votes(self, measure: Measure) -> bool:
        """Whether noise of votes that is in the value is not to be in the limits."""
        return self.resampling == "both" and measure.votes_add

    def _estimand(self, measure: Measure) -> str:
        """What an interval is about, where it is not what all are."""
        return estimand_of(self.resampling, of_labels=measure.votes_add) if self.soft else ""

    def vote_note(self, measure: Measure) -> str:
        """What to know about the noise of votes in a measure of these labels."""
        if not self.soft or not measure.votes_add:
            return ""
        return note_on_votes(measure, self.vote_rows, self.resampling)

    def without_vote_noise(self, measure: Measure, value: float) -> float:
        """The value against the distributions behind the votes, for these rows."""
        if self.resampling == "rows":
            return value
        of_bins = measure.interval_method == "inversion" and measure.vote_excess is None
        inverted = self._inverted(measure, value) if of_bins else None
        if inverted is not None and inverted[4] is not None:
            return inverted[4]
        return self.voted.estimate(measure, value)

    def _beyond_certainty(self, measure: Measure, low: float, high: float) -> tuple[float, float]:
        """An interval of no width at an end of a measure's range, with what so many rows without a
        single fault (or without a single row in order) cannot exclude.
        """
        if low < high or low not in (measure.low, measure.high) or math.isinf(measure.high):
            return low, high
        unseen = 1.0 - ((1.0 - self.level) / 2.0) ** (1.0 / self.samples.n)
        room = (measure.high - measure.low) * unseen**measure.power
        return (low, low + room) if low == measure.low else (high - room, high)

    @property
    def _few_events(self) -> bool:
        """Whether a binary problem has hardly seen one of its outcomes."""
        few = None if self.samples.multiclass else self.fewest_outcomes
        return few is not None and few < FEW_EVENTS

    def _note(self) -> str:
        few = self.fewest_outcomes
        if few is None or few >= FEW_EVENTS:
            return ""
        seen = "none" if few == 0 else str(few)
        return f"{seen} of the rarer outcome in these rows: the limits rest on the predictions"

    def _limits(
        self, measure: Measure, value: float
    ) -> tuple[float, float, str, float | None, float | None]:
        """Limits, method, standard error of the value, and the estimate without its bias."""
        way = measure.interval_method
        if self.resampling == "votes" and way != "inversion":
            return self.voted.of_same_rows(measure, value)
        if self._takes_out_votes(measure) and measure.vote_model:
            return self.voted.modelled(measure, self.noise_floor(measure, value))
        if way == "mean":
            low, high, error = mean_limits(self._influences(measure), self.level)
            if self._takes_out_votes(measure):
                value = self.voted.estimate(measure, value)
            if self._few_events and measure.notion == "loss" and self.samples.weights is None:
                fewest, most = few_event_limits(self.samples, measure.loss, self.level)
                low, high = min(low, fewest), max(high, most)
            kind = "clusters" if self.groups is not None else "rows"
            return value + low, value + high, f"BCa limits of a mean of {kind}", error, value
        if way == "influence":
            return self._influenced(measure, value)
        if way == "rate" and self._takes_out_votes(measure):
            problem = self.plain_problem
            return self.voted.of_scattered(measure, value, problem.z, problem.w)
        if way == "rate":
            low, high = uncertainty_limits(self.plain_problem, self.groups, self.level)
            return low, high, "limits of the rate", None, value
        if way == "discrimination":
            limits = discrimination_limits(
                self.plain_problem, self.plain_problem.fine_cells, self.blocks,
                self._few_draws, self.level, self.seed,
            )  # fmt: skip
            return limits.low, limits.high, INVERTED, None, limits.estimate
        inverted = self._inverted(measure, value) if way == "inversion" else None
        if inverted is not None:
            return inverted
        if self.resampling == "votes":
            return self.voted.of_same_rows(measure, value)
        drawn = self._resampled(measure)
        kind = "clusters" if self.groups is not None else "rows"
        return (
            *basic_limits(value, drawn, self.level), f"basic bootstrap of {kind}",
            float(drawn.std(ddof=1)), None,
        )  # fmt: skip

    def _influenced(
        self, measure: Measure, value: float
    ) -> tuple[float, float, str, float | None, float | None]:
        """Limits from what each row moves a share by, found on the logit scale."""
        parts = self._moved(measure)
        kind = "clusters" if self.groups is not None else "rows"
        method = f"limits from what {kind} move it by (DeLong)"
        if not 0.0 < value < 1.0:
            # Nothing scatters: what so few of the rarer outcome cannot exclude.
            unseen = 1.0 - ((1.0 - self.level) / 2.0) ** (1.0 / max(parts.units, 1.0))
            low, high = (0.0, unseen) if value <= 0.0 else (1.0 - unseen, 1.0)
            return low, high, method, 0.0, value
        down, up, error = mean_limits(parts, self.level)
        at, steep = math.log(value / (1.0 - value)), value * (1.0 - value)
        low, high = (1.0 / (1.0 + math.exp(min(-at - d / steep, 700.0))) for d in (down, up))
        return low, high, method, error, value

    def _moved(self, measure: Measure) -> Influences:
        """What rows or clusters move a measure by that is no mean."""
        key = ("moved", measure.name)
        if key not in self._wholes:
            assert measure.moved is not None
            problem = self.plain_problem
            values, units = measure.moved(problem.levels[1], problem.z, problem.weights)
            own = influences(values, problem.w, self.groups)
            self._wholes[key] = Influences(own.moved, min(own.units, units))
        out: Influences = self._wholes[key]
        return out

    def _inverted(
        self, measure: Measure, value: float
    ) -> tuple[float, float, str, float | None, float | None] | None:
        """Limits by test inversion; None where a measure has no family."""
        limits, error, correction = None, None, 0.0
        binned = self.binned(measure)
        formula, of_cells = measure.table_formula, measure.cell_formula
        if binned is not None:
            key, problem = binned
            assert formula is not None
            population = measure.of_population or formula
            correction = self._correction(measure, problem)
            family = self._family(key, problem, problem.coarse_cells, self._many_draws)
            limits = _of_family(
                family, lambda drawn: formula(drawn.tables()), value, self.level,
                lambda drawn: population(drawn.tables()),
            )  # fmt: skip
            # How much the value itself varies from sample to sample.
            error = float(formula(family.member("threshold", 0.0)[1].tables()).std(ddof=1))
        elif of_cells is not None:
            cells = self.plain_problem.fine_cells
            family = self._family("cells", self.plain_problem, cells, self._few_draws)
            seen = float(of_cells(as_seen(cells))[0])
            limits = _of_family(family, of_cells, seen, self.level, shapes=("threshold", "smooth"))
        else:
            classes = self._class_family(measure)
            if classes is not None:
                limits = _of_classes(*classes, value, self.level)
        if limits is None:
            return None
        low, estimate = limits.low, limits.estimate
        if self.resampling == "votes":
            if measure.vote_excess is not None:
                estimate = max(value - self.voted.rows.excess(measure), measure.low)
            return low, limits.high + correction, INVERTED_VOTES, error, estimate
        # Whether the data differ from calibrated ones is what the noise floor tests.
        floor = self._null_values(measure) if low > 0.0 else None
        if floor is not None:
            p = upper_tail(floor[0], self._on_null_scale(measure, value))
            low = 0.0 if p > (1.0 - self.level) / 2.0 else low
        return low, limits.high + correction, INVERTED, error, limits.estimate

    @staticmethod
    def _correction(measure: Measure, problem: Problem) -> float:
        """What a truthful error adds to its squared gaps because rows are few: the interval is to
        hold the value with it and without.
        """
        if measure.notion != "confidence" or measure.of_population is None:
            return 0.0
        table, formula = table_of(problem), measure.table_formula
        assert formula is not None
        return max(0.0, float(formula(table)[0] - measure.of_population(table)[0]))

    def _family(self, key: Any, problem: Problem, cells: Cells, n_draws: int) -> Family:
        if key not in self._families:
            same = problem.n == self.samples.n
            blocks = self.blocks if same else blocks_of(problem.n, self.groups, self.seed)
            if self.resampling == "votes":
                blocks = blocks_of(problem.n, None, self.seed)  # clusters are of rows, which stay
            self._families[key] = Family(
                problem, cells, blocks, n_draws, self.seed, votes=self._scalar_votes
            )
        return self._families[key]

    @property
    def _scalar_votes(self) -> VoteScatter | None:
        return self.voted.rows.scalar_scatter if self.resampling == "votes" else None

    @property
    def _many_draws(self) -> int:
        return many_draws(self.n_resamples)

    @property
    def _few_draws(self) -> int:
        return few_draws(self.n_resamples)

    def _influences(self, measure: Measure) -> Influences:
        """What rows or clusters move a mean by."""
        distribution = measure.statistic == "distribution"
        weights = self.samples.weights
        w = None if weights is None else weights.astype(np.float64)
        values = self.made.row_values(distribution=distribution)[measure.loss]
        if self._takes_out_votes(measure):
            values = self.voted.rows.corrected(measure)
        return influences(values, w, self.groups)

    def _resampled(self, measure: Measure) -> Array:
        """The measure's value in resamples of the rows, for one that has no family."""
        if measure.name not in self._wholes:
            draws = draw_blocks(self.samples.n, self.n_resamples, self.seed, self.groups)
            self._wholes[measure.name] = replicates(
                self.made, (measure,), self.fixed, self.quantile, draws, self._few_draws
            )[0]
        out: Array = self._wholes[measure.name]
        return out

    # --- what a pair of predictors has in common -------------------------------------------------

    def scatter(self, measure: Measure, value: float) -> Scatter:
        """How the measure of a sample scatters about its true value, resample by resample: the same
        resamples for every predictor on the same rows.
        """
        by_votes = self.resampling == "votes" and measure.interval_method != "inversion"
        if by_votes or (self._takes_out_votes(measure) and measure.vote_model):
            return self.voted.scatter(measure, value, rows_too=not by_votes)
        if measure.interval_method in ("mean", "influence"):
            mean = measure.interval_method == "mean"
            parts = self._influences(measure) if mean else self._moved(measure)
            if self.groups is None:
                moved = summed(self.blocks.index, parts.moved, self.blocks.size)
                parts = Influences(moved, parts.units)
            excess = 0.0
            if self._takes_out_votes(measure):
                excess = value - self.voted.estimate(measure, value)
            return Scatter(parts, None, excess=excess)
        members = self._common_members(measure)
        if members is None:
            drawn = self._resampled(measure)
            return Scatter(None, (drawn - drawn.mean())[None])
        truths = np.array([truth for truth, _ in members])
        errors = np.array([drawn - truth for truth, drawn in members])
        return Scatter(
            None, errors, best_member(value, truths, errors), self._kinked_predictions(measure)
        )

    def _kinked_predictions(self, measure: Measure) -> Array | None:
        """The predictions that a measure with a kink at a gap of 0 is of."""
        if measure.power != 1:
            return None
        scalar = self.binned(measure) or measure.cell_formula
        classes = None if scalar else self._class_family(measure)
        return self.plain_problem.u if classes is None else classes[0].bins.u

    def _common_members(self, measure: Measure) -> list[tuple[float, Array]] | None:
        """True value and draws in members of the family that is common to several predictors."""
        if measure.interval_method != "inversion":
            return None
        binned, formula, of_cells = (
            self.binned(measure),
            measure.table_formula,
            measure.cell_formula,
        )
        if binned is not None and formula is not None:
            key, problem = binned
            population = measure.of_population or formula
            family = self._common_family(key, problem, problem.coarse_cells, self._many_draws)
            both = (family.member("threshold", t) for t in PAIRED_MEMBERS)
            return [
                (float(population(truth.tables())[0]), formula(drawn.tables()))
                for truth, drawn in both
            ]
        if of_cells is not None:
            problem = self.plain_problem
            family = self._common_family("cells", problem, problem.fine_cells, self._few_draws)
            both = (family.member("threshold", t) for t in PAIRED_MEMBERS)
            return [(float(of_cells(truth)[0]), of_cells(drawn)) for truth, drawn in both]
        return self._common_classes(measure)

    def _common_family(self, key: Any, problem: Problem, cells: Cells, n_draws: int) -> Family:
        """A family whose resamples are the same for every predictor on the same rows."""
        if ("common", key) not in self._families:
            self._families["common", key] = Family(
                problem, cells, self.blocks, n_draws, self.seed, common=True,
                votes=self._scalar_votes,
            )  # fmt: skip
        return self._families["common", key]

    def _common_classes(self, measure: Measure) -> list[tuple[float, Array]] | None:
        classes = self._class_family(measure)
        if classes is None:
            return None
        own, formula = classes
        key = ("common", id(own))
        if key not in self._classes:
            family = ClassFamily(
                own.bins, self.blocks, self._many_draws, self.seed, common=True, votes=own.votes,
                like=own,
            )  # fmt: skip
            self._classes[key] = (family, 0)
        common = self._classes[key]
        assert common is not None
        return [common[0].member("threshold", t, formula) for t in PAIRED_MEMBERS]

    # --- all classes -----------------------------------------------------------------------------

    def _class_family(self, measure: Measure) -> tuple[ClassFamily, Errors] | None:
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
            return family, _vector_errors(measure.of_vectors, k)
        assert measure.table_formula is not None
        return family, _table_errors(measure.table_formula, k)

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
        return ClassFamily(own, blocks, self._many_draws, self.seed, luck, votes=votes), k

    # --- noise floors ----------------------------------------------------------------------------

    def noise_floor(self, measure: Measure, value: float) -> NoiseFloor | None:
        """What the measure shows when the predictions are right; None where nothing tells."""
        if measure.is_ranking:
            return None
        if measure.statistic == "losses" and self.votes is None:
            return self._loss_floor(measure, value)
        null = self._null_values(measure)
        if null is None:
            return None
        drawn, method = null
        exact = None
        if measure.null_mean is not None and not self.soft and self.groups is None:
            binned = self.binned(measure)
            problem = self.plain_problem if binned is None else binned[1]
            exact = null_mean(measure, problem)
        seen = self._on_null_scale(measure, value)
        scale = value / seen if seen > 0 and self._of_cells(measure) is not None else 1.0
        better = measure.higher_is_better
        p, p_low = upper_tail(drawn, seen), lower_tail(drawn, seen)
        return NoiseFloor(
            measure.name,
            value,
            scale * float(drawn.mean()) if exact is None else exact,
            scale * float(np.quantile(drawn, 0.05 if better else 0.95)),
            p_low if better else p,
            int(drawn.size),
            method,
            exact is not None,
            self.seed,
            p if better else p_low,
        )

    def _on_null_scale(self, measure: Measure, value: float) -> float:
        """The value as the null is drawn: on cells, where measures are not of bins."""
        of_cells = self._of_cells(measure)
        if self.binned(measure) is None and of_cells is not None:
            return float(of_cells(as_seen(self.plain_problem.fine_cells))[0])
        return value

    def _of_cells(self, measure: Measure) -> Callable[[Drawn], Array] | None:
        """The formula over cells, if a null is drawn there: residuals that scatter as they did are
        those of errors alone.
        """
        scatter = self.soft or self.groups is not None
        return None if scatter and not measure.is_error else measure.cell_formula

    def _null_values(self, measure: Measure) -> tuple[Array, str] | None:
        """The measure's value in samples whose predictions are right, and how they were drawn."""
        scatter = self.soft or self.groups is not None
        method = SCATTER if scatter else OUTCOMES
        binned, formula, of_cells = (
            self.binned(measure),
            measure.table_formula,
            self._of_cells(measure),
        )
        if binned is not None and formula is not None:
            problem = binned[1]
            drawn = self._null_drawn(problem, problem.fine_cells)
            return formula(drawn.tables()), method
        if of_cells is not None:
            key_: Any = ("null", measure.name)
            if key_ not in self._null:
                problem = self.plain_problem
                drawn = self._null_drawn(problem, problem.fine_cells)
                self._null[key_] = of_cells(drawn.first(self._many_draws))
            return self._null[key_], method
        classes = self._class_family(measure)
        if classes is not None:
            family, errors = classes
            key_ = ("null", id(family))
            if key_ not in self._null:
                self._null[key_] = family.null(self._many_draws)
            residual = self._null[key_]
            return errors(residual, np.broadcast_to(family.bins.weight, residual.shape)), method
        if self.soft and self.votes is None:
            return None
        return self._null_rows(measure)

    def _null_drawn(self, problem: Problem, cells: Cells) -> Drawn:
        key = ("drawn", id(cells))
        if key not in self._null:
            n_draws = max(self.n_resamples, self._many_draws)
            rng = np.random.default_rng((self.seed, 5))
            self._null[key] = null_drawn(problem, cells, self.blocks, n_draws, rng)
        drawn: Drawn = self._null[key]
        return drawn

    def _null_rows(self, measure: Measure) -> tuple[Array, str]:
        """Whole samples drawn row by row: predictions equal to the distributions of labels."""
        group = tuple(
            m for m in self.measures
            if m.statistic == measure.statistic and self._of_cells(m) is None
        )  # fmt: skip
        group = group if measure in group else (*group, measure)
        key = ("rows", measure.statistic, len(group))
        if key not in self._null:
            rng = np.random.default_rng((self.seed, 6))
            values = []
            for sample in drawn_samples(self.samples, self._few_draws, rng, self.votes):
                summary = self.summary(sample)
                values.append([m.compute(summary) for m in group])
            self._null[key] = np.array(values)
        what = "outcomes" if self.votes is None else "votes"
        drawn: Array = self._null[key][:, group.index(measure)]
        return drawn, f"{what} drawn from the predictions"

    def _loss_floor(self, measure: Measure, value: float) -> NoiseFloor | None:
        """Of losses the law under the predictions is known: mean, variance, skewness."""
        if self.soft or self.groups is not None:
            return None
        if "losses" not in self._null:
            self._null["losses"] = null_losses(self.samples)
        mean, spread, skew = self._null["losses"][measure.loss]
        if spread > 0:
            x = (value - mean) / spread
            p, p_low = upper_chance(x, skew), upper_chance(-x, -skew)
            upper = mean + spread * self._upper_point(skew)
        else:
            p = p_low = 1.0
            upper = mean
        return NoiseFloor(
            measure.name, value, mean, upper, p, 0, "moments under the predictions", True,
            self.seed, p_low,
        )  # fmt: skip

    @staticmethod
    def _upper_point(skew: float) -> float:
        # Cornish and Fisher's point of a law with a little skewness.
        return 1.6448536269514722 + skew * (1.6448536269514722**2 - 1.0) / 6.0


def _of_family(
    family: Family,
    statistic: Callable[[Drawn], Array],
    value: float,
    level: float,
    population: Callable[[Drawn], Array] | None = None,
    shapes: Sequence[str] = SHAPES,
) -> Limits:
    true = population or statistic
    # Where families meet, and at their ends, a member is asked for again.
    known: dict[int, tuple[float, Array]] = {}

    def member(shape: str, t: float) -> tuple[float, Array]:
        truth, drawn = family.member(shape, t)
        if id(drawn) not in known:
            known[id(drawn)] = float(true(truth)[0]), statistic(drawn)
        return known[id(drawn)]

    return invert(value, member, {shape: family.grid(shape) for shape in shapes}, level)


def _of_classes(family: ClassFamily, errors: Errors, value: float, level: float) -> Limits:
    known: dict[bytes, tuple[float, Array]] = {}

    def member(shape: str, t: float) -> tuple[float, Array]:
        gap = family.gaps(shape, t)
        key = (gap + 0.0).tobytes()  # -0 is 0
        if key not in known:
            known[key] = family.drawn(gap, errors)
        return known[key]

    return invert(value, member, {shape: family.grid(shape) for shape in SHAPES}, level)


def _table_errors(formula: Callable[[BinTable], Array], k: int) -> Errors:
    """A mean over classes of a formula of bin tables, for residuals (draws, k m)."""
    # All members of a family have the same weights: their tables are filled once.
    kept: dict[str, Any] = {}

    def errors(residual: Array, weight: Array) -> Array:
        step = max(1, TABLE_ENTRIES // residual.shape[1])
        if not 1 < len(residual) <= step:
            parts = range(0, len(residual), step)
            each = (slice(start, start + step) for start in parts)
            return np.concatenate([_class_means(formula, k, residual[i], weight[i]) for i in each])
        if kept.get("weight") is not weight:
            kept.update(weight=weight, tables=_class_tables(weight, k))
        return _class_means(formula, k, residual, weight, kept["tables"])

    return errors


def _class_tables(weight: Array, k: int) -> Array:
    """Sums (draws k, m, fields) with the weights (draws, k m), and without residuals."""
    m = weight.shape[1] // k
    sums = empty_tables(len(weight) * k, m)
    for name in ("n", "sum_w", "sum_w2"):
        sums[:, :, FIELDS.index(name)] = weight.reshape(-1, m)
    return sums


def _class_means(
    formula: Callable[[BinTable], Array],
    k: int,
    residual: Array,
    weight: Array,
    sums: Array | None = None,
) -> Array:
    """The formula's means over classes; `sums` are tables of these weights, to be written to."""
    if sums is None:
        sums = _class_tables(weight, k)
    sums[:, :, FIELDS.index("sum_wz")] = residual.reshape(sums.shape[:2])
    table = BinTable(sums.view(), has_squares=False)  # a table is read-only, its base is not
    nonempty = table.total_weight > 0  # a resample may have no row of a class
    whole = nonempty.all()
    values = np.where(nonempty, formula(table), 0.0) if whole else _some(formula, table)
    count = np.maximum(nonempty.reshape(-1, k).sum(axis=1), 1)
    out: Array = values.reshape(-1, k).sum(axis=1) / count
    return out


def _some(formula: Callable[[BinTable], Array], table: BinTable) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(formula(table))


def _vector_errors(formula: Callable[[Array, Array], Array], k: int) -> Errors:
    """A formula of vector predictions, for residuals (draws, cells k)."""
    return lambda residual, weight: formula(residual, weight.sum(axis=1) / k)
