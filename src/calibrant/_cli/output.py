"""Output of verbs: files that are written whole or not at all, lines and JSON."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from calibrant._cli.terminal import print_wrapped, visible
from calibrant._core import atomic_files as whole_files
from calibrant._core.errors import InputError

if TYPE_CHECKING:
    from calibrant._core.atomic_files import Version

PAGE_ENDINGS = (".html", ".htm")
PICTURE_ENDINGS = (".png", ".svg", ".pdf")


@dataclass(frozen=True)
class Outcome:
    """The result of a verb: functions that give it as JSON or print it, and the exit code.

    Either `record` or `show` is called. The code is known before anything is printed: a reader who
    stops early does not change it.
    """

    record: Callable[[], Any]
    show: Callable[[], object]
    code: int = 0


def check_writable(
    path: str | None, inputs: Iterable[str | None] = (), format: str | None = None
) -> None:
    """Raise an error, before the work, if a file cannot be written at `path`.

    It is an error as well if the file is one of the `inputs`, of this `format`, and would be lost.
    None, no output file, is fine.
    """
    if path is None:
        return
    target = Path(path)
    if target.is_dir():
        raise InputError(f"{path} is a folder: name a file in it")
    _check_input(target, inputs, format)
    try:
        whole_files.check_no_device(target)
        # Creating a file is a surer test than the folder's permissions.
        temp = whole_files.temp_path(target)
        temp.touch(exist_ok=False)
        temp.unlink()
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None


def check_page_options(path: str | None, title: str | None) -> None:
    """Raise an error if a page's name does not end in .html, or if a title has no page."""
    if title is not None and path is None:
        raise InputError("--title needs a page: name its file with -o PAGE")
    if path is not None and not path.lower().endswith(PAGE_ENDINGS) and not Path(path).is_dir():
        raise InputError(f"{path}: a page is HTML; give it a name that ends in .html")


def _check_input(target: Path, inputs: Iterable[str | None], format: str | None) -> None:
    """Raise an error if the file to write, `target`, is among the input files.

    `inputs` are files, folders or patterns.
    """
    from calibrant._data.readers.recognise import find_files

    if not target.exists():
        return
    for given in inputs:
        if given is None:
            continue
        try:
            found = [file.path for file in find_files(given, format)]
        except InputError:  # the reader explains it later, unless it is this very file
            found = [Path(given)]
        if any(each.exists() and os.path.samefile(each, target) for each in found):
            raise InputError(f"{target} is read by this command: give the output another name")


def check_folder(path: str | None) -> None:
    """Raise an error, before the work, if a folder cannot be made or written to; None is fine."""
    if path is None:
        return
    target = Path(path)
    if target.exists() and not target.is_dir():
        raise InputError(f"{path} is a file: name a folder")
    while not target.exists():
        target = target.parent
    try:
        temp = whole_files.temp_path(target / "folder")
        temp.mkdir()
        temp.rmdir()
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None


@contextmanager
def atomic_write(path: str, *, since: Version | None = None) -> Iterator[Path]:
    """Yield a temporary path to write to, which replaces the file at `path` at the end.

    After an error the temporary file is removed, and the old file stays. It is an error if another
    process has written the file since its version `since`.
    """
    try:
        with whole_files.atomic_write(path, since=since) as temp:
            yield temp
    except whole_files.FileChanged as error:
        raise InputError(
            f"{error}. Give the output another name, or run the command again"
        ) from None
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from error


def print_json(content: Any) -> None:
    """Print one line of JSON; NaN and infinity become null."""
    from calibrant.results._rendering import json_value

    print(json.dumps(json_value(content), allow_nan=False))


def print_status(text: str) -> None:
    """Print a line on what was done, to standard error; names of files in it stay whole."""
    print_line(text, file=sys.stderr)


def print_line(text: str = "", *, file: TextIO | None = None) -> None:
    """Print a line as it is, to standard output by default, with control signs escaped.

    Names come from users and files, and may have signs that move the cursor, change colours or
    start a line.
    """
    print(visible(text), file=sys.stdout if file is None else file)


def print_lines(title: str, lines: Iterable[str]) -> None:
    """Print a title, its sentences (indented), and an empty line, in lines that fit."""
    print_wrapped(title, hanging="  ")
    for line in lines:
        print_wrapped(f"  {line}", hanging="  ")
    print()


def check_own_files(
    folder: str, names: Iterable[str], is_ours: Callable[[str, bytes], bool]
) -> None:
    """Raise an error if a file to be replaced was not written by this command.

    `names` are the files to write in the folder; `is_ours` decides by the name and the content of
    an existing file.
    """
    for name in names:
        target = Path(folder) / name
        try:
            foreign = target.exists() and not (
                target.is_file() and is_ours(name, target.read_bytes())
            )
        except OSError:
            foreign = True
        if foreign:
            raise InputError(
                f"{target} is there already, and it is not what this command writes: name another "
                "folder with -o, or move the file away"
            )


def check_table(path: str | None) -> None:
    """Raise an error if the name of the table's file does not end in .tex or .md."""
    if path is not None and not path.lower().endswith((".tex", ".md")):
        raise InputError(f"{path}: a table is LaTeX or Markdown; name it .tex or .md")


def check_picture(out: str | None) -> None:
    """Raise an error, before the work, if the picture cannot be drawn to the file `out`.

    Its name must end in .png, .svg or .pdf, and matplotlib must be installed. None, no picture, is
    fine.
    """
    if out is None:
        return
    from calibrant._core.optional import need

    if not out.lower().endswith(PICTURE_ENDINGS):
        raise InputError(f"-o {out}: a picture ends in .png, .svg or .pdf")
    need("matplotlib", "drawing a diagram")


def write_table(path: str | None, result: Any, **layout: Any) -> None:
    """Write a result's table for a paper, as LaTeX or Markdown; do nothing if the path is None."""
    if path is None:
        return
    tex = path.lower().endswith(".tex")
    text = result.to_latex(**layout) if tex else result.to_markdown(**layout) + "\n"
    with atomic_write(path) as temp:
        temp.write_text(text, encoding="utf-8")
    print_status(f"written: {path}")
