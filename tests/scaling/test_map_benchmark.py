"""The comparison of maps on a folder of files: what it reads, what it passes over, how it ranks."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from scaling_problems import BINARY, MULTICLASS, NEW

import calibrant as cal

FILE = Path(__file__).resolve().parents[2] / "benchmarks" / "maps.py"
if not FILE.exists():  # the installed package is tested without its repository
    pytest.skip("the benchmarks are not at hand", allow_module_level=True)


@pytest.fixture(scope="module")
def maps():
    spec = importlib.util.spec_from_file_location("benchmark_maps", FILE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_a_folder_becomes_tables(maps, tmp_path, monkeypatch, capsys):
    new = NEW["multiclass"]
    np.savez(tmp_path / "one.npz", prob=BINARY.proba[:120], outcome=BINARY.hard[:120])
    split = {"val_logits": MULTICLASS.logits[:150], "val_labels": MULTICLASS.hard[:150]}
    np.savez(tmp_path / "split.npz", **split, test_logits=new.logits, test_labels=new.hard)
    np.savez(tmp_path / "other.npz", counts=np.ones(3))
    monkeypatch.setattr(sys, "argv", ["maps.py", str(tmp_path), "--each"])
    maps.main()
    printed = capsys.readouterr()
    assert "other: passed over" in printed.err
    assert "binary: 1 sets" in printed.out and "multiclass: 1 sets" in printed.out
    scaler = cal.TemperatureScaling().fit(MULTICLASS.hard[:150], MULTICLASS.logits[:150])
    loss = cal.log_loss(new.hard, scaler.transform(new.logits))
    assert f" {loss:.4f} |" in printed.out


def test_win_rates(maps):
    rates = maps.win_rates([{"a": 1.0, "b": 2.0, "c": 2.0}, {"a": 3.0, "b": 2.0}])
    assert rates == {"a": pytest.approx(2 / 3), "b": pytest.approx(0.5), "c": 0.25}
