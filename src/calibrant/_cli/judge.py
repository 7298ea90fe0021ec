"""`calibrant judge`: the true rate behind the answers of a judge that is itself a model."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from calibrant._cli import inputs
from calibrant._cli.options import CLUSTERS, FORMATS, add_files
from calibrant._cli.output import Outcome
from calibrant._cli.parsing import Parser
from calibrant._core.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from calibrant.results._judged_rate import JudgedRate

DESCRIPTION = (
    "A model has judged all rows, and people have labelled some of them. Estimate the true rate "
    "with an interval, by two methods with different assumptions; the bias, sensitivity, "
    "specificity and kappa of the judge; its calibration, if it gives scores; and how many labels "
    "are still needed. Rows without a human label are empty in that column. Files are those of "
    "`calibrant report`."
)


def add_options(parser: Parser) -> None:
    """Add the options of `calibrant judge` to its parser."""
    add_files(parser)
    parser.option(
        "--human COLUMN",
        "the column of human labels: 0 or 1, yes or no, or empty; default human",
    )
    parser.option(
        "--judged COLUMN",
        "the column of the judge's answers, or of its scores from 0 to 1; default judge",
    )
    parser.option("--groups COLUMN", f"{CLUSTERS} (question, document)")
    parser.option("--weight COLUMN", "the column of row weights")
    parser.option(
        "--threshold SCORE", "the judge says yes from this score on; default 0.5", default=0.5
    )
    parser.option(
        "--width W",
        "width of the interval for which labels are counted; default: half the present one",
    )
    parser.option("--level LEVEL", "confidence level of intervals; default 0.95", default=0.95)
    parser.option(
        "--format", "format of the files, if their names or fields do not say", choices=FORMATS
    )


def run(options: argparse.Namespace) -> Outcome:
    """Estimate the rate behind the judge's answers, and print it with the judge's errors."""
    result = _judge_files(options)

    def show() -> None:
        """Print the title, the messages and the table of estimates."""
        from calibrant._cli.tables import print_summary, print_table

        print_summary(f"{inputs.format_files(options.files)}: {result.title}", result._messages())
        print_table(result.display_columns(), "Rates, and the judge's errors")

    return Outcome(result.to_dict, show)


def _judge_files(options: argparse.Namespace) -> JudgedRate:
    """Read the columns and estimate the rate."""
    from calibrant._api.judge import judge
    from calibrant._data.readers.recognise import find_files
    from calibrant._data.readers.source import open_reader
    from calibrant._data.readers.text_columns import numbers_of_texts, read_texts

    files = find_files(list(options.files), options.format)
    of_files = {name for file in files for name in open_reader(file).names}
    human: Any = options.human or ("human" if "human" in of_files else None)
    judged: Any = options.judged or ("judge" if "judge" in of_files else None)
    named = {
        "human": human,
        "judged": judged,
        "groups": options.groups,
        "sample_weight": options.weight,
    }
    if human is None or judged is None:
        missing = "human" if human is None else "judged"
        raise InputError(
            f"--{missing} is missing: name the column of human labels with --human, and that "
            "of the judge's answers with --judged"
        )
    if human == judged:
        raise InputError(
            f"--human and --judged both name the column {human!r}: name the column of each"
        )
    columns = {name: argument for argument, name in named.items() if name is not None}
    texts = read_texts(options.files, columns, options.format, optional=human)

    def numbers(argument: str, name: str) -> NDArray[np.float64]:
        """A column of numbers, by the argument that names it."""
        return numbers_of_texts(argument, name, texts[name])

    weight = options.weight
    found = {"human labels": (options.human, human), "judge": (options.judged, judged)}
    by_name = ", ".join(
        f"{what} {name!r}" for what, (given, name) in found.items() if given is None
    )
    result = judge(
        numbers("human", human),
        numbers("judged", judged),
        groups=None if options.groups is None else texts[options.groups],
        sample_weight=None if weight is None else numbers("sample_weight", weight),
        **inputs.options_by_name(options, "level", "threshold", "width"),
    )
    notes = (f"Columns found by name: {by_name}.",) if by_name else ()
    return replace(result, notes=(*notes, *result.notes))
