"""The command line: parse, call the front door, show. A file here is a verb."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from calibrant import __version__
from calibrant.cli import audit, demo, info, merge, report, reproduce
from calibrant.errors import CalibrantError

VERBS = (report, demo, merge, reproduce, audit, info)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; 0 if it went well, 3 for bad input."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help()
        return 0
    try:
        options.run(options)
        sys.stdout.flush()
    except CalibrantError as error:
        print(f"calibrant: {error}", file=sys.stderr)
        return 3
    except BrokenPipeError:  # a reader such as `head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="calibrant", description="Can these predicted probabilities be believed?"
    )
    parser.add_argument("--version", action="version", version=f"calibrant {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for verb in VERBS:
        verb.add(commands)
    return parser
