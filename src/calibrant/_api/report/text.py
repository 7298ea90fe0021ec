"""A report in words: the answer, what stands out, and which measures come first."""

from __future__ import annotations

from calibrant._measures.catalogue import GROUPS, Shape, catalogue, listed
from calibrant.results._evaluation import Evaluation
from calibrant.results._findings import (
    direction_sentence,
    reversed_order,
    worst_class,
    worst_slices,
)
from calibrant.results._uncertainty import Verdict

# For each kind of measure: its title, what it is, and the names of its measures.
Groups = tuple[tuple[str, str, tuple[str, ...]], ...]


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
