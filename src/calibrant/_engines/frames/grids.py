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
from calibrant._data.source import has_raw_logits
from calibrant._engines.arrays.smooth import folded, logit_reach
from calibrant._engines.cells import N_LINEAR
from calibrant._engines.frames.expressions import clipped, col, exact, floor, number
from calibrant._engines.frames.groups import Derived, Groups
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


def _add_moments(query: Query, name: str, offset: str, most: int = 3) -> None:
    """Request the sums of weight times t^j, as `{name}{j}` for j from 1 to `most`, and of these
    times the target for j from 0 to 3, as `{name}z{j}`; t, from 0 to 1, is the position of a
    prediction in its grid cell (the column `offset`).
    """
    t = col(offset)
    powers = [t, t * t, t * t * t, t * t * (t * t)]
    query.has_many_groups = True
    query.add_target_sum()
    query.derived |= {f"{name}0": lambda groups: groups.weight}
    query.derived |= {f"{name}z0": lambda groups: groups["wz"]}
    for j, power in enumerate(powers[:most], start=1):
        query.sums[f"{name}{j}"] = query.weigh(power)
        if j <= 3:
            product = query.weigh(power * col(query.target))
            query.products[f"{name}z{j}"] = f"{name}{j}", product


def deposited(groups: Groups, name: str, cell: Index, n_nodes: int) -> Array:
    """The masses at the nodes of a grid, (n_nodes,), from each group's grid cell and its four sums
    `{name}0` to `{name}3`.
    """
    nodes = np.zeros(n_nodes)
    for offset, part in enumerate(_CUBIC @ groups.powers(name, 4).T, start=-1):
        nodes += np.bincount(cell + offset, weights=part, minlength=n_nodes)
    return nodes


def _grid_target(query: Query) -> str:
    """The column of targets for grids. In the confidence problem of binary logits the sign of the
    logit decides the predicted class, because the rounded sigmoid may be 1/2.
    """
    samples = query.samples
    of_logits = has_raw_logits(samples)
    return "grid_z" if of_logits and query.notion == "confidence" else "z"


def ask_logits(query: Query, spacing: float, eps: float) -> None:
    """Group the query by cells of the logit grid too, and request the masses for their nodes:
    `plus`, weight times target, and `minus`, weight times (1 - target).

    Nodes are `spacing` apart. Probabilities are clipped to [eps, 1 - eps], and clipped logits are
    counted.
    """
    samples = query.samples
    is_raw = has_raw_logits(samples)
    low, high = (-LOGIT_LIMIT, LOGIT_LIMIT) if is_raw else (eps, 1.0 - eps)
    given = col("h" if is_raw else "u")
    inside = col("h_inside") if is_raw else (col("h_inside") / (1.0 - col("h_inside"))).log()
    query.let(
        {"h_inside": clipped(given, low, high)},
        {"h_place": inside * exact(1.0 / spacing)},
        {"h_cell": floor(col("h_place"))},
        {"h_offset": col("h_place") - col("h_cell")},
    )
    query.outer_cell = col("h_cell")
    query.target = _grid_target(query)
    if is_raw:
        moved = (given < exact(low)) | (given > exact(high))
        query.finding_sums["found_logit_clipped"] = number(moved)
    else:  # the groups tell, since they end where clipping begins
        query.steps += [number(given >= exact(low)), number(given > exact(high))]
        query.derived["found_logit_clipped"] = lambda groups: np.where(
            (groups["high"] < low) | (groups["low"] > high), groups["rows"], 0.0
        )
    _add_moments(query, "h", "h_offset")
    for j in range(4):
        query.derived |= {f"plus{j}": _moment(f"hz{j}"), f"minus{j}": _rest(f"h{j}", f"hz{j}")}


def _moment(name: str) -> Derived:
    """The column with another name."""
    return lambda groups: groups[name]


def _rest(whole: str, part: str) -> Derived:
    """The difference of two columns."""
    return lambda groups: groups[whole] - groups[part]


def logit_nodes(groups: Groups, n_nodes: int) -> Array:
    """The two rows of a logit grid, (2, n_nodes): masses of weight times target, and of weight
    times (1 - target), from the groups of a query.
    """
    cell = groups.outer_cell + (n_nodes - 1) // 2
    return np.stack([deposited(groups, name, cell, n_nodes) for name in ("plus", "minus")])


def ask_units(query: Query, cells: int, *, residual_only: bool = True) -> None:
    """Group the query by this many equal cells of [0, 1] too, and request the masses for their
    ends: weight times (target less prediction), or, without `residual_only`, weight, weighted
    prediction and weighted target. The sums of predictions and of their squares come from the same
    powers.
    """
    position = col("u") * float(cells)
    query.let({"u_cell": floor(position)}, {"u_offset": position - col("u_cell")})
    if cells % N_LINEAR == 0:
        query.steps = [step for step in query.steps if step is not query.equal_step]
    query.steps.append(col("u_cell"))
    query.target = _grid_target(query)
    has_fields = "wu" in query.sums and query.target == "z"
    if residual_only and not (query.samples.hard and has_fields):
        t = col("u_offset")
        residual = col(query.target) - col("u")  # exactly 0 where they are equal
        for j, power in enumerate([nw.lit(1.0), t, t * t, t * t * t]):
            query.sums[f"res{j}"] = query.weigh(residual * power)
        return
    _add_moments(query, "t", "u_offset", 4)
    query.derived |= _unit_masses(cells, residual_only=residual_only)
    if has_fields:
        for sums in (query.sums, query.products):
            for name in ("wu", "wuu", "wuz"):
                sums.pop(name, None)
        query.derived |= {
            "wu": lambda groups: groups["rep0"],
            "wuu": lambda groups: _times_u(groups, cells, "rep0", "rep1"),
            "wuz": lambda groups: _times_u(groups, cells, "tz0", "tz1"),
        }
        if not query.samples.multiclass and query.sums.pop("brier", None) is not None:
            query.derived["brier"] = lambda groups: _squared_errors(groups, cells)


def _unit_masses(cells: int, *, residual_only: bool) -> dict[str, Derived]:
    """The masses for the ends of equal cells, from the sums of powers of t: a prediction is its
    cell's number plus t, divided by the number of cells.
    """

    def reported(j: int) -> Derived:
        """The sums of weight times prediction times t^j."""
        return lambda groups: _times_u(groups, cells, f"t{j}", f"t{j + 1}")

    out: dict[str, Derived] = {}
    for j in range(4):
        out[f"rep{j}"] = reported(j)
        if residual_only:
            out[f"res{j}"] = _rest(f"tz{j}", f"rep{j}")
        else:
            out |= {f"one{j}": _moment(f"t{j}"), f"tar{j}": _moment(f"tz{j}")}
    return out


def _squared_errors(groups: Groups, cells: int) -> Array:
    """The sums of the squared difference of prediction and target, of binary rows whose targets are
    0 or 1: of the position itself in cells counted from 0 for the target 0, and from 1 for 1.
    """
    c = np.floor(groups["low"] * cells)
    t0, t1, t2 = (groups[f"tz{j}"] for j in range(3))
    r0, r1, r2 = (groups[f"t{j}"] - groups[f"tz{j}"] for j in range(3))
    from_zero = c * c * r0 + 2 * c * r1 + r2
    from_one = (cells - c) ** 2 * t0 - 2 * (cells - c) * t1 + t2
    return (from_zero + from_one) / cells**2


def _times_u(groups: Groups, cells: int, name: str, next_name: str) -> Array:
    """The sums of the column `name` times the prediction, where `next_name` has the sums of it
    times t.
    """
    return (np.floor(groups["low"] * cells) * groups[name] + groups[next_name]) / cells


def unit_nodes(groups: Groups, cells: int) -> UnitGrid:
    """The unit grid with the masses that `ask_units` requested, from the groups of the query; mass
    beyond the ends of [0, 1] is folded back inside.
    """
    names = ("res",) if "res0" in groups else ("one", "rep", "tar")
    # A query of nothing but the grid has the cell for a key.
    place = np.floor(groups["low"] * cells) if "low" in groups else groups["key"]
    cell = place.astype(np.intp) + 1
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
    """The scalar problem as masses on a grid of [0, 1] with this many cells, and the findings.

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
    query.ends = () if residual_only else ("u",)
    groups, findings = query.run_again()
    return unit_nodes(groups, cells), findings
