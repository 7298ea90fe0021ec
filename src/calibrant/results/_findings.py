"""What stands out in an evaluation, in sentences: direction, order, worst class, worst slices."""

from __future__ import annotations

from calibrant._core.errors import counted
from calibrant._measures.catalogue import Shape, find
from calibrant.results._evaluation import Evaluation
from calibrant.results._rendering import shortened, shown
from calibrant.results._slices import Slice, Slices


def mean_values(evaluation: Evaluation) -> tuple[float, float]:
    """The mean prediction (or confidence) and the mean target (or accuracy) of an evaluation."""
    sums = evaluation.reliability.table.sums[0].sum(axis=0)
    return float(sums[3] / sums[1]), float(sums[4] / sums[1])


def direction_sentence(evaluation: Evaluation) -> str:
    """A sentence with both means: whether predictions are too high or too low on average."""
    reliability = evaluation.reliability
    predicted, target = mean_values(evaluation)
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


def reversed_order(evaluation: Evaluation) -> list[str]:
    """A sentence if higher predictions go with fewer events, which no calibration error shows."""
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


def worst_class(evaluation: Evaluation) -> list[str]:
    """A sentence on the class with the largest error; none with fewer than three classes."""
    if not evaluation.classes or len(evaluation.classes["class"]) < 3:
        return []
    worst = {name: values[0] for name, values in evaluation.classes.items()}
    gap = worst["mean_predicted"] - worst["mean_target"]
    side = "too high" if gap > 0 else "too low"
    return [
        f"The class with the largest error is {shortened(worst['class'])}: ECE "
        f"{shown(worst['ece'])}; its predictions are {side} by {shown(abs(gap))} on average."
    ]


def slice_measure(evaluation: Evaluation) -> str:
    """The name of the slices' measure, such as SMECE for soft labels; empty without slices."""
    if evaluation.slices is None:
        return ""
    reliability = evaluation.reliability
    shape: Shape = "multiclass" if reliability.notion == "confidence" else "binary"
    return find(evaluation.slices.measure, shape).called(soft=not reliability.is_hard)


def worst_slices(evaluation: Evaluation) -> list[str]:
    """How many slices stand out, and which most; or the largest error if none does."""
    slices = evaluation.slices
    if slices is None:
        return []
    by = "" if slices.by == "slice" else f" by {shortened(slices.by)}"
    measure = slice_measure(evaluation)
    off = [each for each in slices if each.p_corrected < 1.0 - slices.level]
    if not off:
        return [
            f"No slice{by} is significantly miscalibrated, corrected for their number. The largest "
            f"{measure} is {_describe_slice(slices, slices.largest)}."
        ]
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
        else f"; the largest {measure} is {_describe_slice(slices, slices.largest)}"
    )
    are = "is" if len(off) == 1 else "are"
    return [
        f"{len(off)} of {len(slices)} slices{by} {are} miscalibrated, corrected for their "
        f"number{beyond_note}. The most significant is {shortened(worst.name)} ({measure} "
        f"{shown(worst.values[slices.measure])}){first}."
    ]


def _describe_slice(slices: Slices, slice_: Slice) -> str:
    """The error of a slice with its name and rows, in words."""
    value, rows = shown(slice_.values[slices.measure]), counted(slice_.n, "row")
    return f"{value} ({shortened(slice_.name)}, {rows})"
