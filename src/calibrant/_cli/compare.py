"""`calibrant compare`: several models on the same rows, from one file or from one file each."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from calibrant._cli import inputs
from calibrant._cli.file_messages import short_lines
from calibrant._cli.options import (
    READS_FILES,
    add_bins,
    add_chance,
    add_columns,
    add_models,
    add_own_labels,
    add_slices,
    add_tolerance,
)
from calibrant._cli.output import (
    Outcome,
    check_page_options,
    check_table,
    check_writable,
    print_status,
    write_table,
)
from calibrant._cli.parsing import Parser, replace_options
from calibrant._cli.terminal import print_styled, spinner
from calibrant._core.errors import InputError, counted
from calibrant._core.given_cells import Cells
from calibrant._core.map_names import METHODS
from calibrant._measures.catalogue import names_in_summaries
from calibrant.results._rendering import percent

if TYPE_CHECKING:
    from calibrant._cli.models import Models
    from calibrant.results._comparison import Comparison

DESCRIPTION = (
    "Compare models on the same rows, with confidence intervals of their measures, ranks and "
    "differences. Give one file with the predictions of several models (--models); one file for "
    "each model, with the same rows in the same order or matched by --id; one folder or pattern of "
    "these files; or one file with the rows of all models below one another (--model-column). "
    + READS_FILES
)


def add_options(parser: Parser) -> None:
    """Add the options of `calibrant compare` to its parser."""
    add_models(parser)
    parser.option("-o --out PAGE", "also write a comparison page (.html)")
    parser.option("--title TITLE", "the title of the page")
    parser.option(
        "--models NAME=COLUMN[,...]",
        "the models of one file: a column each, one for each class, or a pattern such as big_*",
        nargs="+",
    )
    parser.option(
        "--labels NAME=COLUMN",
        "with --models: the column of each model's own labels, if these differ, such as whether "
        "its own answer was right",
        nargs="+",
    )
    parser.option(
        "--model-column COLUMN",
        "the column that names the model of each row, if one file has the rows of all; needs --id",
    )
    parser.option("--id COLUMN", "match the rows of the files by this column")
    add_own_labels(parser)
    add_columns(parser)
    add_bins(parser)
    parser.option(
        "--measures NAME,...",
        "compare only these measures; slope, intercept and intercept_in_the_large too",
    )
    add_slices(parser, "also evaluate each value of these columns by itself")
    add_tolerance(parser, " in a slice")
    parser.option(
        "--scale-on ROWS",
        "recalibrate each model first, by a map fitted to these rows: validation files "
        "([NAME=]FILE), or COLUMN=VALUE for rows of the same files, which are then not compared. "
        "From NPZ files with arrays val_... and test_..., the first are fitted and the second "
        "compared",
        nargs="+",
    )
    parser.option("--method", "with --scale-on: the map (default temperature)", choices=METHODS)
    parser.option(
        "--ceiling",
        "also print how well annotators predict each other, by the same measures; needs vote "
        "counts (--counts, or vote shares with --votes)",
    )
    add_chance(parser)
    parser.option(
        "--details", "also print all measures, sample values, ranks and differences from the best"
    )
    parser.option("--table FILE", "also write the table for a paper (.tex or .md)")
    parser.option(
        "--layout",
        "with --table: intervals stand beside the values (the default), or below them",
        choices=("beside", "stacked"),
    )


def run(options: argparse.Namespace) -> Outcome:
    """Compare the models, and write the page and the table if options name them."""
    from calibrant._cli.models import (
        ids_of_logs,
        named_files,
        parse_scale_on,
        paths_of,
        read_models,
        split_models,
        validation_models,
        with_halves,
    )

    check_page_options(options.out, options.title)
    check_table(options.table)
    if options.layout is not None and options.table is None:
        raise InputError("--layout needs --table FILE, the table for a paper")
    if options.method is not None and options.scale_on is None:
        raise InputError("--method needs --scale-on ROWS, to which the map is fitted")
    read = [*named_files(options).values(), *paths_of(options.scale_on or ())]
    for path in (options.out, options.table):
        check_writable(path, read, options.format)
    column, value = parse_scale_on(options)
    options, taken = ids_of_logs(replace_options(options, split=column))
    if options.scale_on is not None and column is None:
        options = with_halves(options)
    models = read_models(options)
    models = replace(models, messages=(*models.messages, *taken))
    validation = None
    if column is not None:
        models, validation = split_models(models, column, value)
    elif options.scale_on is not None:
        validation = validation_models(options, models)
        models = replace(models, notes=(*models.notes, *validation.notes))
    with spinner("intervals of the differences"):
        comparison = _compare_models(models, options, validation)
    write_table(options.table, comparison, layout=options.layout or "beside")
    if options.out is not None:
        with spinner("the page"):
            comparison.save(
                options.out,
                name=options.title,
                source=inputs.command_without_folders(options, paths_of(options.files)),
            )
        print_status(f"written: {options.out}")
    named = options.measures is not None
    return Outcome(
        comparison.to_dict, lambda: _show(comparison, named=named, details=options.details)
    )


def _compare_models(
    models: Models, options: argparse.Namespace, validation: Models | None
) -> Comparison:
    """Compare the models by the library's `compare`.

    With `validation` rows, models are recalibrated on them first. Messages and notes on the files
    are added to the result, and slices are named by the columns of --by.
    """
    from calibrant._api.compare import compare

    first = models.first
    if options.id is not None and isinstance(options.bins, Cells):
        raise InputError(
            "--bins cells:... and --id cannot be combined, since --id reorders the rows"
        )
    comparison = compare(
        first.y_true if models.labels is None else models.labels,
        models.predictions,
        classes=first.class_names,
        scale_on=None if validation is None else _validation_arguments(validation),
        scaler=options.method or "temperature",
        **inputs.row_arguments(first, options),
        bins=inputs.bins_of(first, options.bins),
        **inputs.options_by_name(options, "measures", "tolerance", "level", "seed"),
        **inputs.options_by_name(options, "from_logits", "ceiling"),
        answered=models.answered,
    )
    slices = comparison.slices
    if slices is not None:
        name = ", ".join(options.by)
        slices = {
            model: replace(slices_of_model, by=name) for model, slices_of_model in slices.items()
        }
    return replace(
        comparison,
        slices=slices,
        inferred=(*comparison.inferred, *models.messages),
        notes=(*models.notes, *comparison.notes),
    )


def _validation_arguments(validation: Models) -> dict[str, Any]:
    """Collect the validation rows as the argument `scale_on` of the library's `compare`."""
    rows = validation.first
    return {
        "y_true": rows.y_true if validation.labels is None else validation.labels,
        "y_proba": validation.predictions,
        "sample_weight": rows.sample_weight,
    }


def _show(comparison: Comparison, *, named: bool, details: bool) -> None:
    """Print what was read, which model is best, and each one's main measures with intervals.

    With `details`, or for measures that were `named`, the table has all; `details` adds the sample
    values, the ranks by each measure, and whether errors keep the order.
    """
    from calibrant._cli.tables import print_slices, print_summary, print_table

    ceiling = comparison.ceiling.notes if comparison.ceiling else ()
    orders = (comparison.order_bias or {}).values()
    read = comparison.inferred
    print_summary(
        f"{len(comparison.names)} models on {counted(comparison.recipe['n'], 'row')}",
        (
            *comparison._sentences(),
            *(order.sentence for order in orders),
            *(read if details else short_lines(read, len(comparison.names))),
            *comparison.notes,
            *ceiling,
        ),
    )
    level = percent(comparison.level)
    title = f"Bias-corrected estimates with {level} confidence intervals"
    if len(comparison.names) == 2:
        title += "; the difference has a correction of its own"
    shown = None if named or details else names_in_summaries()
    print_table(comparison._estimate_columns(shown), title)
    if details or comparison.ceiling:
        print_table(comparison.display_columns(), "Sample values")
    if details:
        _print_ranks(comparison)
    for order in orders:
        print_table(order.display_columns(), order.title)
    if details and comparison.robustness is not None:
        print_table(comparison.robustness.table(), comparison.robustness.title)
    for name, slices_of_model in (comparison.slices or {}).items():
        title = f"{name}: slices by {slices_of_model.by}, worst first"
        print_slices(slices_of_model, title=title, details=details)
    if not details:
        print_styled("  --details prints all measures, sample values, ranks and differences")


def _print_ranks(comparison: Comparison) -> None:
    """Print for each measure the ranks of the models, and the differences from the best."""
    from calibrant._cli.tables import print_table

    for measure in comparison.measures:
        ranked = comparison.ranked(measure)
        del ranked[measure]  # it is in the table of sample values
        tied = comparison.tied(measure)
        ranked["clear"] = [None, *(name not in tied for name in ranked["predictor"][1:])]
        print_table(ranked, f"Ranks by {measure}")
    print_styled(
        "  behind_best is bias-corrected for each pair by itself, so it need not be the difference "
        "of two estimates printed above; best is the smallest confidence of being better than each "
        "other model",
        hanging="  ",
    )
    print()
