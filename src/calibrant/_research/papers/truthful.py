"""Lu, Wu, Hartline and Hu, Truthful Calibration Errors for Multi-Class Prediction, again."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from calibrant._api.rank_robustness import rank_robustness
from calibrant._core.errors import InputError
from calibrant._core.progress import TaskProgress
from calibrant._research.papers import (
    truthful_claims,
    truthful_language_models,
    truthful_theory,
)
from calibrant._research.papers.folder import Figure, Reproduction, Section, Table, columns_of
from calibrant._research.papers.pool import (
    BIN_COUNTS,
    ERRORS,
    LOSSES,
    check_pool,
    is_halved,
    measure_pool,
    pool_files,
    read_table,
)
from calibrant._research.papers.truthful_figures import (
    draw_assumption,
    draw_cells,
    draw_checkpoints,
    draw_dominance,
    draw_trends,
)
from calibrant._research.papers.truthful_printed import NAMES, TABLE_1
from calibrant._research.papers.truthful_ranks import HalvedPool, TableOne
from calibrant.results._robustness import RankCorrelation, RankRobustness

SEED = 42
SHIPPED = {
    "cifar100_within": "cifar100_within.csv.gz",
    "cifar100_cross": "cifar100_cross.csv.gz",
    "within": "fashion_within.csv.gz",
    "cross": "fashion_cross.csv.gz",
}
OTHER_RECIPE = (
    "The library's pools hold networks trained from scratch on 32 x 32 images, with the paper's "
    "data shares, batches, momentum, weight decay, schedule and augmentation. The paper "
    "fine-tunes ImageNet's weights at 224 x 224, so values may differ even if its claims hold."
)
Columns = dict[str, list[Any]]


def reproduce(
    *,
    progress: TaskProgress,
    seed: int | None = None,
    quick: bool = False,
    data: str | os.PathLike[str] | None = None,
) -> Reproduction:
    """The theory's examples, and the ranking of pools of predictors beside the paper's table 1.

    `data` is a folder of saved logits (see `pool`) or a pool's table; without it the pools that
    come with the library are ranked. A folder may also hold the answers of language models (see
    `truthful_language_models`). `quick` draws fewer samples.
    """
    seed = SEED if seed is None else seed
    answers = truthful_language_models.find_file(data)
    data = truthful_language_models.other_data(data)
    pools = _read_pools(data, progress)
    fitted_on = _fitted_on(data)
    sections = [
        _theory_section(seed, quick),
        truthful_theory.section_on_orders(seed, quick),
        truthful_claims.section(pools, data),
        truthful_language_models.section(answers),
        *(
            _halved_section(name, columns)
            if "half" in columns
            else _pool_section(name, columns, fitted_on)
            for name, columns in pools.items()
        ),
    ]
    return Reproduction(
        name="truthful",
        title="Truthful calibration errors",
        paper="Lu, Wu, Hartline and Hu, Truthful Calibration Errors for Multi-Class Prediction; "
        "first version: Making and Evaluating Calibrated Forecasts, arXiv:2510.06388",
        sections=tuple(sections),
        errata=(truthful_theory.SOUNDNESS,),
        recipe={
            "seed": seed,
            "quick": quick,
            "pool": _pools_sentence(pools) if data is None else str(data),
        },
    )


def _pools_sentence(pools: Mapping[str, Columns]) -> str:
    """The pools that come with the library, and those that only its source package has."""
    lacking = " and ".join(name for name in SHIPPED if name not in pools)
    return "the tables shipped with the library" + (
        f", without {lacking}, which is only in the source package" if lacking else ""
    )


def _read_pools(data: str | os.PathLike[str] | None, progress: TaskProgress) -> dict[str, Columns]:
    """The columns of each pool (set of measured predictors), by the pool's name.

    The columns are those of `pool.measure_predictor`. `data` is a pool's table, or a folder of
    logits to measure; with None the tables that come with the library are read.
    """
    if data is None:
        folder = resources.files("calibrant._research.papers") / "pools"
        paths = {name: Path(str(folder / file)) for name, file in SHIPPED.items()}
        return {name: read_table(path) for name, path in paths.items() if path.exists()}
    path = Path(data)
    if path.is_file():
        return {path.name.split(".")[0]: read_table(path)}
    files = pool_files(path)
    check_pool(files)
    with progress.task("Measuring the pool", len(files)) as step:
        rows = measure_pool(path, done=lambda i, n: step())
    if len(rows) < 2:
        raise InputError(f"{path} holds one predictor: ranking needs two or more")
    return {path.name: columns_of(rows)}


def _fitted_on(data: str | os.PathLike[str] | None) -> str:
    """The rows that temperatures were fitted on, in words.

    A pool's table is taken to come from validation rows.
    """
    if data is None or not Path(data).is_dir():
        return "its validation rows"
    halved = [is_halved(path) for path in pool_files(Path(data))]
    if not any(halved):
        return "its validation rows"
    half = "a random half of its rows, with the other half as test rows"
    return half if all(halved) else f"its validation rows or, if it has none, on {half}"


def _theory_section(seed: int, quick: bool) -> Section:
    """The section on the theory's examples and identities, with a table for each."""
    return Section(
        "The theory, computed",
        (
            "Example 1.1: the true probabilities are i/n. If they are reported, the binned error "
            "over level sets stays near 1/3 at every n. The uninformative constant prediction 1/2 "
            "has a smaller error.",
            "Example C.1: a uniform prediction has a smaller confidence error than the truth. "
            "With the correction (theorem 3.3), the truth has the smaller error.",
            "Theorem 3.1 splits E[LinCE] into a bias and a variance that no prediction can "
            "change. By lemma D.1 it is a proper loss over n for calibrated predictors. All "
            "outcomes are enumerated, so differences are rounding.",
        ),
        (
            Table(
                "example_1_1",
                "Example 1.1: mean ECE over level sets.",
                truthful_theory.example_1_1(seed, 40 if quick else 300),
            ),
            Table(
                "example_c_1",
                "Example C.1: expected errors, k = 10, n = 50.",
                truthful_theory.example_c_1(),
            ),
            Table(
                "theorem_3_1",
                "Theorem 3.1: the identity over all outcomes of eight rows.",
                truthful_theory.theorem_3_1(seed),
            ),
            Table(
                "lemma_d_1",
                "Lemma D.1: three identities over all outcomes of three rows.",
                truthful_theory.lemma_d_1(),
            ),
        ),
    )


def rank_pool(columns: Columns) -> RankRobustness:
    """The rank correlations of a pool's errors with each other and with its losses.

    `columns` have a row for each predictor. Intervals are over traces.
    """
    traces = columns["trace"]
    errors = {(e, m): np.asarray(columns[f"{e}_{m}"]) for e in ERRORS for m in BIN_COUNTS}
    losses = {name: np.asarray(columns[name]) for name in LOSSES}
    return rank_robustness(errors, losses, groups=traces if len(set(traces)) > 1 else None)


def table_1(ranks: RankRobustness, setting: int) -> Columns:
    """The paper's table 1, measured and printed, with a row for each correlated pair.

    `setting` is 0 for the paper's within-model numbers, and 1 for its cross-model ones.
    """
    rows = []
    for (error, first, second), printed in TABLE_1.items():
        label = "classification_error" if first == "loss" else f"{error}({first})"
        row = next(r for r in ranks.rows if r.first == label and r.second == f"{error}({second})")
        value, margin = printed[setting]
        rows.append(
            {
                "error": error,
                "first": "classification error" if first == "loss" else f"{first} bins",
                "second": f"{second} bins",
                "measured": _with_interval(row),
                "paper": f"{value:.3f} ± {margin:.3f}",
            }
        )
    return columns_of(rows)


def _with_interval(row: RankCorrelation) -> str:
    """A rank correlation with its interval over traces; with the paper's margin where there is but
    one trace.
    """
    if row.value is None:
        return ""
    if row.low is None:
        return f"{row.value:.3f} ± {row.margin:.3f}"
    return f"{row.value:.3f} [{row.low:.3f}, {row.high:.3f}]"


def dominance(ranks: RankRobustness) -> Columns:
    """Each error's rank correlation with the dominance order, a column for each number of bins.

    The order is that of the maximum dominance set: the longest chain of predictors of which each is
    better than the next on all losses.
    """
    columns: Columns = {"error": list(ERRORS)}
    values = {r.second: r.value for r in ranks.rows if r.relation == "dominance"}
    for m in BIN_COUNTS:
        columns[f"{m} bins"] = [values[f"{e}({m})"] for e in ERRORS]
    return columns


def lowest_bin_correlation(ranks: RankRobustness, error: str) -> float:
    """The smallest rank correlation of one error with itself at another number of bins."""
    return min(r.value for r in ranks.select(measure=error, relation="bins") if r.value is not None)


def _halved_section(name: str, columns: Columns) -> Section:
    """The section on a pool whose checkpoints were measured on several halves of the test images:
    table 1 with intervals and the null beside it.
    """
    pool = HalvedPool(columns)
    setting = "cross" if name.endswith("cross") else "within"
    table = TableOne(pool, int(setting == "cross"))
    one, (chains, along) = pool.of_half(0), pool.dominance()
    lengths = sorted(len(chain) for chain in chains)
    return Section(
        f"Table 1 on CIFAR-100, {table.networks}: the pool {name}",
        (
            *table.paragraphs(),
            *((OTHER_RECIPE,) if name in SHIPPED else ()),
            "The maximum dominance set is the longest chain of checkpoints, each better than the "
            f"next on all five losses. It has {lengths[0]} to {lengths[-1]} checkpoints on a half "
            "of the test images.",
        ),
        (
            Table(
                f"{name}_table_1",
                f"Spearman rank correlations and the paper's table 1 ({setting}-model): mean over "
                "the halves, with the 95 % interval over traces and test images, and the null of "
                "exactly calibrated predictors.",
                table.wide(),
            ),
            Table(f"{name}_claims", "The paper's claims, and whether they hold.", table.claims()),
            Table(
                f"{name}_dominance",
                "Rank correlation with the order of the maximum dominance set, mean over the "
                "halves.",
                along,
            ),
            Table(f"{name}_cells", "All cells.", table.long(), on_page=False),
        ),
        (
            Figure(
                f"{name}_cells",
                "Table 1: the paper's value (cross), the measured one in each part of the training "
                "with its 95 % interval, and the null (hollow).",
                partial(draw_cells, table.long(), NAMES),
            ),
            *_figures_of_losses(name, one, chains[0], halved=True),
        ),
    )


def _figures_of_losses(
    name: str, columns: Columns, chain: Sequence[int], *, halved: bool = False
) -> tuple[Figure, ...]:
    """The three figures of a pool that show errors beside losses.

    `columns` have a row for each predictor, and `chain` the rows of the maximum dominance set.
    `halved` says that they are measured on one half of the test images.
    """
    return (
        Figure(
            f"{name}_trends",
            f"Errors against the classification error, each divided by its mean"
            f"{', on one half' if halved else ''}. Points are checkpoints, lines are kernel "
            "regressions (figures 3 and 6).",
            partial(draw_trends, columns),
        ),
        Figure(
            f"{name}_dominance",
            f"The truthful errors along the maximum dominance set{' of one half' if halved else ''}"
            " (figures 2 and 5).",
            partial(draw_dominance, columns, chain),
        ),
        Figure(
            f"{name}_assumption",
            "Errors against the loss over n, which they equal for calibrated predictors (dotted "
            "line; figure 4).",
            partial(draw_assumption, columns),
        ),
    )


def _pool_section(name: str, columns: Columns, fitted_on: str) -> Section:
    """The section on one pool: a text on its rank correlations, tables and figures.

    `columns` have a row for each predictor of the pool; `fitted_on` says in words which rows
    temperatures were fitted on.
    """
    ranks = rank_pool(columns)
    setting = 1 if name == "cross" else 0
    least = {error: lowest_bin_correlation(ranks, error) for error in ERRORS}
    flips = [error for error, value in least.items() if value < 0]
    order = sorted(least, key=lambda error: -least[error])
    robustness = (
        f"Between numbers of bins the rank correlation falls to {least['conf_ece']:.3f} for "
        f"ConfECE, {least['conf_ce']:.3f} for ConfCE, {least['conf_ce_corrected']:.3f} for "
        f"corrected ConfCE and {least['classwise_ce']:.3f} for classwise LinCE. The order of "
        f"robustness is {', '.join(order)}."
    )
    flipped = (
        "No error reverses the order on this pool, unlike ConfECE and ConfCE in the paper's "
        "within-model setting."
    )
    if ranks.n == 2:
        flipped = "With two predictors, a rank correlation can only be 1 or -1: more are needed."
    elif flips:
        flipped = f"The order is reversed for {', '.join(flips)}."
    n_chain = len(ranks.chain)
    chain = f"{n_chain} predictors form" if n_chain != 1 else "1 predictor forms"
    along = dominance(ranks)
    known = any(value is not None for key in along if key != "error" for value in along[key])
    return Section(
        f"The pool {name}: {ranks.n:,} predictors",
        (
            f"Each predictor is scaled by a temperature fitted on {fitted_on}; losses and errors "
            f"use the test rows. {chain} the maximum dominance set, the longest chain of "
            "predictors, each better than the next on all five losses.",
            robustness,
            flipped,
        ),
        (
            Table(
                f"{name}_table_1",
                "Spearman rank correlations with 95 % intervals over traces, and the paper's "
                "table 1 for other networks on CIFAR-100. The paper's margin assumes that all "
                "checkpoints are independent.",
                table_1(ranks, setting),
            ),
            Table(
                f"{name}_dominance",
                "Rank correlation with the dominance order.",
                along,
                on_page=known,
            ),
            Table(
                f"{name}_correlations", "Every rank correlation.", ranks.columns(), on_page=False
            ),
        ),
        (
            Figure(
                f"{name}_checkpoints",
                "Each checkpoint's error against its classification error, in 2,000 bins (top) "
                "and in 5 bins (bottom; figure 1).",
                partial(draw_checkpoints, columns),
            ),
            *_figures_of_losses(name, columns, ranks.chain),
        ),
    )
