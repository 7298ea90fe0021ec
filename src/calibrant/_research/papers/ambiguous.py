"""Tao, Luo, Dong and Xu (2026), Confidence Calibration under Ambiguous Ground Truth."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from calibrant._core.progress import TaskProgress
from calibrant._research.papers.ambiguous_experiments import (
    DIRICHLET,
    MAPS,
    METHODS,
    ONE_VOTE,
    PAPER_NAMES,
    RATE_KNOWN,
    RAW,
    SMOOTHED,
    SOFT_TS,
    TARGETS,
    TS,
    Method,
    Outcome,
    outcomes,
    toy_errors,
)
from calibrant._research.papers.ambiguous_figures import (
    draw_errors,
    draw_label_smoothing,
    temperature_ratios,
)
from calibrant._research.papers.ambiguous_printed import BENCHMARKS, ERRATA, PRINTED
from calibrant._research.papers.ambiguous_votes import ACCEPTED, VotedPredictor, read_votes
from calibrant._research.papers.folder import (
    Columns,
    Figure,
    Reproduction,
    Section,
    Table,
    columns_of,
    versions,
)

SEED = 42
PAPER = (
    "L. Tao, H. Luo, M. Dong and C. Xu (2026), Confidence Calibration under Ambiguous Ground "
    "Truth, arXiv:2603.22879."
)
ONE = Method("temperature", ONE_VOTE)


def reproduce(
    *,
    seed: int | None = None,
    quick: bool = False,
    data: str | os.PathLike[str] | None = None,
    progress: TaskProgress,
) -> Reproduction:
    """The toy example of the paper's section 4; with `data`, also its comparison on real votes.

    `data` is a folder of predictors and votes (`read_votes`). `quick` takes fewer splits of the
    rows, drawn votes and bootstrap resamples. `seed` None is 42.
    """
    seed = SEED if seed is None else seed
    predictors, unreadable = (None, ()) if data is None else read_votes(data)
    counts = {"n_splits": 5, "n_draws": 20, "n_resamples": 1000}
    if quick:
        counts = {"n_splits": 1, "n_draws": 10, "n_resamples": 200}
    sections = [_toy_section(seed)]
    if predictors is None:
        need = f"Not run: this section needs a folder with {ACCEPTED}; give it as data."
        sections.append(Section("Real votes", (need,)))
    else:
        found = outcomes(predictors, seed, progress, **counts)
        sections += _vote_sections(found, predictors, counts, unreadable)
    command = f"calibrant reproduce ambiguous --seed {seed}"
    recipe: dict[str, Any] = {
        "command": command + (" --quick" if quick else "") + (" --data FOLDER" if data else ""),
        "seed": seed,
        "predictors with votes": "none" if predictors is None else len(predictors),
        **{name.removeprefix("n_"): number for name, number in counts.items()},
        **versions(),
    }
    title = "Calibration to votes, reproduced"
    return Reproduction("ambiguous", title, PAPER, tuple(sections), ERRATA, recipe)


def _toy_section(seed: int) -> Section:
    """The section on the toy example: what was computed, and a table of errors by map."""
    found = toy_errors(seed)
    return Section(
        "Section 4: majority labels hide disagreement",
        (
            "The points form three clusters. In the middle one, 30 % of the votes differ from the "
            "majority. The predictor is the exact probability of the voted label, where the paper "
            "trains a network. It is calibrated to voted labels, and every map fitted to these "
            "leaves it far from the votes (the paper: ECE against votes 6.3 % before and 9.6 to "
            "9.7 % after). Dirichlet calibration to the shares of ten votes per row corrects it. "
            "One temperature or smoothed labels cannot: they change the certain clusters too.",
        ),
        (
            Table(
                "toy",
                "ECE (15 bins) on 3,000 new points, against the voted label and against the "
                "distribution that votes are drawn from.",
                found,
            ),
        ),
    )


def _vote_sections(
    found: list[Outcome],
    predictors: tuple[VotedPredictor, ...],
    counts: dict[str, int],
    unreadable: tuple[str, ...],
) -> list[Section]:
    """The four sections on real votes: claims, maps compared, targets compared, single predictors.

    `found` has one outcome (all numbers of one predictor) for each of `predictors`. `counts` has
    the numbers of splits, drawn votes and resamples, and `unreadable` the files that could not be
    read.
    """
    sets: dict[str, list[Outcome]] = {}
    for each in found:
        sets.setdefault(each.rows, []).append(each)
    of_set = {each.rows: each for each in predictors}
    return [
        Section(
            "Claims and results",
            (
                "Maps are fitted to half of the rows of each class and evaluated on the other "
                f"half, {'in one split' if counts['n_splits'] == 1 else 'in five splits'}. The "
                "paper uses other networks, so its numbers are shown for comparison and need not "
                "be equal. Two of its four benchmarks have real votes and can be reproduced with "
                "the rows in the folder. The votes of the other two (ISIC 2019, DermaMNIST) are "
                "simulated from a confusion matrix. This library does not implement its adaptive "
                "temperature. Printed values come from the tables in the authors' repository "
                "(Linwei94/CalibrationAGT), which give the ranges of the abstract.",
                *(_set_sentence(rows, group, of_set[rows]) for rows, group in sets.items()),
                *((f"Could not be read: {', '.join(unreadable)}.",) if unreadable else ()),
            ),
            (
                Table(
                    "claims",
                    "The paper's claims. Reductions of the ECE against vote shares, relative to a "
                    "temperature fitted to the majority: median over predictors, and range.",
                    _claims_columns(sets),
                ),
            ),
            (
                Figure(
                    "errors",
                    "ECE against votes, one point per predictor: maps fitted to the majority and "
                    "maps fitted to votes. Diamonds: printed values for the paper's own networks.",
                    partial(draw_errors, sets),
                ),
            ),
        ),
        Section(
            "Comparison by data set",
            (
                "ECE (15 bins) of the top label against vote shares. By drawn votes, as the paper "
                "defines it: the mean ECE against single votes, which includes their noise. The "
                "Brier score is against single votes, as in the paper's tables. The last columns "
                "are the paper's values, by drawn votes.",
            ),
            tuple(_methods_table(rows, group) for rows, group in sets.items()),
        ),
        Section(
            "Targets and maps",
            (
                "Every map fitted to the majority is as far from the votes as a temperature. One "
                "random vote per row gives most of the gain of all votes.",
            ),
            tuple(_targets_table(rows, group) for rows, group in sets.items()),
        ),
        Section(
            "Results by predictor",
            (
                "Differences are to a temperature fitted to the majority, with 95 % intervals of "
                "a paired bootstrap, on the first split. Intervals of the ECE are wide, because "
                "it is a sum of absolute values; those of the log loss are narrow.",
                _smoothing_paragraph(found),
            ),
            (
                Table(
                    "predictors",
                    "Errors: how often the top label differs from the majority. Departing: how "
                    "often a single vote differs from the majority. Epsilon: for label smoothing. "
                    "T: means over splits.",
                    _predictor_columns(found),
                ),
                Table("errors", "ECE against votes in %, mean over splits.", _ece_columns(found)),
                Table(
                    "differences",
                    "Differences to a temperature fitted to the majority, first split.",
                    _difference_columns(found),
                ),
                Table("everything", "Every number.", _all_columns(found), on_page=False),
            ),
            (
                Figure(
                    "label_smoothing",
                    "Temperatures relative to the one fitted to votes. The majority gives too low "
                    "a temperature, smoothed labels too high a one. The excess grows with the "
                    "ratio of a predictor's errors to departing votes.",
                    partial(draw_label_smoothing, found),
                    temperature_ratios(found),
                ),
            ),
        ),
    ]


def _set_sentence(rows: str, group: list[Outcome], predictor: VotedPredictor) -> str:
    """A sentence on a set of rows: its numbers of predictors, rows, classes and votes.

    `group` has the outcomes of the predictors on these rows; the votes of `predictor`, one of them,
    are counted.
    """
    m = predictor.votes.sum(axis=1)
    votes = f"{m.min()}" if m.min() == m.max() else f"{m.min()} to {m.max()}"
    named = BENCHMARKS.get(group[0].n_classes)
    beside = f"; compared with the paper's {named[0]}" if named else ""
    return (
        f"{rows}: {len(group)} predictors, {group[0].n:,} rows of {group[0].n_classes} classes, "
        f"{votes} votes per row{beside}. A vote departs from the majority in "
        f"{group[0].departing:.1%} of cases."
    )


def _smoothing_paragraph(found: list[Outcome]) -> str:
    """A paragraph on label smoothing: for how many predictors it increases the ECE."""
    worse = sum(each.reduction(SMOOTHED) < 0 for each in found)
    better = sum(each.judged[RATE_KNOWN].ece < each.judged[SMOOTHED].ece for each in found)
    return (
        f"Label smoothing leaves {worse} of {len(found)} predictors with a larger ECE than the "
        "plain temperature. They err more often than votes depart from the majority, so their "
        "errors are taken for disagreement of the annotators. With the true rate of departing "
        f"votes (smoothing=...), the ECE is smaller for {better} of {len(found)}."
    )


def _median_and_range(values: Sequence[float], as_text: str) -> str:
    """The median of values as text, with "(smallest to largest)" after it if there are several.

    `as_text` is a format of one number, such as "{:.2f}".
    """
    middle = as_text.format(float(np.median(values)))
    if len(values) == 1:
        return middle
    return f"{middle} ({as_text.format(min(values))} to {as_text.format(max(values))})"


def _claims_columns(sets: dict[str, list[Outcome]]) -> Columns:
    """The columns of the table of claims: what the paper prints, and the results of each set.

    `sets` maps the name of a set of rows to the outcomes of its predictors. The columns are
    "claim", "the paper", and one for each set, with the median over its predictors and the range.
    """
    columns: dict[str, list[Any]] = {
        "claim": [
            "a temperature fitted to the majority is too low: T / T fitted to shares",
            "Dirichlet to shares cuts the ECE by",
            "matrix scaling to shares (the paper's Dirichlet-Soft) cuts it by",
            "one vote per row suffices: its ECE minus that of shares, points",
            "label smoothing, from the majority alone, cuts the ECE by",
        ],
        "the paper": [
            "0.64 to 0.72",
            "55 to 87 % on four benchmarks",
            "71 to 84 % on these two",
            "-0.40 to -0.04",
            "9 to 77 % on four benchmarks, 47 to 77 % on these two",
        ],
    }
    for rows, group in sets.items():
        gaps = [100 * (each.judged[ONE].ece - each.judged[SOFT_TS].ece) for each in group]
        cut = {
            m: _median_and_range([100 * each.reduction(m) for each in group], "{:.0f}") + " %"
            for m in (DIRICHLET, Method("matrix", "shares"), SMOOTHED)
        }
        columns[rows] = [
            _median_and_range(temperature_ratios(group)[str(TS)], "{:.2f}"),
            cut[DIRICHLET],
            cut[Method("matrix", "shares")],
            _median_and_range(gaps, "{:+.2f}"),
            cut[SMOOTHED],
        ]
    return columns


def _methods_table(rows: str, group: list[Outcome]) -> Table:
    """The table that compares methods on one set of rows, beside the numbers of the paper.

    A row is a recalibration map and its targets. `group` has the outcomes of the predictors on
    these rows.
    """
    k = group[0].n_classes
    shown = [m for m in METHODS if m in PAPER_NAMES or m in (DIRICHLET, RATE_KNOWN)]
    judged = {m: [each.judged[m] for each in group] for m in shown}
    columns: dict[str, list[Any]] = {
        "map": [m.map for m in shown],
        "fitted to": [m.targets for m in shown],
        "the paper's": [PAPER_NAMES.get(m, "") for m in shown],
        "T": [_temperature_text(judged[m]) for m in shown],
        "ECE, %": [_median_and_range([100 * j.ece for j in judged[m]], "{:.2f}") for m in shown],
        "by drawn votes": [
            _median_and_range([100 * j.drawn_ece for j in judged[m]], "{:.2f}") for m in shown
        ],
        "Brier": [f"{np.median([j.brier for j in judged[m]]):.3f}" for m in shown],
        "log loss": [f"{np.median([j.log_loss for j in judged[m]]):.3f}" for m in shown],
    }
    if k in BENCHMARKS:
        printed = PRINTED[k]
        for i, network in enumerate(BENCHMARKS[k][1]):
            columns[f"paper: {network}"] = [
                f"{printed[PAPER_NAMES[m]][i].ece:.2f}" if m in PAPER_NAMES else None for m in shown
            ]
    many = " Median over predictors, and range." if len(group) > 1 else ""
    return Table(f"methods_{_file_name(rows)}", f"{rows}.{many}", columns)


def _temperature_text(judged: list[Any]) -> str:
    """The median and range of the maps' temperatures as text; "" if no map has one."""
    values = [j.temperature for j in judged if j.temperature is not None]
    return _median_and_range(values, "{:.2f}") if values else ""


def _targets_table(rows: str, group: list[Outcome]) -> Table:
    """The table that compares targets of the fit on one set of rows: ECE and log loss of each map.

    A target is the majority, one vote, or the shares of the votes. `group` has the outcomes of the
    predictors on these rows.
    """
    columns: dict[str, list[Any]] = {"map": [*MAPS, SMOOTHED.map]}
    for measure, text, scale in (("ece", "ECE, %", 100.0), ("log_loss", "log loss", 1.0)):
        for target in TARGETS:
            values = [
                [scale * getattr(each.judged[Method(name, target)], measure) for each in group]
                for name in MAPS
            ]
            digits = "{:.2f}" if scale > 1 else "{:.3f}"
            column = [digits.format(float(np.median(each))) for each in values]
            own = [scale * getattr(each.judged[SMOOTHED], measure) for each in group]
            last = digits.format(float(np.median(own))) if target == TARGETS[0] else None
            columns[f"{text}: {target}"] = [*column, last]
    return Table(
        f"targets_{_file_name(rows)}",
        f"{rows}: medians over {len(group)} predictors, by the target of the map.",
        columns,
    )


def _predictor_columns(found: list[Outcome]) -> Columns:
    """Columns of errors, disagreement and temperatures, with a row for each predictor.

    "errors" is how often its top label is not the majority's, "departing" how often a single vote
    is not, and "epsilon" the smoothing of the labels. "T: ..." are temperatures of three methods.
    """
    return {
        "predictor": [each.name for each in found],
        "errors": [f"{each.errors:.3f}" for each in found],
        "departing": [f"{each.departing:.3f}" for each in found],
        "epsilon": [f"{each.smoothing:.3f}" for each in found],
        **{
            f"T: {m}": [f"{each.judged[m].temperature:.2f}" for each in found]
            for m in (TS, SOFT_TS, SMOOTHED)
        },
    }


def _ece_columns(found: list[Outcome]) -> Columns:
    """Columns of the ECE against votes in percent, a row for each predictor, a column by method."""
    shown = (RAW, TS, ONE, SOFT_TS, DIRICHLET, SMOOTHED, RATE_KNOWN)
    return {
        "predictor": [each.name for each in found],
        **{str(m): [f"{100 * each.judged[m].ece:.2f}" for each in found] for m in shown},
    }


def _difference_columns(found: list[Outcome]) -> Columns:
    """Columns of differences to TS with 95 % intervals, a row for each predictor and method.

    TS is the temperature fitted to the majority of the votes.
    """
    return columns_of(
        {
            "predictor": each.name,
            "map": method.map,
            "fitted to": method.targets,
            "ECE": f"{of_ece.estimate:+.4f}",
            "95 % interval of ECE": f"{of_ece.low:+.4f} to {of_ece.high:+.4f}",
            "log loss": f"{of_loss.estimate:+.4f}",
            "95 % interval of log loss": f"{of_loss.low:+.4f} to {of_loss.high:+.4f}",
        }
        for each in found
        for method, (of_ece, of_loss) in each.comparison.items()
    )


def _all_columns(found: list[Outcome]) -> Columns:
    """Columns of every number that was measured, with a row for each predictor and method."""
    return columns_of(
        {
            "set": each.rows,
            "predictor": each.name,
            "map": method.map,
            "fitted_to": method.targets,
            "temperature": judged.temperature,
            "ece": judged.ece,
            "ece_sd_over_splits": each.spread[method],
            "ece_by_drawn_votes": judged.drawn_ece,
            "brier_of_drawn_votes": judged.brier,
            "log_loss": judged.log_loss,
            "reduction": each.reduction(method),
        }
        for each in found
        for method in METHODS
        for judged in (each.judged[method],)
    )


def _file_name(rows: str) -> str:
    """The name of a set of rows, made safe for a file name.

    Characters other than letters, digits, "_" and "-" become "_".
    """
    return re.sub(r"[^A-Za-z0-9_-]+", "_", rows)
