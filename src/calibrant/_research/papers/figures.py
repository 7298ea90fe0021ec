"""Figures fit to print: one style, colours that everyone can tell apart, no global state."""

from __future__ import annotations

import importlib
import io
from typing import TYPE_CHECKING, Any

import calibrant as cal
from calibrant.results._plots.style import COLOURS, MARKERS, STYLE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["COLOURS", "MARKERS", "need_matplotlib", "new_figure", "rendered", "style"]


def need_matplotlib(purpose: str = "drawing a paper's figures") -> Any:
    """matplotlib, or an error that says how to get it."""
    try:
        return importlib.import_module("matplotlib")
    except ImportError:
        raise cal.MissingExtra("matplotlib", "plot", purpose) from None


def new_figure(
    rows: int = 1, columns: int = 1, *, size: tuple[float, float] = (6.4, 3.6), **sharing: Any
) -> tuple[Figure, Any]:
    """A figure with an array of axes (rows, columns), in the house style.

    It belongs to nobody but the caller: no pyplot, so nothing to close and no backend to choose.
    """
    matplotlib = need_matplotlib()
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False, **sharing)
    return figure, axes


def style() -> Any:
    """The house style as a context: what is drawn within it looks alike."""
    return need_matplotlib().rc_context(STYLE)


def rendered(figure: Figure, kind: str) -> bytes:
    """The figure as "svg" or "png", the same bytes every time."""
    out = io.BytesIO()
    metadata = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
    with style():
        figure.savefig(out, format=kind, metadata=metadata)
    return out.getvalue()
