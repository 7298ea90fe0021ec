"""Passes over the rows of files: pieces in threads, what comes of them in the order of the files.

Pieces and chunks are cut by the files alone: one thread and eight give the same bits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from contextvars import copy_context
from itertools import chain, islice
from threading import Event
from typing import TypeVar

from calibrant._core.engine_choice import n_threads
from calibrant._core.progress import RowProgress
from calibrant._data.readers.batches import Batch
from calibrant._data.readers.source import FileRows, Piece
from calibrant._data.readers.written import PercentSeen

T = TypeVar("T")


def over_pieces(
    rows: FileRows, work: Callable[[Iterator[Batch]], T], progress: RowProgress
) -> Iterator[T]:
    """What `work` makes of the rows of each piece, in order."""
    pieces = rows.pieces()
    head = list(islice(pieces, 2))
    stop, percent = Event(), PercentSeen()

    def batches(piece: Piece) -> Generator[Batch, None, None]:
        with closing(rows.batches(piece)) as read:
            for batch in read:
                if stop.is_set():  # another piece has failed: nobody waits for this one
                    return
                if rows.written.percent:
                    percent.add(batch.y_proba)
                yield batch
                progress.add(batch.chunk.n_rows, batch.chunk.n_bytes)

    def whole(piece: Piece) -> T:
        with closing(batches(piece)) as read:
            # A single piece has but one thread to sum it: another can read meanwhile.
            if len(head) > 1 or n_threads() == 1:
                return work(read)
            with closing(_read_ahead(read)) as ahead:
                return work(ahead)

    try:
        yield from _results_in_order(whole, chain(head, pieces), n_threads())
        percent.check(rows.called)
    finally:
        stop.set()


def _results_in_order(
    work: Callable[[Piece], T], pieces: Iterable[Piece], threads: int
) -> Iterator[T]:
    """In threads, a few pieces ahead and no more, so that results do not pile up."""
    if threads == 1:
        yield from map(work, pieces)
        return
    from concurrent.futures import Future, ThreadPoolExecutor  # slow to import

    waiting: deque[Future[T]] = deque()
    pool = ThreadPoolExecutor(threads)
    try:
        for piece in pieces:
            waiting.append(pool.submit(copy_context().run, work, piece))
            if len(waiting) > 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        # Without waiting: what is left here may be cleared away in any thread, at any time.
        pool.shutdown(wait=False, cancel_futures=True)


def _read_ahead(batches: Iterator[Batch]) -> Generator[Batch, None, None]:
    """The same batches, each read while the one before is looked at."""
    from concurrent.futures import ThreadPoolExecutor

    context = copy_context()

    def read() -> Batch | None:
        return context.run(lambda: next(batches, None))

    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(read)
        while (batch := coming.result()) is not None:
            coming = pool.submit(read)
            yield batch
