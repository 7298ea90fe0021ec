"""Legends: below the axes where there is room, inside them where there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from calibrant.results._plots.canvas import is_new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LOOKS: dict[str, Any] = {
    "frameon": False,
    "handlelength": 1.8,
    "columnspacing": 1.2,
    "labelspacing": 0.35,
}
# Under several panels, a legend takes at most this share of the height of the figure.
_MOST = 0.6


def legend_below(ax: Axes, handles: list[Any]) -> None:
    """Put a legend under the axes' label, in as many columns as its texts fit in.

    Under the caller's axes there may be no room: where the legend would cover something, it gets
    fewer columns and smaller letters, or else goes inside the axes.
    """
    labels = _visible_labels(handles)
    most = _n_columns(labels)
    if is_new_figure(ax):
        _place_below(ax, handles, labels, most)
        return
    others = cache(lambda: _boxes_of_others(ax))  # a legend of these axes does not move them
    for columns, size in _layouts(most, len(labels), _has_layout_engine(ax)):
        _place_below(ax, handles, labels, columns, fontsize=size)
        if _has_room(ax, others):
            return
    for size in ("small", "x-small", "xx-small"):
        ax.legend(handles, labels, loc="best", fontsize=size, framealpha=0.7, edgecolor="none")
        if ax.get_legend().get_window_extent().width <= 0.9 * ax.get_window_extent().width:  # type: ignore[union-attr]
            return


def legend_below_figure(figure: Any, handles: list[Any]) -> None:
    """Put a legend under everything on a figure, or on a subfigure.

    Without a layout engine, the diagrams are moved up to make room.
    """
    labels = _visible_labels(handles)
    if _has_layout_engine(figure):
        figure.legend(
            handles, labels, loc="outside lower center", ncols=_n_columns(labels), **_LOOKS
        )
        return
    legend = figure.legend(handles, labels, loc="lower center", ncols=_n_columns(labels), **_LOOKS)
    pixels = max(_height_of_labels(ax) for ax in figure.axes) * figure.dpi / 72
    needed = (legend.get_window_extent().height + pixels) / figure.bbox.height
    for ax in figure.axes:
        spec = ax.get_subplotspec()
        grid = spec.get_gridspec()
        grid.bottom = min(max(needed, figure.subplotpars.bottom), _MOST)
        ax.set_subplotspec(spec)


def legend_below_panels(panels: list[Axes], handles: list[Any]) -> None:
    """Put one legend under a column of panels (axes one above the other, the first on top)."""
    if len(panels) == 1 or _has_layout_engine(panels[-1]):
        legend_below(panels[-1], handles)
    else:
        legend_below_figure(panels[-1].figure, handles)


def _has_layout_engine(artist: Any) -> bool:
    """Whether the artist's figure has a layout engine, which makes room for legends beside axes."""
    return artist.figure.figure.get_layout_engine() is not None


def _layouts(most: int, n: int, has_engine: bool) -> Iterator[tuple[int, str | None]]:
    """Yield layouts of a legend, the most readable first: (number of columns, size of letters).

    The size None is the usual one. `most` is the largest number of columns, and `n` the number of
    entries. `has_engine` says that the figure has a layout engine, which makes room for legends.
    """
    for size in (None,) if has_engine else (None, "small", "x-small"):
        for columns in range(most, 0, -1):
            # A constrained layout reserves too little for several lines, so they get small letters.
            tight = "small" if n <= 2 * columns else "x-small"
            yield columns, tight if has_engine and columns < n else size


def _place_below(
    ax: Axes, handles: list[Any], labels: list[str], columns: int, fontsize: str | None = None
) -> None:
    """Draw the legend just under the labels of the axes, in place of an earlier legend."""
    from matplotlib.transforms import ScaledTranslation

    down = _height_of_labels(ax)
    looks = {**_LOOKS, "labelspacing": 0.1} if fontsize == "x-small" else _LOOKS
    lower = ScaledTranslation(0, -down / 72, ax.figure.dpi_scale_trans)
    ax.legend(
        handles,
        labels,
        loc="upper center",
        ncols=columns,
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=ax.transAxes + lower,
        borderaxespad=0.2,
        fontsize=fontsize,
        **looks,
    )


def _has_room(ax: Axes, others: Callable[[], list[Any]]) -> bool:
    """Whether the legend of the axes is completely on the figure and covers nothing else.

    `others` gives the bounding boxes of the other axes. With a layout engine, positions are not
    known yet: the legend must then be hardly wider than the axes.
    """
    ax.apply_aspect()
    legend: Any = ax.get_legend()
    box = legend.get_window_extent()
    root: Any = ax.figure.figure
    if _has_layout_engine(ax):
        # Before the layout only widths are known, not positions.
        return bool(box.width <= 1.1 * ax.get_window_extent().width)
    edges = root.bbox
    if box.x0 < edges.x0 or box.x1 > edges.x1 or box.y0 < edges.y0 or box.y1 > edges.y1:
        return False
    return not any(box.overlaps(other) for other in others())


def _boxes_of_others(ax: Axes) -> list[Any]:
    """Bounding boxes of the other visible axes on the figure."""
    root: Any = ax.figure.figure
    boxes = (each.get_tightbbox() for each in root.axes if each is not ax and each.axison)
    return [box for box in boxes if box is not None]


def _visible_labels(handles: list[Any]) -> list[str]:
    """The labels of the handles, with a space before those that matplotlib would hide."""
    labels = [str(handle.get_label()) for handle in handles]
    # Matplotlib hides labels that begin with an underscore; a space prevents that.
    return [f" {label}" if label.startswith("_") else label for label in labels]


def _n_columns(labels: list[str]) -> int:
    """The number of columns of a legend, 1 to 3: as many as fit side by side."""
    longest = max(map(len, labels), default=0)
    columns = next((c for c in (3, 2) if longest * c <= 46), 1)
    return min(columns, max(len(labels), 1))


def _height_of_labels(ax: Axes) -> float:
    """The height in points that tick labels and the axis label take below the axes."""
    ticks = ax.get_xticklabels()
    size = float(ticks[0].get_fontsize()) if ticks else 0.0
    lines = ax.get_xlabel().count("\n") + 1 if ax.get_xlabel() else 0
    return 1.25 * (size + lines * float(ax.xaxis.label.get_fontsize())) + 9.0
