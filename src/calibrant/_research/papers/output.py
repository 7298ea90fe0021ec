"""The folder of a reproduction: checked before any work, and replaced completely or not at all."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from calibrant._core.atomic_files import atomic_folder
from calibrant._core.errors import InputError
from calibrant.results._rendering import json_value

MANIFEST = "reproduction.json"
_MADE_BY = "calibrant reproduce"


def check_folder(out: str | os.PathLike[str]) -> Path:
    """Check that a reproduction can be written to `out`, and give the folder.

    It must be new, empty, or hold nothing but an earlier reproduction. The check comes before any
    work, so that a long run does not fail at its end.
    """
    if not isinstance(out, str | os.PathLike) or not os.fspath(out):
        raise InputError(f"out must name a folder; got {out!r}")
    folder = Path(out).expanduser().resolve()
    here = Path.cwd().resolve()
    if folder == here or folder in here.parents:
        raise InputError(f"out={str(out)!r} holds the current folder: name a folder inside it")
    if folder.exists():
        _check_ours(folder, str(out))
    above = folder.parent
    while not above.exists():
        above = above.parent
    try:  # permission bits are not enough: only writing proves that one can write
        os.rmdir(tempfile.mkdtemp(dir=above, prefix=".calibrant-"))
    except OSError as error:
        raise InputError(
            f"out={str(out)!r} cannot be written: {error.strerror or error}. Choose another folder"
        ) from None
    return folder


def _check_ours(folder: Path, out: str) -> None:
    """Raise an InputError if the folder is a file, or holds files of another origin.

    Files that an earlier run wrote may be there.
    """
    if not folder.is_dir():
        raise InputError(f"out={out!r} is a file: name a folder")
    there = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if not p.is_dir()}
    others = sorted(there - _written_before(folder))
    if others:
        raise InputError(
            f"out={out!r} holds {others[0]!r}, which no reproduction wrote, and would be "
            "replaced: choose a new or empty folder"
        )


def _written_before(folder: Path) -> set[str]:
    """The names of the files of an earlier run, from its manifest; empty if there is none."""
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
    """Write files and a manifest to a new folder, which then replaces the folder `out`.

    `files` has contents by path within the folder, and `about` further entries of the manifest. An
    interruption leaves the folder `out` as it was.
    """
    folder = check_folder(out)
    manifest = {"made_by": _MADE_BY, **json_value(about), "files": sorted(files)}
    try:
        with atomic_folder(folder) as new:
            for name, content in files.items():
                path = new / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            (new / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"out={str(out)!r} could not be written: {error}") from None
    return folder
