"""A scaler that is saved and loaded gives the same bits; what is damaged is refused."""

import json
import os
import warnings

import numpy as np
import pytest
from scaling_problems import BINARY, KINDS, MULTICLASS, NEW, SHAPES

from calibrant import Edges, EqualWidth, InputError, Quantile, StateError, scaling
from calibrant.scaling import SCALERS, HistogramBinning, SameRows, TemperatureScaling


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_bits_come_back(kind, shape, tmp_path):
    made, new = SHAPES[shape], NEW[shape]
    scaler = SCALERS[kind]()
    scaler.fit(made.soft, made.predictions(scaler.from_logits), sample_weight=made.weights)
    path = tmp_path / "scaler.json"
    path.write_text("an older file")
    scaler.save(path)
    assert [p.name for p in tmp_path.iterdir()] == ["scaler.json"]
    again = scaling.load(path)
    assert type(again) is type(scaler) and repr(again) == repr(scaler)
    predictions = new.predictions(scaler.from_logits)
    np.testing.assert_array_equal(again.transform(predictions), scaler.transform(predictions))
    assert again.to_json() == scaler.to_json() == path.read_text().rstrip("\n")
    with pytest.warns(SameRows):
        again.transform(made.predictions(scaler.from_logits))


@pytest.mark.parametrize(
    "bins", [7, "quantile", EqualWidth(5, closed="right"), Quantile(4), Edges([0, 0.2, 1]),
             [0, 0.5, 1], (0, 0.5, 1), np.array([0, 0.25, 1]), np.int64(6)], ids=str,
)  # fmt: skip
def test_rules_of_bins_come_back(bins):
    scaler = HistogramBinning(bins=bins).fit(BINARY.soft, BINARY.proba)
    again = scaling.from_json(scaler.to_json())
    predictions = np.linspace(0, 1, 201)
    np.testing.assert_array_equal(again.transform(predictions), scaler.transform(predictions))


def test_empty_bins_come_back():
    scaler = scaling.from_json(HistogramBinning(bins=10).fit([0, 1], [0.05, 0.95]).to_json())
    assert scaler.transform([0.33]).tolist() == [0.33]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        json.loads(scaler.to_json(), parse_constant=pytest.fail)


def changed(**fields):
    content = json.loads(TemperatureScaling().fit(MULTICLASS.hard, MULTICLASS.logits).to_json())
    return json.dumps({**content, **fields})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a whole JSON document"),
        (changed()[:-20], "not a whole JSON document"),
        ("[1, 2]", "not a Calibrant scaler"),
        ('{"kind": "TemperatureScaling"}', "not a Calibrant scaler"),
        (changed(version=2), "format version 2; this Calibrant reads version 1: upgrade"),
        (changed(kind="TemperatureScalin"), "unknown kind.*did you mean 'TemperatureScaling'"),
        (changed(learned={}), "damaged: KeyError"),
        (changed(learned={"temperature_": "hot"}), "damaged"),
        (changed(learned={"temperature_": None}), "damaged"),
        (changed(kind="VectorScaling", learned={"coef_": [1, 2], "intercept_": [0, 0]}), "damaged"),
        (changed(options={"from_logits": "perhaps"}), "damaged"),
        (changed(options={"warm": True}), "damaged: UnknownOption"),
        (changed(columns="four"), "damaged"),
        (changed(loss_=None), "damaged"),
    ],
)
def test_damaged_text_is_refused(text, message, tmp_path):
    with pytest.raises(StateError, match=message):
        scaling.from_json(text)
    path = tmp_path / "scaler.json"
    path.write_text(text)
    with pytest.raises(StateError, match=r"scaler\.json"):
        scaling.load(path)


def test_a_save_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "scaler.json"
    TemperatureScaling().fit(MULTICLASS.hard, MULTICLASS.logits).save(path)
    before = path.read_text()

    def fail(*_):
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no space"):
        TemperatureScaling().fit(MULTICLASS.soft, MULTICLASS.logits).save(path)
    assert path.read_text() == before
    assert [p.name for p in tmp_path.iterdir()] == ["scaler.json"]


def test_classes_at_transform_are_checked_after_loading():
    again = scaling.from_json(changed())
    with pytest.raises(InputError, match=r"\(n, 4\), as in fit"):
        again.transform([[0.1, 0.2]])


@pytest.mark.parametrize("kind", ["IsotonicCalibration", "CentredIsotonic"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["thresholds_", "values_"])
@pytest.mark.parametrize("place", [0, -1])
def test_isotonic_maps_beyond_probabilities_are_refused(kind, shape, name, place):
    """A forged map gave -3 and 8."""
    made = SHAPES[shape]
    scaler = SCALERS[kind]()
    scaler.fit(made.soft, made.predictions(scaler.from_logits))
    content = json.loads(scaler.to_json())
    each = content["learned"][name]["each"]
    each[-1][place] = -3.0 if place == 0 else 8.0
    with pytest.raises(StateError, match=r"damaged.*are not probabilities"):
        scaling.from_json(json.dumps(content))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", KINDS)
def test_no_damage_gives_numbers_beyond_probabilities(kind, shape):
    """Whatever single number of a map is changed, it is refused or gives probabilities."""
    made = SHAPES[shape]
    scaler = SCALERS[kind]()
    scaler.fit(made.soft, made.predictions(scaler.from_logits))
    content = json.loads(scaler.to_json())
    rng = np.random.default_rng(0)
    for _ in range(30):
        forged = json.loads(json.dumps(content))
        at = forged["learned"]
        key = rng.choice(list(at))
        while isinstance(at[key], dict | list) and len(at[key]):
            at = at[key]
            key = rng.choice(list(at)) if isinstance(at, dict) else int(rng.choice([0, -1]))
        if not isinstance(at[key], float | int):
            continue
        at[key] = float(rng.choice([-3.0, 8.0, -1e3, 1e3]))
        try:
            again = scaling.from_json(json.dumps(forged))
        except StateError:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            out = again.transform(made.predictions(scaler.from_logits))
        assert out.min() >= -1e-9 and out.max() <= 1 + 1e-9, (key, at[key])
