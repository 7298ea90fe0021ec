"""Every kind of file that is saved is whole or not there, and can be read by whom others can."""

from __future__ import annotations

import os
import stat

import pytest

import calibrant as cal
from calibrant import examples

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


class TestLinksAndDevices:
    @pytest.mark.skipif(os.name == "nt", reason="links need rights there")
    @pytest.mark.parametrize("kind", SAVERS)
    def test_a_link_stays_a_link(self, tmp_path, kind):
        """Rows that are added through a link are in the file that others read."""
        (tmp_path / "data").mkdir()
        real, link = tmp_path / "data" / "of-2026", tmp_path / "latest"
        link.symlink_to(real)
        SAVERS[kind](link)
        assert link.is_symlink() and real.is_file()
        before = real.read_bytes()
        real.write_bytes(b"")
        SAVERS[kind](link)
        assert link.is_symlink() and real.read_bytes() == before
        assert os.listdir(tmp_path / "data") == ["of-2026"]

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no such pipes")
    @pytest.mark.parametrize("kind", SAVERS)
    def test_what_is_no_file_stays(self, tmp_path, kind):
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        with pytest.raises(OSError, match="it is a device or a pipe: name a file"):
            SAVERS[kind](pipe)
        assert pipe.is_fifo() and os.listdir(tmp_path) == ["pipe"]
