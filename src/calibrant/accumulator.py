"""Accumulator: an evaluation that grows with the data and merges with others, in fixed memory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.binning import Bins, Cuts, Edges, EqualWidth, as_rule, fixed_cuts
from calibrant.engines.cells import Cells
from calibrant.engines.losses import loss_sums
from calibrant.engines.passes import matrix_sums, scalar_sums
from calibrant.engines.protocol import Findings
from calibrant.engines.smooth import logit_grid, unit_grid
from calibrant.errors import NO_WEIGHT, InputError, StateError
from calibrant.evaluation import assemble, choose, rule_names
from calibrant.inputs.accept import accept
from calibrant.inputs.explain import explained
from calibrant.measures.catalogue import Shape
from calibrant.results.evaluation import Evaluation
from calibrant.results.reliability import ReliabilityTable
from calibrant.samples.samples import Notion, Samples
from calibrant.smooth_summary import EPS
from calibrant.statistics.losses import LossSums
from calibrant.stream_summary import StreamSummary


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
            part |= self._smooth_sums(samples)
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

    def _smooth_sums(self, samples: Samples) -> dict[str, NDArray[np.float64]]:
        notion: Notion = "confidence" if samples.multiclass else "binary"
        logits, _, clipped = logit_grid(samples, notion, StreamSummary.SPACING, EPS, whole=True)
        residuals, _ = unit_grid(samples, notion, StreamSummary.UNIT_CELLS)
        return {
            "logits": np.stack([logits.plus[0], logits.minus[0]]),
            "logits_clipped": np.array([float(clipped)]),
            "residuals": residuals.sums,
        }

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
        summary = StreamSummary(self._cells, self._state, self._n_classes, self._findings)
        if not summary.bins.total_weight[0] > 0:
            raise InputError(NO_WEIGHT)
        kind: Shape = "multiclass" if self._n_classes > 1 else "binary"
        chosen = choose(measures, kind)
        kept = tuple(measure for measure in chosen if summary.has(measure))
        if measures is not None and kept != chosen:
            missing = next(measure for measure in chosen if measure not in kept)
            raise InputError(
                f"the measure {missing.name!r} needs the samples themselves, which an Accumulator "
                "does not keep: use evaluate(y_true, y_proba)"
            )
        given = "logits" if self.from_logits else "probabilities"
        rules = self._rule_names()
        return assemble(
            summary,
            kept,
            rules,
            ReliabilityTable(summary.bins, self.rule, Cuts(np.empty(0)), summary.scalar),
            inferred=(
                f"a stream of {kind} {given}",
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

    def _rule_names(self) -> dict[str, str]:
        quantile = f"{self.rule.m} quantile bins from {self._cells.m} cells"
        return rule_names(self.rule, self.rule) | {
            "quantile_bins": quantile,
            "confidence_bins": quantile,
            "levels": f"{self._cells.m} cells",
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a file; the old file stays whole until the new one is complete."""
        # Late, as in load(): most users never touch a state file, and it takes time to import.
        from calibrant.state_file import write

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
        from calibrant.state_file import read

        recipe, arrays = read(path)
        rule = recipe["rule"]
        bins: EqualWidth | Edges = (
            EqualWidth(rule["m"], rule["closed"], rule["drop_one"])
            if rule["kind"] == "equal-width"
            else Edges(rule["edges"], rule["closed"])
        )
        out = cls(bins=bins, from_logits=recipe["from_logits"], classes=recipe["classes"])
        if recipe["cells"] != out._cells.m:
            raise StateError(
                f"{path} was summed in {recipe['cells']} cells; this Calibrant has {out._cells.m}"
            )
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
        return {
            "rule": described,
            "from_logits": self.from_logits,
            "classes": names,
            "cells": self._cells.m,
        }

    def __repr__(self) -> str:
        return f"Accumulator({self.n_rows} rows, {self.rule})"


def _loss_arrays(losses: LossSums) -> dict[str, NDArray[np.float64]]:
    out = {"losses": losses.sums}
    # The weight behind the distances: they are means only if every update had them.
    out["distribution_weight"] = losses.sums[1:2] * float(losses.has_distribution)
    return out
