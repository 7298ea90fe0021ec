"""Chidambaram et al. (2024), How Flawed Is ECE?: counterexamples, figures 2 to 5, theorem 5.4."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

import numpy as np

from calibrant._core.progress import TaskProgress
from calibrant._research.papers.folder import (
    Columns,
    Erratum,
    Figure,
    Reproduction,
    Section,
    Table,
    versions,
)
from calibrant._research.papers.logit_experiments import (
    BINS,
    OTHERS,
    by_predictor,
    convergence,
    curves,
    differences,
    discontinuities,
    estimation_errors,
    estimators,
    figure_2,
    figure_2_with_draws,
    jumps,
    no_level_sets,
    two_point,
    two_point_sample,
)
from calibrant._research.papers.logit_figures import (
    draw_convergence,
    draw_differences,
    draw_figure_2,
    draw_figure_3,
)
from calibrant._research.papers.predictions import (
    Predictions,
    read_predictions,
    shipped_predictions,
)

SEED = 0
PAPER = (
    "M. Chidambaram, H. Lee, C. McSwiggen and S. Rezchikov (2024), How Flawed Is ECE? An Analysis "
    "via Logit Smoothing, ICML (PMLR 235)."
)
ERRATA = (
    Erratum(
        "1",
        "the code for appendix D (figure 5)",
        "uniform noise on [-sigma/2, sigma/2] is sampled",
        "but the kernel of [-sigma, sigma] is evaluated, twice as wide. The text has "
        "[-sigma/2, sigma/2] for both, and so has this reproduction. The wider kernel brings "
        "LS-ECE nearer to binned ECE: over eight ImageNet networks at 100 bins they differ by "
        "0.005 with the kernel of the text and by 0.002 with that of the code.",
    ),
)


def reproduce(
    *,
    seed: int | None = None,
    quick: bool = False,
    data: str | os.PathLike[str] | None = None,
    progress: TaskProgress,
) -> Reproduction:
    """The counterexamples, figure 2, theorems 3.8, 3.10, 5.3 and 5.4, and figures 3 to 5.

    `data` is a folder of saved predictions (see `predictions`); by default they are those that
    ship. `quick` takes fewer draws, smaller samples and fewer numbers of bins.
    """
    seed = SEED if seed is None else seed
    predictions = shipped_predictions() if data is None else read_predictions(data)
    sections = [
        _two_point_section(),
        _jumps_section(seed, quick),
        _no_level_sets_section(seed),
        _figure_2_section(seed, 1_000 if quick else 10_000),
        _estimation_section(seed, quick, progress),
        _convergence_section(seed, quick, progress),
        _estimators_section(seed, 3 if quick else 20),
        _predictions_section(predictions, quick, progress),
    ]
    command = f"calibrant reproduce logit-smoothing --seed {seed}"
    recipe: dict[str, Any] = {
        "command": command + (" --quick" if quick else "") + (" --data FOLDER" if data else ""),
        "seed": seed,
        "predictors of figures 3 to 5": len(predictions.predictors),
        **versions(),
    }
    title = "Logit-smoothed ECE, reproduced"
    return Reproduction("logit-smoothing", title, PAPER, tuple(sections), ERRATA, recipe)


def _two_point_section() -> Section:
    """The section on definition 3.1: ECE jumps when a constant prediction is moved a little."""
    return Section(
        "Definition 3.1: ECE is discontinuous",
        (
            "x is -1/2 or 1/2 and equals y - 1/2. The constant prediction 1/2 is calibrated: its "
            "ECE "
            "is 0. Moving it by epsilon towards the label splits its level set, and ECE jumps to "
            "1/2 - epsilon, however small epsilon is (theorems 3.2 and 3.10). The smooth errors "
            "change with epsilon too, but without a jump.",
        ),
        (
            Table(
                "two_point",
                "ECE over exact level sets, computed on the distribution itself, and "
                "smooth errors of the same predictions.",
                two_point(),
            ),
        ),
    )


def _jumps_section(seed: int, quick: bool) -> Section:
    """The section on theorems 3.8 and 3.10 and corollary 3.4: where ECE jumps, and how often."""
    return Section(
        "Theorems 3.8 and 3.10, corollary 3.4: where ECE is discontinuous",
        (
            "Four points have labels that are 1 with probability 0.2, 0.4, 0.6 and 0.8. ECE is "
            "continuous at a predictor g exactly if it equals the mean of |g* - g|, that is, if "
            "no value of g has gaps of both signs (theorem 3.10). Small moves then change ECE "
            "only a little. At other predictors they raise it to that mean and never lower it "
            "(theorem 3.8): grouping hides part of the error.",
            "Predictions drawn at random have no ties, so ECE is continuous at all of them "
            "(corollary 3.4). Predictions rounded to few digits have ties, and ECE can be "
            "discontinuous there.",
        ),
        (
            Table(
                "jumps",
                "ECE of four predictors on the distribution itself, and its range if each "
                "prediction moves at random by up to the given size.",
                jumps(seed),
            ),
            Table(
                "discontinuities",
                "Share of random predictors at which ECE is discontinuous, by the number of "
                "points and the digits of predictions.",
                discontinuities(seed, 200 if quick else 1000),
            ),
        ),
    )


def _estimation_section(seed: int, quick: bool, progress: TaskProgress) -> Section:
    """The section on theorem 5.3: how far LS-ECE of a sample is from its true value."""
    found = estimation_errors(seed, progress, 10 if quick else 50)
    return Section(
        "Theorem 5.3: how fast LS-ECE is estimated",
        (
            "In the overconfident world of the next section, the true LS-ECE is an integral. The "
            "mean distance of a sample's LS-ECE from it falls like 1 / sqrt(n sigma). Brackets "
            "show the distance times sqrt(n sigma), which stays bounded as n grows and sigma "
            "falls.",
        ),
        (
            Table(
                "estimation",
                "Mean distance between LS-ECE of a sample and the true LS-ECE, Gaussian noise.",
                found,
            ),
        ),
    )


def _estimators_section(seed: int, n_replications: int) -> Section:
    """The section on section 4 and the related work: other noise, other links, and ECE-KDE."""
    return Section(
        "Section 4: any noise, any increasing link, and ECE-KDE",
        (
            "LS-ECE is continuous with any noise whose density is continuous almost everywhere, "
            "and under any increasing link (theorem 4.5). The consistent estimators that the paper "
            "names take kernels over predictions (Zhang et al. 2020; Popordanoska et al. 2022).",
            "In the worlds of theorem 5.4, all of them are too large if predictions are "
            "calibrated, because noise of either sign adds to the error. The excess depends on "
            "the width.",
        ),
        (
            Table(
                "estimators",
                f"Mean estimate of the true ECE over {n_replications} samples of n rows, and in "
                "brackets the standard deviation; sigma is n^(-1/3).",
                estimators(seed, n_replications),
            ),
        ),
    )


def _no_level_sets_section(seed: int) -> Section:
    """The section on proposition 3.5: ECE jumps although no two rows share a prediction."""
    return Section(
        "Proposition 3.5: no level sets are needed",
        (
            "x1 is uniform and y is 1 with probability x1, so g = x1 is calibrated and no two "
            "points share its value. The perturbation of the proof is smaller than delta "
            "everywhere and separates the rows with y = 1 from those with y = 0. Its ECE tends to "
            "1/3 as delta falls to 0. Its smooth errors tend to those of g.",
        ),
        (
            Table(
                "no_level_sets",
                "Measured on 200,000 draws: binned ECE (15 bins) of g, ECE over level sets of its "
                "perturbations, the expected value, the lower bound 1/3 - 2 delta of the proof, "
                "and smooth errors.",
                no_level_sets(seed),
            ),
        ),
    )


def _figure_2_section(seed: int, n_draws: int) -> Section:
    """The section on figure 2: errors of a two-point sample against the number of bins."""
    y, p = two_point_sample(seed)
    found = figure_2(y, p)
    some = figure_2_with_draws(found, y, p, seed, n_draws)
    flat = np.array(found["LS-ECE"])[9:]
    return Section(
        "Figure 2: bins oscillate, logit smoothing does not",
        (
            "1,000 draws of the two-point distribution and the predictor sigmoid(x / 1000). With "
            "an odd number of bins both predictions share one and ECE is |mean(y) - 1/2| = "
            f"{abs(y.mean() - 0.5):.3f}; with an even number an edge lies between them and it is "
            f"1/2. LS-ECE with Gaussian noise stays between {flat.min():.4f} and {flat.max():.4f} "
            "from 10 to 100 bins and rises only where sigma is near 1.",
            "With uniform noise, which the paper does not show here, LS-ECE rises with the number "
            "of bins. The two windows overlap except for 1/1000 at either end, which holds only "
            "one label. That part grows as sigma shrinks.",
        ),
        (
            Table(
                "figure_2",
                "Some rows of figure 2. The last column estimates LS-ECE with "
                f"{n_draws:,} draws, as the paper does; the others are exact.",
                some,
            ),
        ),
        (
            Figure(
                "figure_2",
                "Figure 2. Binned ECE, and LS-ECE with sigma = 1 / bins, on 1,000 "
                "draws of the two-point distribution.",
                partial(draw_figure_2, found),
                found,
            ),
        ),
    )


def _convergence_section(seed: int, quick: bool, progress: TaskProgress) -> Section:
    """The section on theorem 5.4: LS-ECE against the true ECE as the sample grows."""
    counts = {"largest": 10**4, "n_replications": 5} if quick else {}
    found = convergence(seed, progress, **counts)
    shown = {name: values for name, values in found.items() if not name.endswith("sd")}
    for name in [name for name in found if f"{name} sd" in found]:
        pairs = zip(found[name], found[f"{name} sd"], strict=True)
        shown[name] = ["" if m != m else f"{m:.4f} ± {sd:.4f}" for m, sd in pairs]
    return Section(
        "Theorem 5.4: a consistent estimator",
        (
            "Logits h are normal with standard deviation 2 and predictions are sigmoid(h). In the "
            "overconfident world the label is 1 with probability sigmoid(h / 2), in the "
            "calibrated one with the prediction itself, so the true ECE is known. With sigma = "
            "n^(-1/3), which falls to 0 while n sigma grows, LS-ECE tends to it in both; binned "
            "ECE tends to that of its 15 bins. With sigma = 1/n the condition fails, and so does "
            "the estimate: each row is smoothed with almost no other row.",
        ),
        (Table("convergence", "Mean ± standard deviation over replications.", shown),),
        (
            Figure(
                "convergence",
                "LS-ECE against the true ECE as the sample grows: mean and one "
                "standard deviation over replications. sigma = 1/n is run with uniform noise.",
                partial(draw_convergence, found),
                found,
            ),
        ),
    )


def _predictions_section(predictions: Predictions, quick: bool, progress: TaskProgress) -> Section:
    """The section on figures 3 to 5, errors of saved predictions."""
    heading = "Figures 3 to 5: real classifiers"
    bins = (1, 10, 50, 100) if quick else BINS
    found = curves(predictions, progress, bins)
    gaps = differences(found)
    left_out = "".join(f" {name}: {why}." for name, why in predictions.left_out.items())
    return Section(
        heading,
        (
            "Top-label errors (or binary, for one column of predictions) with sigma = 1 / bins, "
            f"over {', '.join(map(str, bins))} bins. smECE chooses its own bandwidth and does not "
            f"depend on the bins. {len(predictions.predictors)} predictors; predictors with the "
            "same labels form a set, and means are over sets.",
            _differences_sentence(found),
            *((f"Dropped:{left_out}",) if left_out else ()),
        ),
        (
            Table(
                "predictors",
                "Errors at 10 bins (sigma = 1/10), and mean absolute differences "
                "to binned ECE over all numbers of bins but 1.",
                by_predictor(found),
            ),
            Table(
                "differences",
                "Mean absolute difference to binned ECE over the predictors of a "
                "set, and its standard deviation.",
                gaps,
                on_page=False,
            ),
            Table("curves", "Every error of every predictor.", found, on_page=False),
        ),
        (
            Figure(
                "figure_3",
                "Figure 3. Binned ECE and LS-ECE of some predictors of the largest sets.",
                partial(draw_figure_3, found),
            ),
            Figure(
                "figure_4",
                "Figure 4. Mean absolute difference between binned ECE and LS-ECE "
                "with Gaussian noise, and between binned ECE and smECE, with one standard "
                "deviation over predictors (how many: in brackets).",
                partial(draw_differences, gaps, "LS-ECE"),
            ),
            Figure(
                "figure_5",
                "Figure 5. The same with uniform noise.",
                partial(draw_differences, gaps, "LS-ECE, uniform"),
            ),
        ),
    )


def _differences_sentence(found: Columns) -> str:
    """A sentence on the differences between binned ECE and smooth errors, over all predictors.

    `found` are the columns of `curves`.
    """
    many = np.array(found["bins"]) > 1
    binned = np.array(found["binned ECE"])[many]
    gap = {other: np.abs(binned - np.array(found[other])[many]).mean() for other in OTHERS}
    return (
        f"Over all predictors and 10 to 100 bins, binned ECE is {binned.mean():.4f} on average. "
        f"It differs from LS-ECE with Gaussian noise by {gap['LS-ECE']:.4f}, from smECE by "
        f"{gap['smECE']:.4f}, and from LS-ECE with uniform noise by {gap['LS-ECE, uniform']:.4f}. "
        "At one sigma, the standard deviation of the uniform noise is less than a third of the "
        "Gaussian's. It smooths less and keeps more of the sampling noise."
    )
