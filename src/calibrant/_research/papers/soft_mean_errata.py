"""Where Leznik (2026) is not right, and which printed cells it touches."""

from __future__ import annotations

from collections.abc import Mapping

from calibrant._research.papers.folder import Erratum
from calibrant._research.papers.soft_mean_printed import Cell

ERRATA = (
    Erratum(
        "1", "all tables, model D under SMECE", "0.0977 in table 2 (k = 2, n = 5,000)",
        "Bins closed on the left leave a prediction of exactly 1 in no bin, and model D "
        "predictions 1 "
        "wherever it is capped: 1,743 of 5,000 rows in table 2 are lost. With the last bin closed "
        "the error is 0.1107, and its population value 0.1100, not 0.0966. It moves the ranking "
        "accuracy of SMECE at k = 1 in table 5 too. ECE does not change: where model D "
        "predictions 1 "
        "the thresholded label is 1.",
    ),
    Erratum(
        "2", "table 6, C vs E under ECE", "0.961",
        "0.468. The printed value contradicts the paper's own table 5: the mean of the ten pairs "
        "is 0.747 with 0.468, and would be 0.796 with 0.961.",
    ),
    Erratum(
        "3", "section 6.2", "ECE gives A a 29 times larger error than B",
        "2.9 times: 0.1159 / 0.0401, from table 2.",
    ),
    Erratum(
        "4", "table 4, caption", "ECE recovers the correct ranking only at k = 50",
        "It recovers it at no k of the table: at k = 50 it still puts B (0.0013) before A "
        "(0.0041).",
    ),
    Erratum(
        "5", "sections 1.4 and 3.3",
        "ECE prefers the overconfident model in expectation when outcomes are drawn from the "
        "posterior, and the gap does not shrink with the sample size",
        "With outcomes drawn from the posterior the ECE of A tends to 0 and A is ranked first: "
        "see the last section. The floor that does not shrink belongs to thresholded labels, "
        "which is what every table uses. A single row does not have an ECE of |0.51 - y|: the "
        "mean is taken over a bin before its absolute value.",
    ),
    Erratum(
        "6", "section 6.1", "sigmoid(2x) lies between 0.1 and 0.9 on about 60% of (-3, 3)",
        "On 36.6%: |x| < ln(9)/2 = 1.0986. (It lies between 0.03 and 0.97 on about 60%.)",
    ),
)  # fmt: skip

# Cells of the paper that an erratum speaks of, though they come out as printed but for table 6's.
PRINTED_MARKS: Mapping[str, Mapping[Cell, str]] = {
    "table_2": {("A", "ECE"): "3", ("B", "ECE"): "3"},
    "table_4": {("A", "k = 50"): "4", ("B", "k = 50"): "4"},
    "table_6": {("C vs E", "ECE"): "2"},
}
# The erratum behind every cell whose corrected value differs from the measured one.
LOST_REPORTS = "1"
