"""Subjects: the measures under test, of the catalogue or a user's own, and how to compute them."""

from __future__ import annotations

import inspect
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._api.metrics.smooth import ls_ece
from calibrant._core.binning import Bins, both_rules
from calibrant._core.errors import CalibrantError, InputError
from calibrant._data.to_samples import to_samples
from calibrant._measures.catalogue import Claim, Measure, Shape
from calibrant._summaries.samples import Summary
from calibrant.results._audit import AuditVerdict

Array = NDArray[np.float64]
Function = Callable[..., Any]
Weights = Array | None

# The sentence of a verdict on a measure that has no finite value wherever a property is tested.
NO_VALUES = "it has no finite value on what is tried, so that nothing can be decided"
_DEFAULT_BINS = 15
# More measures than this of one sample share one read of it and one ordering of its rows.
_MANY = 8


@dataclass(frozen=True)
class Subject:
    """A measure under test, for one shape of predictions.

    `bins` is the rule asked for; None means the measure's own, which in limits grows with n.
    `claims` are those made of a user's own function.
    """

    name: str
    shape: Shape
    measure: Measure | None = None
    function: Function | None = None
    bins: Bins | None = None
    claims: Mapping[str, bool] | None = None

    def claim(self, what: str) -> Claim:
        """What is claimed of a property: True, False, or None for nothing.

        The catalogue claims nothing of other binning rules than a measure's own.
        """
        if self.measure is None:
            return (self.claims or {}).get(what)
        if self.bins is not None:
            return None
        claim: Claim = getattr(self.measure.claims, what, None)
        return claim

    def verdict(
        self,
        what: str,
        holds: bool | None,
        sentence: str,
        evidence: dict[str, float] | None = None,
        witness: dict[str, Any] | None = None,
    ) -> AuditVerdict:
        """The verdict on one property, beside what is claimed of it.

        `holds` is None if it is undecided. `evidence` has numbers by name, and `witness` what a
        replay needs to compute them again.
        """
        claim, found = self.claim(what), evidence or {}
        return AuditVerdict(self.name, self.shape, what, holds, claim, found, witness, sentence)

    def applies(self, what: str) -> bool:
        """Whether the property means anything for the measure."""
        if what == "weighted" and not self.takes_weights:
            return False
        return self.measure is None or getattr(self.measure.claims, what) is not None

    @cached_property
    def takes_weights(self) -> bool:
        """Whether it takes weights: all of the catalogue, and functions with `sample_weight`."""
        if self.function is None:
            return True
        try:
            return "sample_weight" in inspect.signature(self.function).parameters
        except (TypeError, ValueError):  # compiled functions may have no signature
            return False

    def error(self, value: Any) -> Any:
        """The value as something to keep low: a score becomes its distance from the best value."""
        if self.measure is not None and self.measure.higher_is_better:
            return self.measure.high - value
        return value

    @property
    def binned(self) -> bool:
        """Whether the value depends on a binning rule."""
        return self.measure is not None and self.measure.is_binned

    @property
    def notion(self) -> str:
        """The kind of calibration that is measured, such as "confidence", "classwise" or "full".

        A user's own function counts as "full": it must see every fault.
        """
        if self.measure is None or self.measure.notion in ("loss", "distribution"):
            return "full"
        if self.measure.notion == "scalar":
            return "confidence" if self.shape == "multiclass" else "full"
        whole = self.shape == "binary" and self.measure.notion != "confidence"
        return "full" if whole else self.measure.notion


def values(subjects: Sequence[Subject], y: Any, predictions: Any, weights: Weights = None) -> Array:
    """The value of each subject, (subjects,); NaN where a measure refuses the sample."""
    bins = subjects[0].bins if subjects else None
    return _values(subjects, y, predictions, _DEFAULT_BINS if bins is None else bins, weights)


class SharedValues:
    """Values of subjects that are looked at one after the other, on many of the same samples.

    When a measure of a sample is asked for, all measures that read the same statistic are computed
    and kept, which costs little more. A user's function is called each time.
    """

    def __init__(self, subjects: Sequence[Subject]) -> None:
        self._alike: dict[str, list[Subject]] = {}
        for subject in subjects:
            if subject.measure is not None:
                self._alike.setdefault(subject.measure.statistic, []).append(subject)
        self._known: dict[tuple[str, bytes, bytes], dict[str, float]] = {}

    def __call__(
        self, subject: Subject, y: Any, predictions: Array, weights: Weights = None
    ) -> float:
        """The value of one subject for labels y; `weights` must be the same in all calls."""
        if subject.measure is None:
            return float(values([subject], y, predictions, weights)[0])
        statistic = subject.measure.statistic
        key = (statistic, y.tobytes(), predictions.tobytes())
        if key not in self._known:
            alike = self._alike[statistic]
            found = values(alike, y, predictions, weights)
            self._known[key] = {s.name: float(v) for s, v in zip(alike, found, strict=True)}
        return self._known[key][subject.name]


def limit_values(
    subjects: Sequence[Subject], y: Any, predictions: Any, weights: Weights = None
) -> Array:
    """The value of each subject under rules that depend on the number of rows n, (subjects,).

    There are n^(1/3) bins, and the logit-smoothed error has noise of n^(-1/3), unless the subjects
    have a rule of their own; sums of squares over bins are multiplied by the number of bins.
    """
    if not subjects:
        return np.empty(0)
    if subjects[0].bins is not None:
        return values(subjects, y, predictions, weights)
    m = max(2, round(len(y) ** (1 / 3)))
    # Logit-smoothed errors, which are computed below with noise that shrinks as rows are added.
    shrinking = [s.measure is not None and s.measure.statistic == "logit_grid" for s in subjects]
    out = np.empty(len(subjects))
    rest = [s for s, alone in zip(subjects, shrinking, strict=True) if not alone]
    out[np.logical_not(shrinking)] = _values(rest, y, predictions, m, weights)
    for i, subject in enumerate(subjects):
        if shrinking[i]:
            out[i] = ls_ece(y, predictions, sigma="schedule", sample_weight=weights)
        # Sums of squares over W^2 fall like 1/m in m bins whatever the predictions: their limit is
        # that of m times the value, which changes neither the order of predictors nor who is
        # truthful.
        elif subject.measure is not None and subject.measure.power == 2 and subject.binned:
            out[i] *= m
    return out


def binned_values(subjects: Sequence[Subject], y: Any, predictions: Any, m: int) -> Array:
    """The value of each subject in m bins, (subjects,)."""
    return _values(subjects, y, predictions, m)


def _values(
    subjects: Sequence[Subject], y: Any, predictions: Any, bins: Bins, weights: Weights = None
) -> Array:
    """The value of each subject under a rule of binning, (subjects,); NaN where it is refused."""
    out = np.full(len(subjects), np.nan)
    by_name = _evaluated(subjects, y, predictions, bins, weights)
    for i, subject in enumerate(subjects):
        if subject.measure is not None:
            out[i] = by_name[subject.name]
        else:
            out[i] = call(subject, y, predictions, weights)
    return out


def _evaluated(
    subjects: Sequence[Subject], y: Any, predictions: Any, bins: Bins, weights: Weights
) -> dict[str, float]:
    """The values of the catalogue's measures by name, all from one summary of the sample.

    NaN stands for what is refused. An audit asks this of tens of thousands of small samples, and
    needs nothing else of an evaluation.
    """
    known = [s.measure for s in subjects if s.measure is not None]
    if not known:
        return {}
    try:
        samples = to_samples(y, predictions, sample_weight=weights)
    except CalibrantError:
        return {measure.name: np.nan for measure in known}
    summary = Summary(samples, *both_rules(bins), together=len(known) > _MANY)
    return {measure.name: _value(measure, summary) for measure in known}


def _value(measure: Measure, summary: Summary) -> float:
    """A measure's value, or NaN if it is not defined for the sample."""
    try:
        return measure.compute(summary)
    except CalibrantError:
        return np.nan


def call(subject: Subject, y: Any, predictions: Any, weights: Weights = None) -> float:
    """The value of a user's function; an InputError if it is not a number."""
    assert subject.function is not None
    more = {} if weights is None else {"sample_weight": np.array(weights)}
    value = subject.function(np.array(y), np.array(predictions), **more)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if not isinstance(value, numbers.Real | np.number | np.bool_):
        raise InputError(
            f"measure must return one number for (y_true, y_proba); {subject.name} returned "
            f"{type(value).__name__}: {str(value)[:80]}"
        )
    return float(value)
