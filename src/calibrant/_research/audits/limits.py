"""Completeness and soundness: what a measure tends to as rows are added.

Complete: it tends to 0 (a score: to its best) for calibrated predictors. Sound: for the others it
stays above what calibrated ones tend to, which for a complete measure is 0 (Lu, Wu, Hartline and
Hu, section 2). Limits are taken along a sequence of rules: n^(1/3) bins, so that bins grow in
number while each still fills, and noise of n^(-1/3) for the logit-smoothed error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calibrant._research.audits.curves import SIZES, Curve, Drawn, curves
from calibrant._research.audits.populations import populations
from calibrant._research.audits.subjects import Subject
from calibrant.results._audit import AuditVerdict


def limits(subjects: Sequence[Subject], what: Sequence[str], *, seed: int) -> list[AuditVerdict]:
    """Verdicts on completeness, soundness or both for subjects of one shape."""
    by_name = curves(subjects, seed)
    verdicts = []
    for subject in subjects:
        calibrated = [c for c in by_name[subject.name] if not c.population.broken]
        others = [c for c in by_name[subject.name] if c.population.broken]
        if "complete" in what and subject.applies("complete"):
            verdicts.append(_completeness(subject, calibrated, seed))
        if "sound" in what and subject.applies("sound"):
            verdicts.append(_soundness(subject, calibrated, others, seed))
    return verdicts


def _completeness(subject: Subject, calibrated: list[Curve], seed: int) -> AuditVerdict:
    worst = max(calibrated, key=_against)
    name, last = worst.population.name, subject.error(worst.values[-1])
    if np.isnan(worst.limit):
        holds = None
        words = f"{len(worst.sizes)} sizes do not decide whether it vanishes on '{name}'"
    elif worst.limit == 0.0:
        holds = True
        rate = f"falls at least like n^{worst.slope:.2f}" if np.isfinite(worst.slope) else "is 0"
        words = f"it {rate} on {len(calibrated)} calibrated ones"
    else:
        holds, words = False, f"it stays at {last:.4g} on '{name}'"
    return _verdict(subject, "complete", holds, worst, words, seed)


def _soundness(
    subject: Subject, calibrated: list[Curve], others: list[Curve], seed: int
) -> AuditVerdict:
    """Against its twin where calibrated predictors tend to 0, against the worst of them if not."""
    worst = max(calibrated, key=_against)
    complete = worst.limit == 0.0
    tends = [curve.limit_beside_twin if complete else curve.limit for curve in others]
    # One population that it does not detect refutes soundness; an undecided one counts next.
    index = min(range(len(tends)), key=lambda i: _order(tends[i], worst.limit))
    lowest, limit = others[index], tends[index]
    name, last = lowest.population.name, subject.error(lowest.values[-1])
    if np.isnan(limit) or np.isnan(worst.limit):
        holds, words = None, f"{len(lowest.sizes)} sizes do not decide what it tends to on '{name}'"
    elif limit > worst.limit:
        holds, words = True, f"it stays at {last:.4g} or more on {len(others)} miscalibrated ones"
    elif complete:
        holds, words = False, f"it vanishes on '{name}' as on calibrated predictions"
    else:
        most = subject.error(worst.values[-1])
        holds = False
        words = f"it is {last:.4g} on '{name}' and {most:.4g} on '{worst.population.name}'"
    return _verdict(subject, "sound", holds, lowest, words, seed)


def _order(limit: float, calibrated: float) -> tuple[int, float]:
    if np.isnan(limit):
        return 1, 0.0
    return (0 if limit <= calibrated else 2), limit


def _against(curve: Curve) -> tuple[int, float]:
    """The evidence of a calibrated population against completeness, for sorting: a positive limit
    refutes it, and an undecided one counts next.
    """
    if curve.limit == 0.0:
        return 0, curve.slope
    return (1, 0.0) if np.isnan(curve.limit) else (2, abs(curve.limit))


def _verdict(
    subject: Subject, what: str, holds: bool | None, curve: Curve, words: str, seed: int
) -> AuditVerdict:
    shown = [float(subject.error(value)) for value in curve.values]
    return AuditVerdict(
        measure=subject.name,
        shape=subject.shape,
        property=what,
        holds=holds,
        claim=subject.claim(what),
        sentence=words,
        evidence={f"at {n}": value for n, value in zip(curve.sizes, shown, strict=True)},
        witness={"population": curve.population.name, "seed": seed, "more": curve.more},
    )


def replay(subject: Subject, witness: dict[str, Any]) -> dict[str, float]:
    """The values at every size, computed again."""
    for number, population in enumerate(populations(subject.shape)):
        if population.name == witness["population"]:
            drawn = Drawn(population, number, witness["seed"])
            drawn.add([subject], witness["more"])
            means, _ = drawn.means([subject])
            pairs = zip(SIZES[: len(means)], means[:, 0], strict=True)
            return {f"at {n}": float(subject.error(value)) for n, value in pairs}
    raise KeyError(witness["population"])
