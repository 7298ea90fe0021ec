"""Figures fit to print: one style, colours that everyone can tell apart, no global state."""

from __future__ import annotations

import importlib
import io
from typing import TYPE_CHECKING, Any

import calibrant as cal

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito (2008), without its yellow, which is too pale for a line on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

_STYLE: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib: the same picture everywhere
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
    "svg.fonttype": "path",
    "svg.hashsalt": "calibrant",  # names within the drawing do not change from run to run
    "savefig.dpi": 200,
}


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

    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False, **sharing)
    return figure, axes


def style() -> Any:
    """The house style as a context: what is drawn within it looks alike."""
    return need_matplotlib().rc_context(_STYLE)


def rendered(figure: Figure, kind: str) -> bytes:
    """The figure as "svg" or "png", the same bytes every time."""
    out = io.BytesIO()
    metadata = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
    with style():
        figure.savefig(out, format=kind, metadata=metadata)
    return out.getvalue()
