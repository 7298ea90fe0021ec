"""Passes over the rows of files: pieces are worked on in threads, and their results come in the
order of the files.

How files are cut into pieces and chunks does not depend on threads: one thread and eight give the
same bits.
"""

from __future__ import annotations

from collections import Counter, deque
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
    """Call `work` with the batches of each piece (independently readable part of the files), in
    threads, and yield its results in the order of the pieces.
    """
    pieces = rows.pieces()
    head = list(islice(pieces, 2))
    stop, percent = Event(), PercentSeen()
    forms: list[Counter[str]] = []  # appending is safe in threads

    def batches(piece: Piece) -> Generator[Batch, None, None]:
        """Yield the batches of a piece, and count them for the progress; stop early if another
        piece has failed.
        """
        with closing(rows.batches(piece)) as read:
            for batch in read:
                if stop.is_set():  # another piece has failed: nobody waits for this one
                    return
                if rows.written.percent:
                    percent.add(batch.y_proba)
                forms.append(batch.forms)
                yield batch
                progress.add(batch.chunk.n_rows, batch.chunk.n_bytes)

    def work_on(piece: Piece) -> T:
        """The result of `work` for the batches of a piece."""
        with closing(batches(piece)) as read:
            # A single piece is summed by one thread: another one can read meanwhile.
            if len(head) > 1 or n_threads() == 1:
                return work(read)
            with closing(_read_ahead(read)) as ahead:
                return work(ahead)

    try:
        yield from _results_in_order(work_on, chain(head, pieces), n_threads())
        percent.check(rows.called)
        if not rows.forms:  # every pass over all rows counts the same
            rows.forms.update(sum(forms, Counter()))
    finally:
        stop.set()


def _results_in_order(
    work: Callable[[Piece], T], pieces: Iterable[Piece], threads: int
) -> Iterator[T]:
    """Call `work` for each piece in this number of threads, and yield the results in order. Threads
    are only a few pieces ahead of the caller, so that results do not pile up.
    """
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
        # It does not wait: this generator may be closed in any thread, at any time.
        pool.shutdown(wait=False, cancel_futures=True)


def _read_ahead(batches: Iterator[Batch]) -> Generator[Batch, None, None]:
    """Yield the same batches, each read by a thread while the caller works on the batch before."""
    from concurrent.futures import ThreadPoolExecutor

    context = copy_context()

    def read() -> Batch | None:
        """The next batch; None if there is none."""
        return context.run(lambda: next(batches, None))

    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(read)
        while (batch := coming.result()) is not None:
            coming = pool.submit(read)
            yield batch
