"""Legends: below the axes where there is room, inside them where no data are, or left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from calibrant._core.errors import InputError, one_of
from calibrant.results._plots.canvas import has_chosen_size, is_new_figure
from calibrant.results._plots.figure_cells import cell_of
from calibrant.results._plots.fitting import (
    SMALLEST,
    Inset,
    covers_data,
    fit_into_cell,
    fit_panels,
    has_layout_engine,
    place_diagram,
    run_layout,
    wrap_labels,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Whether there is a legend, or where in the axes it is: one of Matplotlib's locations.
LegendOption = bool | str
LOCATIONS = (
    "best", "upper right", "upper left", "lower left", "lower right", "center left",
    "center right", "lower center", "upper center", "center", "right",
)  # fmt: skip
# Places in the axes that are tried for a legend.
_TRIED = ("upper left", "lower right", "upper right", "lower left", "lower center", "upper center")
_LOOKS: dict[str, Any] = {
    "frameon": False,
    "handlelength": 1.8,
    "columnspacing": 1.2,
    "labelspacing": 0.35,
}
# The mark (gid) of a legend below, for which its figure has grown.
_BELOW = "calibrant legend below"
# Of the height that axes have without a legend, they keep at least this share above one.
_KEPT = 0.75
# A legend under several diagrams on axes of the caller takes at most this share of their height.
_MOST = 0.25


def check_legend(legend: Any) -> LegendOption:
    """Check the option `legend`: True, False, or a location in the axes."""
    if isinstance(legend, bool):
        return legend
    if not isinstance(legend, str):
        raise InputError(
            f"legend must be True, False or a location such as 'upper left'; got {legend!r}"
        )
    return one_of("legend", legend, LOCATIONS)


def place_legend(ax: Axes, handles: list[Any], legend: LegendOption = True) -> None:
    """Give a diagram its place in the figure, and a legend if there is room for one.

    With `legend` True it is under the axes' label, or where that has no room, inside the axes where
    nothing is drawn. A name of a location puts it there; False leaves it out.
    """
    _remove(ax)
    place_diagram(ax)
    labels = _visible_labels(handles)
    if legend is False or not handles:
        return
    if isinstance(legend, str):
        _place_inside(ax, handles, labels, legend)
    elif has_chosen_size(ax):
        _place_in_size(ax, handles, labels)
    elif is_new_figure(ax):
        for columns in range(_n_columns(labels), 0, -1):
            made = _place_below(ax, handles, labels, columns)
            if made.get_window_extent().width <= 0.96 * ax.figure.bbox.width:
                break
        if _may_grow(ax):
            made.set_gid(_BELOW)
            _grow_figure(ax, _height_after_first_line(made))
    else:
        _place_on_callers_axes(ax, handles, labels)


def legend_below_figure(figure: Any, handles: list[Any], legend: LegendOption = True) -> None:
    """Put a legend under everything on a figure, or on a subfigure.

    Without a layout engine, the diagrams get margins for it and for their labels.
    """
    labels = _visible_labels(handles)
    has_engine = has_layout_engine(figure)
    is_ours = is_new_figure(figure.axes[0])
    _fit_labels(figure, 0.0)
    if legend is not True or not handles:
        if isinstance(legend, str) and handles:
            _place_inside(figure.axes[-1], handles, labels, legend)
        return
    where = "outside lower center" if has_engine else "lower center"
    for columns, size in _layouts(labels, _font_size(figure.axes[-1])):
        for old in list(figure.legends):
            old.remove()
        made = figure.legend(handles, labels, loc=where, ncols=columns, fontsize=size, **_LOOKS)
        if made.get_window_extent().width <= figure.bbox.width:
            break
    height = made.get_window_extent().height
    if not is_ours and height > _MOST * figure.bbox.height:  # the diagrams need the room
        made.remove()
        return
    _fit_labels(figure, height)


def _fit_labels(figure: Any, below: float) -> None:
    """Break long labels of diagrams into lines, and without a layout engine set their margins.

    `below` is the height of what is under them, in pixels.
    """
    if has_layout_engine(figure):
        run_layout(figure.axes[0])
        for ax in figure.axes:
            wrap_labels(ax)
        return
    for _ in range(2):
        fit_panels(figure, figure.axes, below)
        for ax in figure.axes:
            wrap_labels(ax)
    fit_panels(figure, figure.axes, below)


def legend_below_panels(
    panels: list[Axes], handles: list[Any], legend: LegendOption = True
) -> None:
    """Put one legend under a column of panels (axes one above the other, the first on top)."""
    if len(panels) == 1 or (is_new_figure(panels[-1]) and not has_chosen_size(panels[-1])):
        place_legend(panels[-1], handles, legend)
    else:
        legend_below_figure(panels[-1].figure, handles, legend)


def _remove(ax: Axes) -> None:
    """Remove the legend of the axes, if there is one, and the height that its figure grew by."""
    old = ax.get_legend()
    if old is None:
        return
    if _may_grow(ax) and old.get_gid() == _BELOW:
        _grow_figure(ax, -_height_after_first_line(old))
    old.remove()


def _height_after_first_line(legend: Any) -> float:
    """The height in inches of the lines of a legend after its first."""
    n = len(legend.get_texts())
    lines = -(-n // legend._ncols)
    height: float = legend.get_window_extent().height / legend.figure.dpi
    return height * (lines - 1) / max(lines, 1)


def _may_grow(ax: Axes) -> bool:
    """Whether the figure of the axes is higher for a legend of several lines."""
    return is_new_figure(ax) and not has_chosen_size(ax) and ax.get_box_aspect() is None


def _grow_figure(ax: Axes, inches: float) -> None:
    """Make the figure of the axes higher by so many inches."""
    figure: Any = ax.figure
    figure.set_figheight(figure.get_figheight() + inches)


def _place_on_callers_axes(ax: Axes, handles: list[Any], labels: list[str]) -> None:
    """Put a legend below the caller's axes, or inside them where nothing is drawn, or nowhere.

    Only a layout engine makes room below; without one, inside is tried first.
    """
    if has_layout_engine(ax):
        box = ax.get_window_extent()
        for columns, size in _layouts(labels, _font_size(ax)):
            made = _place_below(ax, handles, labels, columns, size)
            extent = made.get_window_extent()
            if extent.width <= 1.1 * box.width and extent.height <= 0.4 * box.height:
                run_layout(ax)
                return
    if _find_clear(ax, handles, labels):
        return
    if has_layout_engine(ax) or not _place_in_cell(ax, handles, labels):
        _remove(ax)


def _place_in_cell(ax: Axes, handles: list[Any], labels: list[str]) -> bool:
    """Put a legend below the caller's axes, which become smaller; say whether they stay readable.

    If they do not, they have their old place again.
    """
    before, locator = ax.get_window_extent(), ax.get_axes_locator()
    if locator is not None and not isinstance(locator, Inset):
        return False
    left, bottom, right, _ = cell_of(ax)
    for columns, size in _layouts(labels, _font_size(ax)):
        made = _place_below(ax, handles, labels, columns, size)
        if made.get_window_extent().width > right - left:
            continue
        fit_into_cell(ax)
        wrap_labels(ax)  # which may have more lines now
        made = _place_below(ax, handles, labels, columns, size)
        fit_into_cell(ax)
        box, now = made.get_window_extent(), ax.get_window_extent()
        in_cell = box.x0 >= left - 1 and box.x1 <= right + 1 and box.y0 >= bottom - 1
        if in_cell and now.height >= _KEPT * before.height and now.width >= _KEPT * before.width:
            return True
        ax.set_axes_locator(locator)
    return False


def _place_in_size(ax: Axes, handles: list[Any], labels: list[str]) -> None:
    """Put a legend on a figure of a chosen size: on clear ground, or where most room is left."""
    if _find_clear(ax, handles, labels):
        return
    size = max(SMALLEST, _font_size(ax) - 1)
    places: list[Callable[[], Any]] = [
        lambda: _place_below(ax, handles, labels, _n_columns(labels), size),
        lambda: _place_right(ax, handles, labels, size),
    ]
    areas = []
    for place in places:
        place()
        run_layout(ax)
        box = ax.get_tightbbox()
        own = ax.get_window_extent()
        whole: Any = ax.figure.bbox
        fits = box is not None and box.x0 >= -1 and box.x1 <= whole.x1 + 1 and box.y0 >= -1
        areas.append(own.width * own.height * fits)
    if max(areas) == 0:
        _remove(ax)
    else:
        places[areas.index(max(areas))]()
    run_layout(ax)


def _find_clear(ax: Axes, handles: list[Any], labels: list[str]) -> bool:
    """Put a legend inside the axes where it covers nothing; say whether there is room."""
    letters = _font_size(ax)
    for size in dict.fromkeys((letters, max(SMALLEST, 0.85 * letters), SMALLEST)):
        for where in _TRIED:
            box = _place_inside(ax, handles, labels, where, size).get_window_extent()
            whole = ax.get_window_extent()
            inside = box.width <= 0.95 * whole.width and box.height <= 0.95 * whole.height
            if inside and not covers_data(ax, box):
                return True
    return False


def _place_inside(
    ax: Axes, handles: list[Any], labels: list[str], where: str, size: float | None = None
) -> Any:
    """Draw the legend at a location inside the axes, and return it."""
    looks: dict[str, Any] = {**_LOOKS, "borderaxespad": 0.3, "borderpad": 0.2, "handletextpad": 0.5}
    return ax.legend(handles, labels, fontsize=size, **{**looks, "loc": where})


def _place_right(ax: Axes, handles: list[Any], labels: list[str], size: float | None) -> Any:
    """Draw the legend to the right of the axes, and return it."""
    looks: dict[str, Any] = {**_LOOKS, "borderaxespad": 0.0, "handletextpad": 0.5}
    return ax.legend(
        handles, labels, loc="center left", bbox_to_anchor=(1.03, 0.5), fontsize=size, **looks
    )


def _place_below(
    ax: Axes, handles: list[Any], labels: list[str], columns: int, size: float | None = None
) -> Any:
    """Draw the legend just under the labels of the axes, and return it."""
    from matplotlib.transforms import ScaledTranslation

    down = _height_of_labels(ax)
    lower = ScaledTranslation(0, -down / 72, ax.figure.dpi_scale_trans)
    return ax.legend(
        handles,
        labels,
        loc="upper center",
        ncols=columns,
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=ax.transAxes + lower,
        borderaxespad=0.0,
        fontsize=size,
        **_LOOKS,
    )


def _layouts(labels: list[str], letters: float) -> list[tuple[int, float]]:
    """Layouts of a legend, the most readable first: (number of columns, size of letters)."""
    sizes = dict.fromkeys((letters, max(SMALLEST, 0.85 * letters), SMALLEST))
    return [(columns, size) for size in sizes for columns in range(_n_columns(labels), 0, -1)]


def _font_size(ax: Axes) -> float:
    """The usual size of letters of a legend on these axes: that of tick labels, in points."""
    ticks = ax.get_xticklabels()
    return float(ticks[0].get_fontsize()) if ticks else 8.0


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
