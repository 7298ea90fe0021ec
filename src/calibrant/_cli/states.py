"""Saved states of streams: which of the given files is one, and how it is loaded."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from calibrant._cli.output import print_status
from calibrant._core.errors import InputError, StateError
from calibrant._core.messages import name_of
from calibrant._data.readers.find import is_state

if TYPE_CHECKING:
    from calibrant._api.streaming.accumulator import Accumulator
    from calibrant._api.streaming.monitor import Monitor


def find_state(files: list[str]) -> str | None:
    """Find the saved state among the files; None if all are files of rows.

    It is an error if there are other files beside it.
    """
    states = [path for path in files if is_state(Path(path))]
    if states and len(files) > 1:
        raise InputError(
            f"{states[0]} is a saved state, which holds sums and no rows: give it as the only "
            "file, or merge states with calibrant merge"
        )
    return states[0] if states else None


def load_state(path: str) -> Accumulator | Monitor:
    """Load the Accumulator or Monitor that the file at `path` holds."""
    from calibrant._api.streaming.accumulator import Accumulator
    from calibrant._api.streaming.monitor import Monitor
    from calibrant._core.state_file import content_errors, read

    try:
        state = read(path)
    except OSError as error:
        raise StateError(f"{path} cannot be read: {error.strerror}") from error
    with content_errors(path):
        if state.kind == "monitor":
            return Monitor.restored(state)
        return Accumulator.restored(state)


def lock_state(path: str) -> AbstractContextManager[None]:
    """Lock the file of a state; if another process holds the lock, print a line and wait."""
    from calibrant._core.file_locks import locked

    return locked(path, lambda: print_status(f"{path}: waiting for another process"))


def load_sums(path: str) -> tuple[Accumulator | Monitor, Accumulator]:
    """Load a state; return it, and the sums of all its rows, those of all windows together.

    It is an error if there are no rows yet.
    """
    from calibrant._api.streaming.accumulator import Accumulator

    state = load_state(path)
    total = state if isinstance(state, Accumulator) else state.total()
    if not total.n_rows:
        raise InputError(f"{path} holds no rows yet")
    return state, total


def check_no_rows_needed(**arguments: object) -> None:
    """Raise an error for an option that needs rows, because a state has only sums.

    The keywords are the names of arguments, for which the error names the options.
    """
    for argument, value in arguments.items():
        if value:
            raise InputError(
                f"{name_of(argument)} needs rows, and a state holds sums: give the files of rows, "
                "or leave it out"
            )
