"""Models with labels of their own, such as whether their own answers were right."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

import calibrant as cal
from calibrant import InputError
from cli.command import main

rng = np.random.default_rng(1)
N = 200
CONFIDENCE = {name: rng.random(N).round(3) for name in ("gpt", "qwen")}
CORRECT = {name: (rng.random(N) < p).astype(int) for name, p in CONFIDENCE.items()}
FRAME = pd.DataFrame(
    {f"correct_{name}": CORRECT[name] for name in CORRECT}
    | {f"conf_{name}": CONFIDENCE[name] for name in CORRECT}
    | {"id": np.arange(N), "label": CORRECT["gpt"]}
)


FILE_COLUMNS = ["correct", "grade.correct", "label"]
TRUTH = {name: cal.ece(CORRECT[name], CONFIDENCE[name]) for name in CORRECT}


def values(capsys):
    """The ECE of each model, by its name."""
    found = json.loads(capsys.readouterr().out)
    return dict(zip(found["values"]["predictor"], found["values"]["ece"], strict=True))


def test_a_column_that_is_one_model_s_own_is_refused(tmp_path, capsys):
    path = tmp_path / "both.csv"
    FRAME.to_csv(path, index=False)
    for label, other in (("correct_gpt", "correct_qwen"), ("correct_qwen", "correct_gpt")):
        told = ("--label", label, "--models", "a=conf_gpt", "b=conf_qwen")
        assert main(["compare", str(path), *told]) == 3
        said = capsys.readouterr().err
        assert f"--label names the column '{label}'" in said and f"'{other}'" in said
        assert "give each its own, --labels" in said
        with pytest.raises(InputError, match=rf"{label}.*{other}.*give each its own, y_true="):
            cal.compare(label, {"a": "conf_gpt", "b": "conf_qwen"}, data=FRAME)
    # Labels of the rows are everyone's.
    shared = {"a": "conf_gpt", "b": "conf_qwen"}
    found = cal.compare("label", shared, data=FRAME, measures=["brier"], n_resamples=50)
    assert found.names == ("a", "b") and "own_labels" not in found.recipe


def test_labels_by_model():
    found = cal.compare(CORRECT, CONFIDENCE, measures=["ece", "brier"], n_resamples=50)
    for name in CORRECT:
        assert found.value(name, "ece") == TRUTH[name]
        alone = cal.interval(CORRECT[name], CONFIDENCE[name], n_resamples=50)
        limits = found.intervals("ece")
        assert limits["low"][limits["predictor"].index(name)] == alone.low
    differ = int((CORRECT["gpt"] != CORRECT["qwen"]).sum())
    assert f"each model has its own labels, which differ in {differ} of {N} rows" in found.inferred
    names = {"gpt": "correct_gpt", "qwen": "correct_qwen"}
    same = cal.compare(
        names,
        {name: f"conf_{name}" for name in names},
        data=FRAME,
        measures=["ece", "brier"],
        n_resamples=50,
    )
    assert (same.values == found.values).all()
    # The same labels for all are shared ones, however they were given.
    shared = cal.compare(dict.fromkeys(CORRECT, CORRECT["gpt"]), CONFIDENCE, n_resamples=50)
    assert "own_labels" not in shared.recipe
    assert (shared.values == cal.compare(CORRECT["gpt"], CONFIDENCE, n_resamples=50).values).all()


def test_rows_are_matched_by_ids_and_in_long_format():
    wanted = cal.compare(CORRECT, CONFIDENCE, measures=["ece", "brier"], n_resamples=50)
    order = rng.permutation(N)
    shuffled = cal.compare(
        {"gpt": CORRECT["gpt"], "qwen": CORRECT["qwen"][order]},
        {"gpt": CONFIDENCE["gpt"], "qwen": CONFIDENCE["qwen"][order]},
        ids={"gpt": np.arange(N), "qwen": order},
        measures=["ece", "brier"],
        n_resamples=50,
    )
    long = LONG.sample(frac=1.0, random_state=2)
    first = long[long["model"] == long["model"].iloc[0]]
    in_long = cal.compare(
        "ok",
        "conf",
        models="model",
        ids="id",
        data=long,
        by="site",
        measures=["ece", "brier"],
        n_resamples=50,
    )
    ok, conf, ids, whose = (long[name].to_numpy() for name in ("ok", "conf", "id", "model"))
    arrays = cal.compare(ok, conf, ids=ids, models=whose, measures=["ece"], n_resamples=50)
    polars = cal.compare(
        "ok",
        "conf",
        models="model",
        ids="id",
        data=pl.from_pandas(long),
        measures=["ece"],
        n_resamples=50,
    )
    for name in CORRECT:
        assert shuffled.value(name, "ece") == wanted.value(name, "ece")
        for found in (in_long, arrays, polars):
            assert found.value(name, "ece") == pytest.approx(TRUTH[name], rel=1e-12)
    table = in_long.slices["gpt"].columns()
    sizes = dict(zip(table["site"], table["n"], strict=True))
    assert sizes == first["site"].value_counts().to_dict()
    a, b = (shuffled.difference("gpt", "qwen", "brier"), wanted.difference("gpt", "qwen", "brier"))
    assert (a.low, a.high) == pytest.approx((b.low, b.high))


LONG = pd.concat(
    [
        pd.DataFrame(
            {
                "model": name,
                "id": np.arange(N),
                "ok": CORRECT[name],
                "conf": CONFIDENCE[name],
                "site": rng.choice(["n", "s"], N),
            }
        )
        for name in CORRECT
    ],
    ignore_index=True,
)
MODELS = {"gpt": "conf_gpt", "qwen": "conf_qwen"}


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [(({"gpt": CORRECT["gpt"]}, CONFIDENCE), {}, "has none for 'qwen'"),
     (({**CORRECT, "x": [1]}, CONFIDENCE), {}, "has 'x', not in y_proba"),
     (({"gpt": "correct_qwen", "qwen": "correct_gpt"}, MODELS), {"data": FRAME},
      "gives 'gpt' the labels 'correct_qwen', which belong to 'qwen'"),
     ((CORRECT, CONFIDENCE), {"ids": {"y_true": np.arange(N)}}, "ids has 'y_true', but"),
     ((CORRECT, CONFIDENCE), {"ids": {"gpt": np.arange(N)}}, "ids must map each model's name"),
     ((CORRECT, CONFIDENCE), {"ids": {"gpt": np.arange(N), "qwen": np.arange(N) + 1}},
      "1 do not occur for every model, such as 0"),
     ((CORRECT, CONFIDENCE), {"ids": {"gpt": np.zeros(N), "qwen": np.arange(N)}}, "must be unique"),
     (({"gpt": CORRECT["gpt"], "qwen": CORRECT["qwen"][:9]},
       {"gpt": CONFIDENCE["gpt"], "qwen": CONFIDENCE["qwen"][:9]}), {}, "gpt has 200 rows, qwen"),
     (("ok", "conf"), {"data": LONG, "models": "model"}, "models= needs ids="),
     (("ok", {"a": "conf"}), {"data": LONG, "models": "model", "ids": "id"}, "long format"),
     (("ok", "conf"), {"data": LONG, "models": "site", "ids": "id"}, "unique"),
     (("ok", "conf"), {"data": LONG, "models": "mode", "ids": "id"}, "did you mean 'model'")],
)  # fmt: skip
def test_mix_ups_are_refused(arguments, options, words):
    with pytest.raises(InputError, match=words):
        cal.compare(*arguments, **options)


def test_the_command_with_columns_of_each_model(tmp_path, capsys):
    path = tmp_path / "both.csv"
    FRAME.to_csv(path, index=False)
    models = ("--models", "a=conf_gpt", "b=conf_qwen")
    start = ["compare", str(path), "--measures", "ece", "--json", *models, "--labels"]
    assert main([*start, "a=correct_gpt", "b=correct_qwen"]) == 0
    assert values(capsys) == pytest.approx({"a": TRUTH["gpt"], "b": TRUTH["qwen"]})
    for labels, words in (
        (["a=correct_qwen", "b=correct_gpt"], "--labels gives 'a' the labels 'correct_qwen'"),
        (["a=correct_gpt"], "--labels names no column for 'b'"),
        (["a=correct_gpt", "c=correct_qwen"], "no model has that name"),
        (["correct_gpt"], "write NAME=COLUMN"),
    ):
        assert main([*start, *labels]) == 3
        assert words in capsys.readouterr().err


@pytest.mark.parametrize("column", FILE_COLUMNS)
@pytest.mark.parametrize("more", [(), ("--id", "id"), ("--id", "id", "--own-labels")])
def test_files_with_correctness_of_their_own(tmp_path, capsys, column, more):
    paths = []
    for name, p in CONFIDENCE.items():
        paths.append(str(tmp_path / f"{name}.csv"))
        frame = pd.DataFrame({column: CORRECT[name], "confidence": p, "id": np.arange(N)})
        frame.iloc[:: -1 if more and name == "qwen" else 1].to_csv(paths[-1], index=False)
    code = main(["compare", *paths, *more, "--measures", "ece", "--json"])
    if more and (column != "label" or len(more) > 2):
        assert code == 0
        assert values(capsys) == pytest.approx(TRUTH)
        return
    assert code == 3
    said = capsys.readouterr().err
    assert "have different labels in" in said and "--id COLUMN" in said
    # What a hint tells must not lead one model's confidence to another's labels.
    assert ("give the same labels" in said) == (column == "label")
    assert ("--own-labels" in said) == (column == "label")


def test_the_command_in_long_format(tmp_path, capsys):
    path = tmp_path / "long.csv"
    LONG.to_csv(path, index=False)
    start = ["compare", str(path), "--model-column", "model", "--label", "ok", "--proba", "conf"]
    assert main([*start, "--id", "id", "--measures", "ece", "--json", "--by", "site"]) == 0
    assert values(capsys) == pytest.approx(TRUTH)
    assert main(start) == 3
    assert "--model-column needs --id" in capsys.readouterr().err
    assert main([*start, "--own-labels"]) == 3
    assert "--own-labels needs --id" in capsys.readouterr().err


@pytest.mark.parametrize("column", FILE_COLUMNS)
@pytest.mark.parametrize("more", [(), ("--id", "id")])
def test_decision_curves_are_of_one_outcome(tmp_path, capsys, column, more):
    paths = []
    for name, p in CONFIDENCE.items():
        paths.append(str(tmp_path / f"{name}.csv"))
        frame = pd.DataFrame({column: CORRECT[name], "confidence": p, "id": np.arange(N)})
        frame.to_csv(paths[-1], index=False)
    assert main(["decide", *paths, *more, "--thresholds", "0.2"]) == 3
    said = capsys.readouterr().err
    assert "have different labels in" in said and "one at a time" in said
    assert "--own-labels" not in said
    assert main(["decide", paths[1], "--thresholds", "0.2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["curves"]["net_benefit"][0]
    alone = cal.decision_curve(CORRECT["qwen"], CONFIDENCE["qwen"], thresholds=[0.2])
    assert found == alone.benefits["model"].value[0]


def test_decision_curves_of_one_model_s_own_column_are_refused(tmp_path, capsys):
    path = tmp_path / "both.csv"
    FRAME.to_csv(path, index=False)
    told = ("--label", "correct_gpt", "--models", "a=conf_gpt", "b=conf_qwen")
    assert main(["decide", str(path), *told]) == 3
    said = capsys.readouterr().err
    assert "'correct_qwen'" in said and "one by one" in said and "--labels" not in said
    for data in (FRAME, FRAME.to_dict("list")):
        with pytest.raises(InputError, match="evaluate the models one by one"):
            cal.decision_curve("correct_gpt", {"a": "conf_gpt", "b": "conf_qwen"}, data=data)
    with pytest.raises(InputError, match="one outcome for all"):
        cal.decision_curve(CORRECT, CONFIDENCE)


@pytest.mark.parametrize("votes", [False, True])
def test_weights_follow_the_ids_as_votes_do(votes):
    """They are given once, in the order of the first model's rows."""
    rng = np.random.default_rng(5)
    n = 300
    p, q, w = rng.random(n), rng.random(n), rng.random(n) + 0.5
    y, z = ((rng.random(n) < each).astype(int) for each in (p, q))
    ids, order = np.arange(n), rng.permutation(n)
    many = rng.integers(3, 9, n)
    given = {"votes": many} if votes else {}
    if votes:
        y, z = (rng.binomial(many, each) for each in (p, q))
    options = {"sample_weight": w, "measures": ["brier", "ece"], "n_resamples": 50, **given}
    straight = cal.compare({"a": y, "b": z}, {"a": p, "b": q}, ids={"a": ids, "b": ids}, **options)
    shuffled = cal.compare(
        {"a": y, "b": z[order]}, {"a": p, "b": q[order]}, ids={"a": ids, "b": ids[order]}, **options
    )
    for model in "ab":
        for measure in ("brier", "ece"):
            assert shuffled.value(model, measure) == straight.value(model, measure)
