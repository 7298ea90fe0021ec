"""Probabilities and log-probabilities under from_logits are recognised, on every way in."""

import inspect
import warnings

import numpy as np
import pytest

import calibrant as cal
from calibrant._core.errors import CalibrantWarning, InputError
from calibrant._engines.arrays.selection import engine
from cli.command import csv, run
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
    assert told.stderr.count("log-probabilities, pass --from-logprobs in place of it") == 1
    refused = run(first, str(many), "--label", "y", "--proba", "a,b,c", "--from-logits", *options)
    assert refused.returncode not in (0, 1) and "--from-logits" in refused.stderr


TAKE_LOGITS = [
    name for name in cal.__all__
    if inspect.isfunction(getattr(cal, name))
    and "from_logits" in inspect.signature(getattr(cal, name)).parameters
]  # fmt: skip


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
    curves = [cal.decision_curve(y, q, thresholds=[0.3], **more).net_benefit("model")[0]
              for q, more in ((p, {}), (logs, taken))]  # fmt: skip
    assert curves[0] == pytest.approx(curves[1]) != 0
    assert cal.risk_coverage(y, logs, **taken).aurc == pytest.approx(cal.aurc(y, p))
    lines = [cal.reliability_curve(y, q, **more).columns() for q, more in ((p, {}), (logs, taken))]
    assert lines[0] == {name: pytest.approx(values) for name, values in lines[1].items()}


@pytest.mark.parametrize("taker", [cal.PlattScaling, cal.Accumulator], ids=lambda t: t.__name__)
def test_where_log_probabilities_are_not_taken_their_exp_is(taker):
    update = getattr(taker(), "fit" if taker is cal.PlattScaling else "update")
    with pytest.raises(cal.InputError, match="log-probabilities, give their exp or"):
        update([0, 1], [-0.4, -1.2])
