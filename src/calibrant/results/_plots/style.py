"""How every figure looks: fit to print, in colours that everyone can tell apart."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

# Okabe and Ito (2008), without its yellow, which is too pale for a line on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
# Keywords of matplotlib: colour, widths and the like.
Looks = dict[str, Any]

STYLE: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": [
        "DejaVu Sans"
    ],  # comes with matplotlib, so figures look the same everywhere
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
    "text.usetex": False,
    "svg.fonttype": "path",
    "pdf.fonttype": 42,  # embed fonts as TrueType, which publishers ask for
    "ps.fonttype": 42,
    "svg.hashsalt": "calibrant",  # keeps ids in the file the same from run to run
    "savefig.dpi": 200,
}

# One column of a paper, in inches, and sizes that can be read at that width.
COLUMN = 3.3
COLUMN_STYLE: dict[str, Any] = {
    **STYLE,
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "axes.labelcolor": "#333333",
    "axes.edgecolor": "#8a8a8a",
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "xtick.labelcolor": "#333333",
    "ytick.labelcolor": "#333333",
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "xtick.minor.size": 0,
    "ytick.minor.size": 0,
    "legend.fontsize": 7,
    "savefig.dpi": 300,
}

INK, GREY = "#333333", "#8a8a8a"


# Bins with fewer rows than this are drawn paler, the fewer the paler.
FULL_ROWS = 30
_PALEST = 0.25


def series_style(index: int) -> dict[str, Any]:
    """Colour, marker and line style of the curve with this index; no two indexes give the same.

    After all colours have been used they come again, with another marker and a dashed line.
    """
    lap, place = divmod(index, len(COLOURS))
    return {
        "color": COLOURS[place],
        "marker": MARKERS[(place + lap) % len(MARKERS)],
        "linestyle": (0, dash_pattern(lap)) if lap else "-",
    }


def dash_pattern(lap: int) -> tuple[float, ...]:
    """The lengths of dashes and gaps, in line widths, for curves that reuse the cycle of colours.

    `lap` counts the passes through the cycle. The first, 0, has an empty pattern: its lines are
    solid.
    """
    first = ((), (5, 1.5), (1, 1.2))
    # Later patterns are a dash and a growing number of dots.
    return first[lap] if lap < len(first) else (5, 1.2) + (1, 1.2) * (lap - 2)


def colour_indexes(names: Iterable[str]) -> dict[str, int]:
    """The index of each name in the cycle of colours: its rank in alphabetical order.

    A name so has the same colour in whatever order the names are given.
    """
    return {name: index for index, name in enumerate(sorted(names))}


def opacity_of(rows: Any) -> Any:
    """The opacity of bins by their number of rows: 0.25 for none, 1 for `FULL_ROWS` or more."""
    return np.interp(rows, (0, FULL_ROWS), (_PALEST, 1.0))
