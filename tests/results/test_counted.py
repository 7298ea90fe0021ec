"""One of something is not called several."""

from __future__ import annotations

import io

import pytest

import calibrant as cal
from shell_lines import run_main


@pytest.mark.parametrize(("n", "said"), [(1, "1 row"), (2, "2 rows"), (2000, "2,000 rows")])
def test_one_row_is_in_the_singular(n, said):
    assert cal.evaluate([1] * n, [0.5] * n, measures=["brier"]).title == f"Evaluation of {said}"


def test_results_of_one_row_say_so():
    assert repr(cal.evaluate([1], [0.5], measures=["brier"])).startswith("Evaluation of 1 row\n")
    assert cal.reliability_curve([0, 1], [0.2, 0.7]).title.startswith("Reliability curve of 2 rows")


def test_the_command_says_so_too(tmp_path):
    (tmp_path / "one.csv").write_text("label,p\n1,0.5\n")
    out = io.StringIO()
    assert run_main(["report", "one.csv"], tmp_path, out, io.StringIO()) == 0
    assert out.getvalue().startswith("one.csv: 1 row\n")
