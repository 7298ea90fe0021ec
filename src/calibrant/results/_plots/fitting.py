"""Room for a diagram: what it draws stays in its cell of the figure, and legends off the data."""

from __future__ import annotations

import textwrap
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.results._plots.canvas import has_chosen_size, is_new_figure
from calibrant.results._plots.figure_cells import cell_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The smallest letters that can be read in print, in points.
SMALLEST = 6.0
# The share of its width and height that a diagram keeps at least where its labels take room.
_LEAST = 0.3
# Inches from which on axes have labels as large as others of their figure.
_FULL_LETTERS = 2.2


class Inset:
    """A locator of axes: their usual place in the figure, less a margin on each side.

    Parameters
    ----------
    margins : array of shape (4,)
        Inches on the left, below, on the right and above.
    """

    def __init__(self, margins: Any) -> None:
        self.margins = margins

    def __call__(self, ax: Any, renderer: Any) -> Any:
        """The place of the axes, as a fraction of their figure."""
        from matplotlib.transforms import Bbox

        x0, y0, x1, y1 = ax.get_position(original=True).extents
        inches = np.tile(np.array(ax.figure.bbox.size) / ax.figure.dpi, 2)
        left, below, right, above = self.margins / inches
        return Bbox.from_extents(x0 + left, y0 + below, x1 - right, y1 - above)


def has_layout_engine(artist: Any) -> bool:
    """Whether the artist's figure has a layout engine, which makes room for what is beside axes."""
    return artist.figure.figure.get_layout_engine() is not None


def place_diagram(ax: Axes) -> None:
    """Give a diagram without its legend its place: labels as wide as their axes, all in its cell.

    A figure of Calibrant with its usual size needs nothing: it grows.
    """
    if is_new_figure(ax) and not has_chosen_size(ax):
        return
    if has_layout_engine(ax):
        run_layout(ax)
        wrap_labels(ax)
        run_layout(ax)
        return
    if isinstance(ax.get_axes_locator(), Inset):
        ax.set_axes_locator(Inset(np.zeros(4)))
    elif ax.get_axes_locator() is None:
        ax.set_axes_locator(Inset(np.zeros(4)))
        _shrink_letters(ax)
    for _ in range(2):
        fit_into_cell(ax)
        wrap_labels(ax)


def _shrink_letters(ax: Axes) -> None:
    """Print the labels of small axes smaller, down to `SMALLEST`."""
    size = np.array(ax.get_position(original=True).size) * ax.figure.bbox.size / ax.figure.dpi
    share = float(size.min()) / _FULL_LETTERS
    if share >= 1.0:
        return
    for each in (ax, *ax.child_axes):
        for axis in (each.xaxis, each.yaxis):
            axis.label.set_fontsize(max(SMALLEST, share * float(axis.label.get_fontsize())))
            ticks = axis.get_ticklabels()
            if ticks:
                axis.set_tick_params(
                    labelsize=max(SMALLEST, share * float(ticks[0].get_fontsize()))
                )


def run_layout(ax: Axes) -> None:
    """Lay the figure out, which gives the axes their place, without drawing it."""
    figure: Any = ax.figure.figure
    figure.get_layout_engine().execute(figure)
    for each in figure.axes:
        locator = each.get_axes_locator()
        each.apply_aspect(locator(each, None) if locator else None)


def fit_into_cell(ax: Axes) -> None:
    """Make the axes of a figure without a layout engine smaller until all they have is in the cell.

    Axes with a locator of somebody else are not changed.
    """
    locator = ax.get_axes_locator()
    if locator is not None and not isinstance(locator, Inset):
        return
    margins = np.zeros(4) if locator is None else locator.margins
    size = np.array(ax.get_position(original=True).size) * ax.figure.bbox.size / ax.figure.dpi
    most = np.tile((1 - _LEAST) * size, 2)
    cell = cell_of(ax)
    for _ in range(4):
        box = ax.get_tightbbox()
        if box is None:
            return
        over = np.array([cell[0] - box.x0, cell[1] - box.y0, box.x1 - cell[2], box.y1 - cell[3]])
        over = np.maximum(over, 0) / ax.figure.dpi
        if over.max() < 0.005:
            return
        margins = margins + over
        for ends in (slice(0, None, 2), slice(1, None, 2)):  # left and right, below and above
            total = margins[ends].sum()
            margins[ends] *= min(1.0, most[ends][0] / total) if total else 1.0
        ax.set_axes_locator(Inset(margins))


def wrap_labels(ax: Axes) -> None:
    """Break labels of the axes that are longer than these into lines, or print them smaller."""
    box = ax.get_window_extent()
    for axis, room in ((ax.xaxis, box.width), (ax.yaxis, box.height)):
        label = axis.label
        for _ in range(3):
            extent = label.get_window_extent()
            long = extent.width if axis is ax.xaxis else extent.height
            if not label.get_text() or long <= room:
                break
            letters = max(map(len, label.get_text().split("\n")))
            wide = max(int(letters * room / long), 8)
            text = "\n".join(
                line
                for part in label.get_text().split("\n")
                for line in textwrap.wrap(part, wide, break_long_words=False)
            )
            if text == label.get_text():
                label.set_fontsize(max(SMALLEST, float(label.get_fontsize()) * room / long))
                break
            label.set_text(text)
    _thin_ticks(ax)
    for strip in ax.child_axes:
        _fit_strip(strip, in_tick=has_chosen_size(ax))


def _fit_strip(strip: Any, *, in_tick: bool) -> None:
    """Hide the name of a low strip if it is longer than the strip is high; the caption has it too.

    With `in_tick` it is then printed under the strip's only tick, if there is room.
    """
    strip.get_tightbbox()  # puts the strip where it will be drawn
    box, label = strip.get_window_extent(), strip.yaxis.label
    label.set_visible(True)  # a hidden one has no size
    label.set_visible(label.get_window_extent().height <= 0.9 * box.height)
    texts = [each.get_text().split("\n")[0] for each in strip.get_yticklabels()]
    in_tick = in_tick and len(texts) == 1 and texts[0] != ""
    if in_tick:
        strip.set_yticks(strip.get_yticks(), texts)
    strip.tick_params(labelleft=True)
    ticks = strip.yaxis.get_ticklabels()
    high = max((each.get_window_extent().height for each in ticks), default=0.0)
    strip.tick_params(labelleft=high <= box.height)
    if in_tick and not label.get_visible():
        strip.set_yticks(strip.get_yticks(), [f"{texts[0]}\n{label.get_text()}"])
        if strip.yaxis.get_ticklabels()[0].get_window_extent().y0 < box.y0:
            strip.set_yticks(strip.get_yticks(), texts)


def _thin_ticks(ax: Axes) -> None:
    """Give the horizontal axis fewer ticks, until their labels do not touch."""
    from matplotlib.ticker import MaxNLocator

    if not isinstance(ax.xaxis.get_major_locator(), MaxNLocator):
        return
    for most in (4, 3, 2, 1):
        if not _ticks_touch(ax):
            return
        ax.locator_params(axis="x", nbins=most)
    low, high = sorted(ax.get_xlim())
    ticks = [each for each in ax.get_xticks() if low <= each <= high]
    if _ticks_touch(ax) and ticks:
        ax.set_xticks([ticks[0], ticks[-1]] if len(ticks) > 2 else ticks[:1])


def _ticks_touch(ax: Axes) -> bool:
    """Whether labels of the horizontal axis touch each other."""
    axis: Any = ax.xaxis
    boxes = [tick.label1.get_window_extent() for tick in axis._update_ticks()]
    boxes.sort(key=lambda box: box.x0)
    return any(one.x1 + 1 >= other.x0 for one, other in pairwise(boxes))


def fit_panels(figure: Any, axes: list[Any], below: float = 0.0, beside: float = 0.0) -> None:
    """Set the margins and gaps of several diagrams on a subfigure by what these have around them.

    `below` is the height of what else is under them, and `beside` the width of what is on their
    left, in pixels.
    """
    grid = axes[0].get_subplotspec().get_gridspec()
    rows, columns = grid.get_geometry()
    width, height = figure.bbox.width, figure.bbox.height
    for _ in range(2):
        around = []
        for ax in axes:
            box = ax.get_tightbbox()  # which makes squares of square diagrams
            own = ax.get_window_extent()
            around.append((own.x0 - box.x0, own.y0 - box.y0, box.x1 - own.x1, box.y1 - own.y1))
        left, bottom, right, top = np.maximum(np.max(around, axis=0), 0.0) + 2
        aside = beside + columns * (left + right)
        wide = max(width - aside, 0.2 * width) / columns
        high = max(height - below - rows * (bottom + top), 0.2 * height) / rows
        grid.left, grid.right = (beside + left) / width, 1 - right / width
        grid.bottom, grid.top = (below + bottom) / height, 1 - top / height
        grid.wspace, grid.hspace = (left + right) / wide, (bottom + top) / high
        for ax in axes:
            ax.set_subplotspec(ax.get_subplotspec())


def covers_data(ax: Axes, box: Any) -> bool:
    """Whether a box in pixels is over something that is drawn on the axes."""
    box = box.padded(2 * ax.figure.dpi / 72)
    lines = (line for line in ax.get_lines() if line.get_visible())
    if any(_line_hits(line, box) for line in lines):
        return True
    for patch in ax.patches:
        path: Any = patch.get_transform().transform_path(patch.get_path())
        if len(path.vertices) and path.intersects_bbox(box, filled=True):
            return True
    if any(_collection_hits(each, box) for each in ax.collections if each.get_visible()):
        return True
    texts = (each for each in ax.texts if each.get_visible() and each.get_text())
    return any(box.overlaps(each.get_window_extent()) for each in texts)


def _line_hits(line: Any, box: Any) -> bool:
    """Whether a line, or a marker on it, is in a box in pixels."""
    path = line.get_transform().transform_path(line.get_path())
    if _points_hit(path.vertices, box):
        return True
    joined = line.get_linestyle() not in ("None", "none", " ", "")
    return joined and len(path.vertices) > 1 and bool(path.intersects_bbox(box, filled=False))


def _collection_hits(collection: Any, box: Any) -> bool:
    """Whether the points, lines or areas of a collection are in a box in pixels."""
    offsets: Any = np.ma.filled(np.ma.asarray(collection.get_offsets(), dtype=float), np.nan)
    if hasattr(collection, "get_sizes") and len(offsets):  # points
        return _points_hit(collection.get_offset_transform().transform(offsets), box)
    filled = not hasattr(collection, "get_segments")
    transform = collection.get_transform()
    paths = (transform.transform_path(path) for path in collection.get_paths())
    return any(path.intersects_bbox(box, filled=filled) for path in paths if len(path.vertices))


def _points_hit(points: Any, box: Any) -> bool:
    """Whether one of some points (n, 2) is in a box, both in pixels."""
    x, y = np.asarray(points, dtype=float).T
    inside = (x >= box.x0) & (x <= box.x1) & (y >= box.y0) & (y <= box.y1)
    return bool(inside.any())
