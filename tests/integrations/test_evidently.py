"""Evidently: the metric in a real report, with tests and a reference."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal

# Not `need`: it is not among the packages of the tests. It brings thirty, and wants pandas 2.
try:
    import evidently  # noqa: F401
except ImportError as error:
    pytest.skip(f"evidently: {error}", allow_module_level=True)
pd = pytest.importorskip("pandas")


def dataset(frame, classification):
    from evidently import DataDefinition, Dataset

    definition = DataDefinition(classification=[classification])
    return Dataset.from_pandas(frame, data_definition=definition)


def binary(seed, positive="yes"):
    from evidently import BinaryClassification

    random = np.random.default_rng(seed)
    p = random.random(200)
    truth = random.random(200) < p**2
    frame = pd.DataFrame({"target": np.where(truth, "yes", "no"), "p": p})
    columns = BinaryClassification(target="target", prediction_probas="p", pos_label=positive)
    return dataset(frame, columns), truth, p


def values(report):
    return [each["value"] for each in report.dict()["metrics"]]


def test_a_report_has_the_measures_of_the_current_rows():
    from evidently import Report

    from calibrant.integrations.evidently import Calibration

    data, truth, p = binary(0)
    report = Report([Calibration(), Calibration(measure="brier"), Calibration(bins=5)])
    expected = [cal.ece(truth, p), cal.evaluate(truth, p)["brier"], cal.ece(truth, p, bins=5)]
    assert values(report.run(data, None)) == pytest.approx(expected, abs=1e-12)


def test_limits_and_a_reference():
    from evidently import Report
    from evidently.tests import lte

    from calibrant.integrations.evidently import Calibration

    (now, truth, p), (before, _, _) = binary(0), binary(1)
    error = cal.ece(truth, p)
    for limit, status in ((error * 1.01, "SUCCESS"), (error * 0.99, "FAIL")):
        found = Report([Calibration(tests=[lte(limit)])]).run(now, before)
        assert [each["status"].value for each in found.dict()["tests"]] == [status]
        assert values(found) == pytest.approx([error], abs=1e-12)


@pytest.mark.parametrize("names", [["a", "b", "c"], ["0", "1", "2"]])
def test_several_classes(names):
    from evidently import MulticlassClassification, Report

    from calibrant.integrations.evidently import Calibration

    random = np.random.default_rng(2)
    p, truth = random.dirichlet(np.ones(3), 150), random.integers(3, size=150)
    labels = truth if names[0] == "0" else np.array(names)[truth]
    frame = pd.DataFrame(p, columns=names).assign(target=labels)
    columns = MulticlassClassification(target="target", prediction_probas=names)
    found = Report([Calibration(measure="classwise_ece")]).run(dataset(frame, columns), None)
    assert values(found) == pytest.approx(
        [cal.evaluate(truth, p, measures=["classwise_ece"])["classwise_ece"]], abs=1e-12
    )
