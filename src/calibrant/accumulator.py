"""Accumulator: an evaluation that grows with the data and merges with others, in fixed memory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.binning import Bins, Cuts, Edges, EqualWidth, as_rule, fixed_cuts
from calibrant.engines.cells import Cells
from calibrant.engines.losses import loss_sums
from calibrant.engines.passes import matrix_sums, scalar_sums
from calibrant.engines.protocol import Findings
from calibrant.errors import InputError, StateError
from calibrant.evaluation import assemble, choose, rule_names
from calibrant.inputs.accept import accept
from calibrant.inputs.explain import explained
from calibrant.measures.catalogue import Measure, Shape
from calibrant.measures.ordered import merge_levels
from calibrant.results.evaluation import Evaluation
from calibrant.results.reliability import ReliabilityTable
from calibrant.samples.samples import Notion, Samples
from calibrant.state_file import read, write
from calibrant.statistics.bins import FIELDS, BinTable
from calibrant.statistics.losses import FIELDS as LOSS_FIELDS
from calibrant.statistics.losses import LossSums

# What needs single reports, or a table too large to carry along.
_NOT_IN_A_STREAM = ("above", "full_bins")


class Accumulator:
    """Sums of a stream of samples, from which every binned measure and loss can be had at any time.

    >>> import calibrant as cal
    >>> day = cal.Accumulator(bins=10)
    >>> _ = day.update([0, 1], [0.2, 0.7])
    >>> _ = day.update([1, 0], [0.9, 0.4])
    >>> day.evaluate()["ece"]
    0.25

    The bins of `bins` are exact. Quantile bins and measures that need the reports in order come
    from some 2,500 fine cells of [0, 1]; the evaluation says so. The truthful classwise error uses
    the bins of `bins` (it is truthful for any bins that do not look at outcomes).
    """

    def __init__(
        self,
        *,
        bins: Bins = 15,
        from_logits: bool = False,
        classes: Sequence[Any] | None = None,
    ) -> None:
        rule = as_rule(bins)
        if not isinstance(rule, EqualWidth | Edges):
            raise InputError(
                f"an Accumulator needs bins that are fixed before the data are seen; got {rule}. "
                "Use a count, EqualWidth or Edges"
            )
        self.rule: EqualWidth | Edges = rule
        self.from_logits = from_logits
        self.classes = None if classes is None else tuple(classes)
        self.n_rows = 0
        self._cells = Cells(rule)
        self._state: dict[str, NDArray[np.float64]] = {}
        self._findings = Findings()
        self._n_classes = 0  # 0: nothing seen; 1: (n,) reports

    def update(self, y_true: Any, y_proba: Any, *, sample_weight: Any = None) -> Accumulator:
        """Add samples. Bad input raises an InputError and leaves the state as it was."""
        samples = accept(
            y_true,
            y_proba,
            sample_weight=sample_weight,
            from_logits=self.from_logits,
            classes=self.classes,
        )
        columns = samples.n_classes if samples.multiclass else 1
        if self._n_classes not in (0, columns):
            raise InputError(
                f"y_proba has {columns} column{'s' if columns > 1 else ''}; this Accumulator has "
                f"been given {self._n_classes} so far"
            )
        with explained(samples):
            part, findings = self._sums(samples)
        self._n_classes = columns
        self._findings = self._findings + findings
        self.n_rows += samples.n
        self._add(part)
        return self

    def _sums(self, samples: Samples) -> tuple[dict[str, NDArray[np.float64]], Findings]:
        cuts = self._cells.cuts(samples.precision)
        if not samples.multiclass:
            cells, findings = scalar_sums(samples, "binary", cuts)
            top, _ = scalar_sums(samples, "confidence", cuts)
            losses, found = loss_sums(samples, distribution=findings.soft)
            logs = Findings(n_log_clipped=found.n_log_clipped)
            return {"cells": cells, "top_cells": top, **_loss_arrays(losses)}, findings + logs
        total = matrix_sums(
            samples,
            classwise=fixed_cuts(self.rule, samples.precision),
            confidence=cuts,
            losses=True,
        )
        assert total.classwise is not None
        assert total.confidence is not None
        assert total.losses is not None
        losses = LossSums(total.losses, samples.n_classes)
        if total.findings.soft:
            losses, _ = loss_sums(samples, distribution=True)
        sums = {"cells": total.confidence, "classwise": total.classwise, **_loss_arrays(losses)}
        return sums, total.findings

    def _add(self, part: dict[str, NDArray[np.float64]]) -> None:
        for name, values in part.items():
            self._state[name] = self._state[name] + values if name in self._state else values

    def merge(self, other: Accumulator) -> Accumulator:
        """Add another accumulator's samples to this one's; recipes must agree."""
        if self._recipe() != other._recipe():
            mine, theirs = self._recipe(), other._recipe()
            differ = ", ".join(
                f"{key} ({mine[key]!r} and {theirs[key]!r})"
                for key in mine
                if mine[key] != theirs[key]
            )
            raise StateError(f"states with different recipes cannot be merged: {differ}")
        if 0 not in (self._n_classes, other._n_classes) and self._n_classes != other._n_classes:
            raise StateError(
                f"states of {self._n_classes} and {other._n_classes} columns cannot be merged"
            )
        self._n_classes = max(self._n_classes, other._n_classes)
        self._findings = self._findings + other._findings
        self.n_rows += other.n_rows
        self._add(other._state)
        return self

    def evaluate(self, *, measures: Iterable[str] | None = None) -> Evaluation:
        """The evaluation of everything added so far."""
        if not self._n_classes:
            raise InputError("this Accumulator holds no samples yet: call update(...) first")
        summary = StreamSummary(self)
        shape: Shape = "multiclass" if self._n_classes > 1 else "binary"
        chosen = choose(measures, shape)
        missing = [m for m in chosen if m.statistic in _NOT_IN_A_STREAM]
        if measures is not None and missing:
            raise InputError(
                f"the measure {missing[0].name!r} needs the samples themselves, which an "
                "Accumulator does not keep: use evaluate(y_true, y_proba)"
            )
        kept = tuple(m for m in chosen if self._has(m, summary))
        rules = rule_names(self.rule, self.rule) | {
            name: f"{_stream_bins(self.rule)} quantile bins from {self._cells.m} cells"
            for name in ("quantile_bins", "confidence_bins")
        }
        rules["levels"] = f"{self._cells.m} cells"
        return assemble(
            summary,
            tuple(kept),
            rules,
            ReliabilityTable(summary.bins, self.rule, Cuts(np.empty(0)), summary.scalar),
            inferred=(
                f"a stream of {'multiclass' if self._n_classes > 1 else 'binary'} "
                f"{'logits' if self.from_logits else 'probabilities'}",
                "labels are soft (probabilities)" if self._findings.soft else "labels are hard",
            ),
            classes=None,
            recipe={
                "n": self.n_rows,
                "n_classes": max(2, self._n_classes),
                "bins": str(self.rule),
                "truthful_bins": rules["quantile_bins"],
                "from_logits": self.from_logits,
                "cells": self._cells.m,
            },
        )

    def _has(self, measure: Measure, summary: StreamSummary) -> bool:
        if measure.statistic in _NOT_IN_A_STREAM:
            return False
        return measure.statistic != "distribution" or summary.losses.has_distribution

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a file; the old file stays whole until the new one is complete."""
        counts = np.array([
            self.n_rows,
            self._n_classes,
            self._findings.n_reports_clipped,
            self._findings.n_rows_off_simplex,
            self._findings.n_log_clipped,
            self._findings.soft,
        ], dtype=np.float64)  # fmt: skip
        write(path, self._recipe(), {"counts": counts, **self._state})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Accumulator:
        """The accumulator that was saved to a file."""
        recipe, arrays = read(path)
        rule = recipe["rule"]
        bins: EqualWidth | Edges = (
            EqualWidth(rule["m"], rule["closed"], rule["drop_one"])
            if rule["kind"] == "equal-width"
            else Edges(rule["edges"], rule["closed"])
        )
        out = cls(bins=bins, from_logits=recipe["from_logits"], classes=recipe["classes"])
        counts = arrays.pop("counts")
        out.n_rows, out._n_classes = int(counts[0]), int(counts[1])
        out._findings = Findings(int(counts[2]), int(counts[3]), int(counts[4]), bool(counts[5]))
        out._state = arrays
        return out

    def _recipe(self) -> dict[str, Any]:
        rule = self.rule
        described: dict[str, Any] = (
            {"kind": "equal-width", "m": rule.m, "closed": rule.closed, "drop_one": rule.drop_one}
            if isinstance(rule, EqualWidth)
            else {"kind": "edges", "edges": list(rule.edges), "closed": rule.closed}
        )
        names = None if self.classes is None else list(self.classes)
        return {"rule": described, "from_logits": self.from_logits, "classes": names}

    def __repr__(self) -> str:
        return f"Accumulator({self.n_rows} rows, {self.rule})"


def _stream_bins(rule: EqualWidth | Edges) -> int:
    return rule.m


def _loss_arrays(losses: LossSums) -> dict[str, NDArray[np.float64]]:
    out = {"losses": losses.sums}
    # The weight behind the distances: they are means only if every update had them.
    out["distribution_weight"] = losses.sums[1:2] * float(losses.has_distribution)
    return out


@dataclass
class StreamSummary:
    """What the catalogue's measures read, put together from a stream's sums."""

    stream: Accumulator

    @property
    def findings(self) -> Findings:
        return self.stream._findings

    @property
    def scalar(self) -> Notion:
        return "confidence" if self.stream._n_classes > 1 else "binary"

    @cached_property
    def bins(self) -> BinTable:
        return self.stream._cells.bins(self.stream._state["cells"])

    @cached_property
    def levels(self) -> BinTable:
        return BinTable(self.stream._state["cells"][None].copy())

    @cached_property
    def quantile_bins(self) -> BinTable:
        return self._quantile(self.stream._state["cells"])

    @cached_property
    def confidence_bins(self) -> BinTable:
        return self._quantile(self.stream._state.get("top_cells", self.stream._state["cells"]))

    def _quantile(self, cells: NDArray[np.float64]) -> BinTable:
        return merge_levels(cells[cells[:, FIELDS.index("sum_w")] > 0], self.stream.rule.m)

    @cached_property
    def class_bins(self) -> BinTable:
        sums = self.stream._state["classwise"]
        if isinstance(self.stream.rule, EqualWidth) and self.stream.rule.drop_one:
            return BinTable(sums[:, :-1].copy(), sums[:, -1].copy())
        return BinTable(sums.copy())

    @property
    def class_quantile_bins(self) -> BinTable:
        return self.class_bins

    @cached_property
    def losses(self) -> LossSums:
        state = self.stream._state
        complete = float(state["distribution_weight"][0]) == float(state["losses"][1])
        return LossSums(state["losses"], max(2, self.stream._n_classes), complete)

    @property
    def distribution(self) -> LossSums:
        return self.losses


assert len(LOSS_FIELDS) == 11  # the state file's layout; a change here is a new VERSION
