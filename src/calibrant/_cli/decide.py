"""`calibrant decide`: the net benefit of acting on predictions, by threshold."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any

from calibrant._cli import inputs
from calibrant._cli.options import (
    CLUSTERS,
    READS_FILES,
    add_chance,
    add_columns,
    add_models,
)
from calibrant._cli.output import Outcome, check_picture, check_writable, print_status
from calibrant._cli.parsing import Parser
from calibrant._cli.terminal import spinner

if TYPE_CHECKING:
    from calibrant._data.readers.read_rows import Rows

DESCRIPTION = (
    "Compute decision curves of a binary outcome: the net benefit of acting if a prediction "
    "reaches a threshold, compared with acting on everyone and on no one, and what recalibration "
    "would add. Give one file with one model, one file with several (--models), or one file for "
    f"each model with the same rows. {READS_FILES}"
)
MAPS = ("default", "isotonic", "platt", "none")


def add_options(parser: Parser) -> None:
    """Add the options of `calibrant decide` to its parser."""
    add_models(parser)
    parser.option("-o --out PICTURE", "also draw the curves (.png, .svg, .pdf)")
    parser.option(
        "--models NAME=COLUMN",
        "the models of one file: a column each, or a pattern such as big_*",
        nargs="+",
    )
    parser.option("--id COLUMN", "match the rows of the files by this column")
    parser.option(
        "--thresholds LIST",
        "the thresholds of the table, such as 0.05,0.1,0.2 or FROM:TO:STEP; default "
        "0.01:0.99:0.01. The picture has every 0.01 between the first and the last",
        type=thresholds,
    )
    parser.option(
        "--range LOW:HIGH",
        "also print the loss averaged over the thresholds from LOW to HIGH, such as 0.05:0.3",
        type=threshold_range,
    )
    parser.option(
        "--recalibration",
        "the map whose gain is shown; default: isotonic with 200 or "
        "more rows of the rarer outcome, "
        "otherwise platt",
        choices=MAPS,
        default="default",
    )
    add_columns(parser)
    parser.option("--groups COLUMN", CLUSTERS)
    add_chance(parser)
    # The reader of models expects these options of `compare`. Labels of each model's own are not
    # allowed here: acting on everyone would have a curve for each of them.
    parser.set_defaults(own_labels=None, model_column=None, labels=None)


def thresholds(text: str) -> list[float]:
    """Parse a list of thresholds: numbers with commas between them, or FROM:TO:STEP."""
    try:
        if ":" not in text:
            return [float(part) for part in text.split(",")]
        first, last, step = (float(part) for part in text.split(":"))
        n = round((last - first) / step)
        if step <= 0 or n < 0 or n > 10_000:
            raise ValueError
        return [round(first + j * step, 12) for j in range(n + 1)]
    except (ValueError, ZeroDivisionError):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a list of thresholds: give 0.05,0.1,0.2, or 0.05:0.5:0.05"
        ) from None


def threshold_range(text: str) -> tuple[float, float]:
    """Parse a range of thresholds, LOW:HIGH."""
    low, _, high = text.partition(":")
    try:
        ends = float(low), float(high)
    except ValueError:
        ends = math.nan, math.nan
    if not 0 <= ends[0] < ends[1] <= 1:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a range of thresholds from 0 to 1: give LOW:HIGH, such as 0.05:0.3"
        )
    return ends


def run(options: argparse.Namespace) -> Outcome:
    """Compute the net benefit of the models by threshold, and draw it if an option asks for it."""
    from calibrant._api.decision_curve import decision_curve
    from calibrant._cli.models import named_files

    check_picture(options.out)
    check_writable(options.out, named_files(options).values(), options.format)
    options, rows, predictions, messages = _read_predictions(options)
    with spinner("net benefits"):
        own: Any = {
            "recalibration": None if options.recalibration == "none" else options.recalibration,
            "groups": inputs.groups_of(rows, options.groups),
            "sample_weight": rows.sample_weight,
            "classes": rows.class_names,
            **inputs.options_by_name(options, "level", "seed", "from_logits"),
        }
        curve = decision_curve(rows.y_true, predictions, thresholds=options.thresholds, **own)
        drawn = curve
        if options.out is not None and options.thresholds is not None:
            fine = _fine_grid(options.thresholds)
            drawn = decision_curve(rows.y_true, predictions, thresholds=fine, **own)
    losses = None if options.range is None else _range_losses(rows, predictions, options)
    if options.out is not None:
        drawn.plot(recalibrated=options.recalibration != "none").save(options.out)
        print_status(f"written: {options.out}")

    def show() -> None:
        """Print the title, the messages and the table of net benefits."""
        from calibrant._cli.file_messages import short_lines
        from calibrant._cli.tables import print_summary, print_table

        read = short_lines(messages, len(predictions))
        print_summary(curve.title, (*curve._messages(), *read))
        print_table(curve.display_columns(), "Net benefit by threshold (acting on no one: 0)")
        if losses is not None:
            low, high = options.range
            print_table(losses, f"Loss averaged over the thresholds {low:g} to {high:g}")

    more = {} if losses is None else {"threshold_losses": losses}
    return Outcome(lambda: {**curve.to_dict(), **more}, show)


def _fine_grid(thresholds: list[float]) -> list[float]:
    """The thresholds of the figure: the ones asked for, and every 0.01 between them."""
    between = (j / 100 for j in range(1, 100) if min(thresholds) < j / 100 < max(thresholds))
    return [*thresholds, *between]


def _range_losses(
    rows: Rows, predictions: dict[str, Any], options: argparse.Namespace
) -> dict[str, list[Any]]:
    """The loss of each model averaged over the thresholds of --range, best first, as columns.

    Of several models also how far each is behind the best, with limits: these are differences of
    Brier scores of predictions clipped to the range.
    """
    import numpy as np
    from scipy.special import expit

    from calibrant._api.compare import compare
    from calibrant._api.metrics.threshold_loss import threshold_loss

    low, high = options.range
    own: Any = {"sample_weight": rows.sample_weight, "classes": rows.class_names}
    risks = {name: expit(p) if options.from_logits else p for name, p in predictions.items()}
    losses = {
        name: threshold_loss(rows.y_true, p, low=low, high=high, **own) for name, p in risks.items()
    }
    order = sorted(losses, key=losses.__getitem__)
    out: dict[str, list[Any]] = {"model": order, "loss": [losses[name] for name in order]}
    if len(order) > 1:
        clipped = {name: np.clip(p, low, high) for name, p in risks.items()}
        groups = inputs.groups_of(rows, options.groups)
        chance = inputs.options_by_name(options, "level", "seed")
        found = compare(rows.y_true, clipped, measures=["brier"], groups=groups, **own, **chance)
        behind = [found.difference(name, order[0], "brier") for name in order]
        for end in ("value", "low", "high"):
            title = "behind_best" if end == "value" else end
            out[title] = [getattr(each, end) / (high - low) for each in behind]
    return out


def _read_predictions(
    options: argparse.Namespace,
) -> tuple[argparse.Namespace, Rows, dict[str, Any], tuple[str, ...]]:
    """Read the predictions of one model or of several.

    Return the options, with ids and clusters of logs filled in; the rows of the first model, whose
    outcomes count for all; the predictions by model; and messages on what was inferred about the
    files.
    """
    from calibrant._cli.models import ids_of_logs, named_files, read_models
    from calibrant._data.readers.read_rows import read_rows

    files = named_files(options)
    if options.models is not None or len(files) > 1:
        options, taken = ids_of_logs(options)
        models = read_models(options)
        return options, models.first, models.predictions, (*models.messages, *taken, *models.notes)
    name, path = next(iter(files.items()))
    rows = read_rows(inputs.request_of(options, [path]), at_most=10_000_000)
    return options, rows, {name: rows.y_proba}, tuple(rows.messages)
