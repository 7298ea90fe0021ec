"""Section 5.1 of Lu, Wu, Hartline and Hu, checked: losses are nearly linear in each other, and bins
of equal width and of equal mass give the same trends.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from calibrant._api.metrics.binned import ece
from calibrant._api.metrics.losses import classification_error
from calibrant._api.metrics.truthful import classwise_ce, confidence_ce
from calibrant._core.binning import EqualWidth, Quantile
from calibrant._core.typing import Array
from calibrant._inference.ranks import average_ranks
from calibrant._research.papers.folder import Columns, Section, Table, columns_of
from calibrant._research.papers.pool import BIN_COUNTS, LOSSES, pool_files, read_trace
from calibrant._research.papers.truthful_ranks import HalvedPool
from calibrant.examples import load
from calibrant.scaling._temperature import TemperatureScaling

# Of a pool of many checkpoints so many, evenly spaced, are measured in both kinds of bins.
MOST_PREDICTORS = 60


def straight_lines(columns: Columns) -> Columns:
    """How near to a straight line one loss is in another, over a pool: columns of R^2 for all
    predictors, and for the half of them with the smaller classification errors. Of a pool that was
    measured on halves of the test images it takes one half, with its real labels.
    """
    if "half" in columns:
        columns = HalvedPool({name: list(values) for name, values in columns.items()}).of_half(0)
    errors = np.asarray(columns["classification_error"])
    better, rows = errors <= np.median(errors), []
    for first, second in combinations(LOSSES, 2):
        x, y = np.asarray(columns[first]), np.asarray(columns[second])
        row = {"loss": first, "over": second, "R^2": _r_squared(x, y)}
        rows.append({**row, "R^2, better half": _r_squared(x[better], y[better])})
    return columns_of(rows)


def _correlation(x: Array, y: Array) -> float | None:
    """The correlation of two columns; None of two rows, or where one is constant."""
    if x.size < 3 or x.min() == x.max() or y.min() == y.max():
        return None
    return float(np.corrcoef(x, y)[0, 1])


def _r_squared(x: Array, y: Array) -> float | None:
    """The squared correlation of two columns, R^2 of a straight line."""
    found = _correlation(x, y)
    return None if found is None else found**2


def scaled_predictors(data: str | os.PathLike[str] | None) -> tuple[list[Array], Any]:
    """The predictions of temperature-scaled predictors on test rows, and the labels.

    They are those of a folder of logits, or twenty versions of the network that comes with the
    library, from much noise on its logits to none.
    """
    if data is not None:
        traces = [read_trace(path) for path in pool_files(Path(data))]
        pairs = [(t, c) for t in traces for c in range(len(t.val_logits))]
        chosen = pairs[:: -(-len(pairs) // MOST_PREDICTORS)]
        given = [(t.val_logits[c], t.val_labels, t.test_logits[c]) for t, c in chosen]
        return [_scaled_predictions(*each) for each in given], traces[0].test_labels
    network, rng = load("fashion"), np.random.default_rng(0)
    out = []
    for noise in np.linspace(4.0, 0.0, 20):
        val, test = (
            logits + noise * rng.normal(size=logits.shape)
            for logits in (network.val_logits, network.test_logits)
        )
        out.append(_scaled_predictions(val, network.val_labels, test))
    return out, network.test_labels


def _scaled_predictions(val_logits: Any, val_labels: Any, test_logits: Any) -> Array:
    """Test predictions at the temperature that fits the validation rows."""
    scaler = TemperatureScaling().fit(val_labels, np.asarray(val_logits, np.float64))
    return np.asarray(scaler.transform(np.asarray(test_logits, np.float64)))


def fixed_and_quantile(predictors: Sequence[Array], labels: Any) -> Columns:
    """Columns of rank correlations over predictors: of each error in fixed bins with itself in
    quantile bins, and of both with the classification error.
    """
    losses = _ranks([classification_error(labels, p) for p in predictors])
    rows = []
    for m in BIN_COUNTS:
        kinds = EqualWidth(m, closed="right"), Quantile(m, ties="rank")
        both = [[_errors(labels, p, bins) for p in predictors] for bins in kinds]
        for name in both[0][0]:
            fixed, quantile = (_ranks([each[name] for each in kind]) for kind in both)
            pairs = ((fixed, quantile), (losses, fixed), (losses, quantile))
            titles = "fixed / quantile", "error / fixed", "error / quantile"
            found = (_correlation(*pair) for pair in pairs)
            rows.append({"error": name, "bins": m, **dict(zip(titles, found, strict=True))})
    return columns_of(rows)


def _ranks(values: Sequence[float]) -> Array:
    """The average ranks of some numbers."""
    return average_ranks(np.asarray(values)[:, None]).ravel()


def _errors(labels: Any, p: Array, bins: EqualWidth | Quantile) -> dict[str, float]:
    """The errors of the paper's table 1 in some bins."""
    return {
        "ConfECE": ece(labels, p, bins=bins),
        "ConfCE": confidence_ce(labels, p, bins=bins, corrected=False),
        "ConfCE corrected": confidence_ce(labels, p, bins=bins),
        "classwise LinCE": classwise_ce(labels, p, bins=bins),
    }


def section(pools: Mapping[str, Columns], data: str | os.PathLike[str] | None) -> Section:
    """The section on the claims, of pools and of the predictors of a folder (or of the example)."""
    folder = data if data is not None and Path(data).is_dir() else None
    predictors, labels = scaled_predictors(folder)
    lines = {name: straight_lines(columns) for name, columns in pools.items()}
    least = {name: [r for r in columns["R^2"] if r is not None] for name, columns in lines.items()}
    bins = fixed_and_quantile(predictors, labels) if len(predictors) > 2 else None
    whose = f"{len(predictors)} predictors"
    whose += " made of the example's network" if folder is None else " of the pool"
    linear = ", ".join(f"{min(found):.3f} on {name}" for name, found in least.items() if found)
    tables = [
        Table(f"{name}_straight_lines", f"{name}: R^2 of straight lines.", columns)
        for name, columns in lines.items()
    ]
    text = [
        "The paper finds that losses are nearly linear in each other, and that both kinds of bins "
        "agree."
    ]
    if linear:
        text.append(f"The smallest R^2 of a straight line between two losses is {linear}.")
    if bins is not None:
        cells = zip(bins["fixed / quantile"], bins["error"], bins["bins"], strict=True)
        for worst, error, m in sorted(cell for cell in cells if cell[0] is not None)[:1]:
            text.append(
                f"Fixed and quantile bins, over {whose}: the smallest rank correlation of an error "
                f"between the two kinds is {worst:.3f} ({error} in {m} bins). Tables of pools lack "
                "the truthful errors in fixed bins, which need predictions."
            )
        caption = f"Spearman correlations over {whose}, between kinds of bins and with the error."
        tables.append(Table("fixed_and_quantile", caption, bins))
    return Section("Section 5.1: losses and kinds of bins", tuple(text), tuple(tables))
