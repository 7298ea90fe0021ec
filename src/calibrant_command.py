"""Where the command `calibrant` begins: beside the package, which takes a while to import."""

from __future__ import annotations

import os
import signal
from types import FrameType
from typing import NoReturn

INTERRUPTED = 130


def main() -> int:
    """Run the command line; Ctrl-C while it is still being imported ends it quietly too."""
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours:
        signal.signal(signal.SIGINT, _end)
    from calibrant._cli import main as run

    try:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        return run()
    except KeyboardInterrupt:
        _end()


def _end(number: int = signal.SIGINT, frame: FrameType | None = None) -> NoReturn:
    # Nothing is open yet, and an exception in the middle of an import may get lost on its way.
    os.write(2, b"calibrant: interrupted\n")
    os._exit(INTERRUPTED)
