"""Every result's JSON is what the schema of its class says, to the last key."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import is_dataclass

import numpy as np
import pytest

import calibrant as cal
from calibrant._research.audits.audit import audit
from calibrant.results._base import Record
from calibrant.results._schema import all_schemas
from needs import need

RNG = np.random.default_rng(4)
N = 400
P = RNG.uniform(0.05, 0.95, N)
Y = (RNG.random(N) < P**1.4).astype(int)
WARD = RNG.choice(["a", "b"], N)
ROWS = RNG.dirichlet(np.ones(3), N)
LABELS = np.array([RNG.choice(3, p=row) for row in ROWS])
VOTES = RNG.multinomial(5, ROWS)
FEW = {"n_resamples": 50}
MODELS = {"a": P, "b": P**1.2, "c": np.sqrt(P)}


def monitored():
    monitor = cal.Monitor(every="1d", bins=10, by="ward")
    days = np.datetime64("2026-01-05") + np.arange(N) % 4
    monitor.update(Y, P, time=days, by=WARD)
    return monitor.evaluate()


def people():
    item, who = np.divmod(np.arange(600), 5)
    label = np.where(who == 4, RNG.integers(0, 2, 600), item % 2)
    long = {"item": item, "label": label, "who": who}
    return cal.annotators(cal.count_votes(long, item="item", label="label", annotator="who"))


# What functions give; a report holds most other results.
MADE = {
    "a report": lambda: cal.report(Y, P, by=WARD, segments={"ward": WARD}),
    "a report of votes": lambda: cal.report(VOTES, ROWS, recalibrate="temperature"),
    "an evaluation": lambda: cal.evaluate(LABELS, ROWS, uncertainty=True, **FEW),
    "values alone": lambda: cal.evaluate(Y, P),
    "bounds": lambda: cal.evaluate(cal.Between(0.8 * P, P), P),
    "a comparison": lambda: cal.compare(Y, MODELS, measures=["ece", "lin_ce"], by=WARD, **FEW),
    "many models": lambda: cal.compare(
        Y, {f"{j}": P ** (1 + j / 9) for j in range(9)}, measures=["ece"], **FEW
    ),
    "its ceiling": lambda: cal.compare(VOTES, {"a": ROWS, "b": ROWS[:, ::-1]}, ceiling=True, **FEW),
    "a check": lambda: cal.check(Y, P, at_most={"ece": 0.3}, at_least={"slope": 0.2}),
    "a check of change": lambda: cal.check(
        Y, P, max_increase={"brier": 0.1}, baseline={"y_true": Y, "y_proba": P**1.1}
    ),
    "a check of values": lambda: cal.check(Y, P, at_most={"ece": 0.3}, point=True),
    "classes": lambda: cal.classwise_reliability(LABELS, ROWS),
    "a certificate": lambda: cal.certify(Y, P),
    "a judge": lambda: cal.judge(Y[:100], P[:100], P[100:]),
    "sampled answers": lambda: cal.sampled_answers(
        np.arange(90) // 3, np.arange(90) % 2, Y[:90], P[:90]
    ),
    "centres": lambda: cal.centres(Y[:90], P[:90], by=np.arange(90) % 3),
    "optimism": lambda: cal.optimism(
        lambda x, y: lambda new: np.full(len(new), y.mean()),
        P[:40],
        Y[:40],
        measures=["brier"],
        n_resamples=50,
    ),
    "a test": lambda: cal.spiegelhalter(Y, P),
    "a test of cutoffs": lambda: cal.cutoff_test(Y, P),
    "a line": lambda: cal.cox_calibration(np.append(Y, [0, 1]), np.append(P, [0.0, 1.0])),
    "a smooth curve": lambda: cal.smooth_reliability(Y, P),
    "a curve": lambda: cal.reliability_curve(Y, P),
    "vote noise": lambda: cal.vote_noise(VOTES, ROWS, measure="brier"),
    "the Bayes error": lambda: cal.bayes_error(VOTES),
    "a decomposition": lambda: cal.decompose(Y, P),
    "matched boxes": lambda: cal.match_boxes([[0, 0, 2, 2]], [0.9], [[0, 0, 2, 1]]),
    "several labels": lambda: cal.multilabel(np.stack([Y, Y], 1), np.stack([P, P], 1)),
    "bins": lambda: cal.bin_sensitivity(Y, P, measures=["ece"]),
    "maps": lambda: cal.recommend(Y, P, maps=["platt", "beta"]),
    "windows": monitored,
    "annotators": people,
    "an audit": lambda: audit("brier"),
    "a curve of rows": lambda: cal.risk_coverage(Y, P),
}
SCHEMAS = all_schemas()


def strict(schema):
    """The schema, with every key forbidden that it does not name."""
    if isinstance(schema, list):
        return [strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {"additionalProperties": False} if "properties" in schema else {}
    return {key: strict(each) for key, each in schema.items()} | closed


@functools.cache
def made(name):
    """A result, and every result that it holds."""
    return list(results_in(MADE[name]()))


def results_in(value):
    if isinstance(value, Record):
        yield value
    if isinstance(value, Record) or is_dataclass(value):
        value = vars(value)
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for each in value:
            yield from results_in(each)


@pytest.mark.parametrize("name", MADE)
def test_results_are_as_their_schemas_say(name):
    for result in made(name):
        cls = type(result).__name__
        found = json.loads(result.to_json())
        assert found["$schema"] == SCHEMAS[cls]["$id"] == f"urn:calibrant:1:{cls}"
        validator(cls).validate(found)
        del found["$schema"]
        assert '"$schema"' not in json.dumps(found), "what it holds is not marked again"
        with pytest.raises(need("jsonschema").ValidationError):  # as any validator would have it
            validator(cls).validate(found)


@functools.cache
def validator(cls):
    schemas = need("jsonschema").Draft202012Validator
    schemas.check_schema(SCHEMAS[cls])
    return schemas(strict(SCHEMAS[cls]))


def test_every_class_was_among_them():
    seen = {type(result).__name__ for name in MADE for result in made(name)}
    assert seen == set(SCHEMAS)
