"""`calibrant report` of other rows than labels with predictions.

A row has several labels (--multilabel), or is one of several answers to a question (--question), or
its label is only known to lie between two ends (--label-low, --label-high).
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from calibrant._cli import inputs
from calibrant._cli.output import (
    Outcome,
    check_page_options,
    check_writable,
    print_lines,
    print_status,
)
from calibrant._cli.parsing import replace_options
from calibrant._cli.terminal import spinner
from calibrant._core.errors import InputError, counted
from calibrant._core.messages import name_of

if TYPE_CHECKING:
    from calibrant._data.readers.read_rows import Rows
    from calibrant.results._multilabel import Multilabel

# Options of one problem, or of a page, which a table of labels cannot have.
_NOT_FOR_LABELS = (
    "out by segments depth clinical recalibrate stream one_pass votes counts item annotator answer "
    "gold confidence refusals task skip acc_norm"
)
# Options that answers of several samples have no use for.
_NOT_FOR_ANSWERS = (
    "table by groups segments depth clinical recalibrate stream one_pass label weight votes counts "
    "item annotator words measures classes"
)


def report_labels(options: argparse.Namespace) -> Outcome:
    """Evaluate every label of the files by itself; print their mean, the worst, and a table."""
    from calibrant._data.columns import check_different_columns, check_paired

    inputs.check_without(
        options, _NOT_FOR_LABELS, "--multilabel, which evaluates every label by itself"
    )
    labels, predictions = options.label or [], options.proba or []
    if not labels or len(labels) != len(predictions):
        raise InputError(
            "--multilabel needs a column of labels and one of predictions for every label, in the "
            f"same order: --label A,B --proba P_A,P_B; got {len(labels)} and {len(predictions)}"
        )
    check_different_columns(labels, predictions)
    if options.classes is not None:
        check_paired(options.classes, labels, ("classes", "y_true"))
    result = _evaluate_labels(options, labels, predictions)

    def show() -> None:
        """Print what was read, the mean and the worst label, and the table of labels."""
        from calibrant._cli.tables import OF_DETAILS, choose_columns, print_summary, print_table

        print_summary(
            f"{inputs.format_files(options.files)}: {counted(result.n, 'row')}, "
            f"{counted(len(result.rows), 'label', '')}",
            result._messages(),
        )
        columns = choose_columns(result.display_columns(), OF_DETAILS, details=options.details)
        columns = {name.removeprefix("n_"): values for name, values in columns.items()}
        print_table(columns, "Labels, worst first")

    return Outcome(result.to_dict, show)


def _evaluate_labels(
    options: argparse.Namespace, labels: list[str], predictions: list[str]
) -> Multilabel:
    """Read columns of labels and columns of predictions, in pairs, and evaluate every label.

    `labels` and `predictions` are the names of the columns.
    """
    import numpy as np

    from calibrant._api.multilabel import multilabel
    from calibrant._data.readers.read_rows import read_file
    from calibrant._data.readers.text_columns import numbers_of_texts

    groups = [] if options.groups is None else [options.groups]
    # The reader needs labels without gaps, so a column of predictions stands in for them.
    rows = read_file(
        options.files,
        y_true=predictions[0],
        y_proba=inputs.unpack_single(predictions),
        sample_weight=options.weight,
        **inputs.options_by_name(options, "percent", "words", "missing", "format", "filter"),
        columns=list(dict.fromkeys([*labels, *groups])),
    )
    y_proba = rows.y_proba.reshape(len(rows.y_proba), -1)
    y_true = np.stack(
        [numbers_of_texts("y_true", name, rows.columns[name]) for name in labels], axis=1
    )
    with spinner("labels"):
        return multilabel(
            y_true,
            y_proba,
            labels=options.classes or labels,
            uncertainty=True,
            groups=None if options.groups is None else rows.columns[options.groups].astype(str),
            sample_weight=rows.sample_weight,
            **inputs.options_by_name(options, "measures", "bins", "tolerance", "level", "seed"),
            **inputs.options_by_name(options, "from_logits", "from_logprobs"),
        )


def report_answers(options: argparse.Namespace) -> Outcome:
    """Evaluate self-consistency and stated confidences; print a line for each."""
    inputs.check_without(
        options, _NOT_FOR_ANSWERS, "--question, for which rows are several answers to a question"
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
    result = _evaluate_answers(options)
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


def _evaluate_answers(options: argparse.Namespace) -> Any:
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


def report_bounds(options: argparse.Namespace) -> Outcome:
    """Bound the measures over labels between the columns --label-low and --label-high."""
    from calibrant._api.evaluate_samples import missing_note
    from calibrant._api.label_bounds import check_has_no
    from calibrant._api.report.report import report
    from calibrant._data.between import Between
    from calibrant._data.readers.read_rows import read_rows

    low, high = options.label_low, options.label_high
    if low is None or high is None or options.label is not None:
        raise InputError("give either --label, or both --label-low and --label-high")
    for name in ("stream", "one_pass", "clinical", "item", "counts", "votes", "depth"):
        check_has_no(**{name: getattr(options, name)})
    known = replace_options(options, by=None, groups=None, segments=None)
    ends = dict.fromkeys(low, "label_low") | dict.fromkeys(high, "label_high")
    request = inputs.request_of(known, options.files)
    rows = read_rows(replace(request, labelled=False, y_true=low[0], others=ends))
    page = options.out is not None
    bounds: Any = report(
        Between(_numbers(rows, low, "label_low"), _numbers(rows, high, "label_high")),
        rows.y_proba,
        name=options.title,
        sample_weight=rows.sample_weight,
        classes=rows.class_names,
        source=inputs.command_without_folders(options, options.files) if page else None,
        **inputs.options_by_name(options, "measures", "bins", "from_logits", "missing"),
        **inputs.options_by_name(options, "by", "groups", "segments", "recalibrate"),
    )
    if rows.n_missing:  # the reader has dropped these, and the bounds perhaps others
        both = rows.n_missing + bounds.recipe["n_missing"]
        others = [n for n in bounds.notes if n != missing_note(bounds.recipe["n_missing"])]
        bounds = replace(
            bounds,
            notes=(missing_note(both), *others),
            recipe={**bounds.recipe, "n_missing": both},
        )
    if page:
        bounds.save(options.out)
        print_status(f"written: {options.out}")

    def show() -> None:
        """Print the bounds of measures and of bins."""
        from calibrant._cli.tables import print_table

        title = f"{inputs.format_files(options.files)}: {counted(bounds.recipe['n'], 'row')}"
        print_lines(title, bounds._messages())
        print_table(bounds.display_columns(), "Bounds over the labels")
        print_table(bounds.reliability.display_columns(), bounds.reliability.title)

    return Outcome(bounds.to_dict, show)


def _numbers(rows: Rows, columns: list[str], option: str) -> Any:
    """The numbers of columns that were read as text, (n, columns), NaN where one is empty."""
    import numpy as np

    texts = np.column_stack([rows.others[name] for name in columns]).astype(object)
    missing = np.array([text is None or text != text for text in texts.flat]).reshape(texts.shape)
    try:
        return np.where(missing, "nan", texts).astype(np.float64)
    except ValueError as error:
        raise InputError(f"{name_of(option)} must name columns of numbers: {error}") from None
