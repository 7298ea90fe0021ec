"""The line that tells how far reading has come: on a terminal, or where it is asked for."""

from __future__ import annotations

import io
import os

import pytest
from file_makers import OUTCOMES, REPORTS, write

import calibrant as cal
from calibrant._core.progress import RowProgress, format_rate
from needs import need
from shell_lines import run_main


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_nothing_is_said_where_nobody_watches(tmp_path, capfd):
    path = write(tmp_path, "csv", {"label": OUTCOMES, "p": REPORTS})
    cal.evaluate_file(path)
    cal.evaluate_file(path, progress=False)
    assert capfd.readouterr().err == ""


def test_a_log_has_a_line_a_pass(tmp_path, capfd):
    path = write(tmp_path, "csv", {"label": OUTCOMES, "p": REPORTS})
    cal.evaluate_file(path, progress=True, measures=["ece"])
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("1,250 rows, ") and " a second, " in line and line.endswith(" s")
    cal.evaluate_file(path, progress=True, measures=["lin_ce"])
    first, second = capfd.readouterr().err.splitlines()
    assert first.startswith("1,250 rows") and second.startswith("refinement pass: 1,250 rows")


@pytest.mark.parametrize("format", ["parquet", "csv", "jsonl", "arrow", "stream", "npz"])
def test_rows_and_share_grow_to_the_whole(tmp_path, format, capfd, set_limits):
    set_limits(chunk_rows=250, progress_in_log=0.0)
    path = write(tmp_path, format, {"label": OUTCOMES, "p": REPORTS}, group=250)
    cal.evaluate_file(path, progress=True, measures=["ece"])
    *steps, last = capfd.readouterr().err.splitlines()
    rows = [int(step.split(" rows")[0].replace(",", "")) for step in steps]
    shares = [int(step.rpartition(", ")[2].rstrip("%")) for step in steps]
    assert rows == list(range(250, 1251, 250)) and last.startswith("1,250 rows")
    assert shares == sorted(shares) and 80 <= shares[-1] <= 100


def test_a_terminal_has_one_line_drawn_over(set_limits):
    set_limits(progress_starts=0.0, progress_every=0.0)
    out = Terminal()
    with RowProgress(1000, file=out) as shown:
        shown.add(10, 250)
        shown.add(30, 500)
    first, second, last = out.getvalue().replace("\x1b[K", "").split("\r")
    assert first.startswith("10 rows, ") and first.endswith(", 25%")
    assert second.startswith("40 rows, ") and second.endswith(", 75%")
    assert last.startswith("40 rows, ") and last.endswith(" s\n")


def test_a_quick_run_on_a_terminal_says_nothing():
    out = Terminal()
    with RowProgress(1000, file=out) as shown:
        shown.add(10, 1000)
    assert out.getvalue() == ""


def test_an_error_leaves_a_whole_line(set_limits):
    set_limits(progress_starts=0.0)
    out = Terminal()

    def fails():
        with RowProgress(1000, file=out) as shown:
            shown.add(10, 250)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fails()
    assert out.getvalue().endswith("\n")


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0.0, "0"),
        (950.0, "950"),
        (12_345.0, "12.3 thousand"),
        (1.53e8, "153 million"),
        (2e9, "2 billion"),
    ],
)
def test_rates_in_words(number, words):
    assert format_rate(number) == words


def test_the_command_draws_on_a_real_terminal(tmp_path, set_limits):
    set_limits(progress_starts=0.0, progress_every=0.0)
    path = write(tmp_path, "csv", {"label": OUTCOMES, "p": REPORTS})
    leader, follower = need("pty").openpty()
    out = io.StringIO()
    with open(follower, "w") as err:
        assert run_main(["report", str(path), "--measures", "ece"], ".", out, err) == 0
    drawn = os.read(leader, 10_000).decode()
    os.close(leader)
    assert "1,250 rows" in drawn and "100%" in drawn
    assert "ECE" in out.getvalue() and "a second" not in out.getvalue()
