"""The evaluator of MLflow: probabilities in, measures, JSON and page logged to the run."""

from __future__ import annotations

import ast
import json
import tomllib
from pathlib import Path

import numpy as np
import pytest

import calibrant as cal
from needs import need

ROOT = Path(__file__).parents[2]
RNG = np.random.default_rng(2)
X = RNG.normal(size=(300, 2))
Y = (RNG.random(300) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
P = 1 / (1 + np.exp(-2 * X[:, 0]))


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Runs kept in a folder, and the evaluator as its entry point would register it."""
    need("pandas")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("GIT_PYTHON_REFRESH", "quiet")
    mlflow = need("mlflow")
    from mlflow.models.evaluation.evaluator_registry import _model_evaluation_registry as registry

    from calibrant.integrations.mlflow import CalibrantEvaluator

    registry.register("calibrant", CalibrantEvaluator)
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    return mlflow


def evaluated(mlflow, data, **options):
    given = options.pop("config", {})
    with mlflow.start_run() as run:
        found = mlflow.models.evaluate(
            data=data,
            targets="label",
            model_type="classifier",
            evaluators=["calibrant"],
            evaluator_config={"calibrant": {"page": False, **given}},
            **options,
        )
    return found, run.info.run_id


def table(**columns):
    import pandas as pd

    return pd.DataFrame(columns)


def test_probabilities_of_a_model(runs, monkeypatch):
    need("sklearn")
    import mlflow.sklearn
    import mlflow.utils.environment as environment
    from sklearn.linear_model import LogisticRegression

    names = np.where(Y == 1, "yes", "no")
    model = LogisticRegression().fit(X, names)
    # Which would look through all that is installed.
    monkeypatch.setattr(environment, "warn_dependency_requirement_mismatches", lambda *_: None)
    with runs.start_run():
        logged = mlflow.sklearn.log_model(
            model, name="model", serialization_format="cloudpickle", pip_requirements=["numpy"]
        )
    data = table(a=X[:, 0], b=X[:, 1], label=names)
    found, run_id = evaluated(
        runs, data, model=logged.model_uri, config={"measures": ["ece", "brier"], "page": True}
    )
    p = model.predict_proba(X)[:, 1]
    assert found.metrics["calibration/ece"] == pytest.approx(cal.ece(Y, p))
    limits = cal.interval(Y, p, measure="brier")
    assert found.metrics["calibration/brier_low"] == pytest.approx(limits.low)
    error = cal.interval(Y, p, measure="ece")
    assert found.metrics["calibration/ece_estimate"] == pytest.approx(error.estimate)
    client = runs.MlflowClient()
    assert client.get_run(run_id).data.metrics == pytest.approx(found.metrics)
    paths = {file.path for file in client.list_artifacts(run_id, "calibration")}
    assert paths == {"calibration/evaluation.json", "calibration/report.html"} == {*found.artifacts}
    content = found.artifacts["calibration/evaluation.json"].content
    assert content == json.loads(json.dumps(content)) and "brier" in str(content)
    assert found.artifacts["calibration/report.html"].content.startswith("<!DOCTYPE html>")


def test_probabilities_in_the_data(runs):
    data = table(p=P, label=Y)
    found, _ = evaluated(runs, data, predictions="p", config={"measures": ["ece"], "prefix": "c_"})
    assert found.metrics["c_ece"] == pytest.approx(cal.ece(Y, P))
    both = table(no=1 - P, yes=P, x=X[:, 0], label=Y, guess=(P > 0.5).astype(int))
    config = {"measures": ["brier"], "predictions": ["no", "yes"], "pos_label": 0}
    found, _ = evaluated(runs, both, predictions="guess", config=config)
    assert found.metrics["calibration/brier"] == pytest.approx(cal.brier_score(1 - Y, 1 - P))


@pytest.mark.parametrize("how", ["from_logits", "from_logprobs"])
def test_both_of_two_columns_count(runs, how):
    both = np.stack([0.3 * X[:, 1], 2 * X[:, 0]], axis=1)
    if how == "from_logprobs":
        both = both - np.log(np.exp(both).sum(axis=1, keepdims=True))
    wanted = 1 / (1 + np.exp(both[:, 0] - both[:, 1]))
    data = table(l0=both[:, 0], l1=both[:, 1], label=Y)
    config = {"measures": ["ece", "brier"], "predictions": ["l0", "l1"], how: True}
    found, _ = evaluated(runs, data, config=config, predictions="l1")
    assert found.metrics["calibration/brier"] == pytest.approx(cal.brier_score(Y, wanted))
    assert found.metrics["calibration/ece"] == pytest.approx(cal.ece(Y, wanted))


@pytest.mark.parametrize("more", [{}, {"pos_label": 0}])
def test_two_columns_must_sum_to_1(runs, more):
    data = table(a=np.full(300, 0.4), b=np.full(300, 0.4), x=P, label=Y)
    config = {"predictions": ["a", "b"], **more}
    with pytest.raises(cal.InputError, match=r"y_proba\[0\] sums to 0.8: rows must sum to 1"):
        evaluated(runs, data, predictions="x", config=config)


@pytest.mark.parametrize("how", ["from_logits", "from_logprobs"])
def test_probabilities_of_a_model_are_no_logits(how):
    need("mlflow")
    from types import SimpleNamespace as Made

    from calibrant.integrations.mlflow import _probabilities

    model = Made(_model_impl=Made(sklearn_model=Made(predict_proba=lambda rows: rows)))
    dataset = Made(features_data=np.stack([1 - P, P], axis=1), predictions_data=None)
    assert _probabilities(dataset, model, None, {})[0] is dataset.features_data
    with pytest.raises(cal.InputError, match=f"gives probabilities, so leave out {how}"):
        _probabilities(dataset, model, None, {how: True})


@pytest.mark.parametrize(
    ("columns", "config", "said"),
    [
        ({"p": (P > 0.5).astype(int)}, {}, "the predictions are class labels"),
        ({"p": P}, {"mesures": ["ece"]}, "did you mean 'measures'"),
        ({"p": P}, {"predictions": "q"}, "predictions names the column 'q'"),
        ({"p": P}, {"pos_label": 1}, "pos_label is for two classes"),
        ({"p": P + 3}, {}, "must lie in"),
    ],
)
def test_mlflow_input_that_is_wrong_is_named(runs, columns, config, said):
    with pytest.raises(cal.InputError, match=said):
        evaluated(runs, table(**columns, label=Y), predictions="p", config=config)


def test_other_models_are_left_to_others(runs):
    from calibrant.integrations.mlflow import CalibrantEvaluator

    assert CalibrantEvaluator.can_evaluate(model_type="classifier", evaluator_config={})
    assert not CalibrantEvaluator.can_evaluate(model_type="regressor", evaluator_config={})


def test_the_entry_point_names_the_class():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    entry = project["entry-points"]["mlflow.model_evaluator"]["calibrant"]
    assert entry == "calibrant.integrations.mlflow:CalibrantEvaluator"
    assert (ROOT / "src" / "calibrant" / "integrations" / "mlflow.py").exists()


def test_the_evaluator_is_imported_without_what_measures():
    """MLflow loads entry points at its start: that must not cost a start of Calibrant's."""
    tree = ast.parse((ROOT / "src" / "calibrant" / "integrations" / "mlflow.py").read_text())
    top = [node.module for node in tree.body if isinstance(node, ast.ImportFrom)]
    assert [name for name in top if name.startswith("calibrant")] == ["calibrant._core.errors"]


def test_the_estimate_that_is_logged_lies_in_its_interval():
    need("mlflow")
    from calibrant.integrations.mlflow import _metrics

    # Rows whose raw ECE lies above its interval.
    rng = np.random.default_rng(1)
    p = np.round(rng.random(100), 6)
    y = (rng.random(100) < p).astype(int)
    found = _metrics(cal.report(y, p, recalibrate=["platt"]), "")
    assert found["ece"] > found["ece_high"]
    for name in (key.removesuffix("_low") for key in found if key.endswith("_low")):
        assert found[f"{name}_low"] <= found[f"{name}_estimate"] <= found[f"{name}_high"]
        assert name in found
