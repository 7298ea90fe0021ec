"""A lock for a file that is read, changed and written: one process at a time."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

# Locks of this thread, which it need not wait for.
_OWN = threading.local()


@contextmanager
def locked(
    path: str | os.PathLike[str], waiting: Callable[[], None] | None = None
) -> Iterator[None]:
    """Keep others who lock the same file waiting, in this process and in others.

    `waiting` is called once if someone else has the lock. The lock is a hidden file beside the
    file, which is removed at the end; the system frees it if the process is killed. Where the disk
    has no locks, nothing is locked.
    """
    target = Path(os.path.realpath(path))
    own: set[Path] = _OWN.__dict__.setdefault("paths", set())
    if target in own:
        yield
        return
    lock = target.with_name(f".{target.name}.lock")
    with _acquired(lock, waiting):
        own.add(target)
        try:
            yield
        finally:
            own.discard(target)


@contextmanager
def _acquired(lock: Path, waiting: Callable[[], None] | None) -> Iterator[None]:
    while True:
        with open(lock, "a+b") as file:
            has_locks = _lock(file, waiting)
            waiting = None
            # Who had it before has removed it: another one may be there by now.
            if has_locks and not _is_at(file, lock):
                continue
            try:
                yield
            finally:
                with suppress(OSError):  # Windows removes no open file
                    lock.unlink(missing_ok=True)
            return


def _is_at(file: BinaryIO, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except FileNotFoundError:
        return False


def _lock(file: BinaryIO, waiting: Callable[[], None] | None) -> bool:
    """Wait for the lock, which closing the file gives back; False where there are no locks."""
    try:
        if not _try_to_lock(file):
            if waiting is not None:
                waiting()
            _wait_for_lock(file)
    except OSError:
        return False
    return True


if fcntl is not None:

    def _try_to_lock(file: BinaryIO) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _wait_for_lock(file: BinaryIO) -> None:
        fcntl.flock(file, fcntl.LOCK_EX)

else:
    import msvcrt
    import time

    def _try_to_lock(file: BinaryIO) -> bool:
        file.seek(0)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True

    def _wait_for_lock(file: BinaryIO) -> None:
        while not _try_to_lock(file):
            time.sleep(0.1)
