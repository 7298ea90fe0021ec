"""Rows that a map was fitted to are no judge of it: how they are recognised."""

from __future__ import annotations

import hashlib

from calibrant.errors import CalibrantWarning
from calibrant.scaling.reports import Reports


class SameRows(CalibrantWarning):
    """A map is applied to the very rows that it was fitted to, where it looks better than it is."""


SAME_ROWS = (
    "these are the rows that {name} was fitted on: on them it looks better than it is. Judge it on "
    "held-out rows; where it is only applied, use fit_transform, or silence "
    "calibrant.scaling.SameRows with warnings.filterwarnings"
)


def fingerprint(reports: Reports) -> str:
    """A digest of reports: equal for equal numbers, whatever precision and order they came in."""
    digest = hashlib.blake2b(str(reports.values.shape).encode(), digest_size=16)
    digest.update(reports.values.data)
    return digest.hexdigest()
