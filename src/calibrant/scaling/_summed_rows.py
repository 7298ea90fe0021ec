"""Rows that are not in memory: the sums that a map is fitted to are made in the engine of a lazy
frame, or while files are read.

A map of one logit is fitted to sums by cell (nearly equal logits); a softmax to sums of its
derivatives at the parameters of each step. A level is a distinct prediction.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import Any, Protocol, TypeVar

import numpy as np

from calibrant._core.binning import FixedRule, Quantile, Rule, fixed_cuts
from calibrant._core.engine_choice import one_blas_thread
from calibrant._core.errors import InputError, check_weight_total
from calibrant._core.progress import RowProgress
from calibrant._data.explain import swapped_error
from calibrant._data.frame_samples import FrameSamples
from calibrant._data.links import LOG_FLOOR, both_classes, logit
from calibrant._data.logprobs import LOGPROBS, Given
from calibrant._data.readers.batches import Batch
from calibrant._data.readers.columns import ReadRequest
from calibrant._data.readers.passes import over_pieces
from calibrant._data.readers.source import FileRows, file_rows
from calibrant._engines.level_sums import LevelSums
from calibrant._engines.logit_cells import LogitCells, View, cells_of
from calibrant._engines.logit_sums import KINDS, SOFT
from calibrant._engines.softmax_sums import FitFacts, SoftmaxModel, SoftmaxSums, softmax_sums
from calibrant.scaling._formula import Inputs, Node, to_columns
from calibrant.scaling._predictions import FloatArray, PooledPredictions, Predictions
from calibrant.scaling._problem import Problem, class_names_of, problem_of, weighted_by_votes
from calibrant.scaling._same_rows import FittedRows, row_hashes

T = TypeVar("T")
# How often cells are made anew, in coordinates in which a steep map rises less.
MOST_VIEWS = 4
# The levels of a column: predictions in order, the weight and the mean target of each.
Levels = tuple[FloatArray, FloatArray, FloatArray]
# The bins of a column: inner edges, and the sums of weights and of targets.
BinSums = tuple[FloatArray, FloatArray, FloatArray]
# The logits at which a probability is at the floor of logarithms.
_FLOOR = -float(logit(np.array(LOG_FLOOR)))


class Map(Protocol):
    """A fitted map, as the sum of its loss requires it; `Scaler` is one."""

    def _apply(self, predictions: Predictions) -> FloatArray:
        """The mapped probabilities of rows in memory."""

    def _formula(self, inputs: Inputs) -> list[Node] | None:
        """The map as a formula; None if it has none."""


class SummedRows(Protocol):
    """Rows of which a fit has only sums; they are read anew for every sum."""

    @property
    def columns(self) -> int | None:
        """The number of columns of the predictions (n, k); None for (n,)."""

    @property
    def given(self) -> Given:
        """The kind of predictions: probabilities, logits or log-probabilities."""

    @property
    def class_names(self) -> tuple[str, ...]:
        """The names of the classes; their numbers where they have none."""

    @property
    def fitted_rows(self) -> FittedRows | None:
        """A sample of the hashes of the rows, from the first pass; None where there is none."""

    def cells(self, view: View, r: int | None = None) -> LogitCells:
        """The sums by cell of the logits of (n,), or of class r against the rest."""

    def class_cells(self) -> list[LogitCells]:
        """The sums by cell of the logits of each class that has a map of its own."""

    @property
    def facts(self) -> FitFacts:
        """The counts, weights and loss of rows (n, k) that do not depend on the map."""

    def softmax(self, model: SoftmaxModel, theta: FloatArray) -> SoftmaxSums:
        """The sums of a softmax of rows (n, k), at these parameters."""

    def moments(self) -> tuple[FloatArray, FloatArray, bool]:
        """The mean and the variance of each class's score, and whether those of every row are
        equal.
        """

    def levels(self) -> list[Levels]:
        """The levels of each class against the rest; of two classes, of class 1."""

    def bins(self, rule_of: Callable[[int], Rule], n: int) -> list[BinSums]:
        """The bins of each class against the rest, by a rule for so many rows."""

    def mean_loss(self, fitted: Map) -> float:
        """The log loss of the mapped rows (n, k); NaN where it cannot be summed."""


def pooled_problem(rows: SummedRows, cells: LogitCells) -> Problem:
    """The rows that stand for all rows (n,), as a problem in memory."""
    pooled = cells.rows()
    precision = np.dtype(np.float64)
    if rows.given is True:
        predictions = Predictions(pooled.h, True, precision)
    else:  # at the floor of logarithms the probability is 0 or 1
        ends = np.array([0.0, -np.inf, np.inf])[pooled.side]
        predictions = PooledPredictions(np.where(pooled.side > 0, ends, pooled.h), True, precision)
    targets, names = both_classes(pooled.targets), rows.class_names
    problem = Problem(predictions, targets, pooled.weights, np.nan, names, squares=cells.squares)
    return replace(problem, loss_before=problem.log_loss(predictions.probabilities()))


def one_against_rest(columns: int) -> list[int]:
    """The classes that have a map of their own: of two the second alone."""
    return list(range(columns)) if columns > 2 else [columns - 1]


class SoftmaxPasses:
    """The sums of a softmax over the rows, as a function of its parameters; each pass over the rows
    is made once.
    """

    def __init__(self, rows: SummedRows, model: SoftmaxModel) -> None:
        self._rows, self._model, self._known = rows, model, dict[bytes, SoftmaxSums]()

    def __call__(self, theta: Any) -> SoftmaxSums:
        """The sums at the parameters theta, cached."""
        theta = np.asarray(theta, dtype=np.float64)
        key = theta.tobytes()
        if key not in self._known:
            self._known[key] = self._rows.softmax(self._model, theta)
        return self._known[key]


# --- lazy frames --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RowsOfFrame:
    """The rows of a lazy frame, summed by its engine."""

    samples: FrameSamples
    given: Given
    fitted_rows: FittedRows | None = None

    def __post_init__(self) -> None:
        """Raise an InputError for votes."""
        if self.samples.voted:
            raise InputError(
                "a fit to a lazy frame cannot sum votes: collect the frame, or give shares as "
                "soft labels and the number of votes as sample_weight"
            )

    @property
    def columns(self) -> int | None:
        """The number of columns of predictions; None for (n,)."""
        return self.samples.n_classes if self.samples.multiclass else None

    @property
    def class_names(self) -> tuple[str, ...]:
        """The names of the classes; their numbers where they have none."""
        return class_names_of(self.samples.class_names, self.samples.n_classes)

    @property
    def _logits(self) -> bool:
        """Whether predictions are read as logits."""
        return self.given is True

    def cells(self, view: View, r: int | None = None) -> LogitCells:
        """The sums by cell of the logits of (n,), or of class r, from one query."""
        from calibrant._engines.frames import fits

        samples = self.samples
        if r is not None:
            samples = fits.class_logits(samples, r, logits=self._logits)
        return fits.logit_cells(samples, view)

    def class_cells(self) -> list[LogitCells]:
        """The sums by cell of each class that has a map of its own, from a query for each."""
        return [self.cells(View(), r) for r in one_against_rest(self.columns or 2)]

    @cached_property
    def facts(self) -> FitFacts:
        """The counts, weights and loss of rows (n, k), from three queries."""
        from calibrant._engines.frames import fits

        return fits.fit_facts(self.samples)

    def softmax(self, model: SoftmaxModel, theta: FloatArray) -> SoftmaxSums:
        """The sums of a softmax of rows (n, k), from one query."""
        from calibrant._engines.frames import fits

        return fits.softmax_sums(self.samples, model, theta, logits=self._logits)

    def moments(self) -> tuple[FloatArray, FloatArray, bool]:
        """Mean and variance of each class's score, and whether those of every row are equal."""
        from calibrant._engines.frames import fits

        return fits.moments(self.samples, logits=self._logits)

    def _each(self) -> list[FrameSamples]:
        """The binary problems of which each has a map of its own."""
        from calibrant._engines import frames

        if self.columns is None:
            return [self.samples]
        of_classes = list(frames.class_columns(self.samples))
        return [of_classes[r] for r in one_against_rest(self.columns)]

    def levels(self) -> list[Levels]:
        """The levels of each class that has a map of its own."""
        from calibrant._engines.frames import fits

        return [fits.levels_of(each) for each in self._each()]

    def bins(self, rule_of: Callable[[int], Rule], n: int) -> list[BinSums]:
        """The bins of each class that has a map of its own, by a rule for n rows."""
        from calibrant._engines.frames import fits

        return [fits.bins_of(each, rule_of(n)) for each in self._each()]

    def mean_loss(self, fitted: Map) -> float:
        """The log loss of the mapped rows (n, k); NaN where the map has no formula."""
        from calibrant._engines.frames import fits

        outputs = fitted._formula(Inputs(self._logits, self.columns))
        if outputs is None:
            return float("nan")
        frame = fits.fit_frame(self.samples, logits=self._logits)
        return fits.mean_loss(self.samples, *to_columns(outputs, frame))


# --- files --------------------------------------------------------------------------------------


@dataclass(eq=False)
class RowsOfFiles:
    """The rows of files, which are read anew for every sum, in batches."""

    files: FileRows
    given: Given
    progress: bool | None = None
    n_rows: int = 0
    n_missing: int = 0
    fitted_rows: FittedRows | None = None
    notes: dict[str, None] = field(default_factory=dict)

    @property
    def columns(self) -> int | None:
        """The number of columns of predictions; None for (n,)."""
        return self._columns if self.files.multiclass else None

    @property
    def class_names(self) -> tuple[str, ...]:
        """The names of the classes; their numbers where they have none."""
        return class_names_of(self.files.chosen.class_names, self._columns)

    @classmethod
    def of_request(cls, request: ReadRequest) -> RowsOfFiles:
        """The rows that a request stands for."""
        given: Given = LOGPROBS if request.written.logprobs else bool(request.from_logits)
        return cls(file_rows(request), given)

    def __post_init__(self) -> None:
        """Read the first rows, for the number of classes."""
        self._columns = 2
        if self.files.multiclass:
            for piece in self.files.pieces():
                batch = next((each for each in self.files.batches(piece) if each.n), None)
                if batch is not None:
                    self._columns = int(batch.y_proba.shape[1])
                    break

    def sum(self, batch_sums: Callable[[Problem], T], join: Callable[[list[T]], T]) -> T:
        """The sums over all rows, in batches: `batch_sums` makes those of a batch, and `join` adds
        up those of several. The first pass checks and counts rows, and keeps hashes.
        """
        first = self.fitted_rows is None

        def work(batches: Iterator[Batch]) -> tuple[list[T], list[FittedRows], int, int, set[str]]:
            """The sums of the batches of a piece, the hashes of their rows, how many rows were kept
            and dropped, and notes.
            """
            parts: list[T] = []
            hashes: list[FittedRows] = []
            n, gone, notes = 0, 0, set[str]()
            for batch in batches:
                gone += batch.n_missing
                notes |= {batch.taken} if batch.taken else set()
                if not batch.n:
                    continue
                n += batch.n
                samples = batch.samples(self.given is True, self.files.chosen.class_names)
                with batch.explained(samples):
                    problem = problem_of(weighted_by_votes(samples), check=first)
                if first:
                    own = row_hashes(problem.predictions.values)
                    hashes = [FittedRows.merged([*hashes, FittedRows.from_hashes(own)])]
                parts = [join([*parts, batch_sums(problem)])]
            return parts, hashes, n, gone, notes

        out: list[T] = []
        known: list[FittedRows] = []
        n_rows = n_missing = 0
        with (
            RowProgress(self.files.n_bytes, show=self.progress, label="fitting") as shown,
            one_blas_thread(beside=2),  # products are small, and pieces have threads of their own
        ):
            for parts, hashes, n, gone, notes in over_pieces(self.files, work, shown):
                n_rows, n_missing = n_rows + n, n_missing + gone
                out, known = [*out, *parts], [*known, *hashes]
                out = [join(out)] if len(out) > 1 else out
                known = [FittedRows.merged(known)] if len(known) > 1 else known
                self.notes |= dict.fromkeys(sorted(notes))
        if not out:
            what = f"{n_missing} rows, each with a missing value" if n_missing else "no rows"
            raise InputError(f"{self.files.called} {what}: there is nothing to fit to")
        if first:
            self.n_rows, self.n_missing, self.fitted_rows = n_rows, n_missing, known[0]
        elif n_rows != self.n_rows:
            self.files.check_unchanged()
        return out[0]

    def cells(self, view: View, r: int | None = None) -> LogitCells:
        """The sums by cell of the logits of (n,), or of class r against the rest."""

        def batch_sums(problem: Problem) -> LogitCells:
            """The sums of one batch of rows."""
            h, z = problem.predictions.log_odds(), problem.targets
            side = np.zeros(len(h), dtype=np.intp)
            if r is not None:
                h = np.ascontiguousarray(h[:, r])
            elif problem.predictions.from_logits:
                side = (h <= -_FLOOR) + 2 * (h >= _FLOOR)
            else:
                u = problem.predictions.values
                side = (u <= LOG_FLOOR) + 2 * (u >= 1.0 - LOG_FLOOR)
            target = z[:, 1 if r is None else r]
            return cells_of(h, target, problem.weights, side, view)

        out = self.sum(batch_sums, LogitCells.merged)
        check_weight_total(float(out.w[:, 0].sum()), self.n_rows)
        if r is None and bool((out.side > 0).all() and (out.key % KINDS == SOFT).any()):
            raise swapped_error()
        return out

    def class_cells(self) -> list[LogitCells]:
        """The sums by cell of each class that has a map of its own."""

        def batch_sums(problem: Problem) -> list[LogitCells]:
            """The sums of one batch of rows."""
            h, z, w = problem.predictions.log_odds(), problem.targets, problem.weights
            side = np.zeros(len(h), dtype=np.intp)
            return [
                cells_of(np.ascontiguousarray(h[:, r]), z[:, r], w, side, View())
                for r in one_against_rest(h.shape[1])
            ]

        return self.sum(
            batch_sums, lambda parts: list(map(LogitCells.merged, zip(*parts, strict=True)))
        )

    @cached_property
    def facts(self) -> FitFacts:
        """The counts, weights and loss of rows (n, k), from one pass."""

        def batch_sums(problem: Problem) -> tuple[Any, ...]:
            """The sums of one batch of rows."""
            w, z = problem.weights, problem.targets
            p = np.exp(problem.predictions.log_probabilities())
            at_floor = np.zeros(z.shape)
            if not problem.predictions.from_logits:
                at_floor = np.where(problem.predictions.values <= LOG_FLOOR, z, 0.0)
            n_out, movable = np.count_nonzero(at_floor.any(axis=1)), w @ (z - at_floor)
            soft = bool((z.max(axis=1) < 1.0)[w > 0].any())
            total = float(w.sum())
            loss = problem.loss_before * total if total > 0 else 0.0
            sharp = bool(np.isin(problem.predictions.values, (0.0, 1.0)).all())
            return (len(z), total, loss, w @ z, movable, w @ p, soft, n_out, not sharp)

        sums = self.sum(batch_sums, _sums_of_parts)
        n, weight, loss, mass, movable, predicted, soft, n_out, unsharp = sums
        check_weight_total(weight, n)
        if soft and not unsharp:
            raise swapped_error()
        out = (int(n_out), float((mass - movable).sum()))
        return FitFacts(n, weight, loss / weight, mass, movable, predicted, not soft, out)

    def softmax(self, model: SoftmaxModel, theta: FloatArray) -> SoftmaxSums:
        """The sums of a softmax of rows (n, k)."""

        def batch_sums(problem: Problem) -> SoftmaxSums:
            """The sums of one batch of rows."""
            z, w = problem.targets, problem.weights
            if not model.offset:
                scores = problem.predictions.class_scores()
                return softmax_sums(model, theta, scores, z, w)
            scores = problem.predictions.log_probabilities()
            possible = scores > np.log(LOG_FLOOR)
            z = np.where(possible, z, 0.0)
            mass = z.sum(axis=1)
            kept = mass > 0
            scores = np.where(possible, scores, -np.inf)[kept]
            return softmax_sums(model, theta, scores, z[kept] / mass[kept, None], (w * mass)[kept])

        return self.sum(batch_sums, lambda parts: reduce(operator.add, parts))

    def moments(self) -> tuple[FloatArray, FloatArray, bool]:
        """Mean and variance of each class's score, and whether those of every row are equal."""

        def batch_sums(problem: Problem) -> tuple[Any, ...]:
            """The sums of one batch of rows."""
            s, w = problem.predictions.class_scores(), problem.weights
            return float(w.sum()), w @ s, bool((s.max(axis=1) > s.min(axis=1)).any())

        weight, sums, moves = self.sum(batch_sums, _sums_of_parts)
        mean = sums / weight
        squares = self.sum(
            lambda p: p.weights @ (p.predictions.class_scores() - mean) ** 2,
            lambda parts: reduce(operator.add, parts),
        )
        return mean, squares / weight, not moves

    def _columns_of(self, problem: Problem) -> Iterable[tuple[FloatArray, FloatArray]]:
        """The probabilities and targets of the classes that have a map of their own."""
        p = both_classes(problem.predictions.probabilities())
        for r in one_against_rest(p.shape[1]):
            yield p[:, r], problem.targets[:, r]

    def levels(self) -> list[Levels]:
        """The levels of each class that has a map of its own."""

        def batch_sums(problem: Problem) -> list[LevelSums]:
            """The sums of one batch of rows."""
            columns = self._columns_of(problem)
            return [LevelSums.of_rows(u, z, problem.weights) for u, z in columns]

        sums = self.sum(
            batch_sums, lambda parts: [LevelSums.merged(each) for each in zip(*parts, strict=True)]
        )
        return [each.levels for each in sums]

    def bins(self, rule_of: Callable[[int], Rule], n: int) -> list[BinSums]:
        """The bins of each class that has a map of its own, by a rule for n rows."""
        rule = rule_of(n)
        if not isinstance(rule, FixedRule):
            assert isinstance(rule, Quantile)
            return [_quantile_bins(*each, rule) for each in self.levels()]

        def batch_sums(problem: Problem) -> list[BinSums]:
            """The sums of one batch of rows."""
            precision, w = problem.predictions.precision, problem.weights
            cuts, out = fixed_cuts(rule, precision), list[BinSums]()
            for u, z in self._columns_of(problem):
                at = cuts.find(u.astype(precision).astype(np.float64))
                mass, total = (np.bincount(at, x, cuts.m).astype(np.float64) for x in (w, w * z))
                out.append((cuts.inner, mass, total))
            return out

        def add(parts: list[list[BinSums]]) -> list[BinSums]:
            """The sums of all parts."""
            return [
                (each[0][0], *(np.sum([part[j] for part in each], axis=0) for j in (1, 2)))
                for each in zip(*parts, strict=True)
            ]

        return self.sum(batch_sums, add)

    def mean_loss(self, fitted: Map) -> float:
        """The log loss of the mapped rows (n, k)."""

        def batch_sums(problem: Problem) -> tuple[float, float]:
            """The sums of one batch of rows."""
            weight = float(problem.weights.sum())
            if weight == 0.0:
                return 0.0, 0.0
            return problem.log_loss(fitted._apply(problem.predictions)) * weight, weight

        loss, weight = self.sum(batch_sums, _sums_of_parts)
        return loss / weight


def _sums_of_parts(parts: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    """The sum over the parts of each entry that they have."""
    return tuple(sum(each) for each in zip(*parts, strict=True))


def _quantile_bins(
    levels: FloatArray, mass: FloatArray, means: FloatArray, rule: Quantile
) -> BinSums:
    """Bins of equal mass from levels, which stay together."""
    from calibrant._data.to_samples import to_samples
    from calibrant._engines.arrays.counting import bin_table

    samples = to_samples(np.clip(means, 0.0, 1.0), levels, sample_weight=mass)
    table, cuts, _ = bin_table(samples, "binary", rule)
    return cuts.inner, table.sum_w[0], table.sum_wz[0]
