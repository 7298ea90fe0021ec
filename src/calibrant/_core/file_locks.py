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

# The paths that this thread has locked: it does not wait for its own locks.
_OWN = threading.local()


@contextmanager
def locked(
    path: str | os.PathLike[str], waiting: Callable[[], None] | None = None
) -> Iterator[None]:
    """Lock the file at `path` during the block, against other threads and other processes.

    Others that lock the file wait. `waiting` is called once if someone else has the lock. The
    lock is a hidden file beside the file, which is removed at the end; the system frees it if the
    process is killed. A thread may lock a file again that it has locked. Where the disk has no
    locks, nothing is locked.
    """
    target = Path(os.path.realpath(path))
    own: set[Path] = _OWN.__dict__.setdefault("paths", set())
    if target in own:
        yield
        return
    lock = target.with_name(f".{target.name}.lock")
    with _hold_lock(lock, waiting):
        own.add(target)
        try:
            yield
        finally:
            own.discard(target)


@contextmanager
def _hold_lock(lock: Path, waiting: Callable[[], None] | None) -> Iterator[None]:
    """Inside the block, this process holds the lock file `lock`, which is removed afterwards.
    `waiting` is called once if someone else has the lock.
    """
    while True:
        with open(lock, "a+b") as file:
            has_locks = _lock(file, waiting)
            waiting = None
            # Its last holder has removed this lock file: a new one may be there by now.
            if has_locks and not _is_still_at(file, lock):
                continue
            try:
                yield
            finally:
                with suppress(OSError):  # Windows removes no open file
                    lock.unlink(missing_ok=True)
            return


def _is_still_at(file: BinaryIO, path: Path) -> bool:
    """Whether an open file is still the file at a path: False if it was removed or replaced."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except FileNotFoundError:
        return False


def _lock(file: BinaryIO, waiting: Callable[[], None] | None) -> bool:
    """Lock the open lock file, and wait as long as another process has the lock; closing the file
    frees it. Returns False if the disk has no locks. `waiting` is called before a wait.
    """
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
        """Lock the open file without waiting; False if someone else has the lock."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _wait_for_lock(file: BinaryIO) -> None:
        """Lock the open file, as soon as nobody else has the lock."""
        fcntl.flock(file, fcntl.LOCK_EX)

else:
    import msvcrt
    import time

    def _try_to_lock(file: BinaryIO) -> bool:
        """Lock the open file without waiting; False if someone else has the lock."""
        file.seek(0)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True

    def _wait_for_lock(file: BinaryIO) -> None:
        """Lock the open file, as soon as nobody else has the lock: try ten times a second."""
        while not _try_to_lock(file):
            time.sleep(0.1)
