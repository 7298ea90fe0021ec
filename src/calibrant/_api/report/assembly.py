"""A report put together: its words, which measures come first, and how the page was made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from calibrant._api.evaluate_samples import Options
from calibrant._api.report.recalibration import SideBySide
from calibrant._core.validation import N_RESAMPLES
from calibrant._data.logprobs import LOGPROBS
from calibrant._measures.catalogue import GROUPS, Shape, catalogue, listed
from calibrant.results._conventions import Conventions
from calibrant.results._evaluation import Evaluation
from calibrant.results._findings import (
    direction_sentence,
    reversed_order,
    worst_class,
    worst_slices,
)
from calibrant.results._pages.provenance import versions
from calibrant.results._report import Report, entry
from calibrant.results._uncertainty import Verdict

# For each kind of measure: its title, what it is, and the names of its measures.
Groups = tuple[tuple[str, str, tuple[str, ...]], ...]


def recipe_of(
    evaluated: Options,
    source: Mapping[str, str],
    given: bool | str,
    *,
    maps: Iterable[str] | None,
    measures: Iterable[str] | None,
    missing: str,
    weighted: bool = False,
    voted: bool = False,
    counted: bool = False,
    annotated: bool = False,
    named_classes: bool = False,
) -> dict[str, Any]:
    """How a page was made: the options of `report` by name, where the rows come from, and versions.

    `given` says what predictions were given as (see `given_as`), `voted` whether labels have votes,
    and `counted` whether they are counts of votes; `measures` and `maps` are those that were named.
    """
    options = {
        "bins": repr(evaluated.bins),
        "tolerance": evaluated.tolerance,
        "level": float(evaluated.level),
        "seed": int(evaluated.seed),
        "from_logits": given is True,
        "from_logprobs": given == LOGPROBS,
        "missing": missing,
        "n_resamples": N_RESAMPLES,
        "weighted": weighted,
        "grouped": evaluated.groups is not None,
        "votes": voted,
        "resample": evaluated.resample,
        "sliced": evaluated.by is not None,
        "segments": None if evaluated.segments is None else ", ".join(map(str, evaluated.segments)),
        "depth": int(evaluated.depth),
        "annotators": annotated,
        "measures": None if measures is None else ", ".join(measures),
        "counts of votes": counted,
        "classes": named_classes,
        "recalibrate": None if maps is None else ", ".join(maps),
    }
    return {"options": options, "source": source, "versions": versions()}


def assemble_report(
    evaluation: Evaluation,
    shape: Shape,
    recipe: dict[str, Any],
    change: SideBySide,
    *,
    tools: Conventions | str,
    no_sensitivity: str | None,
    **sections: Any,
) -> Report:
    """A report from its sections, with what follows from the evaluation: words, order and glossary.

    `tools` are the values of other tools, or why there are none; `no_sensitivity` says why errors
    over all classes are not shown in other bins, None where they are.
    """
    absent = {
        "sensitivity": no_sensitivity,
        "before_after": change.absent,
        "recalibrations": change.failed,
        "conventions": tools,
    }
    return Report(
        answer=answer(evaluation.verdict),
        sentences=sentences(evaluation),
        evaluation=evaluation,
        headlines=headlines(evaluation, shape),
        groups=grouped(evaluation, shape),
        before_after=change.chosen,
        recalibrations=change.maps,
        conventions=tools if isinstance(tools, Conventions) else None,
        glossary=tuple(entry(e.name, shape) for e in evaluation.estimates),
        absent={section: why for section, why in absent.items() if isinstance(why, str)},
        recipe=recipe,
        **sections,
    )


def headlines(evaluation: Evaluation, shape: Shape) -> tuple[str, ...]:
    """The names of the few measures that a reader should see first."""
    return tuple(m.name for m in listed("headline", shape) if m.name in evaluation)


def grouped(evaluation: Evaluation, shape: Shape) -> Groups:
    """The measures of the evaluation by kind: (title, description, names) of each kind."""
    groups = []
    for key, (title, what) in GROUPS.items():
        own = [m for m in catalogue(shape) if m.group == key and m.name in evaluation]
        if own:
            ranked = sorted(own, key=lambda m: m.rank)
            groups.append((title, what, tuple(m.name for m in ranked)))
    return tuple(groups)


def answer(verdict: Verdict | None) -> str:
    """The answer, in a few words, to whether these probabilities can be believed."""
    if verdict is None:
        return "No verdict: no calibration error was measured."
    if verdict.verdict == "calibrated within noise":
        return "Yes: no miscalibration was found, and the error is within the tolerance."
    if verdict.verdict == "not enough data":
        return "There is not enough data to say whether the error exceeds the tolerance."
    if verdict.within_tolerance:
        return "Nearly: they are miscalibrated, but by less than the tolerance."
    if verdict.within_tolerance is None:
        return "No: they are miscalibrated, though perhaps by less than the tolerance."
    return "No: they are miscalibrated."


def sentences(evaluation: Evaluation) -> tuple[str, ...]:
    """The verdict, its direction, and the worst class, slice and segment, in sentences."""
    segments = evaluation.segments
    return (
        *([str(evaluation.verdict)] if evaluation.verdict else []),
        direction_sentence(evaluation),
        *reversed_order(evaluation),
        *worst_class(evaluation),
        *worst_slices(evaluation),
        *([] if segments is None else [segments.sentence]),
    )
