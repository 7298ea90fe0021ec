"""Accumulator: an evaluation that grows with the data and merges with others, in fixed memory."""

from __future__ import annotations

import copy
import math
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from calibrant._api.evaluate_samples import assemble, choose, rule_names
from calibrant._core.binning import Bins, Cuts, Edges, EqualWidth, FixedRule, as_rule, both_rules
from calibrant._core.errors import InputError, StateError, check_weight_total
from calibrant._core.validation import public
from calibrant._data.explain import explained
from calibrant._data.labels import taken_in_streams
from calibrant._data.logits import (
    LOG_PROBABILITIES,
    PROBABILITIES,
    VALUES_THAT_TELL,
    tell_kind_of_logits,
)
from calibrant._data.missing import check_missing
from calibrant._data.source import Source
from calibrant._data.to_samples import to_samples_in_place
from calibrant._engines.arrays.streams import StreamSums
from calibrant._engines.cells import Cells
from calibrant._engines.dispatch import engine_of
from calibrant._engines.protocol import Findings
from calibrant._measures.catalogue import Measure, Shape, equal_mass_names
from calibrant._summaries.requirements import (
    follows_rule,
    holdings,
    in_stream,
    is_available,
    known_measures,
    needs_fine_cells,
)
from calibrant._summaries.stream import StreamSummary
from calibrant.results._evaluation import Evaluation
from calibrant.results._reliability import ReliabilityTable

if TYPE_CHECKING:
    from calibrant._core.state_file import Saved

# A logit of 1 as a probability.
SIGMOID_OF_1 = 1.0 / (1.0 + math.exp(-1.0))


class Accumulator:
    """Sums of a stream of samples, from which every binned measure and loss can be had at any time.

    >>> import calibrant as cal
    >>> day = cal.Accumulator(bins=10)
    >>> _ = day.update([0, 1], [0.2, 0.7])
    >>> _ = day.update([1, 0], [0.9, 0.4])
    >>> day.evaluate()["ece"]
    0.25

    What it gives is what `evaluate` gives for the same rows. Measures that need all predictions in
    order (those in quantile bins, `ks_error`, `sweep_ece`, the parts of the Brier score) are left
    out, and a note says so: with ``approximate=True``, here or in `evaluate`, they come from some
    2,500 fine cells of [0, 1]. A rule in place of a count, ``bins=EqualWidth(15)``, is used for all
    measures, as in `evaluate`: the truthful errors and `debiased_l2` are then exact.

    With `measures` only the sums that these need are kept, which is faster and smaller.
    ``missing="drop"`` leaves rows without a prediction, label or weight out, counts and tells them;
    otherwise they are an error.

    Threads may share one: no update is lost, and whoever reads sees whole updates only.
    """

    def __init__(
        self,
        *,
        bins: Bins = 15,
        from_logits: bool = False,
        classes: Sequence[Any] | None = None,
        measures: Iterable[str] | None = None,
        missing: str = "error",
        approximate: bool = False,
    ) -> None:
        rule = as_rule(bins)
        if not isinstance(rule, FixedRule):
            raise InputError(
                f"an Accumulator needs bins that are fixed before the data are seen; got {rule}. "
                "Use a count, EqualWidth or Edges"
            )
        self.rule: FixedRule = rule
        # A rule is for all measures; with a count the truthful ones have quantile bins.
        self.own_bins = both_rules(bins)[1] == rule
        self.from_logits = from_logits
        self.classes = None if classes is None else tuple(classes)
        self.measures = None if measures is None else known_measures(measures)
        self.missing = check_missing(missing)
        self.approximate = _flag(approximate)
        self.n_rows = 0
        self.n_missing = 0
        self._cells = Cells(rule, needs_fine_cells(self.measures))
        self._state: dict[str, NDArray[np.float64]] = {}
        self._findings = Findings()
        self._n_classes = 0  # 0: nothing seen; 1: (n,) predictions
        # Locked while sums replace others, never while rows are summed.
        self._lock = threading.Lock()

    @public
    def update(
        self, y_true: Any, y_proba: Any, *, sample_weight: Any = None, data: Any = None
    ) -> Accumulator:
        """Add samples. Bad input raises an InputError and leaves the state as it was.

        With `data` the others name its columns; a frame of a database or a cluster (polars lazy,
        DuckDB, Spark, Dask) is summed there, and the sums alone come here.
        """
        samples = to_samples_in_place(
            y_true, y_proba, sample_weight, self.from_logits, self.classes, data, self.missing,
            stream=True,
        )  # fmt: skip
        with explained(samples):
            sums = self.sums_of(samples)
        return self.add(sums, samples.n_columns)

    def sums_of(self, samples: Source) -> StreamSums:
        """What `update` would add for these samples, summed where they lie."""
        holds = holdings(self.measures, samples.multiclass)
        return engine_of(samples).stream_sums(samples, self._cells, holds)

    def add(self, sums: StreamSums, columns: int) -> Accumulator:
        """Add sums that an engine has made; `columns` is 1 for (n,) predictions."""
        with self._lock:
            if self._n_classes not in (0, columns):
                raise InputError(
                    f"y_proba has {columns} column{'s' if columns > 1 else ''}; this Accumulator "
                    f"has been given {self._n_classes} so far"
                )
            self._take(sums.arrays, sums.findings, sums.n_rows, sums.n_missing, columns)
        return self

    def _take(
        self, arrays: Mapping[str, NDArray[np.float64]], findings: Findings, n_rows: int,
        n_missing: int, columns: int,
    ) -> None:  # fmt: skip
        """Add to all sums, or to none; the caller has the lock."""
        # Arrays and their mapping are never changed, only replaced: copies may share them.
        state = dict(self._state)
        for name, values in arrays.items():
            state[name] = state[name] + values if name in state else values
        self._state, self._findings = state, self._findings + findings
        self.n_rows, self.n_missing = self.n_rows + n_rows, self.n_missing + n_missing
        self._n_classes = columns

    def merge(self, other: Accumulator) -> Accumulator:
        """Add another accumulator's samples to this one's; recipes must agree."""
        check_same_recipe(self.recipe(), other.recipe())
        # A copy first: two locks at a time could wait for each other for ever.
        other = other.copy()
        with self._lock:
            mine, theirs = self._n_classes, other._n_classes
            if 0 not in (mine, theirs) and mine != theirs:
                raise StateError(f"states of {mine} and {theirs} columns cannot be merged")
            self._take(
                other._state, other._findings, other.n_rows, other.n_missing, max(mine, theirs)
            )
        return self

    def summary(self, *, approximate: bool | None = None) -> StreamSummary:
        """The statistics of what was added so far."""
        nearly = self.approximate if approximate is None else _flag(approximate)
        return StreamSummary(
            self._cells, self._state, self._n_classes, self._findings, self.own_bins, nearly
        )

    def evaluate(
        self, *, measures: Iterable[str] | None = None, approximate: bool | None = None
    ) -> Evaluation:
        """The evaluation of everything added so far.

        With `approximate` measures that need all predictions in order are there too, from cells;
        None means as the Accumulator was made.
        """
        # Of one moment, whatever other threads add meanwhile.
        return self.copy()._evaluate(measures, approximate)

    def _evaluate(self, measures: Iterable[str] | None, approximate: bool | None) -> Evaluation:
        if not self._n_classes:
            raise InputError("this Accumulator holds no samples yet: call update(...) first")
        summary = self.summary(approximate=approximate)
        check_weight_total(summary.bins.total_weight[0], self.n_rows)
        self.warn_of_logits()
        kind: Shape = "multiclass" if self._n_classes > 1 else "binary"
        chosen = choose(self.measures if measures is None else measures, kind)
        self._check_summed(chosen)
        kept = tuple(measure for measure in chosen if summary.has(measure))
        everything = measures is None and self.measures is None
        if kept != chosen and not everything:
            self._raise_unavailable(next(measure for measure in chosen if measure not in kept))
        given = "logits" if self.from_logits else "probabilities"
        rules = self._rule_names()
        result = assemble(
            summary,
            kept,
            rules,
            ReliabilityTable(summary.bins, self.rule, Cuts(np.empty(0)), summary.scalar),
            everything=everything,
            notes=self._notes(summary, chosen, kept),
            inferred=(
                f"a stream of {kind} {given}",
                "labels are soft (probabilities)" if self._findings.soft else "labels are hard",
                *self._classes_note(),
            ),
            classes=None,
            recipe={
                "n": self.n_rows,
                "n_classes": max(2, self._n_classes),
                "bins": str(self.rule),
                "truthful_bins": rules["quantile_bins"],
                "from_logits": self.from_logits,
                "cells": self._cells.m,
                "approximate": summary.approximate,
                "n_missing": self.n_missing,
            },
            n_missing=self.n_missing,
        )
        absent = [each.name for each in chosen if each.statistic == "distribution"]
        if self._findings.soft and absent and not summary.losses.has_distribution:
            note = f"{', '.join(absent)}: left out, for some updates had hard labels only"
            result = replace(result, notes=(*result.notes, note))
        return result

    def _classes_note(self) -> tuple[str, ...]:
        if self.classes is None:
            return ()
        return (taken_in_streams(self.classes, self._n_classes > 1),)

    def warn_of_logits(self) -> None:
        """Warn of logits of one column that look like something else."""
        if self.from_logits and self._n_classes == 1 and self.n_rows >= VALUES_THAT_TELL:
            tell_kind_of_logits(self._kind_of_logits(), multiclass=False)

    def _kind_of_logits(self) -> str:
        """What the logits of all updates look like, by the cells that have any."""
        edges = np.concatenate([[0.0], self._cells.cuts(np.dtype(np.float64)).inner, [1.0]])
        nonempty = np.flatnonzero(self._state["cells"][:, 0] > 0)
        low, high = edges[nonempty[0]], edges[nonempty[-1] + 1]
        if high <= 0.5:
            return LOG_PROBABILITIES
        return PROBABILITIES if low >= 0.5 and high <= SIGMOID_OF_1 else ""

    def _raise_unavailable(self, measure: Measure) -> NoReturn:
        """Raise the reason why a measure that was asked for by name is not there."""
        if measure.statistic == "distribution":
            raise InputError(
                f"the measure {measure.name!r} is of soft labels, and "
                f"{'some' if self._findings.soft else 'all'} of the updates had hard ones only"
            )
        raise InputError(
            f"the measure {measure.name!r} needs the samples themselves, which an Accumulator does "
            f"not keep: use evaluate(y_true, y_proba){self._instead(measure)}"
        )

    def _instead(self, measure: Measure) -> str:
        """What a stream has instead of a measure that needs the samples."""
        out = ""
        if follows_rule(measure):
            out += f", or a rule for all measures, such as bins=EqualWidth({self.rule.m})"
        if in_stream(measure, own_bins=self.own_bins, approximate=True):
            out += f", or approximate=True for its value from {self._cells.m} cells"
        return out

    def _notes(
        self, summary: StreamSummary, chosen: tuple[Measure, ...], kept: tuple[Measure, ...]
    ) -> tuple[str, ...]:
        """Which measures are not there, and which come from cells."""
        notes = []
        near = [m.name for m in kept if summary.approximate and summary.is_from_cells(m)]
        if near:
            notes.append(f"approximate, from {self._cells.m} cells: {', '.join(near)}")
        absent = [m for m in chosen if m not in kept and m.statistic != "distribution"]
        if absent:
            some = any(in_stream(m, own_bins=self.own_bins, approximate=True) for m in absent)
            cells = f"; approximate=True takes some from {self._cells.m} cells" if some else ""
            notes.append(
                f"{', '.join(m.name for m in absent)}: left out, for a stream does not keep the "
                f"predictions in order{cells}"
            )
        return tuple(notes)

    def _check_summed(self, chosen: Iterable[Measure]) -> None:
        """An error for a measure whose sums, or whose fine cells, were not asked for."""
        for measure in chosen:
            if self.measures is not None and not is_available(
                measure, self.measures, self._n_classes > 1
            ):
                raise InputError(
                    f"this stream was made for the measures {', '.join(self.measures)}: it has no "
                    f"sums for {measure.name!r}, which measures= must name when it is made"
                )

    def _rule_names(self) -> dict[str, str]:
        quantile = f"{self.rule.m} quantile bins from {self._cells.m} cells"
        own = str(self.rule) if self.own_bins else quantile
        return rule_names(self.rule, self.rule) | {
            "quantile_bins": own,
            "confidence_bins": own,
            **dict.fromkeys(equal_mass_names(), quantile),
            "levels": f"{self._cells.m} cells",
        }

    def copy(self) -> Accumulator:
        """Another accumulator with the same samples; what is added to one is not in the other."""
        return copy.copy(self)

    def __getstate__(self) -> dict[str, Any]:
        """What is copied and pickled: all of one moment, without the lock."""
        with self._lock:
            return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock())

    @property
    def columns(self) -> int:
        """Columns of y_proba: 1 for (n,) predictions, 0 before the first update."""
        return self._n_classes

    @property
    def weight(self) -> float:
        """The weight of all rows."""
        return float(self._state["cells"][:, 1].sum()) if self._state else 0.0

    @property
    def soft(self) -> bool:
        """Whether labels that are neither 0 nor 1 were seen."""
        return self._findings.soft

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a file; the old file stays whole until the new one is complete."""
        # Late, as in load(): most users never touch a state file, and it takes time to import.
        from calibrant._core.state_file import State, write

        write(path, State("accumulator", self.recipe(), self.copy().packed()))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Accumulator:
        """The accumulator that was saved to a file."""
        from calibrant._core.state_file import read, refused

        state = read(path, "accumulator")
        with refused(path):
            return cls.restored(state)

    @classmethod
    def restored(cls, saved: Saved) -> Accumulator:
        """The accumulator that a file holds."""
        blank = cls.unpacked(saved.recipe, {"counts": np.zeros(7)})
        return cls.unpacked(saved.recipe, saved.arrays(blank.shapes))

    def shapes(self, columns: int) -> dict[str, tuple[int, ...]]:
        """The arrays that hold the sums of predictions with so many columns, and their shapes."""
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

    def _sums_of_one_row(self, columns: int) -> dict[str, NDArray[np.float64]]:
        row = np.full((1, columns) if columns else 1, 1.0 / (columns or 2))
        samples = to_samples_in_place(row, row, from_logits=False)
        return self.sums_of(samples).arrays

    def packed(self) -> dict[str, NDArray[np.float64]]:
        """Everything but the recipe, as arrays (docs/state-file.md)."""
        findings = self._findings
        counts = np.array([
            self.n_rows,
            self._n_classes,
            findings.n_predictions_clipped,
            findings.n_rows_off_simplex,
            findings.n_log_clipped,
            findings.soft,
            self.n_missing,
        ], dtype=np.float64)  # fmt: skip
        return {"counts": counts, **self._state}

    @classmethod
    def unpacked(
        cls, recipe: Mapping[str, Any], arrays: Mapping[str, NDArray[np.float64]]
    ) -> Accumulator:
        """The accumulator of a recipe with these arrays."""
        _check_recipe(recipe)
        rule = recipe["rule"]
        bins: FixedRule = (
            EqualWidth(rule["m"], rule["closed"], rule["drop_one"])
            if rule["kind"] == "equal-width"
            else Edges(rule["edges"], rule["closed"])
        )
        # A count has the rule of as many bins; older states have neither entry.
        own = bool(recipe.get("own_bins", False)) or not isinstance(bins, EqualWidth)
        out = cls(
            bins=bins if own or bins != EqualWidth(bins.m) else bins.m,
            from_logits=recipe["from_logits"],
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
        out._findings = Findings(clipped, off_simplex, log_clipped, bool(soft))
        out._state = {name: array for name, array in arrays.items() if name != "counts"}
        return out

    def recipe(self) -> dict[str, Any]:
        """How the sums are made: states merge only where this is the same."""
        rule = self.rule
        described: dict[str, Any] = (
            {"kind": "equal-width", "m": rule.m, "closed": rule.closed, "drop_one": rule.drop_one}
            if isinstance(rule, EqualWidth)
            else {"kind": "edges", "edges": list(rule.edges), "closed": rule.closed}
        )
        names = None if self.classes is None else list(self.classes)
        return {
            "rule": described,
            "from_logits": self.from_logits,
            "classes": names,
            "cells": self._cells.m,
            "own_bins": self.own_bins,
            "measures": None if self.measures is None else list(self.measures),
            "missing": self.missing,
            "approximate": self.approximate,
        }

    def __repr__(self) -> str:
        return f"Accumulator({self.n_rows} rows, {self.rule})"


def _check_recipe(recipe: Mapping[str, Any]) -> None:
    """A StateError for what no constructor would notice."""
    flags = [recipe["from_logits"], recipe["rule"].get("drop_one", False)]
    if not all(isinstance(flag, bool) for flag in flags):
        raise StateError("from_logits and drop_one must be true or false")
    if recipe["rule"]["kind"] not in ("equal-width", "edges"):
        raise StateError("its bins must be of the kind equal-width or edges")
    for key in ("classes", "measures"):
        values = [] if recipe[key] is None else recipe[key]
        if not isinstance(values, list) or not all(
            isinstance(v, str | int | float) for v in values
        ):
            raise StateError(f"{key} must be a list of numbers or texts")
    if recipe["classes"] is not None and len(recipe["classes"]) < 2:
        raise StateError("classes must be two names or more")


def _flag(approximate: Any) -> bool:
    if not isinstance(approximate, bool):
        raise InputError(f"approximate must be True or False; got {approximate!r}")
    return approximate


def check_same_recipe(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> None:
    """A StateError that names what differs between two recipes."""
    differ = [
        f"{key} ({mine.get(key)!r} and {theirs.get(key)!r})"
        for key in {**mine, **theirs}
        if mine.get(key) != theirs.get(key)
    ]
    if differ:
        raise StateError(f"states with different recipes cannot be merged: {', '.join(differ)}")
