"""R: the script over the command's JSON gives R the numbers that Python has."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import calibrant as cal

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "examples/calibrant.R"


@pytest.fixture
def in_r(tmp_path):
    """Run lines of R after the script, in a folder of their own."""
    if shutil.which("Rscript") is None:
        assert os.environ.get("CALIBRANT_REQUIRE_ALL") != "1", "Rscript is missing"
        pytest.skip("R is not installed")
    command = tmp_path / "calibrant"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m calibrant "$@"\n')
    command.chmod(0o755)

    def run(code):
        lines = f'source("{SCRIPT}")\n{code}'
        path = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
        return subprocess.run(
            ["Rscript", "-e", lines],
            cwd=tmp_path,
            check=False,
            capture_output=True,
            text=True,
            env={**os.environ, "CALIBRANT": str(command), "PYTHONPATH": path},
        )

    return run


def test_a_data_frame_gets_python_s_numbers_and_a_picture(in_r, tmp_path):
    random = np.random.default_rng(0)
    p = random.random(300)
    truth = (random.random(300) < p**2).astype(int)
    np.savetxt(tmp_path / "p.txt", p, fmt="%.17g")
    np.savetxt(tmp_path / "y.txt", truth, fmt="%d")
    done = in_r(
        """
        rows <- data.frame(label = scan("y.txt", quiet = TRUE), p = scan("p.txt", quiet = TRUE))
        found <- calibrant(rows, "--bins", "10")
        print(found)
        exact <- function(x) if (is.double(x)) sprintf("%.17g", x) else x
        found$measures[] <- lapply(found$measures, exact)
        write.csv(found$measures, "measures.csv", row.names = FALSE)
        png("diagram.png", type = "cairo"); plot(found); dev.off()
        cat(calibrant_check(rows, "ece=0.01")$verdict, nrow(found$bins))
        """
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("fail 10") and "iscalibrated" in done.stdout
    with (tmp_path / "measures.csv").open() as file:
        found = {row["name"]: row for row in csv.DictReader(file)}
    expected = cal.evaluate(truth, p, bins=10, measures=["ece", "brier", "atb"])
    for name, value in expected.values.items():
        assert float(found[name]["value"]) == pytest.approx(value, rel=1e-14)
    interval = cal.interval(truth, p, measure="ece", bins=10)
    assert float(found["ece"]["high"]) == pytest.approx(interval.high, rel=1e-12)
    assert (tmp_path / "diagram.png").read_bytes().startswith(b"\x89PNG")


def test_the_command_s_error_is_r_s(in_r):
    done = in_r("calibrant(data.frame(label = c(0, 1), p = c(0.5, 3)))")
    assert done.returncode != 0
    assert "y_proba" in done.stderr and "must lie in [0, 1]" in done.stderr


def test_the_script_stays_short():
    assert len(SCRIPT.read_text().splitlines()) <= 100
