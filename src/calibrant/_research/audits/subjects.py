"""Subjects: the measures under test, of the catalogue or a user's own, and how to compute them."""

from __future__ import annotations

import inspect
import numbers
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from calibrant._api.metrics.smooth import ls_ece
from calibrant._core.binning import Bins, both_rules
from calibrant._core.errors import CalibrantError, InputError
from calibrant._core.typing import Array
from calibrant._data.to_samples import to_samples
from calibrant._measures.catalogue import Claim, Measure, Shape
from calibrant._summaries.samples import Summary
from calibrant.results._audit import AuditVerdict

Function = Callable[..., Any]
Weights = Array | None

# The sentence of a verdict on a measure that has no finite value wherever a property is tested.
NO_VALUES = "it has no finite value in any trial, so nothing can be decided"
_DEFAULT_BINS = 15
# More measures than this of one sample share one read of it and one ordering of its rows.
_MANY = 8


@dataclass(frozen=True)
class Subject:
    """A measure under test, for one shape of predictions ("binary" or "multiclass").

    It is a `measure` of the catalogue, or a user's `function`. `bins` is the requested binning
    rule; with None the measure's default applies, and in limits the number of bins grows with n.
    `claims` are a user's claims about the function, by property.
    """

    name: str
    shape: Shape
    measure: Measure | None = None
    function: Function | None = None
    bins: Bins | None = None
    claims: Mapping[str, bool] | None = None

    def claim(self, property_name: str) -> Claim:
        """Whether the measure is claimed to have a property: True, False, or None without a claim.

        The catalogue's claims hold for a measure's default bins alone.
        """
        if self.measure is None:
            return (self.claims or {}).get(property_name)
        if self.bins is not None:
            return None
        claim: Claim = getattr(self.measure.claims, property_name, None)
        return claim

    def verdict(
        self,
        property_name: str,
        holds: bool | None,
        sentence: str,
        evidence: dict[str, float] | None = None,
        witness: dict[str, Any] | None = None,
    ) -> AuditVerdict:
        """The verdict on one property, together with what is claimed of it.

        `holds` is None if the test is undecided. `evidence` has numbers by name, `witness` what a
        replay needs to compute them again, and `sentence` the reason in words.
        """
        claim, found = self.claim(property_name), evidence or {}
        return AuditVerdict(
            self.name, self.shape, property_name, holds, claim, found, witness, sentence
        )

    def applies(self, property_name: str) -> bool:
        """Whether a property, such as "sound", is defined for the measure."""
        if property_name == "weighted" and not self.takes_weights:
            return False
        if property_name == "sequential":  # nothing is claimed of this one, nor of the next
            return self.shape == "binary"
        if property_name == "bin_sensitivity":
            return self.binned
        return self.measure is None or getattr(self.measure.claims, property_name) is not None

    @cached_property
    def takes_weights(self) -> bool:
        """Whether the measure takes weights: a function needs a parameter `sample_weight`."""
        if self.function is None:
            return True
        try:
            return "sample_weight" in inspect.signature(self.function).parameters
        except (TypeError, ValueError):  # compiled functions may have no signature
            return False

    def error(self, value: Any) -> Any:
        """A value of the measure as an error, where lower is better.

        A score, where higher is better, becomes its distance from the best value.
        """
        if self.measure is not None and self.measure.higher_is_better:
            return self.measure.high - value
        return value

    @property
    def binned(self) -> bool:
        """Whether the measure has bins."""
        return self.measure is not None and self.measure.is_binned

    @property
    def notion(self) -> str:
        """The kind of calibration that is measured, such as "confidence", "classwise" or "full".

        A user's own function counts as "full": it must detect every miscalibration.
        """
        if self.measure is None or self.measure.notion in ("loss", "distribution"):
            return "full"
        if self.measure.notion == "scalar":
            return "confidence" if self.shape == "multiclass" else "full"
        whole = self.shape == "binary" and self.measure.notion != "confidence"
        return "full" if whole else self.measure.notion


def values(
    subjects: Sequence[Subject],
    y: Any,
    predictions: Any,
    weights: Weights = None,
    *,
    bins: Bins | None = None,
) -> Array:
    """The value of each subject on one sample, (subjects,); NaN where a measure rejects it.

    Without `bins` they are those requested for the subjects, or else 15.
    """
    if bins is None:
        requested = subjects[0].bins if subjects else None
        bins = _DEFAULT_BINS if requested is None else requested
    by_name = _catalogue_values(subjects, y, predictions, bins, weights)
    found = [
        call_function(s, y, predictions, weights) if s.measure is None else by_name[s.name]
        for s in subjects
    ]
    return np.array(found, dtype=np.float64)


class CachedValues:
    """Computes values of subjects one at a time, and caches those that share a statistic.

    A call for one measure also computes all measures that read the same statistic of the sample,
    which costs little more. A user's function is called each time.
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
        """The subject's value on a sample with labels y; `weights` must be equal in all calls."""
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
    """The value of each subject, (subjects,), with bins that depend on the number of rows n.

    There are n^(1/3) bins, and the logit-smoothed error has noise of n^(-1/3), unless bins were
    requested. Sums of squares over bins are multiplied by the number of bins, to have a limit.
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
    out[np.logical_not(shrinking)] = values(rest, y, predictions, weights, bins=m)
    for i, subject in enumerate(subjects):
        if shrinking[i]:
            out[i] = ls_ece(y, predictions, sigma="schedule", sample_weight=weights)
        # Sums of squares over W^2 fall like 1/m in m bins whatever the predictions: their limit is
        # that of m times the value, which changes neither the order of predictors nor who is
        # truthful.
        elif subject.measure is not None and subject.measure.power == 2 and subject.binned:
            out[i] *= m
    return out


def _catalogue_values(
    subjects: Sequence[Subject], y: Any, predictions: Any, bins: Bins, weights: Weights
) -> dict[str, float]:
    """The values of the catalogue's measures among the subjects, by name, from one sample.

    The sample is summarised once. A value is NaN if the measure rejects the sample. An audit calls
    this for tens of thousands of small samples, and so skips the rest of an evaluation.
    """
    known = [s.measure for s in subjects if s.measure is not None]
    found = {measure.name: np.nan for measure in known}
    if not known:
        return found
    try:
        samples = to_samples(y, predictions, sample_weight=weights)
    except CalibrantError:
        return found
    summary = Summary(samples, *both_rules(bins), together=len(known) > _MANY)
    for measure in known:
        with suppress(CalibrantError):  # the measure is not defined for this sample
            found[measure.name] = measure.compute(summary)
    return found


def call_function(subject: Subject, y: Any, predictions: Any, weights: Weights = None) -> float:
    """The value of a subject's function, which is the user's own.

    A result that is not a single number is an InputError.
    """
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
