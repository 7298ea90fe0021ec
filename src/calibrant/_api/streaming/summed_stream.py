"""The evaluation of a stream: which measures its sums have, and what is said of the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from calibrant._api.evaluate_samples import Provenance, assemble, choose_measures, rule_names
from calibrant._core.binning import Cuts, FixedRule, Rule
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


def approximate_notes(measures: Iterable[Measure], summary: StreamSummary) -> list[str]:
    """A note that names the measures that are approximated from fine cells; [] if none is."""
    names = [m.name for m in measures if summary.approximate and summary.is_from_cells(m)]
    return [f"approximate, from {summary.cells.m} cells: {', '.join(names)}"] if names else []


def rule_names_from_cells(summary: StreamSummary, truthful: Rule) -> dict[str, str]:
    """The bins behind each statistic or measure, in words, by its name (see `rule_names`).

    Quantile bins and distinct predictions are approximated from the fine cells; `truthful` is the
    rule of truthful measures.
    """
    rule, cells = summary.cells.rule, f"{summary.cells.m} cells"
    quantile = f"{rule.m} quantile bins from {cells}"
    own = str(rule) if summary.own_bins else quantile
    return rule_names(rule, truthful) | {
        "quantile_bins": own,
        "confidence_bins": own,
        **dict.fromkeys(equal_mass_names(), quantile),
        "levels": cells,
    }


@dataclass(frozen=True, eq=False)
class SummedStream:
    """The sums of a stream of rows at one moment, and the options by which they were made.

    `measures` names the measures that were to be summed, None for the usual ones. `given` says
    whether predictions are logits (True), probabilities (False) or log-probabilities (LOGPROBS).
    """

    summary: StreamSummary
    n_rows: int
    n_missing: int
    given: Any
    measures: tuple[str, ...] | None
    classes: Sequence[Any] | None
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
        rule, soft, columns = summary.cells.rule, summary.soft, summary.n_columns
        kept = tuple(measure for measure in chosen if summary.has(measure))
        everything = measures is None and self.measures is None
        if kept != chosen and not everything:
            self._raise_unavailable(next(measure for measure in chosen if measure not in kept))
        rules = rule_names_from_cells(summary, rule)
        classes_note = []
        if self.classes is not None:
            classes_note.append(note_on_stream_labels(self.classes, columns > 1))
        provenance = Provenance(
            recipe={
                "n": self.n_rows,
                "n_classes": max(2, columns),
                "bins": str(rule),
                "truthful_bins": rules["quantile_bins"],
                "from_logits": self.given is True,
                "cells": summary.cells.m,
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
                "labels are soft (probabilities)" if soft else "labels are hard",
                *classes_note,
                *([ANSWERS] if self.shape == "answers" else []),
                *([TWO_COLUMNS] if columns == 2 else []),
            ),
            measure_notes=self._notes(chosen, kept),
        )
        reliability = ReliabilityTable(summary.bins, rule, Cuts(np.empty(0)), summary.scalar)
        result = assemble(summary, kept, reliability, provenance, None, everything=everything)
        absent = [each.name for each in chosen if each.notion == "distribution"]
        if soft and absent and not summary.losses.has_distribution:
            note = f"{', '.join(absent)}: not computed, because some updates had only hard labels"
            result = replace(result, notes=(*result.notes, note))
        return result

    def _raise_unavailable(self, measure: Measure) -> NoReturn:
        """Raise an InputError that says why the stream cannot give a measure."""
        if measure.notion == "distribution":
            raise InputError(
                f"the measure {measure.name!r} needs soft labels, but "
                f"{'some' if self.summary.soft else 'all'} of the updates had only hard labels: "
                "name it in the measures of the Accumulator, which then sums it for these too"
            )
        cells = self.summary.cells
        raise InputError(
            f"the measure {measure.name!r} needs the rows, which an Accumulator does not keep: use "
            "evaluate(y_true, y_proba)"
            f"{alternatives(measure, cells.rule, self.summary.own_bins, cells.m)}"
        )

    def _notes(self, chosen: tuple[Measure, ...], kept: tuple[Measure, ...]) -> tuple[str, ...]:
        """Notes on measures that were dropped, and on those that are approximated from fine cells.

        `chosen` are the measures to show, `kept` those of them that the stream can give. Dropped
        distances between distributions have a note elsewhere.
        """
        notes, summary = approximate_notes(kept, self.summary), self.summary
        names = {m.name for m in kept}
        absent = [m for m in chosen if m.name not in names and m.notion != "distribution"]
        if absent:
            some = any(in_stream(m, own_bins=summary.own_bins, approximate=True) for m in absent)
            cells = f"; approximate=True takes some from {summary.cells.m} cells" if some else ""
            cells = worded(python=cells, command="")  # the command has no such streams
            notes.append(
                f"{', '.join(m.name for m in absent)}: not computed, because a stream does not "
                f"keep the predictions in order{cells}"
            )
        return tuple(notes)

    def _check_summed(self, chosen: Iterable[Measure]) -> None:
        """Raise an InputError for a measure whose sums this stream does not keep."""
        for measure in chosen:
            if not is_available(measure, self.measures, self.summary.n_columns > 1):
                made_for = (
                    "the usual measures"
                    if self.measures is None
                    else f"the measures {', '.join(self.measures)}"
                )
                raise InputError(
                    f"this stream has sums only for {made_for}, not for {measure.name!r}: name it "
                    f"with {setting('measures')} when you create the stream"
                )
