"""Processes that have imported Calibrant already, for programs whose point is the process.

They are copies of one that has imported it and done nothing else: to start an interpreter and to
import again takes longer than what most of them do.
"""

from __future__ import annotations

import multiprocessing
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

_KIND = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
CONTEXT = multiprocessing.get_context(_KIND)
if _KIND == "forkserver":
    CONTEXT.set_forkserver_preload(
        [f"calibrant._api.{name}" for name in ("files.evaluate_file", "streaming.monitor")]
    )


def start(program: str, *arguments: Any) -> tuple[BaseProcess, Connection]:
    """A process that runs a program, which finds its `arguments`, and what it says with `say`."""
    mine, its = CONTEXT.Pipe()
    process = CONTEXT.Process(target=_run, args=(program, arguments, its), daemon=True)
    process.start()
    its.close()
    return process, mine


def answer(program: str, *arguments: Any) -> Any:
    """What a program says; an error of its own is that there is nothing to receive."""
    process, heard = start(program, *arguments)
    with heard:
        said = heard.recv()
    process.join()
    assert process.exitcode == 0
    return said


def _run(program: str, arguments: tuple[Any, ...], its: Connection) -> None:
    exec(program, {"arguments": arguments, "say": its.send})
