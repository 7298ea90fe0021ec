"""What a terminal shows: colours and a diagram there, plain text in a pipe, nothing that moves."""

from __future__ import annotations

import io
import os
import re
import select
import subprocess
import sys
import threading

import numpy as np
import pytest
from command import BETTER, INSTALLED, OUTCOMES, REPORTS, binary, csv, run

import calibrant as cal
from calibrant._cli.terminal import ASCII, FANCY, HEIGHT, WIDTH, diagram, print_diagram, visible
from needs import need
from shell_lines import run_main

pty = need("pty")  # not on Windows
COLOUR = re.compile(r"\x1b\[[0-9;]*3[0-9]")
CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def on_a_terminal(command, **environment):
    """What the installed command prints to a terminal of 100 columns."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        command,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        close_fds=True,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", **environment},
    )
    os.close(theirs)
    printed = b"".join(parts_of(ours))
    assert child.wait() == 0
    return printed.decode()


def parts_of(ours):
    """What comes out of a terminal or a pipe, until its other end is closed."""
    while True:
        ready, _, _ = select.select([ours], [], [], 60)
        try:
            part = os.read(ours, 65536) if ready else b""
        except OSError:  # the other end is closed
            part = b""
        if not part:
            break
        yield part
    os.close(ours)


@pytest.fixture
def main_prints(monkeypatch):
    """What the command prints in this process, where everything is imported already, to a real
    terminal of 100 columns or to a real pipe.
    """

    def printed(arguments, *, ends=pty.openpty, encoding="utf-8", **environment):
        for name, value in {"TERM": "xterm-256color", "COLUMNS": "100", **environment}.items():
            monkeypatch.setenv(name, value)
        ours, theirs = ends()
        parts = []
        # A terminal holds a page at most, and then waits for someone to read it.
        reader = threading.Thread(target=lambda: parts.extend(parts_of(ours)))
        reader.start()
        with open(theirs, "w", encoding=encoding) as out:
            code = run_main([*map(str, arguments)], ".", out, out)
        reader.join()
        assert code == 0
        return b"".join(parts).decode()

    return printed


@pytest.fixture
def arguments(tmp_path):
    return ["report", str(binary(tmp_path)), "--measures", "ece,brier", "--details"]


def test_colours_and_a_diagram_on_a_terminal(arguments):
    need("rich")
    printed = on_a_terminal([INSTALLED, *arguments], NO_COLOR="")
    assert COLOUR.search(printed)
    plain = CODES.sub("", printed)
    assert "mean target" in plain and FANCY.outside in plain and "mean prediction" in plain
    assert "Miscalibrated" in plain


def test_no_color_is_respected(arguments, main_prints):
    need("rich")
    printed = main_prints(arguments, NO_COLOR="1")
    assert not COLOUR.search(printed)
    assert FANCY.outside in printed


def test_a_pipe_is_plain(arguments, main_prints):
    printed = main_prints(arguments, ends=os.pipe)
    assert "\x1b" not in printed
    assert "o prediction, x target" in printed and FANCY.outside not in printed


def test_a_terminal_without_rich_or_wide_letters(arguments, main_prints, monkeypatch):
    monkeypatch.setitem(sys.modules, "rich", None)
    printed = main_prints(arguments, encoding="ascii")
    # What the line editor of the terminal itself may add is no colour of ours.
    assert not COLOUR.search(printed) and printed.isascii()
    assert "mean target" in printed and f"{ASCII.outside} misses" in printed


def test_check_and_compare_on_a_terminal(tmp_path, main_prints):
    need("rich")
    path = csv(tmp_path / "r.csv", {"label": OUTCOMES, "p": REPORTS, "q": BETTER})
    printed = main_prints(["check", path, "--proba", "p", "--max", "brier=0.3"])
    assert "pass: " in CODES.sub("", printed)
    models = ["--models", "a=p", "b=q", "--measures", "brier", "--details"]
    printed = main_prints(["compare", path, *models])
    assert "Ranks by brier" in CODES.sub("", printed)


class TestDiagram:
    def lines(self, table, signs=FANCY):
        return [
            "".join(text for text, _ in line) for line in diagram(table, level=0.9, signs=signs)
        ]

    def test_points_are_where_the_means_are(self):
        table = cal.reliability([1] * 50 + [0] * 50, [0.25] * 50 + [0.75] * 50, bins=2)
        lines = self.lines(table)
        picture = lines[1 : HEIGHT + 1]
        # The first bin predictions 0.25 and sees 1, the second predictions 0.75 and sees 0.
        assert picture[0][5 + 15] == FANCY.outside
        assert picture[-1][5 + 45] == FANCY.outside
        assert picture[0].startswith("1.0") and picture[-1].startswith("0.0")
        assert sum(line.count(FANCY.outside) for line in picture) == 2

    def test_calibrated_bins_hold_their_report(self):
        table = cal.reliability([0, 1] * 100, [0.5] * 200, bins=1)
        lines = self.lines(table)
        assert lines[1 + HEIGHT // 2][5 + WIDTH // 2] == FANCY.inside
        assert not any(FANCY.outside in line for line in lines[1 : HEIGHT + 1])

    def test_the_diagonal_goes_from_corner_to_corner(self):
        lines = self.lines(cal.reliability([1], [0.01], bins=1))[1 : HEIGHT + 1]
        assert lines[0][-1] == FANCY.diagonal and lines[-1][5] == FANCY.diagonal

    def test_rows_show_even_where_they_are_few(self):
        predictions = [0.1] * 1000 + [0.9]
        lines = self.lines(cal.reliability([0] * 1001, predictions, bins=2))
        heights = lines[-2].removeprefix("rows ")
        assert heights[0] == FANCY.heights[-1] and heights[-2] == FANCY.heights[1]
        empty = self.lines(cal.reliability([0], [0.1], bins=2))[-2].removeprefix("rows ")
        assert empty[-2] == " "

    @pytest.mark.parametrize("rule", [cal.LevelSets(), cal.Quantile(7), cal.Edges([0, 0.2, 1])])
    @pytest.mark.parametrize("soft", [False, True])
    def test_every_rule_and_soft_labels(self, rule, soft):
        targets = np.clip(REPORTS * 0.8, 0, 1) if soft else OUTCOMES
        lines = self.lines(cal.reliability(targets, np.round(REPORTS, 1), bins=rule), ASCII)
        assert len(lines) == HEIGHT + 5
        assert all(line.isascii() and len(line) <= 5 + WIDTH + 20 for line in lines[:-1])

    def test_files_that_take_no_wide_letters(self):
        class Narrow(io.StringIO):
            encoding = "ascii"

        out = Narrow()
        print_diagram(cal.reliability(OUTCOMES, REPORTS), level=0.95, file=out)
        assert out.getvalue().isascii() and ASCII.outside in out.getvalue()


class TestNamesFromFiles:
    def test_they_cannot_move_the_cursor(self, tmp_path):
        site = np.where(np.arange(OUTCOMES.size) % 2, "\x1b[2Jgone", "ok")
        path = binary(tmp_path, site=site)
        done = run("report", path, "--measures", "ece", "--by", "site")
        assert done.returncode == 0 and "\x1b" not in done.stdout
        assert r"\x1b[2Jgone" in done.stdout

    def test_errors_stay_one_line(self, tmp_path):
        path = tmp_path / "rows.csv"
        path.write_text('label,"p\nx\x1b[31m"\n1,0.5\n')
        done = run("report", path)
        assert done.returncode == 3 and done.stderr.count("\n") == 1
        assert "\x1b" not in done.stderr

    def test_letters_of_every_language_stay(self):
        assert visible("Zürich 東京 é") == "Zürich 東京 é"
        assert visible("a\tb\nc\x07") == r"a\tb\nc\x07"
