"""A report in words: the answer, what stands out, and which measures come first."""

from __future__ import annotations

from calibrant._core.errors import counted
from calibrant._measures.catalogue import GROUPS, Shape, catalogue, find, listed
from calibrant.results._evaluation import Evaluation
from calibrant.results._rendering import shortened, shown
from calibrant.results._slices import Slice, Slices
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
    lines = [str(evaluation.verdict)] if evaluation.verdict else []
    lines.append(_direction(evaluation))
    lines += _reversed_order(evaluation)
    if evaluation.classes and len(evaluation.classes["class"]) > 2:
        worst = {name: values[0] for name, values in evaluation.classes.items()}
        gap = worst["mean_predicted"] - worst["mean_target"]
        side = "too high" if gap > 0 else "too low"
        lines.append(
            f"The class with the largest error is {shortened(worst['class'])}: "
            f"ECE {shown(worst['ece'])}; its predictions are {side} by {shown(abs(gap))} on "
            "average."
        )
    if evaluation.slices is not None:
        lines.append(_worst_slice(evaluation))
    if evaluation.segments is not None:
        lines.append(evaluation.segments.sentence)
    return tuple(lines)


def _direction(evaluation: Evaluation) -> str:
    """A sentence on whether predictions are too high or too low on average."""
    reliability = evaluation.reliability
    sums = reliability.table.sums[0].sum(axis=0)
    predicted, target = float(sums[3] / sums[1]), float(sums[4] / sums[1])
    gap, top = predicted - target, reliability.notion == "confidence"
    names = ("mean confidence", "accuracy") if top else ("mean prediction", "observed frequency")
    if not reliability.is_hard:
        names = (names[0], "mean soft label" + (" of the top class" if top else ""))
    if abs(gap) < min(5e-5, 0.005 * max(predicted, target, 1e-12)):
        return f"The {names[0]} and the {names[1]} agree: {shown(predicted)}."
    side = (
        ("overconfident" if gap > 0 else "underconfident")
        if top
        else ("too high" if gap > 0 else "too low")
    )
    return (
        f"The {names[0]} is {shown(predicted)}, the {names[1]} {shown(target)}: on average the "
        f"predictions are {side} by {shown(abs(gap))}."
    )


def _reversed_order(evaluation: Evaluation) -> list[str]:
    """A sentence if higher predictions go with fewer events, which no error shows; else []."""
    ranked = {each.name: each for each in evaluation.estimates}.get("auroc")
    interval = None if ranked is None else ranked.interval
    if interval is None or not interval.high < 0.5:
        return []
    backwards, swapped = "the outcome is rarer where predictions are", "labels, or the two classes,"
    if evaluation.reliability.notion == "confidence":
        backwards, swapped = "the top label is right less often where confidences are", "classes"
    return [
        f"The order is reversed: AUROC is {shown(interval.value)}, significantly below 0.5, so "
        f"{backwards} higher. Before recalibrating, check whether the {swapped} are swapped."
    ]


def _worst_slice(evaluation: Evaluation) -> str:
    """A sentence on the slices that stand out, or on the largest error if none does."""
    slices = evaluation.slices
    assert slices is not None
    by = "" if slices.by == "slice" else f" by {shortened(slices.by)}"
    reliability = evaluation.reliability
    shape: Shape = "multiclass" if reliability.notion == "confidence" else "binary"
    measure = find(slices.measure, shape).called(soft=not reliability.is_hard)
    off = [each for each in slices if each.p_corrected < 1.0 - slices.level]
    if not off:
        return (
            f"No slice{by} is significantly miscalibrated, corrected for their number. The largest "
            f"{measure} is {_describe_slice(slices, slices.largest)}."
        )
    worst, beyond_note = slices.worst, ""
    if slices.tolerance is not None:
        beyond = sum(each.within_tolerance is False for each in slices)
        beyond_note = (
            f", and {beyond or 'none'} of them certainly beyond the tolerance of "
            f"{slices.tolerance:g}"
        )
    first = (
        ""
        if worst is slices.largest
        else (f"; the largest {measure} is {_describe_slice(slices, slices.largest)}")
    )
    return (
        f"{len(off)} of {len(slices)} slices{by} are miscalibrated, corrected for their "
        f"number{beyond_note}. The most significant is {shortened(worst.name)} ({measure} "
        f"{shown(worst.values[slices.measure])}){first}."
    )


def _describe_slice(slices: Slices, slice_: Slice) -> str:
    """The error of a slice with its name and rows, in words."""
    value, rows = shown(slice_.values[slices.measure]), counted(slice_.n, "row")
    return f"{value} ({shortened(slice_.name)}, {rows})"
