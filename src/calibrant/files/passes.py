"""Passes over the rows of files: pieces in threads, what comes of them in the order of the files.

Pieces and chunks are cut by the files alone: one thread and eight give the same bits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextvars import copy_context
from itertools import chain, islice
from threading import Event
from typing import TypeVar

from calibrant.engines.selection import n_threads
from calibrant.inputs.readers.batches import Batch
from calibrant.inputs.readers.source import FileRows, Piece
from calibrant.show.progress import RowProgress

T = TypeVar("T")


def over_pieces(
    rows: FileRows, work: Callable[[Iterator[Batch]], T], progress: RowProgress
) -> Iterator[T]:
    """What `work` makes of the rows of each piece, in order."""
    pieces = rows.pieces()
    head = list(islice(pieces, 2))
    stop = Event()

    def batches(piece: Piece) -> Iterator[Batch]:
        for batch in rows.batches(piece):
            if stop.is_set():  # another piece has failed: nobody waits for this one
                return
            yield batch
            progress.add(batch.chunk.n_rows, batch.chunk.n_bytes)

    def whole(piece: Piece) -> T:
        # A single piece has but one thread to sum it: another can read meanwhile.
        alone = len(head) == 1 and n_threads() > 1
        return work(_read_ahead(batches(piece)) if alone else batches(piece))

    try:
        yield from _in_order(whole, chain(head, pieces), n_threads())
    finally:
        stop.set()


def _in_order(work: Callable[[Piece], T], pieces: Iterable[Piece], threads: int) -> Iterator[T]:
    """In threads, a few pieces ahead and no more, so that results do not pile up."""
    if threads == 1:
        yield from map(work, pieces)
        return
    from concurrent.futures import Future, ThreadPoolExecutor  # slow to import

    waiting: deque[Future[T]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for piece in pieces:
                waiting.append(pool.submit(copy_context().run, work, piece))
                if len(waiting) > 2 * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for job in waiting:
                job.cancel()


def _read_ahead(batches: Iterator[Batch]) -> Iterator[Batch]:
    """The same batches, each read while the one before is looked at."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, batches, None)
        while (batch := coming.result()) is not None:
            coming = pool.submit(next, batches, None)
            yield batch
