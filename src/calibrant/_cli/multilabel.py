"""`calibrant report --multilabel`: files whose rows may have several labels."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from calibrant._cli import inputs
from calibrant._cli.output import Outcome
from calibrant._cli.terminal import spinner
from calibrant._core.errors import InputError, counted

if TYPE_CHECKING:
    from calibrant.results._multilabel import Multilabel

# Options of one problem, or of a page, which a table of labels cannot have.
_WITHOUT = (
    "out by segments depth clinical recalibrate stream one_pass votes counts item annotator answer "
    "gold confidence refusals task skip acc_norm"
)


def run(options: argparse.Namespace) -> Outcome:
    """Evaluate every label of the files by itself; print their mean, the worst, and a table."""
    from calibrant._data.columns import check_different_columns, check_paired

    inputs.check_without(options, _WITHOUT, "--multilabel, which evaluates every label by itself")
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
