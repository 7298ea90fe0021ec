"""`calibrant report --question`: files in which every question was answered several times."""

from __future__ import annotations

import argparse
from typing import Any

from calibrant._cli import inputs
from calibrant._cli.output import Outcome, check_page_options, check_writable, print_status
from calibrant._cli.terminal import spinner
from calibrant._core.errors import InputError

# Options that answers of several samples have no use for.
_WITHOUT = (
    "table by groups segments depth clinical recalibrate stream one_pass label weight votes counts "
    "item annotator words measures classes"
)


def run(options: argparse.Namespace) -> Outcome:
    """Evaluate self-consistency and stated confidences; print a line for each."""
    inputs.check_without(
        options, _WITHOUT, "--question, for which rows are several answers to a question"
    )
    if options.answer is None or (options.correct is None) == (options.gold is None):
        raise InputError(
            "--question needs --answer, the column of answers, and either --correct, whether each "
            "is right, or --gold, the right answers"
        )
    if options.proba is not None and len(options.proba) > 1:
        raise InputError("--proba names several columns: an answer has one stated confidence")
    check_page_options(options.out, options.title)
    check_writable(options.out, options.files, options.format)
    result = _evaluate(options)
    if options.out is not None:
        source = inputs.command_without_folders(options, options.files)
        result.save(options.out, name=options.title, source=source)
        print_status(f"written: {options.out}")

    def show() -> None:
        """Print the title, the messages and the table of confidences."""
        from calibrant._cli.tables import print_summary, print_table

        title = f"{inputs.format_files(options.files)}: {result.title}"
        print_summary(title, result._messages())
        print_table(result.display_columns(), "Confidences")

    return Outcome(result.to_dict, show)


def _evaluate(options: argparse.Namespace) -> Any:
    """Read the columns of the files and evaluate them."""
    import numpy as np

    from calibrant._api.sampled_answers import sampled_answers
    from calibrant._data.readers.text_columns import numbers_of_texts, read_texts
    from calibrant._data.readers.written import is_right_answer

    named = {"question": options.question, "answer": options.answer, "correct": options.correct}
    named |= {"gold": options.gold, "y_proba": (options.proba or [None])[0]}
    columns = {name: argument for argument, name in named.items() if name is not None}
    texts = read_texts(options.files, columns, options.format)
    if options.correct is not None:
        correct = numbers_of_texts("correct", options.correct, texts[options.correct])
    else:
        pairs = zip(texts[options.answer], texts[options.gold], strict=True)
        correct = np.array([is_right_answer(answer, gold) for answer, gold in pairs])
    stated = None
    if options.proba is not None:
        stated = numbers_of_texts(
            "y_proba", options.proba[0], texts[options.proba[0]], percent=options.percent
        )
    with spinner("intervals"):
        return sampled_answers(
            texts[options.question],
            texts[options.answer],
            correct,
            stated,
            **inputs.options_by_name(options, "bins", "level", "seed"),
        )
