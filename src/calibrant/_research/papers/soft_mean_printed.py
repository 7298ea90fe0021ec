"""What Leznik (2026) prints in tables 2 to 8, cell by cell, and where it is not right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from calibrant._research.papers.folder import Erratum

Cell = tuple[str, str]  # row, column

MODELS = ("A", "B", "C", "D", "E")
NAMES = {
    "A": "A – Posterior-matching",
    "B": "B – Overconfident",
    "C": "C – Underconfident",
    "D": "D – Biased high",
    "E": "E – Random",
}
STEEPNESSES = (0.5, 1.0, 2.0, 5.0, 10.0, 50.0)
SIZES = (500, 1000, 2000, 5000, 10000)
PAIRS = tuple((i, j) for n, i in enumerate(MODELS) for j in MODELS[n + 1 :])


def k_column(k: float) -> str:
    """The name of the column for the posterior sigmoid(k x), such as "k = 2"."""
    return f"k = {k:g}"


def n_column(n: int) -> str:
    """The name of the column for samples of n rows, such as "n = 500"."""
    return f"n = {n}"


def pair_row(i: str, j: str) -> str:
    """The name of the row for two models, such as "A vs B"."""
    return f"{i} vs {j}"


@dataclass(frozen=True)
class PrintedTable:
    """One table of the paper: its number, what it shows, and every cell by (row, column).

    `row_name` says what its rows are. Cells are texts as the paper prints them.
    """

    number: int
    caption: str
    row_name: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: Mapping[Cell, str]

    @property
    def name(self) -> str:
        """The name by which its results are stored, such as "table_2"."""
        return f"table_{self.number}"


def _read_printed(
    number: int,
    caption: str,
    row_name: str,
    rows: tuple[str, ...],
    columns: tuple[str, ...],
    text: str,
) -> PrintedTable:
    """Read a printed table from its text: a line for each row, cells separated by spaces."""
    lines = [line.split() for line in text.strip().splitlines()]
    if [len(line) for line in lines] != [len(columns)] * len(rows):
        raise AssertionError(f"table {number} has cells missing")
    cells = {
        (row, column): value.replace("±", " ± ")
        for row, line in zip(rows, lines, strict=True)
        for column, value in zip(columns, line, strict=True)
    }
    return PrintedTable(number, caption, row_name, rows, columns, cells)


_BY_K = tuple(k_column(k) for k in STEEPNESSES)
_BY_N = tuple(n_column(n) for n in SIZES)

TABLES = (
    _read_printed(
        2, "Experiment 1: k = 2, n = 5,000, 10 bins.", "model", MODELS,
        ("SMECE", "ECE", "SMECE rank", "ECE rank"),
        """
        0.0000 0.1159 1 2
        0.0759 0.0401 2 1
        0.1369 0.2529 4 5
        0.0977 0.1461 3 3
        0.2409 0.2398 5 4
        """,
    ),
    _read_printed(
        3, "Experiment 2: SMECE across the signal-to-noise ratio k, n = 5,000.", "model", MODELS,
        _BY_K,
        """
        0.0000 0.0000 0.0000 0.0000 0.0000 0.0000
        0.1770 0.1367 0.0764 0.0301 0.0153 0.0028
        0.0979 0.1435 0.1368 0.0687 0.0345 0.0070
        0.1500 0.1180 0.0978 0.0831 0.0804 0.0751
        0.2518 0.2585 0.2498 0.2452 0.2427 0.2519
        """,
    ),
    _read_printed(
        4, "Experiment 2: ECE, against thresholded labels, across k, n = 5,000.", "model", MODELS,
        _BY_K,
        """
        0.3287 0.2143 0.1169 0.0455 0.0241 0.0041
        0.1517 0.0777 0.0405 0.0154 0.0088 0.0013
        0.4266 0.3579 0.2536 0.1142 0.0586 0.0111
        0.2837 0.2050 0.1448 0.1018 0.0916 0.0765
        0.2555 0.2560 0.2555 0.2438 0.2431 0.2524
        """,
    ),
    _read_printed(
        5, "Experiment 3: share of the ten pairs ranked correctly, 1,000 replications, n = 1,000.",
        "metric", ("SMECE", "ECE"), _BY_K,
        """
        0.900 0.800 0.900 1.000 1.000 1.000
        0.403 0.605 0.747 0.800 0.900 0.900
        """,
    ),
    _read_printed(
        6, "Experiment 3: accuracy of each pair at k = 2. B vs C counts as correct.", "pair",
        tuple(pair_row(i, j) for i, j in PAIRS), ("SMECE", "ECE"),
        """
        1.000 0.000
        1.000 1.000
        1.000 1.000
        1.000 1.000
        1.000 1.000
        1.000 1.000
        1.000 1.000
        0.000 0.000
        1.000 0.961
        1.000 1.000
        """,
    ),
    _read_printed(
        7, "Experiment 4: SMECE, mean ± standard deviation over 500 replications, k = 2.", "model",
        MODELS, _BY_N,
        """
        0.0000±0.0000 0.0000±0.0000 0.0000±0.0000 0.0000±0.0000 0.0000±0.0000
        0.0766±0.0034 0.0766±0.0024 0.0766±0.0017 0.0766±0.0010 0.0766±0.0008
        0.1374±0.0020 0.1375±0.0015 0.1376±0.0011 0.1375±0.0007 0.1375±0.0005
        0.0967±0.0031 0.0966±0.0022 0.0966±0.0016 0.0966±0.0010 0.0967±0.0007
        0.2528±0.0180 0.2505±0.0134 0.2502±0.0092 0.2496±0.0061 0.2500±0.0045
        """,
    ),
    _read_printed(
        8, "Experiment 4: ECE, mean ± standard deviation over 500 replications, k = 2.", "model",
        MODELS, _BY_N,
        """
        0.1152±0.0062 0.1152±0.0044 0.1149±0.0031 0.1151±0.0020 0.1151±0.0013
        0.0386±0.0043 0.0386±0.0031 0.0384±0.0022 0.0385±0.0014 0.0385±0.0009
        0.2526±0.0055 0.2526±0.0040 0.2526±0.0027 0.2526±0.0018 0.2526±0.0012
        0.1444±0.0072 0.1443±0.0052 0.1439±0.0038 0.1441±0.0023 0.1442±0.0017
        0.2546±0.0212 0.2512±0.0157 0.2507±0.0111 0.2497±0.0075 0.2501±0.0053
        """,
    ),
)  # fmt: skip

ERRATA = (
    Erratum(
        "1", "all tables, model D under SMECE", "0.0977 in table 2 (k = 2, n = 5,000)",
        "Bins closed on the left drop predictions of exactly 1, and model D predicts 1 wherever "
        "it is capped: 1,743 of 5,000 rows in table 2 are lost. With the last bin closed, the "
        "error is 0.1107, and its population value is 0.1100, not 0.0966. The ranking accuracy of "
        "SMECE at k = 1 in table 5 changes too. ECE does not change: where model D predicts 1, "
        "the thresholded label is 1.",
    ),
    Erratum(
        "2", "table 6, C vs E under ECE", "0.961",
        "0.468. The printed value contradicts the paper's own table 5: the mean of the ten pairs "
        "is 0.747 with 0.468, but 0.796 with 0.961.",
    ),
    Erratum(
        "3", "section 6.2", "ECE gives A a 29 times larger error than B",
        "2.9 times: 0.1159 / 0.0401, from table 2.",
    ),
    Erratum(
        "4", "table 4, caption", "ECE recovers the correct ranking only at k = 50",
        "ECE recovers the correct ranking at no k of the table: at k = 50 it still ranks B "
        "(0.0013) before A (0.0041).",
    ),
    Erratum(
        "5", "sections 1.4 and 3.3",
        "ECE prefers the overconfident model in expectation when outcomes are drawn from the "
        "posterior, and the gap does not shrink with the sample size",
        "With outcomes drawn from the posterior, the ECE of A tends to 0 and A is ranked first "
        "(see the last section). Only thresholded labels, which every table uses, have a floor "
        "that does not shrink. A single row does not have an ECE of |0.51 - y|: the mean over a "
        "bin comes before the absolute value.",
    ),
    Erratum(
        "6", "section 6.1", "sigmoid(2x) lies between 0.1 and 0.9 on about 60% of (-3, 3)",
        "On 36.6%: |x| < ln(9)/2 = 1.0986. (It lies between 0.03 and 0.97 on about 60%.)",
    ),
    Erratum(
        "7", "table 2, caption", "SMECE recovers the correct ranking",
        "Table 1 calls A > B ≈ C > D > E correct, but the table's own ranks are A, B, D, C, E: D "
        "(0.0977, corrected 0.1107) is before C (0.1369). At k = 2 the smaller error is D's.",
    ),
    Erratum(
        "8", "appendix B, step 2",
        "the floor is positive because a bin holds labels on both sides of the threshold",
        "In every experiment the threshold 1/2 is an edge of the ten bins, so no bin does. A bin "
        "across the threshold need not have a gap either: with labels symmetric about 1/2, the "
        "mean label and the share above are both 1/2, and the error is 0. The floor comes from "
        "the bins on one side of the threshold, where the share is 0 or 1 but the mean label is "
        "not.",
    ),
    Erratum(
        "9", "section 3.2, equation 3",
        "zero only if label and outcome are the same object",
        "It is always zero: if outcomes are drawn from p*, P(Y = 1 | p*(X)) is p*(X). Sections "
        "1.4 and 3.3 contain the same slip (erratum 5).",
    ),
)  # fmt: skip

# Cells of the paper that an erratum is about; all but that of table 6 come out as printed.
PRINTED_MARKS: Mapping[str, Mapping[Cell, str]] = {
    "table_2": {("A", "ECE"): "3", ("B", "ECE"): "3"},
    "table_4": {("A", "k = 50"): "4", ("B", "k = 50"): "4"},
    "table_6": {("C vs E", "ECE"): "2"},
}
# The erratum behind every cell whose corrected value differs from the measured one.
LOST_PREDICTIONS = "1"
