"""The folder that a reproduction goes to: checked before any work, replaced whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import calibrant as cal
from calibrant.results._rendering import json_value

MANIFEST = "reproduction.json"
_MADE_BY = "calibrant reproduce"


def check_folder(out: str | os.PathLike[str]) -> Path:
    """The folder, if it can be written: new, empty, or nothing in it but an earlier reproduction.

    Called before any work, so that a long run does not end in an error that was there from the
    start.
    """
    if not isinstance(out, str | os.PathLike) or not os.fspath(out):
        raise cal.InputError(f"out must name a folder; got {out!r}")
    folder = Path(out).expanduser().resolve()
    here = Path.cwd().resolve()
    if folder == here or folder in here.parents:
        raise cal.InputError(f"out={str(out)!r} holds the current folder: name a folder inside it")
    if folder.exists():
        _check_ours(folder, str(out))
    above = folder.parent
    while not above.exists():
        above = above.parent
    try:  # permission bits do not tell all: only writing proves that one can write
        os.rmdir(tempfile.mkdtemp(dir=above, prefix=".calibrant-"))
    except OSError as error:
        raise cal.InputError(
            f"out={str(out)!r} cannot be written: {error.strerror or error}. Choose another folder"
        ) from None
    return folder


def _check_ours(folder: Path, out: str) -> None:
    if not folder.is_dir():
        raise cal.InputError(f"out={out!r} is a file: name a folder")
    there = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if not p.is_dir()}
    others = sorted(there - _written_before(folder))
    if others:
        raise cal.InputError(
            f"out={out!r} holds {others[0]!r}, which no earlier reproduction wrote, and the folder "
            "would be replaced: choose a new or empty folder"
        )


def _written_before(folder: Path) -> set[str]:
    """The files of an earlier run, by its own list; nothing where there is none."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        if manifest["made_by"] == _MADE_BY:
            return {MANIFEST, *map(str, manifest["files"])}
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return set()


def replace_folder(
    out: str | os.PathLike[str], files: Mapping[str, bytes], about: Mapping[str, Any]
) -> Path:
    """Write the files to a folder beside, then let it take the place of `out`.

    An interruption leaves what was there before: a page is whole or absent.
    """
    folder = check_folder(out)
    folder.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}-"))
    fresh, former = beside / "new", beside / "old"
    try:
        for name, content in files.items():
            path = fresh / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        manifest = {"made_by": _MADE_BY, **json_value(about), "files": sorted(files)}
        (fresh / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
        if folder.exists():
            folder.rename(former)
        try:
            fresh.rename(folder)
        except BaseException:
            if former.exists():
                former.rename(folder)
            raise
    except OSError as error:
        raise cal.InputError(f"out={str(out)!r} could not be written: {error}") from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return folder
