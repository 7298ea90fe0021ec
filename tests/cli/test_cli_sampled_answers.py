"""`calibrant report --question`: what it reads, prints and refuses."""

from __future__ import annotations

import json

import numpy as np
import pytest
from command import csv, run

import calibrant as cal
from needs import need


def test_the_command(tmp_path):
    rng = np.random.default_rng(0)
    question, answer = np.repeat(np.arange(100), 5), rng.integers(0, 3, 500)
    correct, stated = (answer == 0).astype(int), np.round(rng.random(500), 2)
    file = csv(
        tmp_path / "samples.csv",
        {
            "q": question,
            "a": answer,
            "c": np.where(correct, "true", "false"),
            "gold": 0 * answer,
            "conf": [f"{100 * s:.0f}%" for s in stated],
        },
    )
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
        (("--correct", "c", "--table", "t.tex"), "--table cannot be combined with --question"),
        (("--correct", "c", "--title", "T"), "--title needs a page"),
        (("--correct", "c", "-o", "page.txt"), "a page is HTML"),
        (("--correct", "c", "--by", "q"), "--by cannot be combined with --question"),
        (("--correct", "a"), "--correct[0] is"),
    ):
        done = run(*asked, *options)
        assert done.returncode == 3
        assert message in done.stderr
    assert "--correct needs --question" in run("report", file, "--correct", "c").stderr


def test_the_page(tmp_path):
    need("jinja2")
    need("vl_convert")
    rng = np.random.default_rng(1)
    question = np.repeat(np.arange(60), 4)
    answer = np.where(rng.random(240) < 0.7, "a", "<b>")
    columns = {"q": question, "a": answer, "c": (answer == "a") * 1, "conf": 0.5 + 0 * question}
    csv(tmp_path / "samples.csv", columns)
    asked = ("report", "samples.csv", "--question", "q", "--answer", "a", "--correct", "c")
    done = run(*asked, "--proba", "conf", "-o", "page.html", "--title", "Mine", cwd=tmp_path)
    assert done.returncode == 0 and "written: page.html" in done.stderr
    page = (tmp_path / "page.html").read_text(encoding="utf-8").partition("<script")[0]
    known = cal.sampled_answers(question, answer, columns["c"], columns["conf"])
    assert "<title>Mine</title>" in page and known.sentence in page
    for i, row in enumerate(known):
        assert f'id="line-{i}"' in page and f">{row.confidence}<" in page
        assert f'strong">{row.ece:.4f}<' in page or f'strong">{row.ece:.3g}<' in page
