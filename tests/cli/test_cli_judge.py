"""`calibrant judge`: what it reads, prints and refuses."""

from __future__ import annotations

import json

import numpy as np
import pytest
from command import csv, run

import calibrant as cal

rng = np.random.default_rng(0)
RIGHT = rng.random(800) < 0.5
SAYS = np.where(RIGHT, rng.random(800) < 0.9, rng.random(800) < 0.3)
LOOKED = np.arange(800) % 8 == 0


@pytest.fixture
def file(tmp_path):
    return csv(
        tmp_path / "judged.csv",
        {
            "human": np.where(LOOKED, np.where(RIGHT, "yes", "no"), ""),
            "judge": np.where(SAYS, "True", "False"),
            "score": np.round((SAYS + rng.random(800)) / 2, 3),
            "question": np.arange(800) // 4,
            "weight": np.arange(800) % 3,
            "stars": np.arange(800) % 5 + 1,
        },
    )


def test_it_gives_what_the_function_gives(file):
    human = np.where(LOOKED, RIGHT, np.nan)
    done = run("judge", file, "--human", "human", "--judged", "judge", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout) == cal.judge(human, SAYS).to_dict()
    options = ("--groups", "question", "--weight", "weight", "--width", "0.1", "--level", "0.9")
    done = run("judge", file, "--human", "human", "--judged", "judge", *options, "--json")
    groups, weights = np.arange(800) // 4, np.arange(800) % 3
    same = cal.judge(human, SAYS, groups=groups, sample_weight=weights, width=0.1, level=0.9)
    found = json.loads(done.stdout)
    assert found["rate"] == pytest.approx(same.rate)
    assert found["interval"] == pytest.approx(same.interval)
    assert found["labels_needed"] == same.labels_needed


def test_a_file_without_human_labels_has_the_unlabelled_rows(tmp_path):
    labelled = {"judge": SAYS[LOOKED].astype(int), "human": RIGHT[LOOKED].astype(int)}
    one = csv(tmp_path / "labelled.csv", labelled)
    two = csv(tmp_path / "unlabelled.csv", {"judge": SAYS[~LOOKED].astype(int)})
    columns = ("--human", "human", "--judged", "judge", "--json")
    for files in ((one, two), (two, one)):
        done = run("judge", *files, *columns)
        same = cal.judge(RIGHT[LOOKED], SAYS[LOOKED], SAYS[~LOOKED])
        found = json.loads(done.stdout)
        assert (found["n"], found["n_unlabelled"]) == (100, 700), done.stderr
        assert found["interval"] == pytest.approx(same.interval)
    alone = run("judge", two, *columns)
    assert alone.returncode == 3 and "does not have" in alone.stderr


def test_it_prints_the_rate_and_what_it_rests_on(file):
    done = run("judge", file, "--human", "human", "--judged", "score")
    assert "100 rows with a human label, 700 rows with only the judge's answer" in done.stdout
    assert "labelled rows are a random sample of all rows" in done.stdout
    assert "a score of 0.5 or more counts as yes" in done.stdout
    assert "human labels in all" in done.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--human", "human", "--judged", "jugde"], "did you mean 'judge'?"),
        (["--human", "human", "--judged", "human"], "both name the column"),
        (["--human", "human", "--judged", "stars"], "--judged[1] is 2: it must be a number"),
        (["--human", "human", "--judged", "judge", "--width", "5"], "not between 0 and 1"),
    ],
)
def test_errors_name_the_option(file, options, message):
    done = run("judge", file, *options)
    assert done.returncode == 3
    assert message in done.stderr


def test_columns_of_the_usual_names_are_found(file, tmp_path):
    named = run("judge", file, "--human", "human", "--judged", "judge")
    found = run("judge", file)
    assert "Columns found by name: human labels 'human', judge 'judge'." in found.stdout
    assert found.stdout.splitlines()[-5:] == named.stdout.splitlines()[-5:]
    assert "found by name" not in named.stdout
    other = csv(tmp_path / "other.csv", {"human": [1, 0], "said": [1, 0]})
    done = run("judge", other)
    assert done.returncode == 3 and "--judged is missing" in done.stderr


def test_words_that_are_no_answer_name_the_row(tmp_path):
    file = csv(tmp_path / "a.csv", {"human": ["yes", "", "maybe"], "judge": [1, 0, 1]})
    done = run("judge", file, "--human", "human", "--judged", "judge")
    assert "whose row 2 is 'maybe'" in done.stderr
