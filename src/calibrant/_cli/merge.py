"""`calibrant merge`: saved states of many writers put together, and what they say."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from calibrant._cli.output import check_writable, print_line, print_status
from calibrant._cli.parsing import add_json
from calibrant._cli.states import load_state
from calibrant._core.errors import CalibrantError, InputError, StateError, counted

if TYPE_CHECKING:
    from calibrant._api.streaming.accumulator import Accumulator
    from calibrant._api.streaming.monitor import Monitor


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "merge",
        help="put saved states together",
        description="Merge states that Accumulator.save or Monitor.save wrote, and evaluate them. "
        "If one of them cannot be read or does not fit, nothing is written.",
    )
    parser.add_argument("states", nargs="+", metavar="STATE", help="a saved state")
    parser.add_argument(
        "-o", "--out", metavar="STATE", help="file for the merged state; an old one is replaced"
    )
    parser.add_argument(
        "--again", action="store_true", help="merge even if one file was added to two states"
    )
    add_json(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    check_writable(options.out)
    merged = (
        _merge_states(options.states, options.again)
        if options.out is None
        else _merge_into_file(options)
    )
    summary = f"{len(options.states)} state{'s' if len(options.states) > 1 else ''} merged"
    print_status(f"{summary}{f' into {options.out}' if options.out else ''}")
    _show(merged, as_json=options.json)


def _merge_into_file(options: argparse.Namespace) -> Accumulator | Monitor:
    """Merge into a file under a lock; the file may be one of the states."""
    from calibrant._core.atomic_files import version_of
    from calibrant._core.file_locks import locked

    with locked(options.out, lambda: print_status(f"{options.out}: waiting for another process")):
        version = version_of(options.out)
        merged = _merge_states(options.states, options.again)
        if version_of(options.out) != version:
            raise StateError(
                f"{options.out} was written by another process in the meantime: nothing was "
                "written. Merge once more"
            )
        _save(merged, options.out)
    return merged


def _merge_states(paths: list[str], again: bool) -> Accumulator | Monitor:
    _check_unique(paths)
    total: Any = load_state(paths[0])
    for path in paths[1:]:
        state: Any = load_state(path)
        if type(state) is not type(total):
            raise StateError(
                f"{path} holds {_kind_with_article(state)} while {paths[0]} holds "
                f"{_kind_with_article(total)}: only states of one kind can be merged"
            )
        try:
            if type(state).__name__ == "Monitor":
                total.merge(state, again=again)
            else:
                total.merge(state)
        except CalibrantError as error:
            raise StateError(f"{path} does not fit {paths[0]}: {error}") from error
    merged: Accumulator | Monitor = total
    return merged


def _kind_with_article(state: Any) -> str:
    return "an Accumulator" if type(state).__name__ == "Accumulator" else "a Monitor"


def _check_unique(paths: list[str]) -> None:
    seen: dict[str, str] = {}
    for path in paths:
        real = os.path.realpath(path)
        if real in seen:
            raise InputError(f"{path} and {seen[real]} are one file: its rows would count twice")
        seen[real] = path


def _save(state: Accumulator | Monitor, path: str) -> None:
    try:
        state.save(path)
    except OSError as error:
        raise StateError(f"{path} cannot be written: {error.strerror}") from error


def _show(state: Accumulator | Monitor, *, as_json: bool) -> None:
    from calibrant._api.streaming.accumulator import Accumulator
    from calibrant._cli.tables import print_evaluation, print_table

    if not state.n_rows:
        print_line("null" if as_json else "no rows yet")
        return
    if as_json:
        print(state.evaluate().to_json())
    elif isinstance(state, Accumulator):
        print_evaluation(state.evaluate(), f"A stream of {counted(state.n_rows, 'row', '')}")
    else:
        windows = state.evaluate()
        for line in (
            f"{counted(state.n_rows, 'row', '')}",
            *(f"  {note}" for note in windows.notes),
            "",
        ):
            print_line(line)
        print_table(windows.display_columns(), windows.title)
