"""Saved scalers that no save has written: each is a StateError, or a map that works."""

import copy
import json
from contextlib import suppress

import numpy as np
import pytest
from scaling_problems import KINDS, SHAPES

from calibrant import CalibrantError, Quantile, StateError, scaling
from calibrant.scaling import SCALERS, HistogramBinning

DEEP = "a nest of 20,000 lists"
BAD = [
    None, True, -1, 0, 3, 2.5, 10**9, 10**18, 10**400, 1e308, float("nan"), float("inf"), "", "x",
    "9" * 5000, [], [[]], ["x"], [None], [1, [2]], [0.5, 0.5], {}, {"each": [[0.5]]}, {"rule": "x"},
    {"rule": "Quantile", "m": 10**9}, DEEP,
]  # fmt: skip


def places(value, at=()):
    """Places in a JSON document, as the keys that lead to them; of long lists the first."""
    yield at
    if isinstance(value, dict):
        for key in list(value)[: 2 if at[-1:] == ("repeated",) else None]:
            yield from places(value[key], (*at, key))
    elif isinstance(value, list) and value:
        yield from places(value[0], (*at, 0))


def changed(document, at, value):
    """The document with another value at a place; with `...`, without that place."""
    if not at:
        return value
    out = copy.copy(document)  # copied along the way to the place: the rest stays as it is
    if len(at) > 1:
        out[at[0]] = changed(document[at[0]], at[1:], value)
    elif value is ...:
        del out[at[0]]
    else:
        out[at[0]] = value
    return out


def fitted(kind, shape):
    made = SHAPES[shape]
    scaler = SCALERS[kind]() if kind in SCALERS else HistogramBinning(bins=Quantile(3))
    rows = np.concatenate([made.predictions(scaler.from_logits)[:16]] * 2)
    return scaler.fit(np.concatenate([made.soft[:16]] * 2), rows), rows


LOGITS = ("options", "from_logits")
# Each in one shape, the two by turns.
CASES = [(kind, list(SHAPES)[i % 2]) for i, kind in enumerate([*KINDS, "quantiles", *KINDS[-2:]])]


@pytest.mark.filterwarnings("ignore::calibrant.scaling.SameRows")
@pytest.mark.parametrize(("kind", "shape"), CASES)
def test_every_change_is_a_state_error_or_a_map(kind, shape):
    scaler, rows = fitted(kind, shape)
    ends = np.zeros_like(rows)
    ends[::2] = 1
    both = np.concatenate([rows, ends])
    known = json.loads(scaler.to_json())
    assert known["fitted_rows"]["repeated"]
    refused = []
    for at in places(known):
        bad = [*BAD, *([...] if at else [])]
        # What every kind reads alike, a kind tries a quarter of; among all, each value five times.
        own = at[:1] == ("learned",) or (len(at) > 1 and at[1] in known["options"] and at != LOGITS)
        half = at in [("columns",), ("n_classes_",)]
        step = 1 if own else 2 if half else 4
        for value in bad[CASES.index((kind, shape)) % step :: step]:
            text = json.dumps(changed(known, at, value))
            text = text.replace(json.dumps(DEEP), "[" * 20_000 + "]" * 20_000)
            try:
                loaded = scaling.from_json(text)
            except StateError as error:
                refused.append(str(error))
                continue
            repr(loaded)
            with suppress(CalibrantError):
                assert loaded.transform(both).shape == both.shape
    assert len(refused) > 150 and max(map(len, refused)) < 1000


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", [*KINDS, "quantiles"])
def test_numbers_that_are_lost(kind, shape):
    """A list that is cut short, or a null in it, is no map: it would be another one."""
    known = json.loads(fitted(kind, shape)[0].to_json())
    histogram = known["kind"] == "HistogramBinning"
    lists = [at for at in places(known["learned"]) if at and at[-1] == 0]
    for at in lists:
        own = known["learned"]
        for key in at[:-1]:
            own = own[key]
        for other in (own[:-1], [*own, own[-1]], [None, *own[1:]]):
            if histogram and None in other:
                continue  # a bin that was empty in the fit
            with pytest.raises(StateError):
                scaling.from_json(json.dumps(changed(known, ("learned", *at[:-1]), other)))
