"""Evidently: a measure of the catalogue as a metric of its reports and tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant._api.evaluate import evaluate
from calibrant._core.errors import InputError, MissingExtra

try:
    from evidently.core.datasets import BinaryClassification
    from evidently.core.metric_types import SingleValueCalculation, SingleValueMetric
except ImportError as error:
    raise MissingExtra("evidently", "evidently", "calibrant.integrations.evidently") from error


class Calibration(SingleValueMetric):  # type: ignore[misc, no-any-unimported, unused-ignore]
    """A measure of predicted probabilities, in a report of Evidently (0.7 or newer).

    Columns are those of the data definition's classification: its target, and its
    `prediction_probas`. If a task has one column of probabilities, it is that of `pos_label`.

    Parameters
    ----------
    measure : str, default "ece"
        The name of a measure of `calibrant.catalogue()`.
    bins : int, default 15
        The number of bins.
    classification : str, default "default"
        The name of the classification in the data definition.
    tests : list, optional
        Tests of the value, as in every metric of Evidently: ``tests=[lte(0.05)]``.

    Examples
    --------
    >>> from evidently import Report
    >>> from calibrant.integrations.evidently import Calibration
    >>> report = Report([Calibration(measure="ece"), Calibration(measure="brier")])
    """

    measure: str = "ece"
    bins: int = 15
    classification: str = "default"


class CalibrationCalculation(SingleValueCalculation[Calibration]):  # type: ignore[misc, no-any-unimported, unused-ignore]
    """How Evidently computes the metric."""

    def display_name(self) -> str:
        """The metric's name in a report."""
        return f"Calibration: {self.metric.measure}"

    def calculate(self, context: Any, current_data: Any, reference_data: Any) -> tuple[Any, Any]:
        """The measure of the current data, and of the reference if there is one."""
        reference = None if reference_data is None else self.result(self._value(reference_data))
        return self.result(self._value(current_data)), reference

    def _value(self, data: Any) -> float:
        """The measure of one dataset of Evidently."""
        settings = self.metric
        columns = data.data_definition.get_classification(settings.classification)
        if columns is None or not columns.prediction_probas:
            raise InputError(
                f"the data definition has no classification {settings.classification!r} with "
                "prediction_probas: name the columns of probabilities there"
            )
        frame = data.as_dataframe()
        labels, probas = frame[columns.target], frame[columns.prediction_probas]
        classes: list[Any] | None = None
        if isinstance(columns, BinaryClassification):
            labels = (labels == columns.pos_label).astype(np.int64)
        else:
            classes = list(columns.prediction_probas)
            labels = labels.astype(str) if labels.dtype != object else labels
        found = evaluate(
            labels.to_numpy(),
            probas.to_numpy(),
            measures=[settings.measure],
            bins=settings.bins,
            classes=classes,
        )
        return float(found[settings.measure])
