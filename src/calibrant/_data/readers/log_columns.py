"""Which columns of logs are labels and predictions: the first pair that all files have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calibrant._core.errors import InputError
from calibrant._core.messages import setting, settings
from calibrant._data.readers.chunks import Reader
from calibrant._data.readers.find import LOGS
from calibrant._data.readers.records import Pair


def columns_of(
    readers: Sequence[Reader], y_true: Any, y_proba: Any
) -> tuple[Any, Any, tuple[str, ...]]:
    """The columns that are meant, and what was inferred; what the caller names stays."""
    logs = [reader for reader in readers if reader.file.format in LOGS and reader.names]
    if (y_true is not None and y_proba is not None) or len(logs) < len(readers):
        return y_true, y_proba, ()
    shared = [pair for pair in pairs_of(logs[0]) if all(pair in pairs_of(log) for log in logs)]
    chosen = [
        pair for pair in shared if y_proba in (None, pair.y_proba) and y_true in (None, pair.y_true)
    ]
    if not chosen and y_proba is not None:
        # A confidence by another name goes with the correctness beside it.
        y_true = _beside(logs[0], str(y_proba)) if y_true is None else y_true
        return y_true, y_proba, () if y_true is None else (_chosen(y_true, y_proba),)
    if not chosen:
        raise _none(logs[0], y_true)
    if len(chosen) > 1 and logs[0].file.format == "inspect":
        options = " or ".join(settings(y_true=p.y_true, y_proba=p.y_proba) for p in chosen)
        raise InputError(f"{logs[0].file} has several confidences: say which with {options}")
    pair = chosen[0]
    why = _why_top(logs) if pair.y_proba == "confidence" and y_proba is None else ()
    return pair.y_true, pair.y_proba, (_chosen(pair.y_true, pair.y_proba), *why)


def _beside(log: Reader, y_proba: str) -> str | None:
    """The correctness of the scorer whose confidence this is; its name may have dots in it."""
    parts = y_proba.split(".")
    names = (".".join([*parts[:n], "correct"]) for n in range(len(parts) - 1, 0, -1))
    return next((name for name in names if log.has(name)), None)


def check_one_run(readers: Sequence[Reader]) -> None:
    """An error if an evaluation is there twice: the same documents again are no more rows, and
    intervals would be those of more than there are.
    """
    seen: dict[tuple[Any, ...], tuple[Any, Any]] = {}
    for reader in readers:
        log = _inner(reader)
        if reader.file.format not in LOGS or log.ids is None:
            continue
        for record, place in zip(log.records, log.places, strict=True):
            key = record[log.ids], record.get("filter"), record.get("model")
            if key in seen:
                raise _again(record[log.ids], seen[key], (reader.file, place))
            seen[key] = reader.file, place


def _again(name: str, first: tuple[Any, Any], second: tuple[Any, Any]) -> InputError:
    both, where = f"{first[0]} and in {second[0]}", "choose the files of one run"
    if first[0] == second[0]:
        both, where = f"{first[0]} twice, at {_at(first[1])} and {_at(second[1])}", "keep one run"
    return InputError(
        f"{name!r} is in {both}: runs of one evaluation are the same rows again, not more of them, "
        f"so {where}. Runs of several models are for calibrant compare"
    )


def _at(place: Any) -> str:
    return place if isinstance(place, str) else f"line {place}"


def _chosen(y_true: str, y_proba: str) -> str:
    return f"y_true is {y_true!r}, y_proba is {y_proba!r}"


def _why_top(logs: Sequence[Reader]) -> tuple[str, ...]:
    """Why rows of multiple choice are judged by their likeliest choice alone."""
    widths: set[int] = set().union(*(getattr(_inner(log), "widths", ()) for log in logs))
    if len(widths) > 1:
        return (
            f"documents have {min(widths)} to {max(widths)} choices, so each is judged by its "
            "likeliest one: its probability, and whether it is right",
        )
    return (
        "targets do not name one choice each, so documents are judged by their likeliest one, and "
        "by acc whether it is right",
    )


def _inner(reader: Any) -> Any:
    return getattr(reader, "inner", reader)


def pairs_of(reader: Any) -> tuple[Pair, ...]:
    """The pairs of a log, beneath the columns that its folders may add."""
    pairs: tuple[Pair, ...] = getattr(_inner(reader), "pairs", ())
    return pairs


def _none(reader: Reader, y_true: Any) -> InputError:
    shown = [name for name in reader.names if name not in ("id", "sample", "epoch")][:30]
    what = "" if y_true is None else f" beside {y_true!r}"
    return InputError(
        f"{reader.file}: no score{what} has a confidence in its metadata under a usual name. Name "
        f"it, such as {setting('y_proba', 'SCORER.metadata.KEY')}. The columns are "
        f"{', '.join(map(repr, shown))}"
    )
