"""Numbers as pages and tables show them, by the rule that readers are told."""

from __future__ import annotations

import math


def printed(value: float | None) -> str:
    """Four decimal places; three significant digits below 0.01; nothing for a missing value."""
    if value is None or math.isnan(value):
        return ""
    if 0 < abs(value) < 0.01:
        return f"{value:.3g}"
    return f"{value:.4f}" if abs(value) < 100 else f"{value:.10g}"
