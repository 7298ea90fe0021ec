"""Every kind of file that is saved is whole or not there, and can be read by whom others can."""

from __future__ import annotations

import os
import stat

import pytest

import calibrant as cal
from calibrant import examples
from calibrant._core.atomic_files import atomic_write

SHIRT = examples.load("fashion-shirt")
Y, P = SHIRT.test_labels[:50], SHIRT.test_proba[:50]
SAVERS = {
    "state": lambda path: cal.Accumulator(bins=5).update(Y, P).save(path),
    "monitor": lambda path: cal.Monitor(every="1h").update(Y, P, time=0).save(path),
    "scaler": lambda path: cal.PlattScaling().fit(Y, P).save(path),
}


@pytest.mark.skipif(os.name == "nt", reason="there is no umask")
@pytest.mark.parametrize("kind", SAVERS)
def test_saved_like_any_other_file(tmp_path, kind):
    usual = os.umask(0o027)
    try:
        SAVERS[kind](tmp_path / "one")
    finally:
        os.umask(usual)
    assert stat.S_IMODE((tmp_path / "one").stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["one"]


def test_a_failure_leaves_what_was_there(tmp_path):
    path = tmp_path / "page.html"
    path.write_text("old")
    with pytest.raises(RuntimeError):
        _half_written(path)
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["page.html"]
    with atomic_write(path) as beside:
        beside.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"


def _half_written(path):
    with atomic_write(path) as beside:
        beside.write_text("half of the ne")
        assert beside.name.startswith(".page.") and beside.suffix == ".html"
        raise RuntimeError
