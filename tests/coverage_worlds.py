"""The worlds of `benchmarks/coverage.py`, whose truth is known, for tests of intervals."""

import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
if not (BENCHMARKS / "known_truth").is_dir():
    pytest.skip("the benchmarks are not at hand", allow_module_level=True)
# Not for longer than this: `benchmarks/coverage.py` has the name of a package.
sys.path.append(str(BENCHMARKS))
try:
    from known_truth import truths
    from known_truth.counts import Count, coverage, measured, truth_of
    from known_truth.estimates import differences, values
    from known_truth.lines import Line, line_of, run_line, run_lines, true_values
    from known_truth.pairs import WORLDS
    from known_truth.populations import Population, drawn, samples_of
    from known_truth.verdicts import Power, false_alarms, power_of, rows_for
    from known_truth.worlds import KINDS, sigmoid
finally:
    sys.path.remove(str(BENCHMARKS))

# Truths that are known to a hundredth of an interval's width.
truths.VERY_MANY = 40_000

__all__ = [
    "ERRORS",
    "KINDS",
    "POPULATIONS",
    "WORLDS",
    "Count",
    "Line",
    "Population",
    "Power",
    "coverage",
    "differences",
    "drawn",
    "false_alarms",
    "line_of",
    "measured",
    "power_of",
    "rows_for",
    "run_line",
    "run_lines",
    "samples_of",
    "sigmoid",
    "told",
    "true_values",
    "truth_of",
    "values",
]


ERRORS = ("ece", "rmsce", "ace", "lin_ce", "debiased_l2")
POPULATIONS = (
    ("ordinary", "overconfident"),
    ("ordinary", "imbalanced"),
    ("ordinary", "tenths"),
    ("crowds", "crowds at 0 and 1"),
    ("crowds", "wrong at the ends"),
    ("weights", "overconfident"),
    ("clusters", "oscillating"),
    ("soft", "overconfident"),
    ("scattered", "oscillating"),
)


def told(count, *about):
    return f"{about}: {count.share:.1%}, {count.below} below the truth, {count.above} above it"
