"""States of streams where files of rows are expected: what they hold, and what they cannot say."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from calibrant._core.errors import InputError
from calibrant._data.readers.find import is_state

if TYPE_CHECKING:
    from calibrant._api.streaming.accumulator import Accumulator
    from calibrant._api.streaming.monitor import Monitor


def state_among(files: list[str]) -> str | None:
    """The state that a command was given in place of rows; an error beside other files."""
    found = [path for path in files if is_state(Path(path))]
    if found and len(files) > 1:
        raise InputError(
            f"{found[0]} is a state of a stream, sums and not rows: give it alone, or put states "
            "together with calibrant merge"
        )
    return found[0] if found else None


def sums_in(path: str) -> tuple[Accumulator | Monitor, Accumulator]:
    """What a state holds, and all of it together."""
    from calibrant._api.streaming.accumulator import Accumulator
    from calibrant._cli.merge import load_state

    state = load_state(path)
    total = state if isinstance(state, Accumulator) else state.total()
    if not total.n_rows:
        raise InputError(f"{path} holds no rows yet")
    return state, total


def check_no_rows_needed(options: dict[str, object]) -> None:
    """An error for options that need rows, which a state does not have."""
    for name, value in options.items():
        if value:
            raise InputError(
                f"{name} needs rows, and a state holds sums: give the files of rows, or leave it "
                "out"
            )
