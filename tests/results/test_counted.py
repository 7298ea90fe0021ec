"""One of something is not called several."""

from __future__ import annotations

import io

import pytest

import calibrant as cal
from calibrant._api.report.recalibration import _learned
from calibrant._core.errors import counted
from calibrant.scaling import IsotonicCalibration, PlattScaling
from shell_lines import run_main


@pytest.mark.parametrize(
    ("n", "said"), [(0, "0 rows"), (1, "1 row"), (2, "2 rows"), (2000, "2,000 rows")]
)
def test_one_is_in_the_singular(n, said):
    assert counted(n, "row") == said


def test_results_of_one_row_say_so():
    assert cal.evaluate([1], [0.5], measures=["brier"]).title == "Evaluation of 1 row"
    assert repr(cal.evaluate([1], [0.5], measures=["brier"])).startswith("Evaluation of 1 row\n")
    assert cal.reliability_curve([0, 1], [0.2, 0.7]).title.startswith("Reliability curve of 2 rows")


def test_parameters_of_a_map_are_told_without_dust():
    scaler = PlattScaling()
    scaler.slope_, scaler.intercept_ = [1.811e-16], [0.5]
    assert _learned(scaler) == "slope 0 and intercept 0.5 on the logit scale"
    flat = IsotonicCalibration().fit([0, 1, 0, 1], [0.4, 0.4, 0.6, 0.6])
    assert _learned(flat) == "an increasing curve through 1 value"


def test_the_command_says_so_too(tmp_path):
    (tmp_path / "one.csv").write_text("label,p\n1,0.5\n")
    out = io.StringIO()
    assert run_main(["report", "one.csv"], tmp_path, out, io.StringIO()) == 0
    assert out.getvalue().startswith("one.csv: 1 row\n")
