"""`calibrant completion`: a script that teaches a shell the verbs and their options."""

from __future__ import annotations

import argparse

from calibrant._cli.parsing import Parser
from calibrant._core.errors import MissingExtra

SHELLS = ("bash", "zsh", "fish")
# The metavar of an option, and what a shell completes it with.
FILES = {
    "FILE": "FILE",
    "[NAME=]FILE": "FILE",
    "PAGE": "FILE",
    "STATE": "FILE",
    "FOLDER": "DIRECTORY",
}


DESCRIPTION = (
    'Print a script that completes verbs, options and files. bash: eval "$(calibrant completion '
    'bash)" in ~/.bashrc; zsh: write it to a file _calibrant in a folder of $fpath; fish: write it '
    "to ~/.config/fish/completions/calibrant.fish."
)


def add_options(parser: Parser) -> None:
    """Add the options of `calibrant completion` to its parser."""
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help="bash, zsh or fish")


def run(options: argparse.Namespace) -> None:
    """Print the script that completes verbs, options and files in a shell."""
    try:
        import shtab
    except ImportError:
        raise MissingExtra("shtab", "cli", "shell completion") from None
    parser: Parser = options.parser
    for verb in parser.verbs():
        verb.description = verb.summary  # menus have room for one line
        for action in verb._actions:
            kind = FILES.get(str(action.metavar))
            if kind is not None:
                action.complete = getattr(shtab, kind)  # type: ignore[attr-defined]
    print(shtab.complete(parser, shell=options.shell))
