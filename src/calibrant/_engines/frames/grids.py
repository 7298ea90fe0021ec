"""Masses on smoothing grids, from moments: sums of t, t^2 and t^3 of the offset within a cell are
all that the cubic deposit of a row's mass needs to know.
"""

from __future__ import annotations

import narwhals as nw
import numpy as np

from calibrant._core.grid import LOGIT_LIMIT, LogitGrid, UnitGrid
from calibrant._core.typing import Array, Index
from calibrant._data.frame_samples import FrameSamples
from calibrant._data.samples import Notion
from calibrant._engines.arrays.smooth import folded, logit_reach
from calibrant._engines.frames.expressions import Expr, clipped, col, exact, floor, number
from calibrant._engines.frames.groups import Groups
from calibrant._engines.frames.query import Query, check_samples
from calibrant._engines.protocol import Findings

# The weights of cubic interpolation at the nodes -1, 0, 1, 2, as polynomials in the offset t.
_CUBIC = np.array(
    [
        [0.0, -1 / 3, 1 / 2, -1 / 6],
        [1.0, -1 / 2, -1.0, 1 / 2],
        [0.0, 1.0, 1 / 2, -1 / 2],
        [0.0, -1 / 6, 0.0, 1 / 6],
    ]
)


def _add_moments(query: Query, name: str, mass: Expr, offset: str) -> None:
    """Request the sums of a mass and of its products with t, t^2 and t^3 in a query, as `{name}0`
    to `{name}3`; t, from 0 to 1, is the position of a prediction in its grid cell (the column
    `offset`).
    """
    t = col(offset)
    query.sums |= {
        f"{name}0": mass,
        f"{name}1": mass * t,
        f"{name}2": mass * (t * t),
        f"{name}3": mass * (t * t * t),
    }


def deposited(groups: Groups, name: str, cell: Index, n_nodes: int) -> Array:
    """The masses at the nodes of a grid, (n_nodes,), from each group's grid cell and its four sums
    `{name}0` to `{name}3`.
    """
    moments = np.stack([groups[f"{name}{power}"] for power in range(4)])
    nodes = np.zeros(n_nodes)
    for offset, part in enumerate(_CUBIC @ moments, start=-1):
        nodes += np.bincount(cell + offset, weights=part, minlength=n_nodes)
    return nodes


def _grid_target(query: Query) -> Expr:
    """The column of targets for grids. In the confidence problem of binary logits the sign of the
    logit decides the predicted class, because the rounded sigmoid may be 1/2.
    """
    samples = query.samples
    of_logits = samples.from_logits and not samples.multiclass
    return col("grid_z" if of_logits and query.notion == "confidence" else "z")


def ask_logits(query: Query, spacing: float, eps: float) -> None:
    """Group the query by cells of the logit grid too, and request the masses for their nodes:
    `plus`, weight times target, and `minus`, weight times (1 - target).

    Nodes are `spacing` apart. Probabilities are clipped to [eps, 1 - eps], and clipped logits are
    counted.
    """
    samples = query.samples
    is_raw = samples.from_logits and not samples.multiclass
    low, high = (-LOGIT_LIMIT, LOGIT_LIMIT) if is_raw else (eps, 1.0 - eps)
    given = col("h" if is_raw else "u")
    moved = (given < exact(low)) | (given > exact(high))
    inside = col("h_inside") if is_raw else (col("h_inside") / (1.0 - col("h_inside"))).log()
    query.let(
        {"h_inside": clipped(given, low, high)},
        {"h_place": inside * exact(1.0 / spacing)},
        {"h_cell": floor(col("h_place"))},
        {"h_offset": col("h_place") - col("h_cell")},
    )
    query.finding_sums["found_logit_clipped"] = number(moved)
    query.logit_cell = col("h_cell")
    z = _grid_target(query)
    _add_moments(query, "plus", query.weigh(z), "h_offset")
    _add_moments(query, "minus", query.weigh(1.0 - z), "h_offset")


def logit_nodes(groups: Groups, n_nodes: int) -> Array:
    """The two rows of a logit grid, (2, n_nodes): masses of weight times target, and of weight
    times (1 - target), from the groups of a query.
    """
    cell = groups.logit_cell + (n_nodes - 1) // 2
    return np.stack([deposited(groups, name, cell, n_nodes) for name in ("plus", "minus")])


def ask_units(query: Query, cells: int, *, residual_only: bool = True) -> None:
    """Group the query by so many equal cells of [0, 1] too, and request the masses for their ends:
    weight times (target less prediction), or, without `residual_only`, weight, weighted prediction
    and weighted target.
    """
    position = col("u") * float(cells)
    query.let({"u_cell": floor(position)}, {"u_offset": position - col("u_cell")})
    query.steps.append(col("u_cell"))
    u, z = col("u"), _grid_target(query)
    masses = {"res": z - u} if residual_only else {"one": nw.lit(1.0), "rep": u, "tar": z}
    for name, mass in masses.items():
        _add_moments(query, name, query.weigh(mass), "u_offset")


def unit_nodes(groups: Groups, cells: int) -> UnitGrid:
    """The unit grid with the masses that `ask_units` requested, from the groups of the query; mass
    beyond the ends of [0, 1] is folded back inside.
    """
    names = ("res",) if "res0" in groups else ("one", "rep", "tar")
    cell = np.floor(groups["low"] * cells).astype(np.intp) + 1
    sums = np.stack([deposited(groups, name, cell, cells + 4) for name in names])
    return folded(sums[None])


def logit_grid(
    samples: FrameSamples, notion: Notion, spacing: float, eps: float, *, whole: bool = False
) -> tuple[LogitGrid, Findings, int]:
    """The scalar problem as masses on a grid of logits, the findings, and how many logits were
    clipped.

    A row with weight w and target z adds w z and w (1 - z) to the nodes around its logit. Without
    `whole` the nodes that clipped probabilities cannot reach may be left out.
    """
    whole = whole or samples.from_logits
    if notion == "classwise":
        from calibrant._engines.frames.classes import class_columns

        findings = check_samples(samples)
        parts = [
            logit_grid(part, "binary", spacing, eps, whole=whole) for part in class_columns(samples)
        ]
        grids = [part[0] for part in parts]
        plus = np.concatenate([grid.plus for grid in grids])
        minus = np.concatenate([grid.minus for grid in grids])
        return LogitGrid(spacing, plus, minus), findings, sum(part[2] for part in parts)
    query = Query(samples, notion)
    ask_logits(query, spacing, eps)
    groups = query.run()
    nodes = logit_nodes(groups, LogitGrid.n_nodes(spacing, logit_reach(eps, whole)))
    grid = LogitGrid(spacing, nodes[:1], nodes[1:])
    return grid, groups.findings, int(groups.total("found_logit_clipped"))


def unit_grid(
    samples: FrameSamples, notion: Notion, cells: int, *, residual_only: bool = True
) -> tuple[UnitGrid, Findings]:
    """The scalar problem as masses on a grid of [0, 1] with so many cells, and the findings.

    A row with weight w, prediction u and target z adds w (z - u) to the nodes around u, or, without
    `residual_only`, the three masses w, w u and w z. Mass beyond the ends of [0, 1] is folded back
    inside.
    """
    if notion == "classwise":
        from calibrant._engines.frames.classes import class_columns

        findings = check_samples(samples)
        columns = class_columns(samples)
        grids = [unit_grid(c, "binary", cells, residual_only=residual_only)[0] for c in columns]
        return UnitGrid(np.concatenate([grid.sums for grid in grids])), findings
    query = Query(samples, notion)
    ask_units(query, cells, residual_only=residual_only)
    groups = query.run()
    return unit_nodes(groups, cells), groups.findings
