"""The figures of Chidambaram et al. (2024), and one of their theorem 5.4."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant._research.papers.figures import COLOURS, MARKERS, new_figure, plot_with_band
from calibrant._research.papers.folder import Columns

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

# Networks of the paper, which are shown where a set has enough of them.
_PREFERRED = ("resnet32", "vgg16", "mobilenetv2_x1_0", "resnet18", "resnet50")
_PANELS = 4


def draw_figure_2(data: Columns) -> Drawing:
    """Draw binned ECE and LS-ECE against the number of bins, from the columns of `figure_2`."""
    with new_figure(size=(6.4, 3.3)) as (figure, axes):
        ax = axes[0, 0]
        looks: dict[str, dict[str, Any]] = {
            "binned ECE": {"label": "binned ECE", "marker": ".", "lw": 0.7, "ms": 5},
            "LS-ECE": {"label": "LS-ECE, Gaussian noise", "lw": 2},
            "LS-ECE, uniform": {"label": "LS-ECE, uniform noise", "lw": 1.4, "ls": "--"},
        }
        for (column, look), colour in zip(looks.items(), COLOURS, strict=False):
            ax.plot(data["bins"], data[column], color=colour, **look)
        ax.set(xlabel="bins (1 / sigma)", ylabel="calibration error", xlim=(0, 101), ylim=(0, 0.56))
        figure.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure


def draw_convergence(data: Columns) -> Drawing:
    """Draw errors against the sample size, a panel for each world.

    `data` has the columns of `convergence`.
    """
    world = np.array(data["world"])
    lines = (
        ("LS-ECE", "LS-ECE, sigma = $n^{-1/3}$", 1, "-"),
        ("binned ECE", "binned ECE, 15 bins", 0, "--"),
        ("LS-ECE at 1/n", "LS-ECE, sigma = 1/n", 3, ":"),
    )
    with new_figure(1, 2, size=(8.0, 3.3), sharey=True) as (figure, axes):
        for ax, name in zip(axes[0], dict.fromkeys(data["world"]), strict=True):
            here = world == name
            n, truth = np.array(data["n"])[here], np.array(data["true ECE"])[here][0]
            ax.axhline(truth, color="#000000", linewidth=1, label="true ECE", zorder=2.6)
            for column, label, colour, dash in lines:
                mean = np.array(data[column])[here]
                spread = np.array(data[f"{column} sd"])[here]
                band = mean - spread, mean, mean + spread
                plot_with_band(ax, n, *band, colour, label=label, linestyle=dash)
            ax.set(
                xscale="log",
                xlabel="sample size n",
                ylim=(-0.005, 0.4),
                title=f"{name}: true ECE {truth:.4f}",
            )
        axes[0, 0].set_ylabel("calibration error")
        figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


def largest_sets(counts: Mapping[str, int]) -> list[str]:
    """The names of the sets with the most predictors, at most four, the largest first.

    Sets of fewer than three predictors are left out if another has three. `counts` has the number
    of predictors of each set.
    """
    many = [rows for rows in counts if counts[rows] >= 3] or list(counts)
    return sorted(many, key=lambda rows: -counts[rows])[:_PANELS]


def shown_predictors(data: Columns, rows: str, most: int = 3) -> list[str]:
    """Choose the predictors of a set that a figure shows, at most `most`, by name.

    They are networks that the paper has, if there are enough of them, or else predictors spread
    evenly from the smallest binned ECE to the largest. `rows` is the name of the set.
    """
    there: dict[str, float] = {}
    for name, own, error in zip(data["predictor"], data["set"], data["binned ECE"], strict=True):
        if own == rows:
            there[name] = error  # that of the last number of bins stays
    ordered = sorted(there, key=lambda name: there[name])
    known = [name for part in _PREFERRED for name in ordered if f"_{part}" in f"_{name}"]
    if len(known) >= most:
        return known[:most]
    return [ordered[i] for i in np.unique(np.linspace(0, len(ordered) - 1, most).astype(int))]


def _size_of_panels(chosen: list[str], height: float) -> tuple[float, float]:
    """The size of a figure of this height with a panel for each chosen set."""
    return max(4.6, 2.75 * len(chosen)), height


def draw_figure_3(data: Columns) -> Drawing:
    """Draw binned ECE and LS-ECE of some predictors of the largest sets, a panel for each set.

    `data` has the columns of `curves`.
    """
    sets, names = np.array(data["set"]), np.array(data["predictor"])
    pairs = dict.fromkeys(zip(data["set"], data["predictor"], strict=True))
    chosen = largest_sets(Counter(rows for rows, _ in pairs))
    with new_figure(1, len(chosen), size=_size_of_panels(chosen, 3.7)) as (figure, axes):
        for ax, rows in zip(axes[0], chosen, strict=True):
            for j, name in enumerate(shown_predictors(data, rows)):
                here = (sets == rows) & (names == name)
                bins = np.array(data["bins"])[here]
                label = name.removeprefix(rows).strip("_") or name
                binned, smoothed = (np.array(data[each])[here] for each in ("binned ECE", "LS-ECE"))
                ax.plot(bins, binned, color=COLOURS[j], marker=MARKERS[j], label=label)
                ax.plot(bins, smoothed, color=COLOURS[j], linestyle="--", linewidth=1.2)
            ax.set(title=rows, xlabel="bins (1 / sigma)")
            ax.set_ylim(0, 1.45 * max(line.get_ydata().max() for line in ax.lines))
            ax.legend(loc="upper left", handlelength=1.6)
        axes[0, 0].set_ylabel("calibration error")
        figure.supxlabel("solid: binned ECE, dashed: LS-ECE", fontsize=8)
    return figure


def draw_differences(data: Columns, smoothed: str) -> Drawing:
    """Figures 4 and 5: draw the mean absolute difference to binned ECE, with one deviation.

    `data` has the columns of `differences`; `smoothed` is the error that is drawn beside smECE.
    """
    sets = np.array(data["set"])
    counts = dict(zip(data["set"], data["predictors"], strict=True))
    chosen = largest_sets(counts)
    with new_figure(1, len(chosen), size=_size_of_panels(chosen, 3.2)) as (figure, axes):
        for ax, rows in zip(axes[0], chosen, strict=True):
            here = sets == rows
            bins = np.array(data["bins"])[here]
            for other, colour in ((smoothed, 1), ("smECE", 2)):
                mean, sd = np.array(data[other])[here], np.array(data[f"{other} sd"])[here]
                band = np.maximum(mean - sd, 0), mean, mean + sd
                plot_with_band(ax, bins, *band, colour, label=f"|ECE - {other}|")
            ax.set(title=f"{rows} ({counts[rows]})", xlabel="bins (1 / sigma)")
            ax.set_ylim(bottom=0)
        axes[0, 0].set_ylabel("mean absolute difference")
        figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure
