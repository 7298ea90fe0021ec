"""Many cases in one test, where each takes less than a test of its own does."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any


def looped(name: str, values: Iterable[Any]) -> Callable[[Any], Any]:
    """As `pytest.mark.parametrize`, in one test, which ends at the first case that fails.

    Collecting, scheduling and reporting a test takes milliseconds in each process of a run. What
    fails has the case in a note.
    """
    given = list(values)

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def every(*fixed: Any, **rest: Any) -> None:
            for value in given:
                try:
                    test(*fixed, **{name: value}, **rest)
                except BaseException as error:
                    error.add_note(f"with {name} = {value!r}")
                    raise

        parameters = inspect.signature(test).parameters
        left = [parameter for parameter in parameters.values() if parameter.name != name]
        every.__signature__ = inspect.Signature(left)  # type: ignore[attr-defined]
        return every

    return decorate
