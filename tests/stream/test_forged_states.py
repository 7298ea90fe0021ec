"""State files that no save has written, with a right checksum: each is a StateError that names the
file, takes no more memory than the recipe needs, or is a state that works.
"""

import copy
import hashlib
import json
import tracemalloc
import zlib
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

import calibrant as cal
from calibrant import CalibrantError, StateError

RNG = np.random.default_rng(1)
Y, P = RNG.integers(0, 2, 50), RNG.random(50)
ROWS = RNG.dirichlet(np.ones(3), 50)
DEEP = "a nest of 20,000 lists"

BAD = [
    None, True, -1, 0, 3, 2.5, 10**18, 10**400, -(10**400), 1e308, float("nan"), float("inf"), "",
    "x", "9" * 5000, "1969-12-31", [], [[]], ["x"], [None], [1, [2]], [["counts", [7]]], {},
    {"x": 1}, {"m": 3}, DEEP,
]  # fmt: skip


def streams():
    windows = cal.Monitor(every="1d", keep=2)
    for day in ("01", "02", "03"):
        windows.update(Y, P, time=f"2026-01-{day}")
    return {
        "binary": cal.Accumulator(bins=3, measures=["ece", "brier"]).update(Y, P),
        "edges": cal.Accumulator(bins=[0, 0.2, 1], measures=["ece"]).update(Y, P),
        "classes": cal.Accumulator(
            bins=3, measures=["classwise_ce", "brier"], classes=["a", "b", "c"]
        ).update(np.array(list("abc"))[RNG.integers(0, 3, 50)], ROWS),
        "empty": cal.Accumulator(measures=["ece"]),
        "monitor": windows,
        "no windows": cal.Monitor(),
    }


STREAMS = streams()


def places(value, at=()):
    """Every place in a JSON document, as the keys that lead to it."""
    yield at
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], (*at, key))
    elif isinstance(value, list):
        for i, part in enumerate(value[:3]):
            yield from places(part, (*at, i))


def header_of(stream):
    """What a saved state says of itself."""
    with TemporaryDirectory() as folder:
        stream.save(Path(folder) / "a.state")
        content = (Path(folder) / "a.state").read_bytes()
    return json.loads(content.split(b"\n", 2)[1])


PLACES = {name: set(places(header_of(stream))) for name, stream in STREAMS.items()}


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


def forged(header, body):
    """What a file would hold, with a right checksum."""
    text = json.dumps(header).replace(json.dumps(DEEP), "[" * 20_000 + "]" * 20_000)
    content = b"calibrant-state 4\n" + text.encode() + b"\n" + body
    return content + hashlib.sha256(content).digest()


def written(path, header, body):
    path.write_bytes(forged(header, body))


def used(stream):
    """What a user does with a state: nothing of it may end in an error that is not ours."""
    repr(stream)
    try:
        if stream.n_rows:
            stream.evaluate()
        stream.merge(stream)
    except CalibrantError:
        pass


@pytest.mark.parametrize("name", STREAMS)
def test_every_change_of_the_header_is_a_state_error_or_a_state(name, tmp_path, monkeypatch):
    stream, path = STREAMS[name], tmp_path / "a.state"
    stream.save(path)
    _, header, body = path.read_bytes()[:-32].split(b"\n", 2)
    known = json.loads(header)
    # Thousands of files on a disk take longer than reading what is in them.
    monkeypatch.setattr(Path, "read_bytes", lambda asked: contents[str(asked)])
    refused, contents = [], {}
    for at in places(known):
        bad = [*BAD, *([...] if at else [])]
        # Where several have a place, each of them tries one half of the values by turns.
        others = [other for other in STREAMS if at in PLACES[other]]
        for value in bad[others.index(name) % 2 :: 2] if len(others) > 1 else bad:
            contents[str(path)] = forged(changed(known, at, value), body)
            try:
                loaded = type(stream).load(path)
            except StateError as error:
                refused.append(str(error))
            else:
                used(loaded)
    assert len(refused) > 150
    assert [said for said in refused if str(path) not in said or len(said) > 1000] == []


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, -1.0, 0.5, 1e300])
@pytest.mark.parametrize("name", ["binary", "classes", "monitor"])
def test_every_change_of_a_count_is_a_state_error_or_a_state(name, bad, tmp_path):
    stream, path = STREAMS[name], tmp_path / "a.state"
    stream.save(path)
    _, header, body = path.read_bytes()[:-32].split(b"\n", 2)
    numbers = np.frombuffer(zlib.decompress(body))
    for i in range(7):
        forged = numbers.copy()
        forged[i] = bad
        written(path, json.loads(header), zlib.compress(forged.tobytes()))
        try:
            used(type(stream).load(path))
        except StateError:
            continue


def promising(path, stream, name):
    """A small file whose header promises 2^27 rows of an array, and that holds 2^24 of zeros."""
    stream.save(path)
    _, header, body = path.read_bytes()[:-32].split(b"\n", 2)
    known = json.loads(header)
    length = 2**27
    known["arrays"] = [
        [n, [length, *shape[1:]] if n == name else shape] for n, shape in known["arrays"]
    ]
    if name == "more":
        known["arrays"].append(["more", [length]])
    packing = zlib.compressobj()
    parts = [packing.compress(zlib.decompress(body))]
    parts += [packing.compress(bytes(1 << 20)) for _ in range(1 << 4)]
    written(path, known, b"".join([*parts, packing.flush()]))


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("binary", "counts"),
        ("binary", "cells"),
        ("binary", "more"),
        ("classes", "classwise"),
        ("monitor", "counts"),
        ("monitor", "losses"),
    ],
)
def test_no_more_is_unpacked_than_the_recipe_needs(name, array, tmp_path):
    path, stream = tmp_path / "a.state", STREAMS[name]
    promising(path, stream, array)
    tracemalloc.start()
    try:
        with pytest.raises(StateError, match=r"counts|are needed"):
            type(stream).load(path)
        assert tracemalloc.get_traced_memory()[1] < 8e6
    finally:
        tracemalloc.stop()


def test_more_numbers_than_were_announced_are_not_read(tmp_path):
    path = tmp_path / "a.state"
    STREAMS["binary"].save(path)
    _, header, body = path.read_bytes()[:-32].split(b"\n", 2)
    written(path, json.loads(header), zlib.compress(zlib.decompress(body) + bytes(8)))
    with pytest.raises(StateError, match="more numbers than expected"):
        cal.Accumulator.load(path)
    written(path, json.loads(header), zlib.compress(zlib.decompress(body)[:-8]))
    with pytest.raises(StateError, match=r"numbers, but .* are expected"):
        cal.Accumulator.load(path)


def test_predictions_are_not_of_two_kinds(tmp_path):
    """Which no change of one place can claim."""
    path = tmp_path / "a.state"
    STREAMS["binary"].save(path)
    _, header, body = path.read_bytes()[:-32].split(b"\n", 2)
    known = json.loads(header)
    known["recipe"] |= {"from_logits": True, "from_logprobs": True}
    written(path, known, body)
    with pytest.raises(StateError, match=r"from_logits and from_logprobs cannot both be true"):
        cal.Accumulator.load(path)
