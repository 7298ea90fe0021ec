"""What the law of intervals asks of a measure, in as many samples as one has time for."""

from __future__ import annotations

import calibrant as cal
import coverage_worlds as populations

N_ROWS = 100
# Samples of measures that cost little and of others, and how many of them must hold the truth: at
# 95 % fewer do in two of a thousand runs, and in one of a hundred.
SAMPLES = {True: (6, 4), False: (3, 2)}
# Two populations of hard labels for each shape, and one of soft labels for measures of those alone.
POPULATIONS = (
    ("binary", "ordinary", "overconfident"),
    ("binary", "calibrated", "calibrated"),
    ("binary", "exact", "overconfident"),
    ("multiclass", "classes", "3 classes, too sure"),
    ("multiclass", "classes", "3 classes, calibrated"),
    ("multiclass", "exact", "3 classes"),
)


def expected_names(shape: str, kind: str) -> set[str]:
    """The measures of the catalogue that a population must tell about."""
    soft = kind == "exact"
    # What 100 rows show at any number of rows holds their noise, and no population's value does.
    return {m.name for m in cal.catalogue(shape) if m.soft_only == soft and m.name != "hle_rms"}


def hold_to_coverage(
    kind: str, name: str, measures: set[str], samples: dict[bool, tuple[int, int]] = SAMPLES
) -> None:
    """Fail unless the intervals of these measures hold the truth as often as they say."""
    chosen = populations.measured(kind, name, tuple(measures))
    assert {measure.name for measure in chosen} == measures
    for cheap, (n_samples, least) in samples.items():
        names = [m.name for m in chosen if (m.resampling_cost() != "medium") == cheap]
        counts = populations.coverage(kind, name, N_ROWS, n_samples, names, n_resamples=100)
        for measure, count in counts.items():
            assert count.holds >= least, f"{measure}, {kind}, {name}: {count}"
