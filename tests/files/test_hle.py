"""`judged_*.json` of Humanity's Last Exam, and its calibration error."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import calibrant as cal
from cli.command import run

LEVELS = [0.5, 0.7, 0.85, 0.9, 1.0]


def answers(n=450, seed=0):
    rng = np.random.default_rng(seed)
    sure = rng.choice(LEVELS, n)
    return (rng.random(n) < 0.2 + 0.3 * sure).astype(int), sure


def written(path, y, p, **more):
    found = {
        f"66{i:04x}": {
            "model": "m-1",
            "response": "Answer: {...} judge_response",
            "judge_response": {
                "correct_answer": "A",
                "reasoning": "...",
                "correct": "yes" if y[i] else "no",
                "confidence": round(100 * p[i]),
            },
        }
        for i in range(len(y))
    } | more
    path.write_text(json.dumps(found, indent=4), encoding="utf-8")
    return path


def script(y, p):
    """The published loop, for one order of rows."""
    order = np.argsort(p, kind="stable")
    y, p, total = y[order], p[order], 0.0
    bins = [[i * 100, (i + 1) * 100] for i in range(len(p) // 100)]
    bins[-1] = [bins[-1][0], len(p)]
    for begin, end in bins[:-1]:
        gap = abs(np.mean(p[begin:end]) - np.mean(y[begin:end]))
        total += (end - begin) / len(p) * gap**2
    return math.sqrt(total)


def test_without_ties_it_is_the_number_of_the_script():
    rng = np.random.default_rng(1)
    for n in (199, 200, 350, 1000):
        p = rng.permutation(np.linspace(0.2, 0.99, n))
        y = (rng.random(n) < 0.4).astype(int)
        assert cal.hle_rms(y, p) == pytest.approx(script(y, p), abs=1e-12)


def test_with_ties_it_is_the_root_mean_square_over_orders():
    y, p = answers()
    rng = np.random.default_rng(0)
    orders = [rng.permutation(y.size) for _ in range(3000)]
    squares = [script(y[order], p[order]) ** 2 for order in orders]
    error = np.std(squares) / math.sqrt(len(squares))
    assert cal.hle_rms(y, p) ** 2 == pytest.approx(np.mean(squares), abs=4 * error)
    tools = {row.tool: row for row in cal.conventions(y, p).rows}
    assert tools["Hendrycks, HLE calib_err"].at_default == pytest.approx(cal.hle_rms(y, p))
    assert cal.hle_rms(np.tile(y, 2), np.tile(p, 2)) == cal.hle_rms(y, p, sample_weight=[2] * 450)


def test_its_interval_contains_what_samples_have_on_average():
    values = [cal.hle_rms(*answers(seed=seed)) for seed in range(200)]
    mean, spread = np.mean(values), np.std(values)
    found = [cal.interval(*answers(seed=seed), measure="hle_rms") for seed in range(12)]
    assert sum(mean in interval for interval in found) >= 10
    width = np.mean([interval.high - interval.low for interval in found])
    assert width == pytest.approx(4 * spread, rel=0.3)


def test_the_file_is_read_as_it_is(tmp_path):
    y, p = answers()
    path = written(tmp_path / "judged_m.json", y, p)
    rows = cal.read_file(path, columns=["id", "model"])
    assert rows.y_true.tolist() == y.tolist()
    assert rows.y_proba == pytest.approx(p)
    assert rows.columns["model"][0] == "m-1"
    assert "Humanity's Last Exam" in rows.inferred[0]
    done = run("report", path, "--measures", "hle_rms,accuracy", "--json")
    found = {each["name"]: each for each in json.loads(done.stdout)["measures"]}
    assert found["hle_rms"]["bins"] == "runs of 100 rows, without the last"
    assert found["hle_rms"]["value"] == pytest.approx(cal.hle_rms(y, p))
    assert found["accuracy"]["value"] == pytest.approx(y.mean())
    assert found["accuracy"]["interval"]["low"] < y.mean() < found["accuracy"]["interval"]["high"]
    assert run("check", path, "--max", "hle_rms=0.2").returncode == 1
    other = written(tmp_path / "judged_n.json", y, 0.8 * p)
    done = run("compare", f"a={path}", f"b={other}", "--measures", "hle_rms")
    assert "b is best" in done.stdout
    # One line in place of many is the same file.
    one = tmp_path / "judged_one.json"
    one.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8"))), encoding="utf-8")
    assert cal.read_file(one).y_true.tolist() == y.tolist()


@pytest.mark.parametrize(
    ("verdict", "message"),
    [
        (None, "question odd: "),
        ({"correct": "maybe", "confidence": 50}, "question odd: correct is 'maybe'"),
        ({"correct": "yes", "confidence": 850}, "confidence is 850: it must be a percentage"),
        ({"correct": "yes", "confidence": "sure"}, "confidence is 'sure'"),
    ],
)
def test_errors_name_the_question(tmp_path, verdict, message):
    path = written(tmp_path / "judged_m.json", *answers(), odd={"judge_response": verdict})
    with pytest.raises(cal.InputError, match=message):
        cal.read_file(path)


def test_answers_that_were_not_judged_are_dropped_and_counted(tmp_path):
    path = written(tmp_path / "judged_m.json", *answers(), odd={"model": "m-1"})
    rows = cal.read_file(path, missing="drop")
    assert (rows.y_true.size, rows.n_missing) == (450, 1)
    assert any("1 answer not judged" in text for text in rows.inferred)
