"""Messages about files and rows that Python and the page that measures have in common.

Each stands here once. `message` fills one in; `calibrant page` writes the table into its page,
whose script fills in the same slots. Slots in `_options` name what a reader types.
"""

from __future__ import annotations

from calibrant._core.messages import setting, two_classes, values_of, worded

TEXTS = {
    "no_rows": "{holder} no rows: there is nothing to measure",
    "holds_numbers": "{location} holds numbers, but the first line must name the columns: add a "
    "line of names",
    "row_width": "{location} has {n} columns, but the first line names {n_named}",
    "not_json": "{location} {fault}. Each line must be one record, {record}",
    "no_record": "{location} holds a {kind}, but each line must be one record, {record}",
    "which_column": "{argument} could be {candidates} of {file}: name one of them",
    "no_column": "{argument} is not given, and no column of {file} has a usual name for it "
    "({names}). The columns are {columns}{hint}",
    "whose_confidence": "{subject} could be the column {found} of {file}. The file also has "
    "{answer}, so it may be the confidence in the predicted class, not the probability of class 1. "
    "If it is: {if_so}; if not: {if_not}",
    "no_number": "{location}: {column} is {value}, which is not a number{hint}",
    "each_percent": ". Percentages are not guessed: {percents}; {written} reads each value as "
    "it is written",
    "by_100": ". Percentages are not guessed: divide them by 100",
    "comma": ". Decimals need a point, not a comma",
    "words": ". If it is a word for a probability, define it: {words}",
    "cell": "{location}: {column} is {what}",
    "missing": "{location}: {argument} is missing, here and in {others} more of the {n} "
    "rows read with it: fix these rows, or drop and count them with {drop}",
    "named_label": "{location}: y_true is {value}, a name: name the class of each column of "
    "y_proba with {classes}; for a binary problem, {two_classes}",
    "named_among": "{location}: y_true is {value}, a name, but {n} labels read with it are "
    "numbers. If it is no row of data, such as a total, remove it; otherwise give numbers in all "
    "rows, or names and {classes}",
    "unknown_label": "{location}: y_true is {value}, which is not in classes: {hint}",
    "from_one": "the columns are numbered from 1, and so are classes. If the classes are others, "
    "name the class of each column with {classes}",
    "infinite": "{at} is {value}: predictions must be finite numbers. Fix or drop that row",
    "log_range": "{at} is {value}, and no {y_proba} is above 0: predictions must lie in [0, 1]. If "
    "these are log-probabilities, give their exp or pass {logprobs}; if they are logits, {logits}",
    "range": "{at} is {value}: predictions must lie in [0, 1]. If these are logits, pass {logits}; "
    "if they are percentages, {percent}",
    "row_sum": "{at} sums to {value}: rows must sum to 1 (within {tolerance}). If these are "
    "logits, pass {logits}. If they are one-against-rest scores, or a row may have several "
    "labels, {multilabel} measures each column as a binary problem",
    "infinite_target": "{at} is {value}: targets must be finite numbers. Remove that row",
    "index_fraction": "{at} is {value}: with {y_proba} of the shape (n, {k}), {y_true} must be "
    "class indices 0..{last}, or rows of {k} class probabilities",
    "index_range": "{at} is {value}: class indices must lie in 0..{last}. If the labels are names "
    "or numbers of another kind, pass {classes} in column order",
    "target": "{at} is {value}: targets must be 0, 1 or a probability. {hint}",
    "target_names": "If the labels are names or other numbers, pass {two_classes}",
    "target_votes": "; if they count the votes for class 1, give the number of votes with {votes}, "
    "or give {both_counts}",
    "same_classes": "{y_true} and {y_proba} must have the same classes; got {n} and {k} columns",
    "swapped": "y_true holds fractions while every y_proba is 0 or 1: the columns seem to be "
    "swapped. y_true is {first}, y_proba {second}. If the labels are shares of votes, name "
    "the column of vote counts as votes",
    "rounded": "; if the shares were rounded, give vote counts, or divide each row by its sum",
    "soft_sum": "{at} sums to {value}: rows of class probabilities must sum to 1. Drop rows "
    "without votes{hint}",
}


class _Slots(dict[str, str]):
    """What is known of a text's slots; the others stay slots."""

    def __missing__(self, name: str) -> str:
        return f"{{{name}}}"


def _options() -> _Slots:
    """What a reader types, by the names of slots, in the words of the front end in use."""
    return _Slots(
        y_true=values_of("y_true"),
        y_proba=values_of("y_proba"),
        logits=setting("from_logits", True),
        logprobs=setting("from_logprobs", True),
        classes=setting("classes", [...]),
        two_classes=two_classes(),
        drop=setting("missing", "drop"),
        percent=worded(python="divide by 100", command="pass --percent"),
        percents=worded(
            python="divide them by 100, or pass percent=True", command="pass --percent"
        ),
        written=setting("confidence", "auto"),
        words=worded(python="words={'likely': 0.7, ...}", command="--words likely=0.7,..."),
        votes=worded(python="votes=", command="--votes COLUMN"),
        both_counts=worded(
            python="the counts of both classes as (n, 2)",
            command="the counts of both with --counts A,B",
        ),
        multilabel=worded(python="multilabel(y_true, y_proba)", command="report --multilabel"),
        record="{...}",
    )


def message(key: str, **values: object) -> str:
    """The message of TEXTS with this key, its slots filled with `values` and with the options that
    a reader types.
    """
    return TEXTS[key].format(**_options(), **values)


def texts_with_options() -> dict[str, str]:
    """All messages with their options filled in; the other slots stay."""
    options = _options()
    return {key: template.format_map(options) for key, template in TEXTS.items()}
