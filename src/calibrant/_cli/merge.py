"""`calibrant merge`: saved states of many writers merged into one, and its evaluation."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from calibrant._cli.output import Outcome, check_writable, print_status
from calibrant._cli.parsing import Parser
from calibrant._cli.states import load_state, lock_state
from calibrant._core.errors import CalibrantError, InputError, StateError, counted

if TYPE_CHECKING:
    from calibrant._api.streaming.accumulator import Accumulator
    from calibrant._api.streaming.monitor import Monitor
    from calibrant.results._evaluation import Evaluation
    from calibrant.results._windows import Windows

DESCRIPTION = (
    "Merge states that Accumulator.save or Monitor.save wrote, and evaluate them. If one of them "
    "cannot be read or does not fit, nothing is written."
)


def add_options(parser: Parser) -> None:
    """Add the options of `calibrant merge` to its parser."""
    parser.add_argument("states", nargs="+", metavar="STATE", help="the file of a saved state")
    parser.option("-o --out STATE", "write the merged state to this file; an old one is replaced")
    parser.option("--again", "merge even if the same file was added to two states")


def run(options: argparse.Namespace) -> Outcome:
    """Merge the states, write the merged one if --out names a file, and evaluate it."""
    check_writable(options.out)
    into_file = options.out is not None
    merged = _merge_into_file(options) if into_file else _merge_states(options)
    summary = f"{len(options.states)} state{'s' if len(options.states) > 1 else ''} merged"
    print_status(f"{summary}{f' into {options.out}' if into_file else ''}")
    result = merged.evaluate() if merged.n_rows else None
    return Outcome(
        lambda: None if result is None else result.to_dict(), lambda: _show(result, merged.n_rows)
    )


def _merge_into_file(options: argparse.Namespace) -> Accumulator | Monitor:
    """Merge the states and write the result to the file of --out, under a lock.

    The file may be one of the states. It is an error if another process writes it in the meantime.
    """
    from calibrant._core.atomic_files import version_of

    with lock_state(options.out):
        version = version_of(options.out)
        merged = _merge_states(options)
        if version_of(options.out) != version:
            raise StateError(
                f"{options.out} was written by another process in the meantime: nothing was "
                "written. Merge once more"
            )
        try:
            merged.save(options.out)
        except OSError as error:
            raise StateError(f"{options.out} cannot be written: {error.strerror}") from error
    return merged


def _merge_states(options: argparse.Namespace) -> Accumulator | Monitor:
    """Load the states and merge all into the first; an error if recipes or kinds differ."""
    first, *others = options.states
    _check_unique(options.states)
    total: Any = load_state(first)
    merged: Accumulator | Monitor = total
    for path in others:
        state: Any = load_state(path)
        if type(state) is not type(total):
            raise StateError(
                f"{path} holds {_kind_with_article(state)} while {first} holds "
                f"{_kind_with_article(total)}: only states of one kind can be merged"
            )
        again = {"again": options.again} if type(state).__name__ == "Monitor" else {}
        try:
            total.merge(state, **again)
        except CalibrantError as error:
            raise StateError(f"{path} does not fit {first}: {error}") from error
    return merged


def _kind_with_article(state: Any) -> str:
    """Name the kind of a state: "an Accumulator" or "a Monitor"."""
    return "an Accumulator" if type(state).__name__ == "Accumulator" else "a Monitor"


def _check_unique(paths: list[str]) -> None:
    """Raise an error if two paths lead to the same file, whose rows would count twice."""
    seen: dict[str, str] = {}
    for path in paths:
        real = os.path.realpath(path)
        if real in seen:
            raise InputError(
                f"{path} and {seen[real]} are the same file, whose rows would count twice"
            )
        seen[real] = path


def _show(result: Evaluation | Windows | None, n_rows: int) -> None:
    """Print the evaluation of the merged state: an Accumulator's, or the windows of a Monitor.

    `result` is None for a state without rows.
    """
    from calibrant._cli.tables import print_evaluation, print_windows
    from calibrant.results._evaluation import Evaluation

    if result is None:
        print("no rows yet")
    elif isinstance(result, Evaluation):
        print_evaluation(result, f"A stream of {counted(n_rows, 'row', '')}")
    else:
        print_windows(result, counted(n_rows, "row"))
