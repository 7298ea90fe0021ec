"""Limits of a clinical summary hold the truth in ten samples."""

from clinical_worlds import limits_that_hold


def test_limits_of_a_clinical_summary_hold_the_truth_in_ten_samples():
    inside = limits_that_hold(10)
    assert min(inside.values()) >= 8, inside
