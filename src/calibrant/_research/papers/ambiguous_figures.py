"""Figures of Tao et al. (2026) done again: errors by map, and when label smoothing is right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from calibrant._research.papers.ambiguous_experiments import (
    PAPER_NAMES,
    RATE_KNOWN,
    RAW,
    SMOOTHED,
    SOFT_TS,
    TS,
    Method,
    Outcome,
)
from calibrant._research.papers.ambiguous_printed import BENCHMARKS, PRINTED
from calibrant._research.papers.figures import COLOURS, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = (
    RAW,
    TS,
    Method("matrix", "majority"),
    Method("temperature", "one vote"),
    SOFT_TS,
    Method("vector", "shares"),
    Method("matrix", "shares"),
    Method("Dirichlet", "shares"),
    SMOOTHED,
    RATE_KNOWN,
)


def draw_errors(sets: dict[str, list[Outcome]]) -> Figure:
    """Draw each predictor's ECE against the shares of the votes, a panel for each set of rows.

    `sets` maps the name of a set of rows to the outcomes of its predictors.
    """
    with new_figure(1, len(sets), size=(4.2 + 2.6 * len(sets), 3.9), sharey=True) as (figure, axes):
        for axis, (rows, found) in zip(axes[0], sets.items(), strict=True):
            for i, method in enumerate(SHOWN):
                values = [100 * each.judged[method].ece for each in found]
                colour = COLOURS[1] if "majority" in method.targets else COLOURS[0]
                axis.plot(values, [i] * len(values), "o", ms=4, alpha=0.6, color=colour)
                printed = _printed_eces(found[0].n_classes, method)
                axis.plot(printed, [i] * len(printed), "D", ms=5, mfc="none", color="black")
            axis.set_yticks(range(len(SHOWN)), [str(method) for method in SHOWN])
            axis.set_xlabel("ECE against votes, %")
            axis.set_title(rows)
            axis.set_xlim(left=0)
        axes[0][0].invert_yaxis()
        for label, marker, colour, inside in (
            ("fitted to the majority", "o", COLOURS[1], COLOURS[1]),
            ("not fitted, or fitted to votes", "o", COLOURS[0], COLOURS[0]),
            ("printed in the paper", "D", "black", "none"),
        ):
            axes[0][0].plot([], [], marker, color=colour, mfc=inside, ms=5, label=label)
        handles = axes[0][0].get_legend_handles_labels()
        figure.legend(*handles, loc="outside lower center", ncols=3)
    return figure


def draw_label_smoothing(found: Sequence[Outcome]) -> Figure:
    """Draw temperatures of three methods, relative to the one fitted to the shares of the votes.

    There is a point for each predictor and method. The horizontal axis is the predictor's error
    rate over the rate at which votes differ from the majority.
    """
    with new_figure(size=(5.6, 3.6)) as (figure, axes):
        axis = axes[0, 0]
        columns = temperature_ratios(found)
        for i, (label, method) in enumerate(
            (("majority", TS), ("label smoothing", SMOOTHED), ("rate known", RATE_KNOWN))
        ):
            axis.plot(
                columns["errors / departing votes"],
                columns[str(method)],
                "os^"[i],
                ms=5,
                color=COLOURS[i],
                label=label,
            )
        axis.axhline(1.0, color="black", lw=0.8)
        axis.set_xscale("log")
        axis.set_xlabel("predictor's errors / votes that depart from the majority")
        axis.set_ylabel("T / T fitted to shares")
        axis.legend()
    return figure


def temperature_ratios(found: Sequence[Outcome]) -> dict[str, list[Any]]:
    """The columns that `draw_label_smoothing` shows, with a row for each predictor.

    They are its name, its error rate over the rate at which votes differ from the majority, and for
    three methods the temperature over that fitted to the shares of the votes.
    """
    columns: dict[str, list[Any]] = {
        "predictor": [each.name for each in found],
        "errors / departing votes": [each.errors / each.departing for each in found],
    }
    for method in (TS, SMOOTHED, RATE_KNOWN):
        columns[str(method)] = [
            (each.judged[method].temperature or 0.0) / (each.judged[SOFT_TS].temperature or 1.0)
            for each in found
        ]
    return columns


def _printed_eces(n_classes: int, method: Method) -> list[float]:
    """The ECEs that the paper prints for a method on its benchmark with this number of classes.

    The list is empty if there are none.
    """
    name = PAPER_NAMES.get(method)
    if n_classes not in BENCHMARKS or name is None:
        return []
    return [each.ece for each in PRINTED[n_classes][name]]
