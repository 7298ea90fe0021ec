"""Arguments that many public functions have: their types and descriptions, once.

A measure takes the keywords that belong to labels and predictions as ``**rows: Unpack[Rows]``, and
its docstring describes what is its own; functions with fewer or more of these keywords unpack
another dictionary of `BUNDLES`. When the function is defined, `whole_signature` and
`whole_docstring` put in the rest, so that `help`, doctests and the reference have all of it:

- the keywords of the dictionary, each by its name;
- the arguments of the input (labels, predictions and what belongs to them) that the docstring
  leaves out;
- the type of an argument that it names alone, and the words where none follow: a line ``seed`` is
  enough. Where an argument has several meanings, a word in parentheses tells them apart:
  ``bins (quantile)``;
- what every function of labels and predictions raises, if there is no section Raises; and before
  the words of an entry InputError that begin with "Also".

Types come from here, defaults and order from the signature. Editors and type checkers, which do not
run the code, read all of it in the stub of the package (`.ci/stub.py`).
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, TypedDict

from numpy.typing import ArrayLike


class Weights(TypedDict, total=False):
    """Keyword `sample_weight`: the weight of each row."""

    sample_weight: ArrayLike | None


class Votes(TypedDict, total=False):
    """Keyword `votes`: the number of votes of each label."""

    votes: ArrayLike | int | None


class Reading(TypedDict, total=False):
    """Keywords that say how predictions and labels are read, and `data`, the frame that has them as
    columns.
    """

    from_logits: bool
    from_logprobs: bool
    classes: Sequence[Any] | None
    data: Any


class Gaps(TypedDict, total=False):
    """Keyword `missing`: what happens to rows in which a value is missing."""

    missing: str


class WeightedRows(Weights, Reading):
    """Keywords of weights and reading, for a function without `votes`, or one that lists them
    itself.
    """


class Rows(Weights, Votes, Reading):
    """Keywords of weights, votes and reading."""


class WeightedRowsWithGaps(WeightedRows, Gaps):
    """All keywords but `votes`, for a function that also takes rows in which values are missing."""


class RowsWithGaps(Rows, Gaps):
    """All keywords, for a function that also takes rows in which values are missing."""


BUNDLES = {
    f"Unpack[{bundle.__name__}]": bundle
    for bundle in (Reading, WeightedRows, Rows, WeightedRowsWithGaps, RowsWithGaps)
}
_DEFAULTS = {"from_logits": False, "from_logprobs": False, "missing": "error"}

# The arguments that are added to every docstring whose function has them.
INPUT = ("y_true", "y_proba", *Rows.__annotations__, "missing")
_ARGUMENTS = """\
y_true : array-like of shape (n,) or (n, k), str or list of str
    Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
y_proba : array-like of shape (n,) or (n, k), str or list of str
    Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
sample_weight : array-like of shape (n,) or str
    Weight of each row, at least 0; every row counts 1 by default.
votes : int, array-like of shape (n,) or str
    Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
    include it.
votes (of soft labels) : int, array-like of shape (n,) or str
    Number of votes of each soft label; vote counts in `y_true` include it.
votes (taken out) : int, array-like of shape (n,) or str
    Number of votes of each soft label; vote counts in `y_true` include it. Vote noise is removed
    from estimates and intervals, and losses and distances have a noise floor.
from_logits : bool
    Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
from_logprobs : bool
    Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
classes : sequence
    Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
data : data frame, mapping, str or path-like
    Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
    to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
    summed by their own engine.
data (in memory) : data frame or mapping
    Frame in memory whose columns the other arguments name: pandas, polars, PyArrow, or a
    mapping of names to arrays.
missing : {"error", "drop"}
    What to do with rows in which a value is missing: raise an error, or drop and count them.
groups : array-like of shape (n,) or str
    Cluster of each row (patient, document, game); rows of one cluster are resampled together.
groups (variances) : array-like of shape (n,) or str
    Cluster of each row (patient, document, game); variances are then those of clusters.
notion : {"binary", "confidence", "classwise"}
    What is judged: `"binary"` for (n,); for (n, k) the top label (`"confidence"`, the default)
    or the mean over classes (`"classwise"`).
notion (scalar) : {"binary", "confidence"}
    What is judged: P(y = 1) for (n,) (`"binary"`), the top label for (n, k) (`"confidence"`).
ties : {"first", "any", "share"}
    Which top label counts as right if m classes share the largest probability: only the first
    of them, any of them, or any of them with the share 1/m.
norm : {"l1", "l2", "max"}
    How gaps are combined: their mean, the root of their mean square, or the largest.
bins : int, str, sequence of float or bin rule
    A number is the number of equal-width bins for ordinary errors and of quantile bins for
    truthful ones; a rule (`EqualWidth`, `Quantile`, `Edges`, `LevelSets`, `Cells`) applies to
    both. `"cbrt"` and `"auto"` follow from the number of rows.
bins (equal-width) : int, str, sequence of float or bin rule
    Number of equal-width bins, edges, or a rule: `EqualWidth`, `Quantile`, `Edges`,
    `LevelSets`, `Cells`. `"cbrt"` and `"auto"` follow from the number of rows.
bins (quantile) : int, str, sequence of float or bin rule
    Number of quantile bins, edges, or a rule: `EqualWidth`, `Quantile`, `Edges`, `LevelSets`,
    `Cells`. `"cbrt"` and `"auto"` follow from the number of rows.
by : array-like of shape (n,), str or list of str
measures : iterable of str
tolerance : float in (0, 1)
measure : str
    Any name of `catalogue()` that applies to predictions of this shape.
level : float in (0, 1)
    Level of the intervals.
level (and verdicts) : float in (0, 1)
    Confidence level of intervals and verdicts.
resample : {"rows", "votes", "both"}
    What is resampled if labels are shares of votes: the rows, with labels of as many votes; the
    votes of these rows; or both, so that the interval covers the label distributions. By default
    both if vote counts are known.
n_resamples : int
    Number of resamples for each interval and noise floor.
seed : int
    Seed of all random draws; the same seed gives the same result.
"""
_UNREADABLE = (
    "If the input cannot be read as labels and probabilities; the message names the first bad row."
)
# An InputError without a description, or with one that begins with "Also".
_INPUT_ERROR = re.compile(r"^InputError\n((?: {4}Also .*\n(?: {4}.*\n)*)?)(?! {4})", re.MULTILINE)
_TITLE = re.compile(r"^[A-Z][A-Za-z ]+\n-{3,}$", re.MULTILINE)
_AFTER_RAISES = re.compile(r"^(?:Warns|See Also|Notes|References|Examples)\n-{3,}$", re.MULTILINE)


def whole_signature(function: Callable[..., Any]) -> inspect.Signature:
    """The signature of a function, in which the keywords of a bundle (a TypedDict such as `Rows`)
    replace ``**rows: Unpack[Rows]``. Any other function keeps its signature.
    """
    signature = inspect.signature(function)
    *own, last = signature.parameters.values() or [None]
    if last is None or last.annotation not in BUNDLES:
        return signature
    return signature.replace(parameters=[*own, *bundled_keywords(last.annotation)])


@cache
def bundled_keywords(annotation: str) -> list[inspect.Parameter]:
    """The keyword parameters, with defaults, that an annotation such as "Unpack[Rows]"
    stands for.
    """
    return [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=_DEFAULTS.get(name),
            annotation=hint.__forward_arg__,
        )
        for name, hint in BUNDLES[annotation].__annotations__.items()
    ]


def whole_docstring(text: str, parameters: Mapping[str, inspect.Parameter]) -> str:
    """A public docstring with its shared parts filled in: descriptions of shared arguments in the
    section Parameters, and the section Raises. `parameters` are those of the whole signature, by
    name.
    """
    doc = _with_parameters(inspect.cleandoc(text), parameters)
    if {"y_true", "y_proba"} <= parameters.keys():
        if "\nRaises\n------\n" not in doc:
            before, after = _split_before(doc, _AFTER_RAISES)
            doc = f"{before}\n\nRaises\n------\nInputError\n\n{after}"
        doc = _INPUT_ERROR.sub(_complete_error, f"{doc}\n")
    return doc.strip()


def _complete_error(found: re.Match[str]) -> str:
    """The entry InputError of a section Raises, with what every function of labels and predictions
    raises it for before the function's own reasons.
    """
    words = " ".join([_UNREADABLE, *found[1].split()])
    indented = textwrap.fill(
        words, 96, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False
    )
    return f"InputError\n{indented}\n"


def _with_parameters(doc: str, parameters: Mapping[str, inspect.Parameter]) -> str:
    """The docstring `doc` with a complete section Parameters: an entry for each shared argument
    (those in `INPUT`) that the function has, and for each argument that the section in `doc` names.
    If the function has neither kind, `doc` is returned unchanged.
    """
    before, title, rest = doc.partition("\n\nParameters\n----------\n")
    if title:
        section, after = _split_before(rest, _TITLE)
        own = _parameter_entries(section)
    else:
        before, after = _split_before(doc, _TITLE)
        own = {}
    if not own.keys() | (parameters.keys() & set(INPUT)):
        return doc
    found = [
        _complete_entry(parameter, own.get(name, name))
        for name, parameter in parameters.items()
        if name in own or name in INPUT
    ]
    section = "\n".join(dict.fromkeys(found))  # two arguments may have one entry
    return f"{before}\n\nParameters\n----------\n{section}\n\n{after}"


def _split_before(doc: str, title: re.Pattern[str]) -> tuple[str, str]:
    """Split `doc` before the first match of `title`: the text before it, and the text from it on.
    Without a match: all of the text, and an empty string.
    """
    found = title.search(doc)
    at = found.start() if found else len(doc)
    return doc[:at].rstrip(), doc[at:]


def _parameter_entries(section: str) -> dict[str, str]:
    """Cut a section Parameters into entries (name, type and description): a dict from argument to
    entry. Arguments that share an entry ("a, b : float") each get the whole entry.
    """
    blocks = re.split(r"\n(?=\S)", section.strip("\n"))
    return {
        name.strip(" *"): block
        for block in blocks
        for name in re.split(r" : | \(|\n", block, maxsplit=1)[0].split(",")
    }


def _complete_entry(parameter: inspect.Parameter, own: str) -> str:
    """The complete entry (name, type and description) of one argument. `own` is the entry that the
    function's docstring has, or only the argument's name; a type or description that is missing
    there comes from `_ARGUMENTS`.
    """
    head, _, words = own.partition("\n")
    if " : " in head:
        return own
    kind, shared_words = _shared_entries()[head]
    return f"{parameter.name} : {kind}{_default_text(parameter.default)}\n{words or shared_words}"


def _default_text(value: object) -> str:
    """The default value as the end of an entry's type: ", default 15"; ", optional" for None; "" if
    there is no default.
    """
    if value is inspect.Parameter.empty:
        return ""
    if value is None:
        return ", optional"
    return f', default "{value}"' if isinstance(value, str) else f", default {value!r}"


@cache
def _shared_entries() -> dict[str, tuple[str, str]]:
    """The (type, description) of every shared argument, parsed from the text `_ARGUMENTS`, by the
    name that the argument has there ("bins (quantile)").
    """
    found = {}
    for block in re.split(r"\n(?=\S)", _ARGUMENTS.strip()):
        head, _, words = block.partition("\n")
        name, _, kind = head.partition(" : ")
        found[name] = kind, words
    return found
