"""A law for every measure of the catalogue: its interval holds the truth as often as it says.

Populations and truths are those of `benchmarks/coverage.py`; more samples of each are in
`tests/long/test_long_interval_coverage.py` and in the benchmark itself. Seeds are fixed.
"""

from __future__ import annotations

import pytest

from interval_law import POPULATIONS, expected_names, hold_to_coverage


@pytest.mark.parametrize(("shape", "kind", "name"), POPULATIONS)
def test_every_interval_holds_the_truth(shape: str, kind: str, name: str) -> None:
    hold_to_coverage(kind, name, expected_names(shape, kind))
