"""The evaluation of a stream: which measures its sums have, and what is said of the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from calibrant._api.evaluate_samples import Provenance, assemble, choose_measures, rule_names
from calibrant._core.binning import Cuts, FixedRule
from calibrant._core.errors import InputError
from calibrant._core.messages import Note, setting, worded
from calibrant._data.answers import ANSWERS
from calibrant._data.checks import TWO_COLUMNS
from calibrant._data.labels import note_on_stream_labels
from calibrant._data.logprobs import LOGPROBS
from calibrant._measures.catalogue import Measure, Shape, equal_mass_names, of_answers
from calibrant._summaries.requirements import follows_rule, in_stream, is_available
from calibrant._summaries.stream import StreamSummary
from calibrant.results._evaluation import Evaluation
from calibrant.results._reliability import ReliabilityTable

_KINDS = {"multiclass": "multiclass", "binary": "binary", "answers": "binary"}
_GIVEN = {True: "logits", False: "probabilities", LOGPROBS: "log-probabilities"}


def alternatives(measure: Measure, rule: FixedRule, own_bins: bool, cells: int) -> str:
    """The end of an error: how to get a measure that a stream cannot give; "" if in no way.

    A stream gives some measures if `bins` is a rule, which all measures then follow (`own_bins`),
    and some approximately, from `cells` fine cells. A cell sums rows of nearly the same prediction.
    """
    out = ""
    if follows_rule(measure):
        out += f", or a rule for all measures, such as bins=EqualWidth({rule.m})"
    if in_stream(measure, own_bins=own_bins, approximate=True):
        out += f", or approximate=True for its value from {cells} cells"
    return out


@dataclass(frozen=True, eq=False)
class SummedStream:
    """The sums of a stream of rows at one moment, and the options by which they were made.

    `measures` names the measures that were to be summed, None for the usual ones. `own_bins` says
    whether all measures use the bins of `rule`; otherwise truthful measures use quantile bins.
    `cells` is the number of fine cells, each of which sums rows of nearly the same prediction.
    `given` says whether predictions are logits (True), probabilities (False) or log-probabilities
    (LOGPROBS). `soft` says whether any label was soft.
    """

    summary: StreamSummary
    columns: int
    n_rows: int
    n_missing: int
    given: Any
    rule: FixedRule
    own_bins: bool
    measures: tuple[str, ...] | None
    classes: Sequence[Any] | None
    cells: int
    soft: bool
    shape: Shape

    def evaluate(self, measures: Iterable[str] | None) -> Evaluation:
        """Evaluate the measures of these names; None means all that the sums allow.

        An InputError is raised for a named measure that the sums cannot give.
        """
        made_for = self.measures
        if made_for is not None and self.shape == "answers":
            made_for = of_answers(made_for)
        chosen = choose_measures(made_for if measures is None else measures, self.shape)
        self._check_summed(chosen)
        summary = self.summary
        kept = tuple(measure for measure in chosen if summary.has(measure))
        everything = measures is None and self.measures is None
        if kept != chosen and not everything:
            self._raise_unavailable(next(measure for measure in chosen if measure not in kept))
        rules = self._rule_names()
        provenance = Provenance(
            recipe={
                "n": self.n_rows,
                "n_classes": max(2, self.columns),
                "bins": str(self.rule),
                "truthful_bins": rules["quantile_bins"],
                "from_logits": self.given is True,
                "cells": self.cells,
                "approximate": summary.approximate,
                "n_missing": self.n_missing,
            },
            rules=rules,
            inferred=(
                Note(
                    f"a stream of {_KINDS[self.shape]} {_GIVEN[self.given]}",
                    "shape",
                    multiclass=self.shape == "multiclass",
                ),
                "labels are soft (probabilities)" if self.soft else "labels are hard",
                *self._classes_note(),
                *([ANSWERS] if self.shape == "answers" else []),
                *([TWO_COLUMNS] if self.columns == 2 else []),
            ),
            measure_notes=self._notes(chosen, kept),
        )
        reliability = ReliabilityTable(summary.bins, self.rule, Cuts(np.empty(0)), summary.scalar)
        result = assemble(summary, kept, reliability, provenance, None, everything=everything)
        absent = [each.name for each in chosen if each.notion == "distribution"]
        if self.soft and absent and not summary.losses.has_distribution:
            note = f"{', '.join(absent)}: not computed, because some updates had only hard labels"
            result = replace(result, notes=(*result.notes, note))
        return result

    def _classes_note(self) -> tuple[str, ...]:
        """A note on how labels are matched with class names; () if classes have none."""
        if self.classes is None:
            return ()
        return (note_on_stream_labels(self.classes, self.columns > 1),)

    def _raise_unavailable(self, measure: Measure) -> NoReturn:
        """Raise an InputError that says why the stream cannot give a measure."""
        if measure.notion == "distribution":
            raise InputError(
                f"the measure {measure.name!r} needs soft labels, but "
                f"{'some' if self.soft else 'all'} of the updates had only hard labels: name it in "
                "the measures of the Accumulator, which then sums it for these too"
            )
        raise InputError(
            f"the measure {measure.name!r} needs the rows, which an Accumulator does not keep: use "
            "evaluate(y_true, y_proba)"
            f"{alternatives(measure, self.rule, self.own_bins, self.cells)}"
        )

    def _notes(self, chosen: tuple[Measure, ...], kept: tuple[Measure, ...]) -> tuple[str, ...]:
        """Notes on measures that were dropped, and on those that are approximated from fine cells.

        `chosen` are the measures to show, `kept` those of them that the stream can give. Dropped
        distances between distributions have a note elsewhere.
        """
        notes, summary = [], self.summary
        near = [m.name for m in kept if summary.approximate and summary.is_from_cells(m)]
        if near:
            notes.append(f"approximate, from {self.cells} cells: {', '.join(near)}")
        names = {m.name for m in kept}
        absent = [m for m in chosen if m.name not in names and m.notion != "distribution"]
        if absent:
            some = any(in_stream(m, own_bins=self.own_bins, approximate=True) for m in absent)
            cells = f"; approximate=True takes some from {self.cells} cells" if some else ""
            cells = worded(python=cells, command="")  # the command has no such streams
            notes.append(
                f"{', '.join(m.name for m in absent)}: not computed, because a stream does not "
                f"keep the predictions in order{cells}"
            )
        return tuple(notes)

    def _check_summed(self, chosen: Iterable[Measure]) -> None:
        """Raise an InputError for a measure whose sums this stream does not keep."""
        for measure in chosen:
            if not is_available(measure, self.measures, self.columns > 1):
                made_for = (
                    "the usual measures"
                    if self.measures is None
                    else f"the measures {', '.join(self.measures)}"
                )
                raise InputError(
                    f"this stream has sums only for {made_for}, not for {measure.name!r}: name it "
                    f"with {setting('measures')} when you create the stream"
                )

    def _rule_names(self) -> dict[str, str]:
        """The bins behind each statistic or measure, in words, by its name (see `rule_names`).

        Quantile bins and distinct predictions are approximated from the fine cells.
        """
        quantile = f"{self.rule.m} quantile bins from {self.cells} cells"
        own = str(self.rule) if self.own_bins else quantile
        return rule_names(self.rule, self.rule) | {
            "quantile_bins": own,
            "confidence_bins": own,
            **dict.fromkeys(equal_mass_names(), quantile),
            "levels": f"{self.cells} cells",
        }
