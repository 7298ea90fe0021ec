"""Accumulator: an evaluation that grows with the data and merges with others, in fixed memory."""

from __future__ import annotations

import copy
import math
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant._api.evaluate_samples import Options, choose_measures
from calibrant._api.streaming.recipe import (
    check_recipe,
    check_same_recipe,
    rule_from_dict,
    rule_to_dict,
)
from calibrant._api.streaming.summed_stream import SummedStream
from calibrant._core.bin_tables import FIELDS
from calibrant._core.binning import (
    Bins,
    EqualWidth,
    FixedRule,
    Quantile,
    Rule,
    as_rule,
    both_rules,
)
from calibrant._core.errors import InputError, StateError, check_weight_total
from calibrant._core.given_cells import Cells as GivenCells
from calibrant._core.messages import values_of
from calibrant._core.typing import Array, Shape
from calibrant._core.validation import N_RESAMPLES, check_level, public
from calibrant._data.explain import explained, swapped_error
from calibrant._data.logits import (
    LOG_PROBABILITIES,
    PROBABILITIES,
    VALUES_THAT_TELL,
    check_kind_of_logits,
)
from calibrant._data.logprobs import LOGPROBS, given_as
from calibrant._data.missing import check_missing
from calibrant._data.samples import shape_of
from calibrant._data.source import Source
from calibrant._data.to_samples import to_source
from calibrant._engines.arrays.streams import StreamSums
from calibrant._engines.cells import Cells
from calibrant._engines.dispatch import engine_of
from calibrant._engines.protocol import Findings
from calibrant._summaries.requirements import (
    holdings,
    is_available,
    known_measures,
    needs_fine_cells,
)
from calibrant._summaries.stream import StreamSummary
from calibrant.results._evaluation import Evaluation

if TYPE_CHECKING:
    from calibrant._core.atomic_files import Version
    from calibrant._core.state_file import Saved
    from calibrant._inference.pooled_rows import PooledSums
    from calibrant.results._certificate import Certificate
    from calibrant.results._decision_curve import DecisionCurve
    from calibrant.results._reliability_curve import ReliabilityCurve

# A logit of 1 as a probability.
SIGMOID_OF_1 = 1.0 / (1.0 + math.exp(-1.0))
# By how much two sums of the same numbers may differ, if an engine adds them in other orders.
ROUNDING = 1e-12
# A state has one number for its labels: 0 if all are hard, 1 if some are soft, VOTED if some of
# the soft ones are votes; OF_ANSWERS is added if labels say whether answers were right.
VOTED = 2
OF_ANSWERS = 4
_NOTHING_YET = "this Accumulator holds no samples yet: call update(...) first"


class Accumulator:
    """Sums of a stream of samples, from which binned measures and losses follow at any time.

    Its values equal those of `evaluate` for the same rows, in memory that does not grow with the
    rows. Measures that need all predictions in order (those in quantile bins, `ks_error`,
    `sweep_ece`, the parts of the Brier score) are not computed, with a note, unless `approximate`
    is set. With a rule, ``bins=EqualWidth(15)``, the truthful errors and `debiased_l2` are exact.

    Threads may share one: no update is lost, and readers see only whole updates.

    Parameters
    ----------
    bins : int, sequence of float, EqualWidth or Edges, default 15
        Bins that are fixed in advance; a rule instead of a number applies to all measures.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    measures : iterable of str or "all", optional
        Names of `catalogue()`; only the sums that these need are kept. By default, and for "all",
        those of all.
    missing : {"error", "drop"}, default "error"
        What to do with rows in which a value is missing: raise an error, or drop and count them.
    approximate : bool, default False
        Whether measures that need all predictions in order are computed from about 2,500 fine cells
        of [0, 1]; otherwise they are not computed.

    Attributes
    ----------
    rule : EqualWidth or Edges
        The bins of the stream.
    n_rows : int
        Number of rows added so far.
    n_missing : int
        Number of rows dropped by ``missing="drop"``.

    Examples
    --------
    >>> import calibrant as cal
    >>> day = cal.Accumulator(bins=10)
    >>> _ = day.update([0, 1], [0.2, 0.7])
    >>> _ = day.update([1, 0], [0.9, 0.4])
    >>> day.evaluate()["ece"]
    0.25
    """

    def __init__(
        self,
        *,
        bins: Bins = 15,
        from_logits: bool = False,
        from_logprobs: bool = False,
        classes: Sequence[Any] | None = None,
        measures: Iterable[str] | None = None,
        missing: str = "error",
        approximate: bool = False,
    ) -> None:
        if isinstance(bins, GivenCells):
            raise InputError(
                "an Accumulator has bins of predictions, not cells. For cells of a stream, use "
                "the slices of a monitor: Monitor(by=[...]).over_cells()"
            )
        rule = as_rule(bins)
        if not isinstance(rule, FixedRule):
            raise InputError(
                f"an Accumulator needs bins that are fixed in advance; got {rule}. Use a count, "
                "EqualWidth or Edges"
            )
        self.rule: FixedRule = rule
        # Whether all measures use this rule; where `bins` is a count, truthful ones do not.
        self.own_bins = both_rules(bins)[1] == rule
        # Predictions are given as logits (True), probabilities (False) or log-probabilities
        # (LOGPROBS); the two options say the same, each of one kind.
        self.given = given_as(from_logits, from_logprobs)
        self.from_logits, self.from_logprobs = self.given is True, self.given == LOGPROBS
        self.classes = None if classes is None else tuple(classes)
        measures = None if measures == "all" else measures
        self.measures = None if measures is None else known_measures(measures)
        self.missing = check_missing(missing)
        self.approximate = _check_flag(approximate)
        self.n_rows = 0
        self.n_missing = 0
        self._cells = Cells(rule, needs_fine_cells(self.measures))
        self._state: dict[str, Array] = {}
        self._findings = Findings()
        self._n_classes = 0  # 0: nothing seen; 1: (n,) predictions
        # Whether weights make each cluster count once, without a trace of which rows are of one.
        self.counts_clusters = False
        # Locked while sums replace others, never while rows are summed.
        self._lock = threading.Lock()
        # The file that it was loaded from or saved to, as it was then.
        self._version: Version | None = None

    @public
    def update(
        self,
        y_true: ArrayLike,
        y_proba: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        votes: ArrayLike | None = None,
        data: Any = None,
    ) -> Accumulator:
        """Add samples; bad input raises an InputError and leaves the state as it was.

        Parameters
        ----------
        y_true : array-like of shape (n,) or (n, k), str or list of str
            Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
        y_proba : array-like of shape (n,) or (n, k), str or list of str
            Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per
            class.
        sample_weight : array-like of shape (n,) or str, optional
            Weight of each row, at least 0; every row counts 1 by default.
        votes : int, array-like of shape (n,) or str, optional
            Number of all votes of each row, where (n,) labels are counts of votes for class 1;
            counts of shape (n, k), or (n, 2) for (n,) predictions, carry their own.
        data : data frame or mapping, optional
            Frame whose columns the other arguments name; one of a database or a cluster (polars
            lazy, DuckDB, Spark, Dask) is summed there.

        Returns
        -------
        Accumulator
            This accumulator, so that calls can be chained.

        Raises
        ------
        InputError
            If the input cannot be read as labels and probabilities; the message names the first bad
            row.
        """
        samples = to_source(
            y_true,
            y_proba,
            sample_weight,
            self.given,
            self.classes,
            data,
            self.missing,
            votes=votes,
            stream=True,
        )
        with explained(samples):
            sums = self.sums_of(samples)
        return self.add(sums, samples.n_columns)

    def sums_of(self, samples: Source) -> StreamSums:
        """The sums that `update` would add for these samples, made where they are.

        Parameters
        ----------
        samples : Source
            Checked samples, as `update` makes them.

        Returns
        -------
        StreamSums
            The sums, ready for `add`.
        """
        holds = holdings(self.measures, samples.multiclass)
        sums = engine_of(samples).stream_sums(samples, self._cells, holds)
        seen = replace(sums.findings, voted=samples.voted, answers=samples.answers)
        return replace(sums, findings=seen)

    def add(self, sums: StreamSums, columns: int) -> Accumulator:
        """Add sums that an engine has made.

        Parameters
        ----------
        sums : StreamSums
            Sums of the same recipe, from `sums_of`.
        columns : int
            Number of columns of `y_proba`; 1 for (n,).

        Returns
        -------
        Accumulator
            This accumulator, so that calls can be chained.
        """
        with self._lock:
            if self._n_classes not in (0, columns):
                raise InputError(
                    f"{values_of('y_proba')} has {columns} column{'s' if columns > 1 else ''}; "
                    f"earlier updates of this Accumulator had {self._n_classes}"
                )
            self._add_arrays(sums.arrays, sums.findings, sums.n_rows, sums.n_missing, columns)
        return self

    def _add_arrays(
        self,
        arrays: Mapping[str, Array],
        findings: Findings,
        n_rows: int,
        n_missing: int,
        columns: int,
    ) -> None:
        """Add new sums to the state, all or none; the caller must hold the lock.

        `arrays` are sums by name, of `n_rows` rows; `n_missing` more rows were dropped. `columns`
        is the number of columns of y_proba.
        """
        # Arrays and their mapping are never changed, only replaced: copies may share them.
        state = dict(self._state)
        for name, values in arrays.items():
            state[name] = state[name] + values if name in state else values
        self._state, self._findings = state, self._findings + findings
        self.n_rows, self.n_missing = self.n_rows + n_rows, self.n_missing + n_missing
        self._n_classes = columns

    def merge(self, other: Accumulator) -> Accumulator:
        """Add another accumulator's samples to this one's.

        Parameters
        ----------
        other : Accumulator
            Accumulator with the same recipe; it is not changed.

        Returns
        -------
        Accumulator
            This accumulator, so that calls can be chained.

        Raises
        ------
        StateError
            If recipes or numbers of classes differ.
        """
        check_same_recipe(self.recipe(), other.recipe())
        # A copy first: holding two locks at a time could deadlock.
        other = other.copy()
        with self._lock:
            mine, theirs = self._n_classes, other._n_classes
            if 0 not in (mine, theirs) and mine != theirs:
                raise StateError(f"states of {mine} and {theirs} columns cannot be merged")
            self._add_arrays(
                other._state, other._findings, other.n_rows, other.n_missing, max(mine, theirs)
            )
        return self

    def summary(self, *, approximate: bool | None = None) -> StreamSummary:
        """The statistics of everything added so far, as measures read them.

        Parameters
        ----------
        approximate : bool, optional
            Whether cells stand for an order; by default as this accumulator was made.

        Returns
        -------
        StreamSummary
            Statistics for measures to read.
        """
        nearly = self.approximate if approximate is None else _check_flag(approximate)
        return StreamSummary(
            self._cells, self._state, self._n_classes, self._findings, self.own_bins, nearly
        )

    def evaluate(
        self,
        *,
        measures: Iterable[str] | None = None,
        approximate: bool | None = None,
        uncertainty: bool = False,
        tolerance: float = 0.05,
        level: float = 0.95,
        n_resamples: int = N_RESAMPLES,
        seed: int = 0,
    ) -> Evaluation:
        """Evaluate everything added so far.

        Parameters
        ----------
        measures : iterable of str, optional
            Names of `catalogue()`; by default all that the sums allow.
        approximate : bool, optional
            Whether measures that need an order come from cells; by default as this accumulator was
            made.
        uncertainty : bool, default False
            Whether to add intervals, noise floors and a verdict, from the same sums. With several
            classes, only measures of the top label have them; with soft labels, all measures except
            losses.
        tolerance : float, default 0.05
            Largest error, as a gap, that you can accept.
        level : float, default 0.95
            Confidence level of intervals and verdicts.
        n_resamples : int, default 1000
            Number of resamples for each interval and noise floor.
        seed : int, default 0
            Seed of all random draws; the same seed gives the same result.

        Returns
        -------
        Evaluation
            As `evaluate` returns, of one moment even while other threads add rows.

        Raises
        ------
        InputError
            If nothing was added yet, if labels are fractions while every prediction is 0 or 1, or
            if a measure named in `measures` cannot be computed from sums.
        """
        # A snapshot, because other threads may add meanwhile.
        now = self.copy()
        now._check_not_swapped()
        options = Options(
            measures=measures,
            intervals="all" if uncertainty else "none",
            clinical=uncertainty,
            tolerance=tolerance,
            level=level,
            n_resamples=n_resamples,
            seed=seed,
        )
        return now._evaluate(options, approximate)

    def reliability_curve(
        self,
        *,
        method: str = "isotonic",
        band: str | None = "default",
        span: float | None = None,
        level: float = 0.95,
        seed: int = 0,
    ) -> ReliabilityCurve:
        """Fit a reliability curve to the cells of everything added so far.

        Parameters
        ----------
        method : {"isotonic", "local"}, default "isotonic"
            How the curve is fitted, as by `calibrant.reliability_curve`.
        band : {"default", "consistency", "confidence", "pointwise"} or None, default "default"
            The band of the curve.
        span : float in (0, 1], optional
            The share of rows in the window of a local regression; chosen by default.
        level : float, default 0.95
            Level of the band.
        seed : int, default 0
            Seed of a consistency band's draws; the same seed gives the same result.

        Returns
        -------
        ReliabilityCurve
            The curve of about 2,500 cells of predictions.

        Raises
        ------
        InputError
            If nothing was added yet, if the stream holds only sums of bins, or if too many distinct
            predictions share one cell.
        """
        from calibrant._api.reliability_curve import checked_band
        from calibrant._api.streaming.curves import curve_of_sums

        chosen = checked_band(method, band, span, level, seed)
        return curve_of_sums(self.pooled_sums(), method, chosen, float(level), span, int(seed))

    def decision_curve(
        self,
        *,
        thresholds: Iterable[float] | None = None,
        recalibration: str | None = "default",
        level: float = 0.95,
        seed: int = 0,
    ) -> DecisionCurve:
        """Give the net benefit of acting where a prediction reaches a threshold.

        Parameters
        ----------
        thresholds : iterable of float in [0, 1), optional
            Thresholds, which must be edges of bins (or multiples of 1/2048); by default the edges
            of this stream's bins. With ``bins=100`` they are 0.01, 0.02, ... 0.99.
        recalibration : {"default", "isotonic", "platt"} or None, default "default"
            The recalibration map, as in `calibrant.decision_curve`; none by default for soft labels
            and weights.
        level : float, default 0.95
            Level of the intervals, pointwise over thresholds.
        seed : int, default 0
            Seed of the folds; the same seed gives the same result.

        Returns
        -------
        DecisionCurve
            The curves of the model ("model"), of acting on all and on none.

        Raises
        ------
        InputError
            If nothing was added yet, for a threshold between edges, and for several classes.
        """
        from calibrant._api.net_benefits import check_recalibration
        from calibrant._api.streaming.curves import decisions_of_sums

        check_level(level)
        check_recalibration(recalibration, seed)
        given = (thresholds, recalibration, float(level), int(seed))
        return decisions_of_sums(self.pooled_sums(), *given)

    def certify(
        self,
        measure: str = "ece",
        *,
        level: float = 0.999,
        sigma: float | None = None,
        anytime: bool = True,
    ) -> Certificate:
        """Give a proved upper bound of a calibration error of everything added so far.

        Parameters
        ----------
        measure : str, default "ece"
            A measure that `calibrant.certify` bounds, and that the sums have.
        level : float, default 0.999
            Minimum probability with which the bound holds.
        sigma : float, optional
            Width of the noise of a smooth error, fixed in advance.
        anytime : bool, default True
            Whether the bound holds at all numbers of rows simultaneously, so it may be checked as
            rows of one population are added; it is about 1.3 times as wide. If not, it holds at one
            number of rows, fixed in advance.

        Returns
        -------
        Certificate
            As `calibrant.certify` returns.

        Raises
        ------
        InputError
            If nothing was added yet, if rows have weights, or if the sums do not have the measure.
        """
        from calibrant._api.certify import certifiable
        from calibrant._inference.certificates import certificate

        now = self.copy()
        sums = now.pooled_sums()
        chosen = certifiable(measure, now.shape)
        summary = replace(sums.summary, own_bins=True, approximate=False)
        if not is_available(chosen, now.measures, now.columns > 1):
            raise InputError(
                f"this stream has no sums for {chosen.name!r}: create it with measures='all', or "
                "name this measure when you create it"
            )
        if not summary.has(chosen):
            raise InputError(
                f"{chosen.name!r} needs the predictions in order, which a stream does not keep: "
                "certify arrays, or certify 'ece'"
            )
        return certificate(
            chosen,
            summary,
            check_level(level),
            summary.n_columns,
            sigma=sigma,
            anytime=anytime,
            clusters=sums.clusters_lost,
            bins=str(self.rule),
        )

    def pooled_sums(self) -> PooledSums:
        """The sums of this moment, as intervals and curves read them.

        Returns
        -------
        PooledSums
            Sums that intervals, noise floors and verdicts are computed from.

        Raises
        ------
        InputError
            If nothing was added yet, or no row has weight.
        """
        from calibrant._inference.pooled_rows import PooledSums

        now = self.copy()
        if not now._n_classes:
            raise InputError(_NOTHING_YET)
        now._check_not_swapped()
        summary = now.summary()
        check_weight_total(summary.bins.total_weight[0], now.n_rows)
        return PooledSums(summary, now.rules, clusters_lost=now.counts_clusters)

    def _check_not_swapped(self) -> None:
        """Raise an InputError for soft labels beside predictions that are all 0 or 1.

        Labels and predictions are then probably swapped. All predictions u are 0 or 1 if the sums
        of u and of u^2 are equal.
        """
        if not self._findings.soft or self._findings.voted or self.given is True:
            return
        cells = self._state["cells"]
        of_u, of_squares = cells[:, FIELDS.index("sum_wu")], cells[:, FIELDS.index("sum_wu2")]
        if not np.abs(of_u - of_squares).sum() > ROUNDING * np.abs(of_u).sum():
            raise swapped_error()

    def _evaluate(self, options: Options, approximate: bool | None) -> Evaluation:
        """The evaluation of an accumulator that no other thread changes meanwhile.

        `options` say which measures are evaluated, and whether they have intervals; `approximate`
        has the meaning that it has in `evaluate`.
        """
        if not self._n_classes:
            raise InputError(_NOTHING_YET)
        summary = self.summary(approximate=approximate)
        check_weight_total(summary.bins.total_weight[0], self.n_rows)
        self.warn_of_logits()
        rows = self.n_rows, self.n_missing, self.given
        stream = SummedStream(summary, *rows, self.measures, self.classes, self.shape)
        result = stream.evaluate(options.measures)
        if options.intervals == "none":
            return result
        # Imported when it is asked for: most calls do without inference.
        from calibrant._api.infer_from_sums import infer_from_sums
        from calibrant._inference.pooled_rows import PooledSums

        found = tuple(m for m in choose_measures(None, self.shape) if m.name in result)
        sums = PooledSums(summary, self.rules, clusters_lost=self.counts_clusters)
        return infer_from_sums(result, sums, found, options)

    @property
    def rules(self) -> tuple[FixedRule, Rule]:
        """The rule of fixed bins, and that of bins of equal mass."""
        return self.rule, self.rule if self.own_bins else Quantile(self.rule.m)

    def warn_of_logits(self) -> None:
        """Warn if logits of one column look like probabilities or their logarithms."""
        if self.from_logits and self._n_classes == 1 and self.n_rows >= VALUES_THAT_TELL:
            check_kind_of_logits(self._kind_of_logits(), multiclass=False)

    def _kind_of_logits(self) -> str:
        """What the "logits" may be instead: PROBABILITIES, LOG_PROBABILITIES, or "" for neither.

        The fine cells show whether all predictions lie in the range of sigmoids of these values.
        """
        edges = np.concatenate([[0.0], self._cells.cuts(np.dtype(np.float64)).inner, [1.0]])
        nonempty = np.flatnonzero(self._state["cells"][:, 0] > 0)
        low, high = edges[nonempty[0]], edges[nonempty[-1] + 1]
        if high <= 0.5:
            return LOG_PROBABILITIES
        return PROBABILITIES if low >= 0.5 and high <= SIGMOID_OF_1 else ""

    def copy(self) -> Accumulator:
        """Another accumulator with the same samples; what is added to one is not in the other.

        Returns
        -------
        Accumulator
            An independent copy of one moment.
        """
        return copy.copy(self)

    def __getstate__(self) -> dict[str, Any]:
        """The attributes to copy or pickle: all of one moment, without the lock."""
        with self._lock:
            own = ("_lock", "_version")
            return {name: value for name, value in vars(self).items() if name not in own}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock(), _version=None)

    @property
    def columns(self) -> int:
        """Number of columns of `y_proba`: 1 for (n,) predictions, 0 before the first update."""
        return self._n_classes

    @property
    def shape(self) -> Shape:
        """Shape of the predictions: "binary", "answers" (right or wrong) or "multiclass"."""
        return shape_of(self._n_classes, self._findings.answers)

    @property
    def weight(self) -> float:
        """The weight of all rows."""
        return float(self._state["cells"][:, 1].sum()) if self._state else 0.0

    @property
    def soft(self) -> bool:
        """Whether labels that are neither 0 nor 1 were seen."""
        return self._findings.soft

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a file.

        Parameters
        ----------
        path : str or path-like
            File to write; it is replaced only once the new state is complete.

        Raises
        ------
        StateError
            If the accumulator was loaded from this file or saved to it, and another process has
            written it since: its rows would be lost.
        """
        # Imported here, as in load(): it takes time, and few users need state files.
        from calibrant._core.state_file import State, write

        state = State("accumulator", self.recipe(), self.copy().packed())
        self._version = write(path, state, self._version)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Accumulator:
        """Read the accumulator that was saved to a file.

        Parameters
        ----------
        path : str or path-like
            File that `save` wrote.

        Returns
        -------
        Accumulator
            The accumulator, ready for more samples.

        Raises
        ------
        StateError
            If the file is damaged, of another kind, or not a state.
        """
        from calibrant._core.state_file import content_errors, read

        state = read(path, "accumulator")
        with content_errors(path):
            return cls.restored(state)

    @classmethod
    def restored(cls, saved: Saved) -> Accumulator:
        """The accumulator that an open state file holds.

        Parameters
        ----------
        saved : Saved
            State file that was read.

        Returns
        -------
        Accumulator
            The accumulator, ready for more samples.
        """
        blank = cls.unpacked(saved.recipe, {"counts": np.zeros(7)})
        out = cls.unpacked(saved.recipe, saved.arrays(blank.shapes))
        out._version = saved.version
        return out

    def shapes(self, columns: int) -> dict[str, tuple[int, ...]]:
        """Names and shapes of the arrays that hold the sums.

        Parameters
        ----------
        columns : int
            Number of columns of `y_proba`; 1 for (n,), 0 for none yet.

        Returns
        -------
        dict of str to tuple of int
            Shape of each array by its name.
        """
        if columns == 0:
            return {}
        if columns == 1:
            return {name: array.shape for name, array in self._sums_of_one_row(0).items()}
        if self.classes is not None and columns != len(self.classes):
            raise StateError(f"{columns} columns, and {len(self.classes)} classes")
        # Lengths that differ between two and three classes are those that go with the classes.
        two, three = self._sums_of_one_row(2), self._sums_of_one_row(3)
        return {
            name: tuple(
                columns if a != b else a
                for a, b in zip(two[name].shape, three[name].shape, strict=True)
            )
            for name in two
        }

    def _sums_of_one_row(self, columns: int) -> dict[str, Array]:
        """The arrays of sums for one made-up row, of use for their names and shapes alone.

        `columns` is the number of columns of y_proba; 0 stands for (n,) predictions.
        """
        row = np.full((1, columns) if columns else 1, 1.0 / (columns or 2))
        samples = to_source(row, row, from_logits=False)
        return self.sums_of(samples).arrays

    def packed(self) -> dict[str, NDArray[np.float64]]:
        """The state but for the recipe, as arrays (see the page on the state file).

        Returns
        -------
        dict of str to ndarray
            Arrays by name, with counts of rows among them.
        """
        findings = self._findings
        counts = np.array(
            [
                self.n_rows,
                self._n_classes,
                findings.n_predictions_clipped,
                findings.n_rows_off_simplex,
                findings.n_log_clipped,
                findings.soft + (findings.soft and findings.voted) + OF_ANSWERS * findings.answers,
                self.n_missing,
            ],
            dtype=np.float64,
        )
        return {"counts": counts, **self._state}

    @classmethod
    def unpacked(cls, recipe: Mapping[str, Any], arrays: Mapping[str, Array]) -> Accumulator:
        """The accumulator of a recipe with these arrays.

        Parameters
        ----------
        recipe : mapping
            How the sums are made, as `recipe` returns it.
        arrays : mapping of str to ndarray
            Sums by name, as `packed` returns them.

        Returns
        -------
        Accumulator
            The accumulator, ready for more samples.

        Raises
        ------
        StateError
            If recipe or counts are not those of an accumulator.
        """
        check_recipe(recipe)
        bins = rule_from_dict(recipe["rule"])
        # A count has the rule of as many bins; older states have neither entry.
        own = bool(recipe.get("own_bins", False)) or not isinstance(bins, EqualWidth)
        out = cls(
            bins=bins if own or bins != EqualWidth(bins.m) else bins.m,
            from_logits=recipe["from_logits"],
            from_logprobs=recipe.get("from_logprobs", False),
            classes=recipe["classes"],
            measures=recipe["measures"],
            missing=recipe["missing"],
            approximate=recipe.get("approximate", False),
        )
        if recipe["cells"] != out._cells.m:
            raise StateError(
                f"the state was summed in {recipe['cells']!r:.20} cells; this Calibrant has "
                f"{out._cells.m}"
            )
        if not np.isfinite(arrays["counts"]).all() or (arrays["counts"] < 0).any():
            raise StateError("its counts are not numbers of rows")
        rows, columns, clipped, off_simplex, log_clipped, soft, missing = map(int, arrays["counts"])
        out.n_rows, out._n_classes, out.n_missing = rows, columns, missing
        answers, soft = divmod(soft, OF_ANSWERS)
        out._findings = Findings(
            clipped, off_simplex, log_clipped, bool(soft), soft == VOTED, bool(answers)
        )
        out._state = {name: array for name, array in arrays.items() if name != "counts"}
        return out

    def recipe(self) -> dict[str, Any]:
        """How the sums are made; states merge only where this is the same.

        Returns
        -------
        dict
            Bins, classes, measures and the treatment of missing values, as plain data.
        """
        names = None if self.classes is None else list(self.classes)
        return {
            "rule": rule_to_dict(self.rule),
            "from_logits": self.from_logits,
            # Only written if set, so that recipes of older states stay the same.
            **({"from_logprobs": True} if self.from_logprobs else {}),
            "classes": names,
            "cells": self._cells.m,
            "own_bins": self.own_bins,
            "measures": None if self.measures is None else list(self.measures),
            "missing": self.missing,
            "approximate": self.approximate,
        }

    def __repr__(self) -> str:
        return f"Accumulator({self.n_rows} rows, {self.rule})"


def _check_flag(approximate: Any) -> bool:
    """Return `approximate` unchanged; an InputError if it is not True or False."""
    if not isinstance(approximate, bool):
        raise InputError(f"approximate must be True or False; got {approximate!r}")
    return approximate
