"""`calibrant report --question`: what it reads, prints and refuses."""

from __future__ import annotations

import json

import numpy as np
import pytest
from command import csv, run

import calibrant as cal


def test_the_command(tmp_path):
    rng = np.random.default_rng(0)
    question, answer = np.repeat(np.arange(100), 5), rng.integers(0, 3, 500)
    correct, stated = (answer == 0).astype(int), np.round(rng.random(500), 2)
    file = csv(tmp_path / "samples.csv", {
        "q": question, "a": answer, "c": np.where(correct, "true", "false"), "gold": 0 * answer,
        "conf": [f"{100 * s:.0f}%" for s in stated],
    })  # fmt: skip
    known = cal.sampled_answers(question.astype(str), answer, correct, stated).to_dict()
    asked = ("report", file, "--question", "q", "--answer", "a")
    for how in (("--correct", "c"), ("--gold", "gold")):
        done = run(*asked, *how, "--proba", "conf", "--percent", "--json")
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)["confidences"]
        assert found["ece"] == pytest.approx(known["confidences"]["ece"])
    assert "held-out share" in run(*asked, "--correct", "c").stdout
    for options, message in (
        ((), "--question needs --answer"),
        (("--correct", "c", "--gold", "gold"), "either --correct"),
        (("--correct", "c", "--by", "q"), "--by cannot be combined with --question"),
        (("--correct", "a"), "--correct[0] is"),
    ):
        done = run(*asked, *options)
        assert done.returncode == 3
        assert message in done.stderr
    assert "--correct needs --question" in run("report", file, "--correct", "c").stderr
