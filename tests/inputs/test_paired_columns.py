"""Columns of labels and predictions go by their order; names that say otherwise are an error."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from cli.command import run
from needs import need

pd = need("pandas")

rng = np.random.default_rng(0)
P = rng.dirichlet([1.0, 1.0], 200)
COLUMNS = {"y_cat": P[:, 0], "y_dog": P[:, 1], "p_cat": P[:, 0], "p_dog": P[:, 1]}
FRAME = pd.DataFrame(COLUMNS)
LABELS, RIGHT, WRONG = ["y_cat", "y_dog"], ["p_cat", "p_dog"], ["p_dog", "p_cat"]
SAID = "pair 'y_cat' with 'p_dog', while 'y_cat' and 'p_cat' both end in 'cat'"


def of_file(function):
    def door(labels, predictions, tmp_path):
        FRAME.to_csv(tmp_path / "rows.csv", index=False)
        return function(tmp_path / "rows.csv", labels, predictions)

    return door


DOORS = {
    "multilabel, names": lambda t, p, _: cal.multilabel(t, p, data=FRAME),
    "multilabel, frames": lambda t, p, _: cal.multilabel(FRAME[t], FRAME[p]),
    "names": lambda t, p, _: cal.ece(t, p, data=FRAME),
    "frames": lambda t, p, _: cal.ece(FRAME[t], FRAME[p]),
    "lazy": lambda t, p, _: cal.ece(t, p, data=need("polars").from_pandas(FRAME).lazy()),
    "polars": lambda t, p, _: cal.ece(*(need("polars").from_pandas(FRAME[c]) for c in (t, p))),
    "a stream": lambda t, p, _: cal.Accumulator().update(t, p, data=FRAME),
    "file": of_file(lambda file, t, p: cal.evaluate_file(file, y_true=t, y_proba=p)),
    "rows": of_file(lambda file, t, p: cal.read_file(file, y_true=t, y_proba=p)),
}


@pytest.mark.parametrize("door", DOORS)
def test_endings_that_contradict_the_order(door, tmp_path):
    with pytest.raises(cal.InputError, match=SAID):
        DOORS[door](LABELS, WRONG, tmp_path)
    assert DOORS[door](LABELS, RIGHT, tmp_path) is not None
    assert DOORS[door](LABELS[::-1], WRONG, tmp_path) is not None


@pytest.mark.parametrize("verb", [["report", "--multilabel"], ["report"]])
def test_on_the_command_line(verb, tmp_path):
    FRAME.to_csv(tmp_path / "rows.csv", index=False)
    names = ["--label", "y_cat,y_dog", "--proba", "p_dog,p_cat"]
    done = run(*verb, tmp_path / "rows.csv", *names)
    assert done.returncode == 3 and "both end in 'cat'" in done.stderr


def test_titles_of_labels(tmp_path):
    with pytest.raises(cal.InputError, match="labels and the columns pair 'dog' with 'y_cat'"):
        cal.multilabel(FRAME[LABELS], FRAME[RIGHT], labels=["dog", "cat"])
    assert cal.multilabel(FRAME[LABELS], FRAME[RIGHT], labels=["Cat", "Dog"])


def refusal(labels, predictions):
    """Why columns of these names are refused; an empty text if they are not."""
    frame = pd.DataFrame(dict.fromkeys((*labels, *predictions), P[:, 0]))
    try:
        cal.multilabel(labels, predictions, data=frame)
    except cal.InputError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (["y_cat", "y_dog", "y_eel"], ["p_dog", "p_eel", "p_fox"]),
        (["cat_true", "dog_true"], ["dog_prob", "cat_prob"]),
        (["ycat", "ydog"], ["pdog", "pcat"]),
        (["y1", "y2"], ["p2", "p1"]),
        (["Y_Cat", "Y_Dog"], ["p_dog", "p_cat"]),
        (["labels.cat", "labels.dog"], ["model.p.dog", "model.p.cat"]),
    ],
)
def test_contradictions_of_names(first, second):
    assert "both end in" in refusal(first, second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (["y_0", "y_1", "y_2"], ["p_1", "p_2", "p_3"]),  # counted from 0, and from 1
        (["a", "b"], ["c", "d"]),
        (["y_ab", "y_ac"], ["p_c", "p_d"]),
        (["y_cat"], ["p_dog"]),
        (["yes", "no"], ["p_yes", "p_no"]),
        (["y_cat", "y_dog"], ["p_cat", "p_dog", "p_eel"]),  # said elsewhere
    ],
)
def test_names_that_do_not_contradict_each_other(first, second):
    assert "both end in" not in refusal(first, second)


NAMES = np.where(rng.random(200) < P[:, 0], "cat", "dog")
NAMED = FRAME.assign(label=NAMES)


def of_named_file(predictions, tmp_path):
    NAMED.to_csv(tmp_path / "named.csv", index=False)
    options = {"y_true": "label", "y_proba": predictions, "classes": ["cat", "dog"]}
    return cal.evaluate_file(tmp_path / "named.csv", measures=["brier"], **options)


def of_polars(frame):
    return need("polars").from_pandas(frame)


# The order of `classes` is that of the columns: names of columns that say otherwise are an error.
CLASSES = {"classes": ["cat", "dog"]}
NAMED_DOORS = {
    "names": lambda p, _: cal.ece("label", p, data=NAMED, **CLASSES),
    "a frame": lambda p, _: cal.ece(NAMES, NAMED[p], **CLASSES),
    "polars": lambda p, _: cal.ece(NAMES, of_polars(NAMED[p]), **CLASSES),
    "lazy": lambda p, _: cal.ece("label", p, data=of_polars(NAMED).lazy(), **CLASSES),
    "a stream": lambda p, _: cal.Accumulator(**CLASSES).update("label", p, data=NAMED),
    "models": lambda p, _: cal.compare(
        "label", {"a": p, "b": p}, data=NAMED, n_resamples=100, measures=["brier"], **CLASSES
    ),
    "a map": lambda p, _: cal.DirichletCalibration().fit("label", p, data=NAMED, **CLASSES),
    "file": of_named_file,
}


@pytest.mark.parametrize("door", NAMED_DOORS)
def test_classes_that_contradict_the_columns(door, tmp_path):
    assert NAMED_DOORS[door](RIGHT, tmp_path) is not None
    said = "y_proba names the columns 'p_dog', 'p_cat', but the classes are 'cat', 'dog'"
    with pytest.raises(cal.InputError, match=said):
        NAMED_DOORS[door](WRONG, tmp_path)


def test_numbers_of_columns_may_be_their_places():
    frame = pd.DataFrame({"p_0": P[:, 0], "p_1": P[:, 1]})
    labels = np.where(NAMES == "cat", 1, 0)
    right = cal.brier_score(1 - labels, P)
    assert cal.brier_score(labels, frame, classes=[1, 0]) == right
