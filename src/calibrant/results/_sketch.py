"""Small drawings for notebooks, as SVG that takes its colours from the page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from calibrant._core.errors import counted
from calibrant.results._notebook import Drawing

# A blue that can be read on white and on black.
_BLUE = "#2b87c4"
_SIDE = 170
# Left, top, right and bottom of the square.
_X0, _Y0 = 26, 8
# Beyond this number of bins bars would hide one another.
_CROWD = 60


def reliability_sketch(
    bins: Mapping[str, Sequence[Any]],
    axes: tuple[str, str],
    curve: Mapping[str, Sequence[float]] | None = None,
) -> Drawing:
    """A reliability diagram of a table's columns, with intervals if they have limits. Its line is
    the `curve`, or joins the bins where there is none.
    """
    nonempty = [i for i, weight in enumerate(bins["weight"]) if weight > 0]
    points = [(bins["mean_predicted"][i], bins["mean_target"][i]) for i in nonempty]
    parts = [_square(*axes)]
    if "low" in bins and len(nonempty) <= _CROWD:
        parts += [
            f'<path d="M{_x(bins["mean_predicted"][i])},{_y(bins["low"][i])}'
            f'V{_y(bins["high"][i])}" stroke="{_BLUE}" stroke-opacity=".45" stroke-width="2"/>'
            for i in nonempty
        ]
    joined = points if curve is None else _thinned(curve)
    if curve is not None or len(nonempty) <= _CROWD:
        line = " ".join(f"{_x(u)},{_y(z)}" for u, z in joined)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{_BLUE}" stroke-width="1.5"/>')
    if len(nonempty) <= _CROWD:
        parts += [_dot(i, u, z, bins) for i, (u, z) in zip(nonempty, points, strict=True)]
    else:
        # One dot per pixel is enough: level sets may be thousands.
        places = sorted({(_x(u), _y(z)) for u, z in points})
        spots = "".join(f"M{x},{y}h0" for x, y in places)
        parts.append(
            f'<path d="{spots}" stroke="{_BLUE}" stroke-width="3" stroke-linecap="round"/>'
        )
    return _drawing(parts, f"Reliability diagram, {counted(len(nonempty), 'bin', '')} with rows")


def _thinned(curve: Mapping[str, Sequence[float]]) -> list[tuple[float, float]]:
    """The points of a curve that a drawing of this size can tell apart."""
    points: dict[tuple[str, str], tuple[float, float]] = {}
    for u, z in zip(curve["prediction"], curve["mean_target"], strict=True):
        points.setdefault((_x(u), _y(z)), (u, z))
    return list(points.values())


def curve_axes(notion: str, is_hard: bool) -> tuple[str, str]:
    """Names of both axes of a curve's sketch."""
    top = notion == "confidence"
    target = "accuracy" if top else "frequency"
    return "confidence" if top else "prediction", target if is_hard else "mean soft label"


def curve_sketch(x: Sequence[float], y: Sequence[float], axes: tuple[str, str]) -> Drawing:
    """A smoothed reliability curve; a gap where y is not a number."""
    path, pen = "", "M"
    for u, z in zip(x, y, strict=True):
        if not math.isfinite(z):
            pen = "M"
            continue
        path += f"{pen}{_x(u)},{_y(z)}"
        pen = "L"
    line = f'<path d="{path}" fill="none" stroke="{_BLUE}" stroke-width="1.8"/>'
    return _drawing([_square(*axes), line], "Smoothed reliability curve")


def _drawing(parts: Sequence[str], label: str) -> Drawing:
    width, height = _X0 + _SIDE + 8, _Y0 + _SIDE + 34
    return Drawing(
        f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{label}">{"".join(parts)}</svg>'
    )


def _dot(i: int, u: float, z: float, bins: Mapping[str, Sequence[Any]]) -> str:
    label = f"{counted(bins['n'][i], 'row')}: mean prediction {u:.3f}, mean target {z:.3f}"
    return f'<circle cx="{_x(u)}" cy="{_y(z)}" r="3" fill="{_BLUE}"><title>{label}</title></circle>'


def _square(x_label: str, y_label: str) -> str:
    """The empty diagram: frame, diagonal, ends of the scales and their names."""
    low, high, right = _Y0 + _SIDE, _Y0, _X0 + _SIDE
    middle = _X0 + _SIDE / 2
    return (
        f'<path d="M{_X0},{high}V{low}H{right}" fill="none" stroke="currentColor" opacity=".5"/>'
        f'<path d="M{_X0},{low}L{right},{high}" stroke="currentColor" opacity=".5" '
        'stroke-dasharray="4 3"/>'
        '<g fill="currentColor" font-size="10">'
        f'<text x="{_X0 - 4}" y="{low}" text-anchor="end">0</text>'
        f'<text x="{_X0 - 4}" y="{high + 8}" text-anchor="end">1</text>'
        f'<text x="{_X0}" y="{low + 12}" text-anchor="middle">0</text>'
        f'<text x="{right}" y="{low + 12}" text-anchor="middle">1</text>'
        f'<text x="{middle}" y="{low + 26}" text-anchor="middle">{x_label}</text>'
        f'<text x="10" y="{_Y0 + _SIDE / 2}" text-anchor="middle" '
        f'transform="rotate(-90 10 {_Y0 + _SIDE / 2})">{y_label}</text></g>'
    )


def _x(u: float) -> str:
    return f"{_X0 + _SIDE * u:.1f}".removesuffix(".0")


def _y(z: float) -> str:
    return f"{_Y0 + _SIDE * (1 - z):.1f}".removesuffix(".0")


def sparkline(values: Sequence[float], width: int = 120, height: int = 18) -> Drawing:
    """A line without scales, from its lowest to its highest value; a gap where there is none."""
    finite = [value for value in values if math.isfinite(value)]
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    step = (width - 4) / max(1, len(values) - 1)
    path, pen = "", "M"
    for i, value in enumerate(values):
        if not math.isfinite(value):
            pen = "M"
            continue
        share = (value - low) / (high - low) if high > low else 0.5
        path += f"{pen}{2 + i * step:.1f},{2 + (height - 4) * (1 - share):.1f}"
        pen = "L"
    return Drawing(
        f'<svg width="{width}" height="{height}" role="img" aria-label="from {low:.3g} to '
        f'{high:.3g}"><path d="{path}" fill="none" stroke="{_BLUE}" stroke-width="1.3"/></svg>'
    )
