"""Run a command: parse its options, run its verb, print the result or the error.

Exit codes: 0 done, or the check passed; 1 the check failed; 2 the check is undecided; 3 it could
not be done (bad input, a wrong option, a file that cannot be read or written); 130 interrupted.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import TextIO

from calibrant._cli.exit_codes import INTERRUPTED, NOT_DONE
from calibrant._cli.options import OptionNames
from calibrant._cli.output import Outcome, print_json
from calibrant._cli.parsing import DEBUG_HELP, Parser, Verb
from calibrant._cli.terminal import print_wrapped, visible
from calibrant._core.errors import CalibrantError, CalibrantWarning
from calibrant._core.messages import named_by
from calibrant._core.version import __version__

# The verbs and their lines in the help. A verb is a module of its own.
VERBS = {
    "report": "evaluate predictions in files",
    "compare": "compare several models on the same rows",
    "check": "compare measures with limits: 0 pass, 1 fail, 2 undecided",
    "certify": "give a proved upper bound of a calibration error",
    "decide": "compute the net benefit of acting on predictions, by threshold",
    "judge": "estimate a true rate from the answers of a model as judge",
    "centres": "measure calibration at several centres, and predict it for a new one",
    "sql": "print measures as SQL, for DuckDB and Spark",
    "scale": "recalibrate: fit a map, and apply it to predictions",
    "conventions": "show what each well-known tool reports as ECE",
    "audit": "test on simulated data what is claimed of measures",
    "reproduce": "repeat the experiments of a paper",
    "monitor": "follow calibration over time, in a saved state",
    "merge": "merge saved states",
    "page": "write a page that measures the files dropped on it",
    "info": "show what this installation can do",
    "demo": "evaluate the example that comes with Calibrant",
    "completion": "print a script that completes commands in a shell",
}
_AFTER_HELP = (
    "exit codes: 0 done, or the check passed; 1 the check failed; 2 the check is undecided; "
    "3 it could not be done; 130 interrupted"
)


def run(
    arguments: Sequence[str] | None = None, on_loaded: Callable[[], object] = lambda: None
) -> int:
    """Run a command, and turn whatever happens into an exit code and at most one message.

    `arguments` are the words after `calibrant`; None takes the words typed in the shell.
    `on_loaded` is called after the imports that must not be interrupted.
    """
    _open_streams()
    given = list(sys.argv[1:] if arguments is None else arguments)
    code = 0
    try:
        options = build_parser().parse_args(given)
        if options.command is None:
            options.parser.print_help()
            return NOT_DONE
        import numpy  # noqa: F401 - an interrupt in its compiled start is lost, or breaks it

        on_loaded()
        with warnings.catch_warnings(), named_by(OptionNames()):
            _show_warnings(debug=options.debug)
            outcome: Outcome | None = options.run(options)
            if outcome is not None:
                code = outcome.code
                if options.json:
                    print_json(outcome.record())
                else:
                    outcome.show()
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # A reader such as `head` has seen enough; the exit code stays the same.
        _drop_output()
        return code
    except KeyboardInterrupt:
        # NumPy may be half imported and cannot be imported again, so nothing here imports it.
        return _print_end("interrupted", INTERRUPTED, debug="--debug" in given)
    except Exception as error:
        return _print_end(visible(_error_message(error)), NOT_DONE, debug="--debug" in given)


def _open_streams() -> None:
    """Replace closed standard streams, and print "?" for letters that a terminal lacks."""
    # The parent process may have closed stdout; go on so that the exit code is right.
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - open until the end
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        # A terminal shows a question mark for letters that it does not have.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


@cache
def build_parser() -> Parser:
    """Build the parser of all verbs, once: parsing does not change it."""
    parser = Parser(
        prog="calibrant",
        description="Can these predicted probabilities be believed?",
        epilog=_AFTER_HELP,
    )
    parser.add_argument("--version", action="version", version=f"calibrant {__version__}")
    parser.option("--debug", DEBUG_HELP)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Verb)
    for name, line in VERBS.items():
        commands.add_parser(name, help=line, module=name, summary=line)
    return parser


def _error_message(error: Exception) -> str:
    """Word an error as one message for users, who do not know the code."""
    if isinstance(error, CalibrantError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{f'{error.filename}: ' if error.filename else ''}{error.strerror}"
    if isinstance(error, MemoryError):
        return "there is not enough memory for so many rows and bins: give fewer"
    return (
        f"an error in calibrant itself: {type(error).__name__}: {error}. Please report it, with "
        "what --debug prints"
    )


def _print_end(message: str, code: int, *, debug: bool) -> int:
    """Print the message that ends a command to standard error, and return the exit code.

    With `debug` the stack trace of the current error is printed before it.
    """
    if debug:
        import traceback

        for part in traceback.format_exception(*sys.exc_info()):
            # Lines of the stack stay lines; line breaks in a message are made visible.
            for line in part.splitlines() if part.startswith("  ") else [part.rstrip("\n")]:
                print(visible(line), file=sys.stderr)
    try:
        sys.stdout.flush()
    except OSError:  # a full disk
        _drop_output()
    print_wrapped(f"calibrant: {message}", file=sys.stderr, hanging="  ")
    return code


def _drop_output() -> None:
    """Discard further output, so that Python does not try to print it again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show_warnings(*, debug: bool) -> None:
    """Print each warning of Calibrant once, as one line; hide those of other packages.

    With `debug`, Python prints all warnings in its own way.
    """
    if debug:
        return

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        """Print a warning as one line, unless the same text was printed before."""
        if str(message) not in shown:  # a verb may read the same rows several times
            shown.add(str(message))
            print_wrapped(f"calibrant: {message}", file=sys.stderr, hanging="  ")

    shown: set[str] = set()
    warnings.simplefilter("ignore")
    warnings.simplefilter("always", CalibrantWarning)
    warnings.showwarning = show
