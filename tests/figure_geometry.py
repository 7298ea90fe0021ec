"""Where the parts of a drawn figure are, in pixels, and which of them are in each other's way.

Written with Matplotlib alone, not with the code that places legends: what is drawn is looked at as
points, boxes and texts.
"""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
from matplotlib.axis import Axis
from matplotlib.text import Text
from matplotlib.transforms import Bbox

# Pixels by which boxes of letters may touch: they hold the room of letters that hang down.
TOUCH = 1.5


def shown_texts(figure):
    """(text, box, axes) of every text that is drawn, those of legends and ticks included."""
    hidden, owner = set(), {}
    for axis in figure.findobj(Axis):
        drawn = axis._update_ticks()
        for tick in (*axis.majorTicks, *axis.minorTicks):
            for label in (tick.label1, tick.label2):
                owner[label] = axis.axes
                if tick not in drawn:
                    hidden.add(label)
    out = []
    for text in figure.findobj(Text):
        axes = owner.get(text, text.axes)
        off = axes is not None and not (axes.get_visible() and axes.axison)
        if text in hidden or off or not text.get_visible() or not text.get_text().strip():
            continue
        box = text.get_window_extent()
        if box.width > 0 and box.height > 0:
            out.append((text, box, axes))
    return out


def legends(figure):
    """Every legend of the figure, with its box."""
    own = [*figure.legends, *(each for sub in figure.subfigs for each in legends_of(sub))]
    own += [ax.get_legend() for ax in figure.axes if ax.get_legend() is not None]
    return [(legend, legend.get_window_extent()) for legend in own]


def legends_of(figure):
    return [*figure.legends, *(each for sub in figure.subfigs for each in legends_of(sub))]


def data_points(ax, step=1.0):
    """Points in pixels on everything that is drawn as data on the axes, (n, 2), about `step` apart.

    Lines are walked along; bars and areas are filled with points.
    """
    parts = []
    for line in ax.get_lines():
        if line.get_visible():
            xy = line.get_transform().transform(np.column_stack(line.get_data(orig=False)))
            joined = line.get_linestyle() not in ("None", "none", "", " ")
            parts.append(walk(xy, step) if joined else xy)
    for patch in ax.patches:
        parts.append(filled(patch.get_transform().transform_path(patch.get_path()), step))
    for each in ax.collections:
        if not each.get_visible():
            continue
        offsets = np.ma.filled(np.ma.asarray(each.get_offsets(), float), np.nan)
        if hasattr(each, "get_sizes") and len(offsets):
            parts.append(each.get_offset_transform().transform(offsets))
            continue
        for path in each.get_paths():
            path = each.get_transform().transform_path(path)
            lines = hasattr(each, "get_segments")
            parts.append(walk(path.vertices, step) if lines else filled(path, step))
    whole = np.vstack([part for part in parts if len(part)]) if parts else np.zeros((0, 2))
    box = ax.get_window_extent()
    seen = (whole >= [box.x0 - 1, box.y0 - 1]) & (whole <= [box.x1 + 1, box.y1 + 1])
    return whole[seen.all(axis=1)]


def walk(xy, step):
    """Points along a line, at most `step` pixels apart."""
    xy = np.asarray(xy, float)
    out = [xy[:1]]
    for a, b in pairwise(xy):
        if not (np.isfinite(a).all() and np.isfinite(b).all()):
            continue
        n = int(min(np.hypot(*(b - a)), 5000) / step) + 2
        out.append(a + (b - a) * np.linspace(0, 1, n)[:, None])
    points = np.vstack(out) if len(xy) else xy
    return points[np.isfinite(points).all(axis=1)]


def filled(path, step):
    """Points in a filled path, a grid of them."""
    vertices = path.vertices[np.isfinite(path.vertices).all(axis=1)]
    if not len(vertices):
        return np.zeros((0, 2))
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    n = np.clip((high - low) / (4 * step), 2, 60).astype(int) + 1
    x, y = np.meshgrid(np.linspace(low[0], high[0], n[0]), np.linspace(low[1], high[1], n[1]))
    grid = np.column_stack([x.ravel(), y.ravel()])
    return np.vstack([vertices, grid[path.contains_points(grid)]])


def problems(figure, *, smallest=6.0):
    """What is wrong with a figure: parts outside it, texts over each other, legends over data."""
    figure.draw_without_rendering()
    out = []
    whole = Bbox.from_extents(-1, -1, figure.bbox.x1 + 1, figure.bbox.y1 + 1)
    texts = shown_texts(figure)
    for text, box, _ in texts:
        if not (
            box.x0 >= whole.x0 and box.x1 <= whole.x1 and box.y0 >= whole.y0 and box.y1 <= whole.y1
        ):
            out.append(f"cut: {text.get_text()!r}")
        if text.get_fontsize() < smallest - 1e-6:
            out.append(f"{text.get_fontsize():.1f} pt: {text.get_text()!r}")
    for (first, a, _), (second, b, _) in combinations(texts, 2):
        if overlap(a, b, TOUCH):
            out.append(f"over each other: {first.get_text()!r}, {second.get_text()!r}")
    for legend, box in legends(figure):
        if not (
            box.x0 >= whole.x0 and box.x1 <= whole.x1 and box.y0 >= whole.y0 and box.y1 <= whole.y1
        ):
            out.append(f"cut: the legend of {[t.get_text() for t in legend.get_texts()]}")
        for ax in figure.axes:
            if not ax.axison:
                continue
            points = data_points(ax)
            hit = ((points > [box.x0, box.y0]) & (points < [box.x1, box.y1])).all(axis=1)
            if hit.any():
                out.append(f"legend over data: {[t.get_text() for t in legend.get_texts()]}")
    for ax in figure.axes:
        if ax.axison:
            box = ax.get_window_extent()
            for text, its, axes in texts:
                own = axes is None or axes is ax or axes in ax.child_axes
                if not own and overlap(box, its, TOUCH):
                    out.append(f"text of another diagram over data: {text.get_text()!r}")
            if box.width < 25 or box.height < 15:
                out.append(f"axes of {box.width:.0f} x {box.height:.0f} pixels")
    return out


def overlap(a, b, least):
    """Whether two boxes have more than `least` pixels in common in both directions."""
    wide, high = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
    return wide > least and high > least
