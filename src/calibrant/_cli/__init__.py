"""The command line: a file here is a verb (`calibrant check` is check.py), or what verbs share.

This file starts it. Nothing that takes long is imported before Ctrl-C is taken care of.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
import threading
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn

from calibrant._cli.exit_codes import INTERRUPTED

_AGAIN_AFTER = 1.0  # seconds: longer than it takes to remove a file that is half written


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    Ctrl-C ends it with one line, also while modules are still imported. `arguments` come from a
    program that calls this function; None takes the words typed in the shell.
    """
    # A program that passes arguments keeps its own signal handlers.
    ours = arguments is None and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours:
        signal.signal(signal.SIGINT, _end)
    from calibrant._cli.command import run

    def raise_from_now_on() -> None:
        """Make Ctrl-C raise KeyboardInterrupt, once the modules are imported."""
        if ours:
            signal.signal(signal.SIGINT, _interrupt)

    try:
        code = run(arguments, raise_from_now_on)
        if ours and code == INTERRUPTED:
            # An ordinary exit would wait for threads that are still at work.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        return code
    except KeyboardInterrupt:
        if not ours:
            raise
        _end()


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    """Handle Ctrl-C: raise KeyboardInterrupt, and send the signal again until the command ends."""
    # Python drops an exception that is raised in a callback or a finalizer, and a library may
    # catch it. So the signal is sent again until it has ended the command.
    again = threading.Timer(_AGAIN_AFTER, _signal_again)
    again.daemon = True
    again.start()
    raise KeyboardInterrupt


def _signal_again() -> None:
    """Send this process the signal of Ctrl-C (SIGINT)."""
    if sys.platform == "win32":
        _thread.interrupt_main()
    else:  # a real signal also ends a system call that waits
        os.kill(os.getpid(), signal.SIGINT)


def _end(number: int = signal.SIGINT, frame: FrameType | None = None) -> NoReturn:
    """End the process at once with one line and the exit code of Ctrl-C."""
    # No file is open yet, and an import may swallow an exception.
    os.write(2, b"calibrant: interrupted\n")
    os._exit(INTERRUPTED)
