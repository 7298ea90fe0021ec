"""Probabilities and log-probabilities under from_logits are recognised, on every way in."""

import importlib
import inspect
import warnings

import numpy as np
import pytest

import calibrant as cal
from calibrant import CalibrantWarning, InputError
from cli.command import csv, run
from every_engine import engine
from needs import need

ROWS = "these are probabilities.*Leave out from_logits"
UNIT = "every y_proba lies in .0, 1. while from_logits"
LOW = "no y_proba is above 0 while from_logits.*from_logprobs=True"
N = 60


def binary(kind):
    rng = np.random.default_rng(1)
    h = np.append(rng.normal(0, 2, N - 1), 1.5)
    p = 1 / (1 + np.exp(-h))
    y = (rng.random(N) < p).astype(int)
    return y, {"logits": h, "probabilities": p, "log-probabilities": np.log(p)}[kind]


def rows(kind):
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.ones(3), N)
    return rng.integers(0, 3, N), {"probabilities": p, "log-probabilities": np.log(p)}[kind]


def by_function(y, x):
    cal.ece(y, x, from_logits=True)


def by_evaluate(y, x):
    cal.evaluate(y, x, from_logits=True)


def by_tensor(y, x):
    torch = need("torch")
    with engine("torch"):
        cal.ece(torch.tensor(y), torch.tensor(x), from_logits=True)


def by_frame(y, x):
    columns = {"x": x} if x.ndim == 1 else {f"x{j}": x[:, j] for j in range(x.shape[1])}
    frame = need("polars").DataFrame({"y": y, **columns}).lazy()
    names = "x" if x.ndim == 1 else list(columns)
    cal.ece("y", names, data=frame, from_logits=True)


def by_stream(y, x):
    stream = cal.Accumulator(from_logits=True)
    for first in range(0, N, 5):
        stream.update(y[first : first + 5], x[first : first + 5])
    stream.evaluate()


def by_scaler(y, x):
    cal.TemperatureScaling().fit(y, x)


def by_transform(y, x):
    scaler = cal.PlattScaling(from_logits=True) if x.ndim == 1 else cal.VectorScaling()
    logits = np.random.default_rng(3).normal(0, 2, x.shape)
    scaler.fit(y, logits).transform(x)


WAYS = [by_function, by_evaluate, by_tensor, by_frame, by_stream, by_scaler, by_transform]


@pytest.mark.parametrize("way", WAYS)
def test_rows_of_probabilities_under_from_logits_are_refused(way):
    with pytest.raises(InputError, match=ROWS):
        way(*rows("probabilities"))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("kind", "said"), [("probabilities", UNIT), ("log-probabilities", LOW)])
def test_single_probabilities_under_from_logits_are_warned_of(way, kind, said):
    y, x = binary(kind)
    with pytest.warns(CalibrantWarning, match=said) as caught:
        way(y, x)
    assert any(warning.filename == __file__ for warning in caught)  # at the caller's line


@pytest.mark.parametrize("way", WAYS)
def test_logits_are_not_warned_of(way):
    with warnings.catch_warnings():
        warnings.simplefilter("error", CalibrantWarning)
        way(*binary("logits"))
        if way is not by_scaler:  # a temperature of 1 is right, and the fit may say so
            way(*rows("log-probabilities"))  # their softmax is right


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_short_probabilities_are_recognised_too(dtype):
    y, x = rows("probabilities")
    with pytest.raises(InputError, match=ROWS):
        cal.ece(y, x.astype(dtype), from_logits=True)


def test_a_few_numbers_tell_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error", CalibrantWarning)
        cal.ece([0, 1, 1], [-0.3, -0.1, -0.2], from_logits=True)
        cal.ece([0, 1, 1], [0.3, 0.1, 0.2], from_logits=True)
        cal.ece([0, 1], [[0.4, 0.6], [0.2, 0.8]], from_logits=True)
        cal.ece([0, 1] * 20, np.zeros(40), from_logits=True)


@pytest.mark.parametrize("verb", [("report",), ("report", "--stream"), ("check", "--max", "ece=1")])
def test_the_command_names_its_option(verb, tmp_path):
    y, x = binary("log-probabilities")
    labels, p = rows("probabilities")
    one = csv(tmp_path / "one.csv", {"y": y, "x": x.tolist()})
    many = csv(tmp_path / "many.csv", {"y": labels, **dict(zip("abc", p.T.tolist(), strict=True))})
    first, *options = verb
    told = run(first, str(one), "--label", "y", "--proba", "x", "--from-logits", *options)
    assert told.stderr.count("log-probabilities, pass --from-logprobs instead") == 1
    refused = run(first, str(many), "--label", "y", "--proba", "a,b,c", "--from-logits", *options)
    assert refused.returncode not in (0, 1) and "--from-logits" in refused.stderr


TAKE_LOGITS = [
    name
    for name in cal.__all__
    if inspect.isfunction(getattr(cal, name))
    and "from_logits" in inspect.signature(getattr(cal, name)).parameters
]


# Classes too, and displays' constructors; what an estimator gives is no log-probability.
PLACES = (
    cal,
    cal.scaling,
    "calibrant.plots",
    "calibrant.integrations.torchmetrics",
    "calibrant.integrations.evaluate_metric",
)


def takers():
    """Every public class, and every constructor of a display, that takes logits."""
    for place in PLACES:
        try:
            module = importlib.import_module(place) if isinstance(place, str) else place
            members = [getattr(module, name) for name in getattr(module, "__all__", dir(module))]
        except cal.MissingExtra:
            continue
        for member in members:
            ours = str(getattr(member, "__module__", "")).startswith("calibrant")
            if not ours or not inspect.isclass(member) or issubclass(member, Exception):
                continue
            for method in (member, getattr(member, "from_predictions", None)):
                if method is not None and "from_logits" in inspect.signature(method).parameters:
                    yield method


def test_classes_that_take_logits_take_log_probabilities():
    found = list(takers())
    assert len(found) >= 18
    for taker in found:
        assert "from_logprobs" in inspect.signature(taker).parameters, taker


@pytest.mark.parametrize("name", TAKE_LOGITS)
def test_what_takes_logits_takes_log_probabilities(name):
    assert "from_logprobs" in inspect.signature(getattr(cal, name)).parameters


@pytest.mark.parametrize("name", ["auroc", "aurc", "accuracy_at_coverage", "ici"])
def test_measures_of_log_probabilities(name):
    rng = np.random.default_rng(3)
    p = rng.random(200)
    y = (rng.random(200) < p).astype(int)
    function = getattr(cal, name)
    assert function(y, np.log(p), from_logprobs=True) == pytest.approx(function(y, p), rel=1e-12)


def test_results_of_log_probabilities():
    rng = np.random.default_rng(3)
    p = rng.random(200)
    y, logs = (rng.random(200) < p).astype(int), np.log(p)
    taken = {"from_logprobs": True}
    slopes = [cal.clinical_summary(y, p), cal.clinical_summary(y, logs, **taken)]
    assert slopes[0]["slope"] == pytest.approx(slopes[1]["slope"])
    curves = [
        cal.decision_curve(y, q, thresholds=[0.3], **more).net_benefit("model")[0]
        for q, more in ((p, {}), (logs, taken))
    ]
    assert curves[0] == pytest.approx(curves[1]) != 0
    assert cal.risk_coverage(y, logs, **taken).aurc == pytest.approx(cal.aurc(y, p))
    lines = [cal.reliability_curve(y, q, **more).columns() for q, more in ((p, {}), (logs, taken))]
    assert lines[0] == {name: pytest.approx(values) for name, values in lines[1].items()}


@pytest.mark.parametrize("taker", [cal.PlattScaling, cal.Accumulator], ids=lambda t: t.__name__)
def test_log_probabilities_that_are_not_named_are_recognised(taker):
    update = getattr(taker(), "fit" if taker is cal.PlattScaling else "update")
    with pytest.raises(cal.InputError, match=r"log-probabilities, .*from_logprobs=True"):
        update([0, 1], [-0.4, -1.2])


class TestLogProbabilitiesInClasses:
    rng = np.random.default_rng(5)
    p = rng.random(300)
    y = (rng.random(300) < p).astype(int)
    rows = rng.dirichlet(np.ones(3), 300)
    labels = rows.cumsum(axis=1).__gt__(rng.random((300, 1))).argmax(axis=1)

    @pytest.mark.parametrize("kind", sorted(cal.scaling.SCALERS), ids=str)
    @pytest.mark.parametrize("many", [False, True])
    def test_scalers_take_logits_that_are_named(self, kind, many):
        y, p = (self.labels, self.rows) if many else (self.y, self.p)
        cls = cal.scaling.SCALERS[kind]
        plain = cls(from_logits=False).fit(y, p)
        logs = cls(from_logprobs=True).fit(y, np.log(p))
        new = p[:50] ** 1.5 if not many else p[:50][:, [2, 0, 1]]  # no column at its place
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            np.testing.assert_allclose(logs.transform(np.log(new)), plain.transform(new), rtol=1e-8)
            again = cal.scaling.from_json(logs.to_json())
            np.testing.assert_array_equal(again.transform(np.log(new)), logs.transform(np.log(new)))
        assert again.from_logprobs and "from_logprobs" not in plain.to_json()
        assert "from_logprobs=True" in repr(logs) and "from_logprobs" not in repr(plain)

    def test_scalers_of_both(self):
        with pytest.raises(cal.InputError, match="both True"):
            cal.PlattScaling(from_logits=True, from_logprobs=True).fit([0, 1], [-0.4, -1.2])
        with pytest.raises(cal.InputError, match="from_logprobs must be True or False"):
            cal.TemperatureScaling(from_logprobs="yes").fit([0, 1], [-0.4, -1.2])

    def test_streams_take_logits_that_are_named(self, tmp_path):
        plain = cal.Accumulator().update(self.y, self.p).evaluate()
        stream = cal.Accumulator(from_logprobs=True).update(self.y, np.log(self.p))
        assert stream.evaluate()["ece"] == pytest.approx(plain["ece"], rel=1e-9)
        assert "a stream of binary log-probabilities" in stream.evaluate().inferred
        stream.save(tmp_path / "a.state")
        again = cal.Accumulator.load(tmp_path / "a.state").update(self.y, np.log(self.p))
        assert again.from_logprobs and again.n_rows == 600
        with pytest.raises(cal.CalibrantError, match="from_logprobs"):
            again.merge(cal.Accumulator())
        with pytest.raises(cal.InputError, match="both True"):
            cal.Accumulator(from_logits=True, from_logprobs=True)
        monitor = cal.Monitor(from_logprobs=True)
        monitor.update(self.labels, np.log(self.rows), time="2026-01-05")
        expected = cal.ece(self.labels, self.rows)
        assert monitor.evaluate().latest.values["ece"] == pytest.approx(expected, rel=1e-9)

    def test_torchmetrics_take_logits_that_are_named(self):
        torch = need("torch")
        need("torchmetrics")
        from calibrant.integrations.torchmetrics import CalibrationMetric

        metric = CalibrationMetric("ece", num_classes=3, from_logprobs=True)
        metric.update(torch.tensor(np.log(self.rows)), torch.tensor(self.labels))
        assert float(metric.compute()) == pytest.approx(cal.ece(self.labels, self.rows), rel=1e-6)
