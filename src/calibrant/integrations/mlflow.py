"""MLflow: calibration beside its own metrics, by ``evaluators=["default", "calibrant"]``.

MLflow imports this module whenever its evaluation is imported: what measures is imported late.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant._core.errors import InputError, MissingExtra, nearest

try:
    from mlflow.models.evaluation.base import EvaluationResult, ModelEvaluator
except ImportError as error:
    raise MissingExtra("mlflow-skinny", "mlflow", "an evaluator of MLflow") from error

if TYPE_CHECKING:
    from calibrant.results._report import Report

# Options that are passed on to `calibrant.report`.
_PASSED = ("measures", "bins", "from_logits", "from_logprobs", "level", "tolerance", "seed")
_OPTIONS = (
    *_PASSED[:2],
    "classes",
    "pos_label",
    *_PASSED[2:],
    "predictions",
    "prefix",
    "page",
)
# Where files are put among the artifacts of a run.
_FOLDER = "calibration"


class CalibrantEvaluator(ModelEvaluator):  # type: ignore[misc, no-any-unimported, unused-ignore]
    """Calibration as an evaluator of MLflow, found by its entry point.

    It needs probabilities: those of a model's `predict_proba`, or else the predictions of the model
    or the dataset, which must not be class labels. It logs every measure (``calibration/ece``) with
    its bias-corrected estimate and its confidence interval (``calibration/ece_estimate``,
    ``calibration/ece_low``, ``calibration/ece_high``), and as artifacts
    ``calibration/evaluation.json`` and the report page, ``calibration/report.html``, if the
    packages of the extra ``report`` are installed.

    Options go into ``evaluator_config={"calibrant": {...}}``: `measures`, `bins`, `classes`,
    `from_logits`, `from_logprobs`, `level`, `tolerance` and `seed` as for `calibrant.report`;
    `pos_label`, the class of two whose probability is measured; `predictions`, the columns of
    probabilities in the dataset; `prefix`, default "calibration/", before the names of metrics;
    `page`, whether to write the page.

    Examples
    --------
    >>> import mlflow  # doctest: +SKIP
    >>> found = mlflow.models.evaluate(  # doctest: +SKIP
    ...     model_uri, data, targets="label", model_type="classifier",
    ...     evaluators=["default", "calibrant"],
    ...     evaluator_config={"calibrant": {"measures": ["ece", "log_loss"]}},
    ... )
    >>> found.metrics["calibration/ece"]  # doctest: +SKIP
    0.0414
    """

    name = "calibrant"

    @classmethod
    def can_evaluate(cls, *, model_type: Any, evaluator_config: Any = None, **kwargs: Any) -> bool:
        """Say whether there are probabilities to evaluate.

        Parameters
        ----------
        model_type : str or None
            The kind of model, as passed to `mlflow.evaluate`.
        evaluator_config : mapping, optional
            The options, as the class describes them.
        **kwargs : object
            Arguments that later versions of MLflow may add.

        Returns
        -------
        bool
            Whether the model is a classifier.
        """
        return bool(model_type == "classifier")

    def evaluate(
        self,
        *,
        model_type: Any,
        dataset: Any,
        run_id: Any,
        evaluator_config: Any = None,
        model: Any = None,
        extra_metrics: Any = None,
        custom_artifacts: Any = None,
        predictions: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Measure, and log measures and files to the run.

        Parameters
        ----------
        model_type : str
            The kind of model.
        dataset : mlflow dataset
            Features, labels, and predictions if there is no model.
        run_id : str
            The run to log to.
        evaluator_config : mapping, optional
            The options, as the class describes them.
        model : pyfunc model, optional
            The model to evaluate; without one, predictions are in the dataset.
        extra_metrics, custom_artifacts : object, optional
            Not used: they receive class labels.
        predictions : str, optional
            The column of the model's output that has the predictions.
        **kwargs : object
            Arguments that later versions of MLflow may add.

        Returns
        -------
        mlflow.models.EvaluationResult
            The metrics and artifacts that were logged.

        Raises
        ------
        InputError
            If there are no labels, no probabilities, or an option is unknown.
        """
        options = _check_options(evaluator_config)
        if not getattr(dataset, "has_targets", True) or dataset.labels_data is None:
            raise InputError("the calibrant evaluator needs labels: give mlflow.evaluate targets=")
        y_proba, classes = _probabilities(dataset, model, predictions, options)
        report = _make_report(dataset.labels_data, y_proba, classes, options)
        metrics = _metrics(report, str(options.get("prefix", f"{_FOLDER}/")))
        make: Any = EvaluationResult
        return make(metrics, _log_to_run(report, metrics, run_id, options), run_id)


def _check_options(given: Any) -> Mapping[str, Any]:
    """The evaluator's options without those that MLflow adds; an unknown one is an error."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InputError(f"evaluator_config of calibrant must be a mapping; got {given!r}")
    # MLflow adds options of its own to every evaluator's, with an underscore in front.
    options = {key: value for key, value in given.items() if not str(key).startswith("_")}
    for key in options:
        if key not in _OPTIONS:
            raise InputError(
                f"evaluator_config of calibrant has no option {key!r}: {nearest(key, _OPTIONS)}"
            )
    return options


def _probabilities(
    dataset: Any, model: Any, column: Any, options: Mapping[str, Any]
) -> tuple[Any, Any]:
    """Predicted probabilities, and the labels of their columns, or None if these are not known.

    The source is the columns that the option `predictions` names, or the model's `predict_proba`,
    or what the model predicts, or, without a model, the predictions in the dataset. `column` picks
    one column of the last source.
    """
    classes = options.get("classes")
    named = options.get("predictions")
    if named is not None:
        return _read_columns(dataset, named), classes
    predict = getattr(_raw_estimator(model), "predict_proba", None)
    if predict is not None:
        for option in ("from_logits", "from_logprobs"):
            if options.get(option):
                raise InputError(
                    f"predict_proba of the model gives probabilities, so leave out {option}; to "
                    "read other columns of the dataset, name them in predictions"
                )
        own = getattr(_raw_estimator(model), "classes_", None)
        return predict(dataset.features_data), classes if own is None else list(own)
    given = dataset.predictions_data if model is None else model.predict(dataset.features_data)
    if given is None:
        raise InputError("the calibrant evaluator needs a model, or predictions in the dataset")
    if column is not None and hasattr(given, "columns") and column in given:
        given = given[column]
    return _check_probabilities(given), classes


def _read_columns(dataset: Any, named: Any) -> Any:
    """The columns of the dataset that `named` names: (n,) for one text, (n, k) for a list."""
    features = dataset.features_data
    if hasattr(features, "columns"):
        known = {name: features[name] for name in features}
    else:
        known = dict(zip(dataset.feature_names, features.T, strict=True))
    if dataset.predictions_data is not None:  # MLflow takes this one out of the features
        known[dataset.predictions_name] = dataset.predictions_data
    columns = [named] if isinstance(named, str) else list(named)
    missing = [name for name in columns if name not in known]
    if missing:
        raise InputError(
            f"predictions names the column {missing[0]!r}: {nearest(missing[0], known)}"
        )
    arrays = [np.asarray(known[name]) for name in columns]
    return arrays[0] if isinstance(named, str) else np.stack(arrays, axis=1)


def _raw_estimator(model: Any) -> Any:
    """The estimator inside an MLflow model (pyfunc), where MLflow gives access to it.

    Otherwise it is MLflow's wrapper of the model, or None without a model.
    """
    inner: Any = getattr(model, "_model_impl", None)
    if hasattr(inner, "get_raw_model"):
        return inner.get_raw_model()
    return getattr(inner, "sklearn_model", inner)


def _check_probabilities(given: Any) -> Any:
    """Predictions as an array, (n,) or (n, k); class labels in their place are an error."""
    array = np.asarray(given)
    if array.dtype == object:  # a column of lists
        try:
            array = np.array([np.asarray(row, dtype=np.float64) for row in array.ravel()])
        except (TypeError, ValueError):
            array = np.asarray(given)
    array = array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
    # Floating numbers that are all 0 or 1 can be probabilities; integers and names cannot.
    if array.dtype.kind != "f":
        raise InputError(
            "the calibrant evaluator needs probabilities, and the predictions are class labels: "
            "log the model with pyfunc_predict_fn='predict_proba', or give probabilities in the "
            "dataset with evaluator_config={'calibrant': {'predictions': 'column'}}"
        )
    return array


def _make_report(labels: Any, y_proba: Any, classes: Any, options: Mapping[str, Any]) -> Report:
    """The report on labels and predictions, with the evaluator's options.

    One of two columns is measured as a binary prediction: that of `pos_label`, or else the second.
    """
    from calibrant._api.report.report import report
    from calibrant._data.logprobs import given_as
    from calibrant.integrations._responses import binary_column, column_of

    y_proba = np.asarray(y_proba)
    positive = options.get("pos_label")
    chosen = {name: options[name] for name in _PASSED if name in options}
    if y_proba.ndim == 2 and y_proba.shape[1] == 2:
        # One of two columns is measured: that of the second class, or of the one asked for.
        names = [0, 1] if classes is None else list(classes)
        column = 1 if positive is None else column_of(positive, names)
        given = given_as(chosen.get("from_logits", False), chosen.pop("from_logprobs", False))
        y_proba = binary_column(y_proba, column, given)
        classes = [names[1 - column], names[column]]
    elif positive is not None:
        raise InputError("pos_label is for two classes")
    if classes is not None and list(classes) in ([0, 1], list(range(len(classes)))):
        classes = None  # labels are indices already
    return report(labels, y_proba, classes=classes, name="MLflow run", **chosen)


def _metrics(report: Report, prefix: str) -> dict[str, float]:
    """The finite numbers to log, by name: each measure, its estimate and its limits.

    The names are ``{prefix}ece``, ``{prefix}ece_estimate``, ``{prefix}ece_low``,
    ``{prefix}ece_high``.
    """
    out: dict[str, float] = {}
    for estimate in report.evaluation.estimates:
        numbers = {"": estimate.value}
        if estimate.interval is not None:
            interval = estimate.interval
            numbers |= {f"_{end}": getattr(interval, end) for end in ("estimate", "low", "high")}
        for end, value in numbers.items():
            if math.isfinite(value):
                out[f"{prefix}{estimate.name}{end}"] = float(value)
    return out


def _log_to_run(
    report: Report, metrics: Mapping[str, float], run_id: str, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Log measures and files to the MLflow run; return MLflow's artifacts by path in the run."""
    from mlflow.entities import Metric
    from mlflow.models.evaluation.artifacts import JsonEvaluationArtifact, TextEvaluationArtifact
    from mlflow.tracking import MlflowClient

    client = MlflowClient()
    now = int(time.time() * 1000)
    rows = [Metric(name, value, now, 0) for name, value in metrics.items()]
    for start in range(0, len(rows), 500):  # a server takes at most 500 at a time
        client.log_batch(run_id, metrics=rows[start : start + 500])
    kinds: dict[str, Any] = {
        "evaluation.json": JsonEvaluationArtifact,
        "report.html": TextEvaluationArtifact,
    }
    out = {}
    with TemporaryDirectory() as folder:
        for file in _write_files(report, Path(folder), page=bool(options.get("page", True))):
            client.log_artifact(run_id, str(file), _FOLDER)
            uri = f"runs:/{run_id}/{_FOLDER}/{file.name}"
            artifact = kinds[file.name](uri=uri)
            artifact._load(str(file))
            out[f"{_FOLDER}/{file.name}"] = artifact
    return out


def _write_files(report: Report, folder: Path, *, page: bool) -> list[Path]:
    """Write the evaluation as JSON, and with `page` the report, to a folder; return the paths.

    The page is skipped where the packages that it needs are not installed.
    """
    written = [folder / "evaluation.json"]
    written[0].write_text(report.evaluation.to_json(), encoding="utf-8")
    if page:
        with suppress(MissingExtra):  # the page is an extra; the measures are logged
            written.append(report.save(folder / "report.html"))
    return written
