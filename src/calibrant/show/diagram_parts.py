"""The parts of a reliability diagram: the empty square, the strip of counts, the legend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.results.reliability import ReliabilityTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_GREY = "#8a8a8a"
_INK = "#333333"
# By this the strip is found again when a second curve is drawn.
_COUNTS = "calibrant counts"


def legend(ax: Axes) -> None:
    """The curves, then what their bars are."""
    from matplotlib.lines import Line2D

    handles = [line for line in ax.get_lines() if not str(line.get_label()).startswith("_")]
    bars = {str(bars.get_gid()) for bars in ax.collections if "interval" in str(bars.get_gid())}
    for label in sorted(bars):
        handles.append(
            Line2D([], [], color=_GREY, linestyle="none", marker="|", markersize=9,
                   markeredgewidth=1.6, alpha=0.7, label=label)
        )  # fmt: skip
    ax.legend(
        handles=handles, loc="lower right", fontsize=8, frameon=False, handlelength=1.8,
        borderaxespad=0.3,
    )  # fmt: skip


def prepare(ax: Axes, table: ReliabilityTable, ref_line: bool) -> None:
    """The empty diagram: a square, its diagonal, and on which side reports are too high."""
    ax.set(xlim=(0, 1), ylim=(0, 1), xlabel=_x_label(table), ylabel=_y_label(table))
    ax.set_box_aspect(1)
    ax.set_xticks(np.linspace(0, 1, 6))
    ax.set_yticks(np.linspace(0, 1, 6))
    ax.tick_params(labelsize=8, length=0, labelcolor=_INK)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set(color=_GREY, linewidth=0.8)
    ax.grid(True, color="#e8e8e8", linewidth=0.6)
    ax.set_axisbelow(True)
    if ref_line:
        ax.plot([0, 1], [0, 1], color=_GREY, linewidth=1, linestyle=(0, (4, 3)), zorder=2)
        for x, y, words in ((0.22, 0.71, "reports too low"), (0.78, 0.29, "reports too high")):
            ax.text(x, y, words, rotation=45, rotation_mode="anchor", ha="center", va="center",
                    fontsize=8, color="#b0b0b0", zorder=1)  # fmt: skip


def _x_label(table: ReliabilityTable) -> str:
    return "mean confidence" if table.notion == "confidence" else "mean reported probability"


def _y_label(table: ReliabilityTable) -> str:
    if not table.is_hard:
        return "mean soft label" + (" of the top class" if table.notion == "confidence" else "")
    return "accuracy" if table.notion == "confidence" else "observed frequency"


def strip(ax: Axes, cells: Mapping[str, Any], colour: Any) -> Any:
    """The share of rows in each bin, over the diagram; one strip for all that is drawn on it."""
    known = (child for child in ax.child_axes if child.get_label() == _COUNTS)
    over: Any = next(known, None)
    share = cells["weight"] / cells["weight"].sum()
    if over is None:
        over = ax.inset_axes((0, 1.04, 1, 0.15), label=_COUNTS)
        over.set(xlim=(0, 1), xticks=[], ylim=(0, 1e-9))
        over.spines[["left", "right", "top"]].set_visible(False)
        over.spines["bottom"].set(color=_GREY, linewidth=0.8)
        over.tick_params(labelsize=7, length=0, labelcolor=_INK)
        over.grid(False)
        rows = np.array_equal(cells["weight"], cells["n"])
        over.set_ylabel("rows" if rows else "weight", fontsize=7, color=_INK)
    width = cells["upper"] - cells["lower"]
    if np.ptp(width) < 1e-9 < width[0]:
        edges = np.append(cells["lower"], cells["upper"][-1])
        over.stairs(share, edges, fill=True, color=colour, alpha=0.2)
        over.stairs(share, edges, color=colour, linewidth=1, clip_on=False)
    else:  # bins of several widths: where each one's reports lie
        over.vlines(cells["mean_report"], 0, share, color=colour, linewidth=2, alpha=0.6,
                    clip_on=False)  # fmt: skip
    peak = max(over.get_ylim()[1], float(share.max()))
    over.set(ylim=(0, peak), yticks=[peak], yticklabels=[f"{peak:.{0 if peak >= 0.01 else 1}%}"])
    return over
