"""The simulation of billions of rows at a small size, and clusters that are put into blocks."""

import importlib.util
import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest

import calibrant as cal
from calibrant._api.files import pooled
from calibrant._data.readers import find, source
from needs import need

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"
if not FOLDER.exists():  # the installed package is tested without its repository
    pytest.skip("the benchmarks are not at hand", allow_module_level=True)
ROWS = 60_000


def load(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def at_scale():
    return load("at_scale")


@pytest.fixture
def made(at_scale, monkeypatch):
    """The format of made rows, known as long as a test runs."""
    monkeypatch.setattr(source, "_new_reader", source._new_reader)
    monkeypatch.setitem(find.SUFFIXES, "made", (".made",))
    at_scale.register()
    return at_scale


@pytest.mark.parametrize(
    ("case", "passes"),
    [
        ("made", 1),
        ("intervals", 1),
        ("everything", 2),
        ("slices", 1),
        ("clusters", 2),
        ("floats", 1),
    ],
)
def test_cases(made, case, passes, capsys):
    found = made.measured(case, ROWS)
    assert found["passes"] == passes and found["rows"] == ROWS
    if case in ("intervals", "everything", "floats"):
        assert abs(found["ece"] - made.TRUTH) < 5 / math.sqrt(ROWS)
    if case == "intervals":
        assert found["width"] * math.sqrt(ROWS) == pytest.approx(1.546, rel=0.3)
    if case == "floats":
        assert found["worst_bin"] < 1e-15 and found["running_sum"] < 1e-12
    made.show(case, found)
    assert capsys.readouterr().out.startswith(case)


def test_states_and_hashed_rows(made):
    merged = made.measured("merge", ROWS)
    assert merged["holds"] and merged["passes"] == 1
    need("duckdb")
    hashed = made.measured("duckdb", ROWS)
    assert hashed["width"] == pytest.approx(merged["width"], rel=0.1)


def test_rows_are_the_same_in_every_reading(made, tmp_path):
    path = made.made(tmp_path, 1_500_000)
    rows = [cal.read_file(path) for _ in range(2)]
    assert (rows[0].y_proba == rows[1].y_proba).all() and rows[0].y_proba.size == 1_500_000
    assert np.unique(rows[0].y_proba[:1000]).size > 900


def test_the_command_prints_a_table(at_scale, tmp_path, monkeypatch, capsys):
    out = tmp_path / "figures.json"
    given = ["at_scale.py", "--rows", "3e4", "--cases", "intervals", "--json", str(out)]
    monkeypatch.setattr(sys, "argv", given)
    at_scale.main()
    assert "intervals      3e+04" in capsys.readouterr().out
    assert json.loads(out.read_text())["intervals"][0]["passes"] == 1


def test_passes_are_counted(made, monkeypatch, capsys):
    need("duckdb")
    passes = load("passes")
    for table in ("OF_FILES", "OF_FRAMES"):
        some = dict(list(getattr(passes, table).items())[:2])
        monkeypatch.setattr(passes, table, some)
    monkeypatch.setattr(sys, "argv", ["passes.py", "--rows", "2e4"])
    passes.main()
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.split()[-1] == "1.00" for line in lines if line) == 2
    assert any(line.startswith("evaluate, ece ") and line.split()[2] == "1" for line in lines)
    assert any(line.startswith("zstd") for line in lines)


# --- clusters -------------------------------------------------------------------------------------


def clustered_rows(n=12_000, size=4):
    rng = np.random.default_rng(3)
    user = rng.permutation(np.arange(n) // size)
    p = rng.random(n)
    apart = np.where(rng.random(n // size) < 0.5, 0.7, -0.7)[user]
    label = (rng.random(n) < p + p * (1 - p) * (0.1 + apart)).astype(int)
    return label, p, user


def test_many_clusters_are_put_into_blocks(tmp_path, monkeypatch):
    label, p, user = clustered_rows()
    path = tmp_path / "rows.npz"
    np.savez(path, label=label, p=p, user=user)

    def evaluated():
        given = {"groups": "user", "uncertainty": True, "measures": ["ece"]}
        return cal.evaluate_file(path, **given).estimate("ece").interval

    exact = evaluated()
    monkeypatch.setattr(pooled, "MOST_GROUPS", 500)
    monkeypatch.setattr(pooled, "PENDING", 1000)
    monkeypatch.setattr(source, "CHUNK", 1500)
    found = []
    for threads in ("1", "2"):
        monkeypatch.setenv("CALIBRANT_THREADS", threads)
        found.append(evaluated())
    assert found[0] == found[1]
    width = found[0].high - found[0].low
    assert width == pytest.approx(exact.high - exact.low, rel=0.25) and width > 0


def test_blocks_have_all_rows_and_follow_from_names(monkeypatch):
    monkeypatch.setattr(pooled, "MOST_GROUPS", 100)
    rng = np.random.default_rng(0)
    parts = []
    for _ in range(3):
        names = np.array(sorted({f"user {j}" for j in rng.integers(0, 5000, 2000)}))
        cluster, key = rng.integers(0, names.size, 3000), rng.integers(0, 50, 3000)
        sums = np.stack([np.ones(3000), *rng.random((6, 3000))])
        parts.append(pooled.Pool(names, *pooled._summed(cluster, key, [sums])))
    merged = pooled.Pool.merged(parts)
    assert merged.blocks and merged.sums[0].sum() == 9000
    assert merged.cluster.max() < pooled.BLOCKS
    assert merged.sums[4].sum() == pytest.approx(sum(part.sums[4].sum() for part in parts))
    assert merged.sums[6].max() == max(part.sums[6].max() for part in parts)
    # In blocks first, then merged: the same groups.
    other = pooled.Pool.merged([part.in_blocks() for part in parts])
    assert (other.cluster == merged.cluster).all() and (other.key == merged.key).all()
    assert other.sums == pytest.approx(merged.sums)
    # Numbers in a row are spread evenly.
    blocks = pooled.blocks_of_names(np.arange(51_200).astype(np.str_))
    counts = np.bincount(blocks, minlength=pooled.BLOCKS)
    assert counts.size == pooled.BLOCKS and 60 < counts.var() < 160 and counts.mean() == 100


def test_rows_are_absorbed_by_their_groups():
    rng = np.random.default_rng(1)
    cluster, key = rng.integers(0, 20, 900), rng.integers(0, 30, 900)
    sums = np.stack([np.ones(900), *rng.random((6, 900))])
    names = np.array([f"{j:02}" for j in range(20)])
    whole = pooled.Pool(names, *pooled._summed(cluster, key, [sums]))
    first = pooled.Pool(names, *pooled._summed(cluster[:300], key[:300], [sums[:, :300]]))
    new = first.absorb(cluster[300:], key[300:], sums[:, 300:])
    assert 0 < new.sum() < 600
    rest = sums[:, 300:][:, new]
    late = pooled.Pool(names, *pooled._summed(cluster[300:][new], key[300:][new], [rest]))
    both = pooled.Pool.merged([first, late])
    assert (both.cluster == whole.cluster).all() and (both.key == whole.key).all()
    assert both.sums == pytest.approx(whole.sums, rel=1e-12)
