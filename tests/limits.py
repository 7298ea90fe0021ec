"""Numbers at which Calibrant takes another way, set so that small inputs take it too.

A test says which limit it means (``set_limits(chunk_rows=500)``); only this table knows where the
library keeps it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import pytest

# A limit has several places where the same number is kept by every module that compares with it.
LIMITS = {
    # Rows, bytes and pieces in which files are read.
    "chunk_rows": ["_data.readers.source.CHUNK"],
    "csv_blocks": ["_data.readers.csv.BLOCKS"],
    "jsonl_block": ["_data.readers.jsonl.BLOCK"],
    "longest_line": ["_data.readers.jsonl.LONGEST"],
    "parquet_piece_rows": ["_data.readers.parquet.PIECE"],
    "npz_piece_rows": ["_data.readers.npz.PIECE"],
    "largest_log_sample": ["_data.readers.inspect_log.LARGEST"],
    "slices_of_a_file": ["_api.files.sums.MOST_SLICES"],
    "codes_of_slices": ["_api.files.sums.MOST_CODES"],
    "refined_groups": ["_api.files.refinement.GROUPS"],
    "sorted_rows": ["_engines.refine.FEW_ROWS"],
    "remembered_files": ["_api.streaming.added_files.MOST"],
    # Predictions that a command reads into memory, shows on a page, compares with limits.
    "checked_in_memory": ["_cli.check.MOST_IN_MEMORY"],
    "checked_by_sums": ["_cli.check.SUMMED_FROM"],
    "fitted_by_sums": ["_cli.recalibration.SUMMED_FROM"],
    "reported_in_memory": ["_cli.report.MOST_IN_MEMORY"],
    "on_a_page": ["_cli.report.MOST_FOR_PAGE"],
    "drawn_for_a_page": ["_api.report.summed.DRAWN"],
    "compared_predictions": ["_cli.recalibration.COMPARED_PREDICTIONS"],
    # Rows that are summed in lanes, by threads, or in blocks.
    "rows_for_lanes": [
        "_engines.arrays.passes.LANES_FROM",
        "_engines.arrays.ordering.LANES_FROM",
    ],
    "rows_for_threads": ["_engines.arrays.passes.THREADS_FROM"],
    "rows_for_a_search": ["_engines.arrays.quantiles.SORT_BELOW"],
    "device_block_rows": ["scaling._temperature.BLOCK"],
    # Rows that recalibration maps are tried on, and when a map is given up after a fold.
    "tried_rows": ["_api.recommend.n_tried_rows"],
    "raced_rows": ["_api.recommend.RACED"],
    "far_behind": ["_api.recommend.FAR_BEHIND"],
    # What is counted, drawn or kept at most.
    "bin_count_cells": ["_summaries.bin_counts.MOST_CELLS"],
    "drawn_bins": ["_inference.cells.MOST_BINS"],
    "vote_profiles": ["_api.vote_profile.MOST_PROFILES"],
    "kept_curve_rows": ["_api.curve_of_rows.MOST_KEPT"],
    "segment_additions": ["_inference.segments.SEGMENT_ADDITIONS"],
    "segment_values": ["_engines.frames.segments.MOST_DISTINCT"],
    "segment_cells": ["_engines.frames.segments.MOST_CELLS"],
    "segment_codes": ["_engines.frames.segments.MOST_PACKED"],
    # Seconds between two lines that say how far a command has come.
    "progress_starts": ["_core.progress.FIRST"],
    "progress_every": ["_core.progress.EVERY"],
    "progress_in_log": ["_core.progress.IN_LOG"],
}


class SetLimits(Protocol):
    def __call__(self, **limits: Any) -> None: ...


@contextmanager
def other_limits() -> Iterator[SetLimits]:
    """Set limits by name, to the end of the block."""
    with pytest.MonkeyPatch.context() as patch:

        def set_each(**limits: Any) -> None:
            for name, value in limits.items():
                for place in LIMITS[name]:
                    patch.setattr(f"calibrant.{place}", value)

        yield set_each


@pytest.fixture
def set_limits() -> Iterator[SetLimits]:
    """Set limits by name, to the end of the test."""
    with other_limits() as set_each:
        yield set_each
