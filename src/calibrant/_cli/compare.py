"""`calibrant compare`: several models on the same rows, from one file or from one file each."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from calibrant._cli import inputs
from calibrant._cli.output import check_page_possible, check_writable, print_json, tell
from calibrant._cli.parsing import add_json, distinct
from calibrant._cli.words import in_options

if TYPE_CHECKING:
    from calibrant._cli.models import Models
    from calibrant.results._comparison import Comparison


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "compare",
        help="several models on the same rows",
        description="Compare models on the same rows: ranks, differences and their confidence "
        "intervals. Either one file with the predictions of several models, named by --models, or "
        "one file per model with the same labels in the same order, or matched by --id; one "
        "folder or pattern alone stands for one file per model; or rows of all models one below "
        "the other (--model-column). Where labels are each model's own, every confidence meets "
        "those of its model. " + inputs.DESCRIPTION,
    )
    parser.add_argument(
        "files", nargs="+", metavar="[NAME=]FILE", help="one file, or one per model"
    )
    parser.add_argument("-o", "--out", metavar="PAGE", help="also write a comparison page (.html)")
    parser.add_argument("--title", help="title of the page")
    parser.add_argument(
        "--models", nargs="+", metavar="NAME=COLUMN[,...]",
        help="models in one file: a column, one for each class, or a pattern such as big_*",
    )  # fmt: skip
    parser.add_argument(
        "--labels", nargs="+", metavar="NAME=COLUMN",
        help="with --models: the column of each model's own labels, such as whether its own answer "
        "was right",
    )  # fmt: skip
    parser.add_argument(
        "--model-column", metavar="COLUMN",
        help="long format: a column that says which model a row is of; rows are matched by --id",
    )  # fmt: skip
    parser.add_argument("--id", metavar="COLUMN", help="match the rows of files by this column")
    parser.add_argument(
        "--own-labels", action="store_true",
        help="each file has its model's own labels, such as whether its own answer was right; of "
        "columns called correct this is known",
    )  # fmt: skip
    inputs.add_columns(parser)
    inputs.add_bins(parser)
    parser.add_argument(
        "--measures", type=distinct, metavar="NAME,...", help="compare only these measures"
    )
    inputs.add_groups(parser, "compare within each value of these columns too")
    inputs.add_chance(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    from calibrant._cli.models import given_paths, named_files, read_models, take_ids_from_logs
    from calibrant._cli.terminal import working

    check_page_possible(options.out)
    check_writable(options.out, named_files(options).values(), options.format)
    taken = take_ids_from_logs(options)
    models = read_models(options)
    models = replace(models, messages=(*map(in_options, models.messages), *taken))
    with working("intervals of the differences"):
        comparison = _compared(models, options)
    if options.out is not None:
        with working("the page"):
            comparison.save(
                options.out,
                name=options.title,
                source=inputs.without_folders(options, given_paths(options)),
            )
        tell(f"written: {options.out}")
    if options.json:
        print_json(comparison.to_dict())
    else:
        _show(comparison)


def _compared(models: Models, options: argparse.Namespace) -> Comparison:
    from calibrant._api.compare import compare

    first = models.first
    comparison = compare(
        first.y_true if models.labels is None else models.labels, models.predictions,
        measures=options.measures, bins=options.bins,
        level=options.level, groups=inputs.groups_of(first, options.groups),
        by=inputs.slices_of(first, options.by), seed=options.seed,
        sample_weight=first.sample_weight, from_logits=options.from_logits,
        classes=first.class_names,
    )  # fmt: skip
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
        notes=(*models.notes, *map(in_options, comparison.notes)),
    )


def _show(comparison: Comparison) -> None:
    import sys

    from calibrant._cli.tables import print_table
    from calibrant._cli.terminal import PLAIN, print_styled

    n = comparison.recipe["n"]
    print_styled(f"{len(comparison.names)} models on {n:,} rows", "bold", file=sys.stdout)
    for line in (*comparison.inferred, *comparison.notes):
        print_styled(f"  {line}", PLAIN, file=sys.stdout)
    print()
    print_table(comparison.columns(), "Measures")
    for measure in comparison.measures:
        ranked = comparison.ranked(measure)
        limits = zip(ranked["low"], ranked["high"], strict=True)
        ranked["clear"] = [low > 0 or high < 0 if low == low else None for low, high in limits]
        print_table(ranked, f"Ranks by {measure}")
    # Two models are in one order or in the other: there is no correlation to speak of.
    if comparison.robustness is not None and len(comparison.names) > 2:
        print_table(comparison.robustness.table(), comparison.robustness.title)
    for name, slices_of_model in (comparison.slices or {}).items():
        print_table(
            slices_of_model.display_columns(),
            f"{name}: slices by {slices_of_model.by}, worst first",
        )
