"""Labels that say whether an answer was right: accuracy is their mean, and nothing is held against
1/2. Accuracy of classes is 1 less the classification error, through every door.
"""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

import calibrant as cal
from calibrant import catalogue
from cli.command import run
from needs import need

RNG = np.random.default_rng(20)
N = 600
SURE = RNG.random(N).round(4)
RIGHT = (RNG.random(N) < 0.6 * SURE).astype(np.int64)
WEIGHTS = RNG.random(N) + 0.5
CLASSES = RNG.dirichlet(np.ones(3), N)
LABELS = np.array([RNG.choice(3, p=p) for p in CLASSES])
COLUMNS = {"correct": RIGHT, "confidence": SURE, "w": WEIGHTS}
THRESHOLDED = ("classification_error", "confidence_loss", "confidence_ce")


def frame(kind: str):
    if kind == "pandas":
        return need("pandas").DataFrame(COLUMNS)
    polars = need("polars")
    out = polars.DataFrame(COLUMNS)
    return out.lazy() if kind == "lazy" else out


def written(path, columns=None):
    need("pandas").DataFrame(COLUMNS if columns is None else columns).to_csv(path, index=False)
    return path


def of_stream(**options):
    return cal.Accumulator(**options).update("correct", "confidence", data=frame("pandas"))


DOORS = {
    "pandas": lambda _: cal.evaluate("correct", "confidence", data=frame("pandas")),
    "polars": lambda _: cal.evaluate("correct", "confidence", data=frame("polars")),
    "lazy": lambda _: cal.evaluate("correct", "confidence", data=frame("lazy")),
    "series": lambda _: cal.evaluate(frame("pandas")["correct"], SURE),
    "uncertainty": lambda _: cal.evaluate(
        "correct", "confidence", data=frame("polars"), uncertainty=True
    ),
    "stream": lambda _: of_stream().evaluate(),
    "lazy stream": lambda _: (
        cal.Accumulator().update("correct", "confidence", data=frame("lazy")).evaluate()
    ),
    "file": lambda folder: cal.evaluate_file(written(folder / "a.csv")),
    "one pass": lambda folder: cal.evaluate_file(written(folder / "a.csv"), exact=False),
    "another name": lambda folder: cal.evaluate_file(
        written(folder / "a.csv", {"is_correct": RIGHT, "p": SURE})
    ),
    "compared": lambda folder: cal.evaluate_file(
        written(folder / "a.csv", {"said": RIGHT, "truth": np.ones(N, int), "p": SURE}),
        answer="said",
        gold="truth",
    ),
    "read": lambda folder: cal.evaluate(*_read(written(folder / "a.csv"))),
}


def _read(path):
    rows = cal.read_file(path)
    return rows.y_true, rows.y_proba


@pytest.mark.parametrize("door", DOORS)
def test_nothing_is_held_against_one_half(door, tmp_path):
    found = DOORS[door](tmp_path)
    assert found["accuracy"] == pytest.approx(RIGHT.mean(), abs=1e-15)
    assert found["accuracy"] < 0.35 < 0.6 < cal.accuracy(RIGHT, SURE)
    assert "labels say whether an answer was right" in " ".join(str(found).split())
    for name in THRESHOLDED:
        assert name not in found
        with pytest.raises(cal.InputError, match="'accuracy' is the share of right answers"):
            found[name]


@pytest.mark.parametrize("name", ["correct", "model.Correct", "correct_gpt", "is-correct"])
def test_columns_are_known_by_their_names(name):
    data = need("pandas").DataFrame({name: RIGHT, "p": SURE})
    assert cal.accuracy(name, "p", data=data) == RIGHT.mean()


@pytest.mark.parametrize("name", ["label", "corrected", "y", "incorrectly"])
def test_others_are_events(name):
    data = need("pandas").DataFrame({name: RIGHT, "p": SURE})
    assert cal.accuracy(name, "p", data=data) == 1 - cal.classification_error(RIGHT, SURE)
    assert "accuracy" not in cal.evaluate(name, "p", data=data)
    assert cal.evaluate(name, "p", data=data, measures=["acc"])["accuracy"] == pytest.approx(
        np.mean((SURE > 0.5) == RIGHT)
    )


@pytest.mark.parametrize("function", [getattr(cal, name) for name in THRESHOLDED])
def test_functions_of_one_number_refuse_it_too(function):
    with pytest.raises(cal.InputError, match="compares predictions with 1/2"):
        function("correct", "confidence", data=frame("pandas"))
    function(RIGHT, SURE)


def test_weights_and_soft_labels():
    found = cal.accuracy("correct", "confidence", data=frame("pandas"), sample_weight="w")
    assert found == pytest.approx(np.average(RIGHT, weights=WEIGHTS), rel=1e-14)
    graded = need("pandas").DataFrame({"correct": 0.5 * RIGHT, "p": SURE})
    assert cal.accuracy("correct", "p", data=graded) == pytest.approx(RIGHT.mean() / 2)


def test_its_interval_is_that_of_a_share():
    found = cal.interval("correct", "confidence", data=frame("pandas"), measure="accuracy")
    p, z = RIGHT.mean(), 1.959964
    middle = (p + z * z / (2 * N)) / (1 + z * z / N)
    half = z * np.sqrt(p * (1 - p) / N + z * z / (4 * N * N)) / (1 + z * z / N)
    assert found.low == pytest.approx(middle - half, abs=1e-3)
    assert found.high == pytest.approx(middle + half, abs=1e-3)
    with pytest.raises(cal.InputError, match="measures accuracy, not calibration"):
        cal.verdict("correct", "confidence", data=frame("pandas"), measure="accuracy")
    with pytest.raises(cal.InputError, match="measures accuracy, not calibration"):
        cal.noise_floor("correct", "confidence", data=frame("pandas"), measure="accuracy")


def test_two_models_with_their_own_answers():
    worse = (RNG.random(N) < 0.4 * SURE).astype(int)
    data = need("pandas").DataFrame(
        {"correct_a": RIGHT, "conf_a": SURE, "correct_b": worse, "conf_b": SURE}
    )
    found = cal.compare(
        {"a": "correct_a", "b": "correct_b"},
        {"a": "conf_a", "b": "conf_b"},
        data=data,
        n_resamples=50,
    )
    assert "accuracy" in found.measures and "classification_error" not in found.measures
    assert found.order("accuracy") == ["a", "b"]
    limits = found.difference("a", "b", "accuracy")
    spread = 1.96 * np.std(RIGHT - worse) / np.sqrt(N)
    assert limits.value == pytest.approx(RIGHT.mean() - worse.mean())
    assert limits.low == pytest.approx(limits.value - spread, abs=3e-3)
    assert limits.high == pytest.approx(limits.value + spread, abs=3e-3)
    assert "accuracy $\\uparrow$" in found.to_latex(measures=["accuracy"])


def test_limits_of_check():
    given = {"data": frame("pandas")}
    assert cal.check("correct", "confidence", at_least={"accuracy": 0.2}, **given).verdict == "pass"
    assert cal.check("correct", "confidence", at_least={"accuracy": 0.5}, **given).verdict == "fail"
    with pytest.raises(cal.InputError, match="compares predictions with 1/2"):
        cal.check("correct", "confidence", at_most={"classification_error": 0.5}, **given)
    with pytest.raises(cal.InputError, match="accuracy"):
        cal.check("correct", "confidence", at_most={"accuracy": 0.5}, **given)


def test_states_remember_it(tmp_path):
    stream = of_stream()
    stream.save(tmp_path / "a.state")
    loaded = cal.Accumulator.load(tmp_path / "a.state")
    assert loaded.shape == "answers" and loaded.evaluate()["accuracy"] == RIGHT.mean()
    both = cal.Accumulator().merge(loaded).merge(stream)
    assert both.shape == "answers" and "classification_error" not in both.evaluate()
    assert cal.Accumulator().update(RIGHT, SURE).shape == "binary"
    plain = cal.Accumulator(measures=["accuracy"]).update(RIGHT, SURE)
    assert plain.evaluate()["accuracy"] == pytest.approx(cal.accuracy(RIGHT, SURE))


def test_a_monitor_shows_accuracy_in_place_of_the_error(tmp_path):
    monitor = cal.Monitor()
    monitor.update("correct", "confidence", data=frame("pandas"), time=np.datetime64("2026-01-01"))
    monitor.save(tmp_path / "m.state")
    for each in (monitor, cal.Monitor.load(tmp_path / "m.state")):
        window = each.evaluate().rows[0]
        assert window.values["accuracy"] == pytest.approx(RIGHT.mean())
        assert "classification_error" not in window.values


def test_the_page_has_it():
    page = cal.report("correct", "confidence", data=frame("pandas"), recalibrate="platt")
    assert "accuracy" in page.headlines and page.evaluation["accuracy"] == RIGHT.mean()
    assert "classification_error" not in page.evaluation


def test_the_command_line(tmp_path):
    path = written(tmp_path / "rows.csv")
    found = run("report", path, "--json")
    values = {each["name"]: each["value"] for each in json.loads(found.stdout)["measures"]}
    assert found.returncode == 0 and values["accuracy"] == pytest.approx(RIGHT.mean())
    assert not values.keys() & set(THRESHOLDED)
    assert run("check", path, "--min", "accuracy=0.2").returncode == 0
    assert run("check", path, "--min", "accuracy=0.2", "--point").returncode == 0
    assert run("check", path, "--min", "accuracy=0.6").returncode == 1
    refused = run("check", path, "--max", "classification_error=0.9")
    assert refused.returncode == 3 and "'accuracy' is the share of right answers" in refused.stderr


# --- classes ---


def tensors():
    torch = need("torch")
    return cal.evaluate(torch.tensor(LABELS), torch.tensor(CLASSES), measures=["accuracy"])


def class_frame():
    return need("polars").DataFrame({"y": LABELS, **{f"p{j}": CLASSES[:, j] for j in range(3)}})


CLASS_DOORS = {
    "arrays": lambda _: cal.evaluate(LABELS, CLASSES),
    "tensors": lambda _: tensors(),
    "lazy": lambda _: cal.evaluate("y", ["p0", "p1", "p2"], data=class_frame().lazy()),
    "stream": lambda _: cal.Accumulator().update(LABELS, CLASSES).evaluate(),
    "file": lambda folder: cal.evaluate_file(written(folder / "a.csv", class_frame().to_dict())),
}


@pytest.mark.parametrize("door", CLASS_DOORS)
def test_of_classes_it_is_one_less_the_error(door, tmp_path):
    expected = np.mean(CLASSES.argmax(axis=1) == LABELS)
    assert CLASS_DOORS[door](tmp_path)["accuracy"] == pytest.approx(expected, rel=1e-14)
    assert cal.accuracy(LABELS, CLASSES) == 1 - cal.classification_error(LABELS, CLASSES)


@pytest.mark.parametrize("few", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("binary", [False, True])
def test_limits_are_those_of_the_error_turned_round(binary, weighted, few):
    p = SURE if binary else CLASSES
    y = RIGHT if binary else LABELS
    if few:  # Poisson's limits of a handful of misses
        y = (p > 0.5).astype(int) if binary else p.argmax(axis=1)
        y[:2] = 1 - y[:2] if binary else (y[:2] + 1) % 3
    given = {"sample_weight": WEIGHTS} if weighted else {}
    right, wrong = (
        cal.interval(y, p, measure=name, **given) for name in ("accuracy", "classification_error")
    )
    # The error's limits end at 0, where none is seen.
    assert (right.low, right.high) == pytest.approx((1 - wrong.high, 1 - wrong.low), abs=2e-4)
    models = {"a": p, "b": p**2 if binary else CLASSES[:, [1, 0, 2]]}
    found = cal.compare(y, models, measures=["accuracy", "classification_error"], n_resamples=50)
    mine, others = (found.difference("a", "b", name) for name in found.measures)
    assert (mine.low, mine.high) == pytest.approx((-others.high, -others.low), abs=2e-4)
    assert found.order("accuracy") == found.order("classification_error")


def test_an_entry_is_pickled_by_its_name():
    for shape in ("binary", "answers", "multiclass"):
        for measure in catalogue(shape):
            assert pickle.loads(pickle.dumps(measure)) == measure
    answers, binary = (
        {measure.name: measure for measure in catalogue(shape)} for shape in ("answers", "binary")
    )
    assert answers["accuracy"] is not binary["accuracy"]
