"""Columns of a frame in its own engine: they exist and are numbers; no row is read yet."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence
from typing import Any

import narwhals as nw

from calibrant._core.errors import InputError, MissingExtra, nearest
from calibrant._core.messages import name_of, setting
from calibrant._data.answers import ANSWERS, are_answers
from calibrant._data.checks import TWO_COLUMNS, shape_note
from calibrant._data.columns import check_apart, check_column_order, check_columns_of_classes
from calibrant._data.frame_counts import Counted, check_votes_name, counted
from calibrant._data.frame_samples import FrameSamples, Labels, column_of
from calibrant._data.labels import (
    Lookup,
    Titles,
    are_indices,
    are_truths,
    named_once,
    number_of,
    taken,
)
from calibrant._data.links import HALF_ROW_SUM_TOLERANCE, ROW_SUM_TOLERANCE
from calibrant._data.logprobs import Given, read_given
from calibrant._data.missing import check_missing

# Texts that are brought here to be looked at: more are no spellings of classes.
_MOST_TEXTS = 10_000


def scanned(data: Any) -> Any:
    """A Parquet file's path as a lazy frame of an engine that is installed; else as it came."""
    if not isinstance(data, str | os.PathLike):
        return data
    path = os.fspath(data)
    if not path.endswith((".parquet", ".pq")):
        raise InputError(
            f"data={path!r} must be a frame, or the path of a Parquet file that ends in .parquet; "
            "open other files with calibrant.read_file or with your frame's own reader"
        )
    if not os.path.exists(path) and not any(sign in path for sign in "*?["):
        raise InputError(f"data={path!r}: there is no such file")
    for engine in ("polars", "duckdb"):
        if importlib.util.find_spec(engine) is not None:
            return nw.scan_parquet(path, backend=engine).to_native()
    raise MissingExtra("polars", None, "searching a Parquet file")


def frame_to_samples(
    y_true: Any,
    y_proba: Any,
    data: Any,
    *,
    sample_weight: Any = None,
    from_logits: Given = False,
    classes: Sequence[Any] | None = None,
    missing: str = "error",
    votes: Any = None,
    stream: bool = False,
) -> FrameSamples:
    """Samples that stay in the frame's own engine."""
    frame: Any = nw.from_native(data)
    schema = frame.collect_schema()
    multiclass = not isinstance(y_proba, str)
    check_apart(y_true, y_proba)
    predictions = named(y_proba, "y_proba", schema)
    targets = named(y_true, "y_true", schema)
    weights = () if sample_weight is None else named(sample_weight, "sample_weight", schema)
    _check_counts(predictions, targets, weights, multiclass)
    if classes is None and multiclass:
        check_column_order(predictions, targets)
    for name in predictions:
        _check_number(name, schema, "y_proba")
    for name in weights:
        _check_number(name, schema, "sample_weight")
    names = tuple(str(name) for name in predictions) if multiclass else None
    labels, label_note = None, "targets are class indices" if multiclass else None
    if classes is not None:
        known = named_once(classes, len(predictions) if multiclass else 2, multiclass)
        check_columns_of_classes(predictions, known)
        names = tuple(str(name) for name in known)
        if len(targets) == 1 and not isinstance(classes, Titles):
            labels = _labels(frame, targets[0], schema, known)
            label_note = taken(known, multiclass, labels is None)
    if labels is None:
        for name in targets:
            _check_number(name, schema, "y_true")
    if votes is not None:
        if isinstance(votes, str):
            votes = named(votes, "votes", schema)[0]
        check_votes_name(votes, schema)
    counts = Counted(frame, targets)
    if labels is None:
        counts = counted(frame, targets, votes, multiclass=multiclass, stream=stream)
    frame, targets = counts.frame, counts.targets
    soft_rows = len(targets) > 1
    logits, logprobs = read_given(from_logits)
    if logprobs:
        # The softmax of log-probabilities is that of logits; one alone is a column of exp.
        logits = multiclass
        if not multiclass:
            logs = column_of(frame, predictions[0]).cast(nw.Float64)
            frame = frame.with_columns(logs.exp().alias(predictions[0]))
            schema = frame.collect_schema()
    kind = "log-probabilities" if logprobs else "logits" if logits else "probabilities"
    kind_note = shape_note(kind, len(predictions))
    answers = not multiclass and are_answers(y_true, data)
    if answers and label_note is None:
        label_note = ANSWERS
    two_note = [TWO_COLUMNS] if len(predictions) == 2 else []
    if soft_rows:
        label_note = "targets are rows of class probabilities"
    label_note = counts.note or label_note
    return FrameSamples(
        frame,
        predictions,
        targets,
        weights[0] if weights else None,
        multiclass=multiclass,
        from_logits=logits,
        labels=labels,
        class_names=names,
        inferred=(
            kind_note,
            *([label_note] if label_note else []),
            *two_note,
            f"summed in {_engine(frame)}",
        ),
        rounded_to=_rounded_to([schema[name] for name in predictions]),
        hard=not soft_rows
        and not counts.votes
        and (multiclass or labels is not None or _is_whole(schema[targets[0]])),
        missing=check_missing(missing),
        row_sum_tolerance=_tolerance([schema[name] for name in predictions]),
        label_sum_tolerance=_tolerance([schema[name] for name in targets]),
        vote_columns=counts.votes,
        stated_votes=counts.stated,
        voted=bool(counts.votes) or votes is not None,
        answers=answers,
    )


def named(names: Any, argument: str, schema: Any) -> tuple[str, ...]:
    """The columns that an argument names, if the frame has them."""
    wanted = [names] if isinstance(names, str) else names
    if not isinstance(wanted, list | tuple) or not all(isinstance(name, str) for name in wanted):
        raise InputError(
            f"with data=, {argument} must be a column's name or a list of names; got {names!r}"
        )
    for name in wanted:
        if name not in schema:
            raise InputError(
                f"{name_of(argument)} names the column {name!r}, which data does not have: "
                f"{nearest(name, schema)}"
            )
        if name in ("", "*") or (name.startswith("^") and name.endswith("$")):
            raise InputError(
                f"{argument} names the column {name!r}, which engines take for a pattern or for no "
                "name: rename it first"
            )
    if len(set(wanted)) < len(wanted):
        twice = next(name for name in wanted if wanted.count(name) > 1)
        raise InputError(f"{argument} names the column {twice!r} twice: name each class once")
    return tuple(wanted)


def _check_counts(
    predictions: tuple[str, ...],
    targets: tuple[str, ...],
    weights: tuple[str, ...],
    multiclass: bool,
) -> None:
    if multiclass and len(predictions) < 2:
        raise InputError(
            f"y_proba names {len(predictions)} columns: one column is one class only, where two "
            f"are "
            "needed. For a binary problem give the name itself, not a list of it"
        )
    if len(targets) > 1 and not multiclass and len(targets) != 2:
        raise InputError(
            f"y_true names {len(targets)} columns while y_proba names one: binary predictions "
            "need one column of targets, or counts of votes for both classes in two. If there are "
            "several classes, name a column of y_proba for each; the order is (y_true, y_proba)"
        )
    if not targets or (multiclass and len(targets) > 1 and len(targets) != len(predictions)):
        raise InputError(
            f"y_true and y_proba must have the same classes; got {len(targets)} and "
            f"{len(predictions)} columns"
        )
    if len(weights) > 1:
        raise InputError(f"sample_weight must name one column; it names {len(weights)}")


def _check_number(name: str, schema: Any, argument: str) -> None:
    dtype = schema[name]
    if dtype.is_numeric() or dtype == nw.Boolean:
        return
    what = "text" if dtype == nw.String else f"the type {dtype}"
    hint = "convert it to numbers"
    if dtype in (nw.List, nw.Array):
        hint = "make a column of each entry, and name these"
    elif argument == "y_true":
        hint = f"say which label is which class with {setting('classes', [...])}"
    raise InputError(f"{argument} must be numbers; the column {name!r} holds {what}: {hint}")


def _rounded_to(dtypes: list[Any]) -> str:
    """The type that an array of these columns has."""
    if all(dtype == nw.Float16 for dtype in dtypes):
        return "float16"
    return "float32" if all(dtype in (nw.Float16, nw.Float32) for dtype in dtypes) else "float64"


def _tolerance(dtypes: list[Any]) -> float:
    """How far from 1 a row of these columns may sum: as far as its least precise one needs."""
    any_half = any(dtype == nw.Float16 for dtype in dtypes)
    return HALF_ROW_SUM_TOLERANCE["float16"] if any_half else ROW_SUM_TOLERANCE


def _is_whole(dtype: Any) -> bool:
    return bool(dtype.is_integer() or dtype == nw.Boolean)


def _labels(frame: Any, name: str, schema: Any, classes: list[Any]) -> Labels | None:
    """Values to look for in a column; None where they are indices of the classes."""
    dtype = schema[name]
    if dtype in (nw.String, nw.Categorical) or isinstance(dtype, nw.Enum):
        return _texts(frame, name, classes)
    if not (dtype.is_numeric() or dtype == nw.Boolean):
        raise InputError(
            f"y_true must be numbers or text; the column {name!r} holds the type {dtype}"
        )
    kind = "b" if dtype == nw.Boolean else "f"
    if are_indices(kind, classes):
        return None
    wanted = [number_of(label) for label in classes]
    if kind == "b" or are_truths(classes):
        truth = {"true": 1, "false": 0}
        wanted = [truth.get(str(label).lower(), number_of(label)) for label in classes]
    if any(number is None for number in wanted):
        raise InputError(
            f"classes={list(classes)!r} cannot be found in the column {name!r} of y_true, which "
            f"holds the type {dtype}: give its own values, in the order of the classes"
        )
    known = Lookup(classes)
    candidates = [as_held for number in wanted for as_held in _as_held(number, dtype)]
    found = {value: known.find(value) for value in candidates}
    return tuple((_compared(value), index) for value, index in found.items() if index is not None)


def _texts(frame: Any, name: str, classes: list[Any]) -> Labels:
    """Texts of a column that name a class. The engine is asked for those that only the number they
    write may tell, such as "1.0"; where no class is a number there are none.
    """
    texts = {str(label): index for index, label in enumerate(classes)}
    if are_truths(classes) or any(number_of(label) is not None for label in classes):
        known, column = Lookup(classes), column_of(frame, name).cast(nw.String)
        rest = frame.select(text=column).filter(~nw.col("text").is_in(list(texts)))
        for text in rest.unique().head(_MOST_TEXTS).collect()["text"].to_list():
            index = known.find(text)
            if index is not None:
                texts[text] = index
    return tuple(texts.items())


def _as_held(number: Any, dtype: Any) -> list[Any]:
    """A class's number as a column of this type holds it; nothing if it cannot."""
    if dtype == nw.Boolean:
        return [bool(number)] if number in (0, 1) else []
    if dtype.is_integer():
        low, high = (-(2**63), 2**63) if dtype.is_signed_integer() else (0, 2**64)
        return [number] if isinstance(number, int) and low <= number < high else []
    fits = abs(number) <= sys.float_info.max and float(number) == number
    return [float(number)] if fits else []


def _compared(value: Any) -> int | float:
    """A value as a query has it: a double, unless it is too large for doubles to tell it apart."""
    return value if isinstance(value, int) and abs(value) >= 2**53 else float(value)


def _engine(frame: Any) -> str:
    return str(frame.implementation.value)
