"""Labels of a time axis that people read: as much of a date as the span needs, and few of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

# Labels on the axis; more would touch each other on a page of 1,200 pixels.
TICKS = 8


def label_format(starts: Sequence[datetime]) -> str:
    """The format of labels between the first time and the last, as D3 writes it.

    Years are there if the span has several, months alone over years, and hours below three days.
    """
    first, last = min(starts), max(starts)
    if last - first > timedelta(days=2 * 365):
        return "%b %Y"
    if last - first < timedelta(days=3) and any(time.hour or time.minute for time in starts):
        return "%-d %b %H:%M"
    return "%-d %b" if first.year == last.year else "%-d %b %Y"
