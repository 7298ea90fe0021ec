"""Figures for print: one style, colours that are safe for colour-blind readers, no global state."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from calibrant._core.optional import need
from calibrant.results._plots.style import COLOURS, MARKERS, STYLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PURPOSE = "drawing a paper's figures"

__all__ = ["COLOURS", "MARKERS", "new_figure", "plot_with_band", "render_files"]


@contextmanager
def new_figure(
    rows: int = 1, columns: int = 1, *, size: tuple[float, float] = (6.4, 3.6), **sharing: Any
) -> Iterator[tuple[Figure, Any]]:
    """A context in which a new figure is drawn in the style of all papers.

    It gives the figure, and an array of its axes, (rows, columns). The figure is made without
    pyplot, so there is nothing to close and no backend to choose. `size` is (width, height) in
    inches.
    """
    with _style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=size, layout="constrained")
        yield figure, figure.subplots(rows, columns, squeeze=False, **sharing)


def _style() -> Any:
    """A context in which matplotlib has the style of all papers."""
    return need("matplotlib", PURPOSE).rc_context(STYLE)


def plot_with_band(
    axis: Axes, x: Any, low: Any, middle: Any, high: Any, colour: int, **look: Any
) -> None:
    """Draw `middle` over x as a line with markers, and the band between `low` and `high`.

    `colour` is the index of the colour and of the marker in the style; `look` are options of the
    line.
    """
    axis.fill_between(x, low, high, color=COLOURS[colour], alpha=0.2, linewidth=0)
    axis.plot(x, middle, color=COLOURS[colour], marker=MARKERS[colour], **look)


def render_files(figure: Figure, kinds: tuple[str, ...] = ("svg", "png")) -> dict[str, bytes]:
    """The bytes of the figure's files, by kind: "svg" and "png".

    The same figure gives the same bytes.
    """
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    with _style():
        # The layout is computed once, at the resolution of the SVG file, and then removed: with it
        # the figure would be drawn once more, unseen, for each of the files.
        canvas = FigureCanvasSVG(figure)
        figure.dpi = canvas.fixed_dpi
        layout = figure.get_layout_engine()
        if layout is not None:
            layout.execute(figure)
            figure.set_layout_engine(None)
        return {kind: _render_file(figure, kind) for kind in kinds}


def _render_file(figure: Figure, kind: str) -> bytes:
    """The bytes of the figure's file of one kind, without a date or a program's name in it."""
    out = io.BytesIO()
    metadata = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
    figure.savefig(out, format=kind, metadata=metadata)
    return out.getvalue()
