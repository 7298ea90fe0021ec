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
    """A small reliability diagram as SVG, from the columns of a table of bins.

    `axes` names the horizontal and the vertical axis. Each bin has a bar for its interval if the
    columns have limits. The line is the `curve`, or joins the bins if that is None. With more than
    60 bins there are no bars, and bins are not joined.
    """
    nonempty = [i for i, weight in enumerate(bins["weight"]) if weight > 0]
    points = [(bins["mean_predicted"][i], bins["mean_target"][i]) for i in nonempty]
    parts = [_empty_diagram(*axes)]
    if "low" in bins and len(nonempty) <= _CROWD:
        parts += [
            f'<path d="M{_x(bins["mean_predicted"][i])},{_y(bins["low"][i])}'
            f'V{_y(bins["high"][i])}" stroke="{_BLUE}" stroke-opacity=".45" stroke-width="2"/>'
            for i in nonempty
        ]
    joined = points if curve is None else _distinct_points(curve)
    if curve is not None or len(nonempty) <= _CROWD:
        line = " ".join(f"{_x(u)},{_y(z)}" for u, z in joined)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{_BLUE}" stroke-width="1.5"/>')
    if len(nonempty) <= _CROWD:
        parts += [_bin_dot(i, u, z, bins) for i, (u, z) in zip(nonempty, points, strict=True)]
    else:
        # One dot per pixel is enough: there may be thousands of distinct predictions.
        places = sorted({(_x(u), _y(z)) for u, z in points})
        spots = "".join(f"M{x},{y}h0" for x, y in places)
        parts.append(
            f'<path d="{spots}" stroke="{_BLUE}" stroke-width="3" stroke-linecap="round"/>'
        )
    return _join_parts(parts, f"Reliability diagram, {counted(len(nonempty), 'bin', '')} with rows")


def _distinct_points(curve: Mapping[str, Sequence[float]]) -> list[tuple[float, float]]:
    """The points (prediction, mean target) of a curve that differ in their pixels."""
    points: dict[tuple[str, str], tuple[float, float]] = {}
    for u, z in zip(curve["prediction"], curve["mean_target"], strict=True):
        points.setdefault((_x(u), _y(z)), (u, z))
    return list(points.values())


def curve_axes(notion: str, is_hard: bool) -> tuple[str, str]:
    """The labels of the horizontal and the vertical axis of a small reliability curve.

    With the `notion` "confidence" the predictions are those of top labels; `is_hard` says that all
    targets are 0 or 1.
    """
    top = notion == "confidence"
    target = "accuracy" if top else "frequency"
    return "confidence" if top else "prediction", target if is_hard else "mean soft label"


def curve_sketch(x: Sequence[float], y: Sequence[float], axes: tuple[str, str]) -> Drawing:
    """A small reliability curve as SVG, through the points (x, y), interrupted where y is NaN."""
    points = [(_x(u), _y(z)) if math.isfinite(z) else None for u, z in zip(x, y, strict=True)]
    line = f'<path d="{_broken_path(points)}" fill="none" stroke="{_BLUE}" stroke-width="1.8"/>'
    return _join_parts([_empty_diagram(*axes), line], "Smoothed reliability curve")


def _join_parts(parts: Sequence[str], label: str) -> Drawing:
    """Join parts of a diagram (SVG) to one drawing; `label` describes it to screen readers."""
    width, height = _X0 + _SIDE + 8, _Y0 + _SIDE + 34
    return Drawing(
        f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{label}">{"".join(parts)}</svg>'
    )


def _bin_dot(i: int, u: float, z: float, bins: Mapping[str, Sequence[Any]]) -> str:
    """The SVG of bin i's dot, at mean prediction u and mean target z; its tooltip has the rows."""
    label = f"{counted(bins['n'][i], 'row')}: mean prediction {u:.3f}, mean target {z:.3f}"
    return f'<circle cx="{_x(u)}" cy="{_y(z)}" r="3" fill="{_BLUE}"><title>{label}</title></circle>'


def _empty_diagram(x_label: str, y_label: str) -> str:
    """The SVG of an empty diagram: frame, diagonal, ends of the scales, labels of the axes."""
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
    """The horizontal position of a prediction u from 0 to 1, in pixels, as text."""
    return f"{_X0 + _SIDE * u:.1f}".removesuffix(".0")


def _y(z: float) -> str:
    """The vertical position of a mean target z from 0 to 1, in pixels, as text."""
    return f"{_Y0 + _SIDE * (1 - z):.1f}".removesuffix(".0")


def sparkline(values: Sequence[float], width: int = 120, height: int = 18) -> Drawing:
    """A small line through the values as SVG, from the lowest to the highest, without axes.

    It is interrupted where a value is not finite. `width` and `height` are in pixels.
    """
    finite = [value for value in values if math.isfinite(value)]
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    step = (width - 4) / max(1, len(values) - 1)
    points: list[tuple[str, str] | None] = []
    for i, value in enumerate(values):
        share = (value - low) / (high - low) if high > low else 0.5
        place = f"{2 + i * step:.1f}", f"{2 + (height - 4) * (1 - share):.1f}"
        points.append(place if math.isfinite(value) else None)
    return Drawing(
        f'<svg width="{width}" height="{height}" role="img" aria-label="from {low:.3g} to '
        f'{high:.3g}"><path d="{_broken_path(points)}" fill="none" stroke="{_BLUE}" '
        'stroke-width="1.3"/></svg>'
    )


def _broken_path(points: Sequence[tuple[str, str] | None]) -> str:
    """The SVG path through points (x, y), interrupted where there is None."""
    path, pen = "", "M"
    for point in points:
        if point is None:
            pen = "M"
            continue
        path += f"{pen}{point[0]},{point[1]}"
        pen = "L"
    return path
