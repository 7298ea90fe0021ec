"""Small drawings for notebooks, as SVG that takes its colours from the page.

Here u is a prediction or the mean of some (the horizontal axis), z a mean target (the vertical
one).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from calibrant._core.errors import counted
from calibrant.results._notebook import Drawing

# A blue that can be read on white and on black.
_BLUE = "#2b87c4"
_SIDE = 170
# The left edge and the top edge of the square, in pixels.
_X0, _Y0 = 26, 8
# With more bins than this, bars and dots would hide one another.
_CROWD = 60


def reliability_sketch(
    bins: Mapping[str, Sequence[Any]],
    axes: tuple[str, str],
    curve: Mapping[str, Sequence[float]] | None = None,
) -> Drawing:
    """A reliability diagram of the columns of a table of bins.

    `axes` names the horizontal and the vertical axis. Each bin has a bar for its interval if the
    columns have limits. The line is the `curve`, or joins the bins if there is none. With more than
    60 bins there are no bars, and bins are not joined.
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
        # One dot per pixel is enough: there may be thousands of distinct predictions.
        places = sorted({(_x(u), _y(z)) for u, z in points})
        spots = "".join(f"M{x},{y}h0" for x, y in places)
        parts.append(
            f'<path d="{spots}" stroke="{_BLUE}" stroke-width="3" stroke-linecap="round"/>'
        )
    return _drawing(parts, f"Reliability diagram, {counted(len(nonempty), 'bin', '')} with rows")


def _thinned(curve: Mapping[str, Sequence[float]]) -> list[tuple[float, float]]:
    """The points (prediction, mean target) of a curve, without those drawn at the same place."""
    points: dict[tuple[str, str], tuple[float, float]] = {}
    for u, z in zip(curve["prediction"], curve["mean_target"], strict=True):
        points.setdefault((_x(u), _y(z)), (u, z))
    return list(points.values())


def curve_axes(notion: str, is_hard: bool) -> tuple[str, str]:
    """The names of the horizontal and of the vertical axis of a curve's sketch.

    With the `notion` "confidence" the curve is of top labels; `is_hard` says that all targets are 0
    or 1.
    """
    top = notion == "confidence"
    target = "accuracy" if top else "frequency"
    return "confidence" if top else "prediction", target if is_hard else "mean soft label"


def curve_sketch(x: Sequence[float], y: Sequence[float], axes: tuple[str, str]) -> Drawing:
    """A reliability curve through the points (x, y); it is interrupted where y is NaN."""
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
    """The SVG of a diagram out of its parts; `label` describes it to screen readers."""
    width, height = _X0 + _SIDE + 8, _Y0 + _SIDE + 34
    return Drawing(
        f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{label}">{"".join(parts)}</svg>'
    )


def _dot(i: int, u: float, z: float, bins: Mapping[str, Sequence[Any]]) -> str:
    """The SVG of the dot of bin i, with its rows and means as a tooltip.

    It is drawn at the mean prediction u and the mean target z.
    """
    label = f"{counted(bins['n'][i], 'row')}: mean prediction {u:.3f}, mean target {z:.3f}"
    return f'<circle cx="{_x(u)}" cy="{_y(z)}" r="3" fill="{_BLUE}"><title>{label}</title></circle>'


def _square(x_label: str, y_label: str) -> str:
    """The SVG of the empty diagram: frame, diagonal, ends of the scales, names of the axes."""
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
    """The horizontal place of a prediction in the drawing, in pixels, as text."""
    return f"{_X0 + _SIDE * u:.1f}".removesuffix(".0")


def _y(z: float) -> str:
    """The vertical place of a mean target in the drawing, in pixels, as text."""
    return f"{_Y0 + _SIDE * (1 - z):.1f}".removesuffix(".0")


def sparkline(values: Sequence[float], width: int = 120, height: int = 18) -> Drawing:
    """A small line through the values, without scales, from the lowest to the highest.

    It is interrupted where a value is not finite.
    """
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
