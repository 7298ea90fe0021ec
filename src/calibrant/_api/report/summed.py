"""The page of files that are too large for memory.

Every measure, its interval, the verdict, the slices and the tables of the diagram are of all rows,
from their sums. Curves, maps, ranking and decisions are of rows that are drawn at random: with more
rows, a reader would see no difference.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from calibrant._api.evaluate_samples import Options
from calibrant._api.files.evaluate_file import evaluate_request
from calibrant._api.files.exact import FileSummary
from calibrant._api.files.refinement import Refiner
from calibrant._api.report.assembly import assemble_report, recipe_of
from calibrant._api.report.bins import (
    NOT_OVER_CLASSES,
    ViewCells,
    curves_over_bins,
    kind_and_count,
    view_of_sums,
)
from calibrant._api.report.map_choice import checked_maps
from calibrant._api.report.recalibration import side_by_side
from calibrant._api.report.report import (
    Histogram,
    add_ece,
    decisions_of_rows,
)
from calibrant._api.risk_curve import risk_coverage_curve
from calibrant._api.row_curves import PLACES
from calibrant._core.bin_tables import BinTable
from calibrant._core.binning import Bins, LevelSets, Quantile, both_rules
from calibrant._core.engine_choice import n_threads, one_blas_thread
from calibrant._core.errors import NeedsRows
from calibrant._core.typing import Array
from calibrant._data.logprobs import LOGPROBS
from calibrant._data.readers.batches import Batch
from calibrant._data.readers.columns import ReadRequest
from calibrant._data.samples import Notion, Samples
from calibrant._engines.arrays.passes import in_threads, scalar_sums
from calibrant._engines.cells import Cells
from calibrant._summaries.samples import Summary
from calibrant.results._pages.provenance import checked_name, checked_source
from calibrant.results._report import Report

# The number of rows that are drawn, about.
DRAWN = 500_000
NO_TOOLS = "Other tools need all rows in memory, and there are too many."


def report_of_files(
    request: ReadRequest,
    *,
    name: str | None,
    source: Mapping[str, Any] | None,
    measures: Iterable[str] | None,
    bins: Bins,
    tolerance: float,
    level: float,
    seed: int,
    recalibrate: Iterable[str] | None,
    progress: bool | None = None,
) -> Report:
    """Everything worth knowing about the rows of files, which are never loaded whole.

    The arguments are those of `report`. Raises NeedsRows where sums give no verdict, and for soft
    labels.
    """
    names = None if measures is None else list(measures)
    maps = checked_maps(recalibrate)
    evaluated = Options(
        bins=bins,
        measures=add_ece(names),
        intervals="all" if names is None else "cheap",
        tolerance=tolerance,
        level=level,
        seed=seed,
        by=request.by,
    )
    evaluation, sums, _ = evaluate_request(request, evaluated, progress=progress)
    summary = sums.summary
    if evaluation.verdict is None or not isinstance(summary, FileSummary):
        raise NeedsRows("sums of these rows give no verdict")
    if summary.findings.soft:
        raise NeedsRows("the page of soft labels has a second view, of most likely labels")
    fixed, quantile = both_rules(bins, lambda: evaluation.recipe["n"])
    notion, n = summary.scalar, evaluation.recipe["n"]
    view_cells = ViewCells.with_count(kind_and_count(fixed)[1])
    share = min(1.0, DRAWN / n)
    samples, sums_by_cell = _draw_and_sum(summary.refiner, notion, view_cells.cells, share, seed)
    # No pass refines bins that no measure needs: then the diagram has those of cells.
    refined = isinstance(quantile, Quantile) and summary.equal_mass_bins_are_exact
    exact = summary.equal_mass_bins if refined else None
    levels = partial(Summary(samples).table, notion, LevelSets())
    work: tuple[Callable[[], Any], ...] = (
        lambda: view_of_sums(sums_by_cell, view_cells, samples, notion, level, quantile, exact),
        lambda: side_by_side(
            samples, fixed, quantile, groups=None, level=level, seed=seed, names=maps
        ),
        lambda: risk_coverage_curve(samples, notion, levels(), level, None),
        lambda: decisions_of_rows(samples, level, None, seed),
    )
    threads = n_threads()
    with one_blas_thread(beside=threads):
        view, change, risk, decisions = in_threads(operator.call, work, threads)
    note = (
        f"curves, recalibration maps, ranking and decisions on this page use {samples.n:,} rows "
        f"drawn at random; quantile bins of the diagram come from {view_cells.cells.m:,} cells. "
        "The rest uses all rows"
    )
    evaluation = replace(evaluation, notes=(*evaluation.notes, note))
    recipe = recipe_of(
        evaluated,
        checked_source(source),
        LOGPROBS if request.written.logprobs else bool(request.from_logits),
        maps=maps,
        measures=names,
        missing=request.missing,
        named_classes=request.classes is not None,
    )
    return assemble_report(
        evaluation,
        samples.shape,
        recipe,
        change,
        name=checked_name(name, "Predictions"),
        views=(view,),
        sensitivity=curves_over_bins(samples.shape, view),
        tools=NO_TOOLS,
        no_sensitivity=NOT_OVER_CLASSES if samples.multiclass else None,
        risk=risk,
        decisions=decisions,
        histogram=_histogram(view.tables["equal-width"][view_cells.counts.index(PLACES)].table),
    )


def _histogram(table: BinTable) -> Histogram:
    """The histogram of predictions, from their table in PLACES bins: edges, weights of events and
    of non-events.
    """
    events, weight = table.sum_wz[0], table.sum_w[0]
    edges = [j / PLACES for j in range(PLACES + 1)]
    return edges, events.tolist(), (weight - events).tolist()


def _draw_and_sum(
    refiner: Refiner, notion: Notion, cells: Cells, share: float, seed: int
) -> tuple[Samples, Array]:
    """Read the files once more: draw each row with the probability `share`, in the order of the
    files, and sum all rows by cell.

    What is drawn depends on the seed and on the position of rows in the files, not on threads.
    """
    numbers = {file: number for number, file in enumerate(refiner.rows.files)}

    def work(batches: Iterator[Batch]) -> tuple[list[Samples], Array]:
        """The drawn rows of some batches, and the sums of all of them."""
        drawn, sums = [], Cells.empty(cells.m)
        for batch in batches:
            if not batch.n:
                continue
            samples, first = refiner.samples_of(batch), batch.chunk.location.first
            with batch.explained(samples):
                sums += scalar_sums(samples, notion, cells.cuts(samples.precision))[0]
            rng = np.random.default_rng((seed, 18, numbers[batch.file], first))
            wanted = rng.binomial(batch.n, share)
            rows = rng.choice(batch.n, wanted, replace=False, shuffle=False)
            drawn.append(samples.take(np.sort(rows)))
        return drawn, sums

    every: list[Samples] = []
    total = Cells.empty(cells.m)
    for drawn, sums in refiner.read_again(work):
        every += drawn
        total = total + sums
    predictions, targets = (
        np.concatenate([getattr(part, name) for part in every])
        for name in ("predictions", "targets")
    )
    return replace(every[0], predictions=predictions, targets=targets), total
