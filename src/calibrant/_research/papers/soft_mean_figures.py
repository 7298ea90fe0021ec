"""The figures that go with Leznik (2026): the paper describes its diagrams but prints none."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant._api.reliability import reliability
from calibrant._research.papers.figures import COLOURS, MARKERS, new_figure, plot_with_band
from calibrant._research.papers.folder import Columns, Figure, columns_of
from calibrant._research.papers.soft_mean_experiments import CORRECTED, Results
from calibrant._research.papers.soft_mean_printed import (
    MODELS,
    NAMES,
    SIZES,
    STEEPNESSES,
    k_column,
    n_column,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

_TARGETS = ("posterior (soft)", "thresholded", "outcome")
_AXIS = {
    "posterior (soft)": "mean posterior",
    "thresholded": "share with $x \\geq 0$",
    "outcome": "share of outcomes 1",
}


def figures(results: Results) -> dict[str, Figure]:
    """The three figures by name: reliability diagrams, errors across k, and errors across n.

    k is that of the posterior sigmoid(k x), n the number of rows of a sample.
    """
    bins = _bin_columns(results)
    by_k, by_n = _columns_by_k(results), _columns_by_n(results)
    return {
        "reliability": Figure(
            "reliability",
            "Reliability diagrams of the five models at k = 2, n = 5,000, ten bins, the last one "
            "closed. Top: soft, against the posterior. Middle: hard, against the thresholded "
            "label of the paper. Bottom: against outcomes drawn from the posterior. Larger dots "
            "hold more rows; on the diagonal, predictions match their targets. Model A lies on "
            "the diagonal exactly (top), up to chance (bottom), and in no bin (middle).",
            partial(_draw_reliability, bins),
            bins,
        ),
        "errors_by_k": Figure(
            "errors_by_k",
            "Errors across the signal-to-noise ratio k (n = 5,000, last bin closed). SMECE and "
            "ECE on drawn outcomes agree up to chance; ECE on thresholded labels is another "
            "quantity and ranks B before A at every k.",
            partial(_draw_by_k, by_k),
            by_k,
        ),
        "errors_by_n": Figure(
            "errors_by_n",
            "Model A, the posterior itself, across sample sizes (k = 2; mean and one standard "
            "deviation over replications). Against thresholded labels its ECE stays at 0.115; "
            "against drawn outcomes it falls like 1 / sqrt(n); its SMECE is 0.",
            partial(_draw_by_n, by_n),
            by_n,
        ),
    }


def _bin_columns(results: Results) -> Columns:
    """Columns of the reliability diagrams: a row for each model, target and bin."""
    if results.diagrams is None:
        raise AssertionError("experiment 1 has not run")
    sample, outcome = results.diagrams
    columns: dict[str, list[Any]] = {"model": [], "target": []}
    for model, predictions in sample.predictions.items():
        labels = (sample.posterior, sample.thresholded, outcome)
        for target, values in zip(_TARGETS, labels, strict=True):
            table = reliability(values, predictions, bins=CORRECTED).columns()
            columns["model"] += [model] * CORRECTED.m
            columns["target"] += [target] * CORRECTED.m
            for name in ("lower", "upper", "n", "mean_predicted", "mean_target", "gap"):
                columns.setdefault(name, []).extend(table[name])
    return columns


def _columns_by_k(results: Results) -> Columns:
    """Columns with a row for each model and k: SMECE, ECE, and ECE on drawn outcomes."""
    return columns_of(
        {
            "model": model,
            "k": k,
            "SMECE": results.corrected["table_3"][model, k_column(k)][0],
            "ECE": results.corrected["table_4"][model, k_column(k)][0],
            "outcomes": results.outcomes["by_k"][model, k_column(k)][0],
        }
        for model in MODELS
        for k in STEEPNESSES
    )


def _columns_by_n(results: Results) -> Columns:
    """Columns with a row for each sample size: mean errors of model A, and their deviations.

    An error is measured against thresholded labels, drawn outcomes and the posterior ("SMECE");
    "_sd" marks its standard deviation over replications.
    """
    columns: dict[str, list[Any]] = {"n": list(SIZES)}
    found = {
        "thresholded": results.corrected["table_8"],
        "outcomes": results.outcomes["by_n"],
        "SMECE": results.corrected["table_7"],
    }
    for name, cells in found.items():
        columns[name] = [cells["A", n_column(n)][0] for n in SIZES]
        columns[f"{name}_sd"] = [cells["A", n_column(n)][1] for n in SIZES]
    return columns


def _draw_reliability(bins: Columns) -> Drawing:
    """Draw a diagram for each target (rows) and model (columns).

    `bins` are the columns of `_bin_columns`.
    """
    model, target = np.array(bins["model"]), np.array(bins["target"])
    with new_figure(3, 5, size=(8.4, 5.4), sharex=True, sharey=True) as (figure, axes):
        for i, kind in enumerate(_TARGETS):
            for j, name in enumerate(MODELS):
                here, ax = (model == name) & (target == kind), axes[i, j]
                predictions = np.array(bins["mean_predicted"])[here]
                targets = np.array(bins["mean_target"])[here]
                rows = np.array(bins["n"], dtype=float)[here]
                ax.plot([0, 1], [0, 1], color="#888888", linewidth=0.8)
                ax.vlines(
                    predictions, predictions, targets, color=COLOURS[j], linewidth=1, alpha=0.5
                )
                ax.plot(predictions, targets, color=COLOURS[j], linewidth=0.9, alpha=0.7)
                ax.scatter(
                    predictions,
                    targets,
                    s=4 + 90 * rows / rows.sum(),
                    color=COLOURS[j],
                    zorder=3,
                    clip_on=False,
                )
                ax.set(
                    xlim=(0, 1), ylim=(0, 1), aspect="equal", xticks=[0, 0.5, 1], yticks=[0, 0.5, 1]
                )
                ax.set_xticklabels(["0", "0.5", "1"])
                ax.set_yticklabels(["0", "0.5", "1"])
                if i == 0:
                    ax.set_title(NAMES[name])
                if i == 2:
                    ax.set_xlabel("mean prediction")
            axes[i, 0].set_ylabel(_AXIS[kind])
    return figure


def _draw_by_k(data: Columns) -> Drawing:
    """Draw the errors of the five models across k, a panel for each kind of error."""
    model = np.array(data["model"])
    titles = {
        "SMECE": "SMECE: posterior",
        "ECE": "ECE: thresholded labels",
        "outcomes": "ECE: drawn outcomes",
    }
    with new_figure(1, 3, size=(8.4, 3.1), sharex=True, sharey=True) as (figure, axes):
        for ax, (column, title) in zip(axes[0], titles.items(), strict=True):
            for j, name in enumerate(MODELS):
                here = model == name
                ax.plot(
                    np.array(data["k"])[here],
                    np.array(data[column])[here],
                    color=COLOURS[j],
                    marker=MARKERS[j],
                    label=NAMES[name],
                    clip_on=False,
                    zorder=4 - 0.1 * j,
                )
            ax.set(xscale="log", title=title, xlabel="signal-to-noise ratio k", ylim=(0, 0.45))
            ax.set_xticks(STEEPNESSES, [f"{k:g}" for k in STEEPNESSES])
            ax.minorticks_off()
        axes[0, 0].set_ylabel("calibration error")
        figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    return figure


def _draw_by_n(data: Columns) -> Drawing:
    """Draw the errors of model A across sample sizes, with a band of one standard deviation."""
    labels = {
        "thresholded": "ECE, thresholded labels",
        "outcomes": "ECE, drawn outcomes",
        "SMECE": "SMECE",
    }
    with new_figure(size=(5.6, 3.3)) as (figure, axes):
        ax = axes[0, 0]
        for j, (column, label) in enumerate(labels.items()):
            mean, spread = np.array(data[column]), np.array(data[f"{column}_sd"])
            band = mean - spread, mean, mean + spread
            plot_with_band(ax, data["n"], *band, j, label=label, clip_on=False, zorder=4)
        ax.set(xscale="log", xlabel="sample size n", ylabel="error of model A", ylim=(0, 0.14))
        ax.set_xticks(SIZES, [f"{n:,}" for n in SIZES])
        ax.minorticks_off()
        ax.legend(loc="center right", bbox_to_anchor=(1, 0.55))
    return figure
