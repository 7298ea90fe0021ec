"""`report --clinical`: one slope, and which estimates differ from values."""

from __future__ import annotations

import numpy as np

from cli.command import main


def test_one_slope_and_a_note_on_estimates(tmp_path, capsys) -> None:
    rng = np.random.default_rng(7)
    p = rng.beta(1, 3, 400).round(4)
    y = (rng.random(400) < p**1.5).astype(int)
    path = tmp_path / "risks.csv"
    path.write_text("label,p\n" + "".join(f"{a},{b}\n" for a, b in zip(y, p, strict=True)))
    assert main(["report", str(path)]) == 0
    assert "calibration slope" in capsys.readouterr().out
    assert main(["report", str(path), "--clinical"]) == 0
    out = capsys.readouterr().out
    assert "calibration slope" not in out and "\n  slope " in out
    words = " ".join(out.split())
    assert "which differs for ici, e50, e90, emax alone" in words and "\\n" not in out
