"""The installed command, run as a user runs it: verbs that need no file, and what all share."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from command import INSTALLED, OUTCOMES, REPORTS, binary, run, run_installed

import calibrant as cal
from calibrant import InputError, examples
from calibrant._cli import demo
from calibrant._cli.command import VERBS, build_parser
from calibrant._cli.output import atomic_write
from calibrant._research.papers import reproduce as papers
from calibrant._research.papers import truthful, truthful_theory
from calibrant._research.papers.folder import Section


@pytest.fixture(scope="module")
def _demo_once():
    """Computed once, and shown as text and as JSON."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo, "_evaluate_example", cache(demo._evaluate_example))
        yield


@pytest.mark.usefixtures("_demo_once")
def test_demo_shows_the_example_as_a_table():
    done = run("demo")
    assert done.returncode == 0 and done.stderr == ""
    for words in (
        "Fashion-MNIST",
        "ece",
        "0.0728",
        "0.0603 to 0.0834",
        "Miscalibrated",
        "scaled by",
        "torchmetrics",
    ):
        assert words in done.stdout


@pytest.mark.usefixtures("_demo_once")
def test_demo_as_json():
    loaded = json.loads(run("demo", "--json").stdout)
    assert set(loaded) == {"hard", "soft", "conventions", "comparison"}
    assert loaded["hard"]["verdict"]["verdict"] == "miscalibrated"
    assert {"low", "high"} <= set(loaded["hard"]["reliability"]["bins"])


def test_demo_writes_files_that_the_other_verbs_read(tmp_path):
    done = run("demo", "-o", "try", "--json", cwd=tmp_path)
    paths = json.loads(done.stdout)["written"]
    assert [Path(path).name for path in paths] == ["validation.csv", "test.csv", "shirt.csv"]
    found = cal.evaluate_file(tmp_path / "try" / "test.csv", measures=["ece"])
    example = examples.load("fashion")
    assert found["ece"] == pytest.approx(cal.ece(example.test_labels, example.test_proba))


@pytest.mark.usefixtures("audited_once")
def test_audit_of_one_measure(tmp_path):
    done = run("audit", "classwise_ece", "-o", "audit", cwd=tmp_path)
    assert done.returncode == 0 and done.stderr == "written: audit\n"
    assert "classwise_ece" in done.stdout and "truthful" in done.stdout
    assert {path.name for path in (tmp_path / "audit").iterdir()} == {
        "audit.csv",
        "audit.json",
        "audit.md",
    }


def test_audit_of_an_unknown_measure_is_one_sentence():
    done = run("audit", "lin_cee")
    assert done.returncode == 3
    assert done.stderr.startswith("calibrant: ") and "'lin_ce'" in done.stderr
    assert done.stderr.count("\n") == 1


def test_reproduce_prints_a_paper(monkeypatch):
    # Of the one pool that wheels have, and without small worlds: tests/papers has all of them.
    monkeypatch.setattr(truthful, "SHIPPED", {"cross": truthful.SHIPPED["cross"]})
    monkeypatch.setattr(truthful_theory, "section_on_orders", lambda *_: Section("Orders"))
    made = cache(papers.reproduce)
    monkeypatch.setattr(papers, "reproduce", lambda paper, progress, **rest: made(paper, **rest))
    done = run("reproduce", "truthful", "--quick")
    assert done.returncode == 0 and done.stderr == ""
    assert "Example C.1" in done.stdout and "0.0198" in done.stdout
    loaded = json.loads(run("reproduce", "truthful", "--quick", "--json").stdout)
    assert loaded["name"] == "truthful" and loaded["recipe"]["seed"] == 42


def test_reproduce_refuses_what_it_cannot_do(tmp_path):
    done = run("reproduce", "trutful")
    assert done.returncode == 3 and "did you mean 'truthful'" in done.stderr
    done = run("reproduce", "truthful", "--data", str(tmp_path))
    assert done.returncode == 3 and "holds no pool" in done.stderr


def test_info_names_the_engine():
    facts = json.loads(run_installed("info", "--json").stdout)
    assert facts["calibrant"] == cal.__version__
    assert facts["engine"] in ("native", "numpy")
    assert set(facts["with"]).isdisjoint(facts["without"])
    forced = run_installed("info", CALIBRANT_ENGINE="numpy")
    assert "engine       numpy" in forced.stdout


def test_a_wrong_engine_is_one_sentence():
    done = run_installed("info", CALIBRANT_ENGINE="nativ")
    assert done.returncode == 3
    assert done.stderr == (
        "calibrant: CALIBRANT_ENGINE='nativ' is not known: did you mean 'native'?\n"
    )


def test_python_m_is_the_same_command(tmp_path):
    path = binary(tmp_path)
    module = [sys.executable, "-m", "calibrant"]
    arguments = ["report", str(path), "--measures", "ece,brier", "--json"]
    one = subprocess.run([*module, *arguments], capture_output=True, text=True, check=True)
    assert one.stdout == run(*arguments).stdout
    assert json.loads(one.stdout)["measures"][0]["value"] == cal.ece(OUTCOMES, REPORTS)


class TestHelp:
    def test_it_names_every_verb_and_code(self):
        done = run_installed("--help")
        assert done.returncode == 0
        for verb in VERBS:
            assert verb in done.stdout
        assert "3 it could not be done" in " ".join(done.stdout.split())
        assert cal.__version__ in run("--version").stdout

    def test_every_verb_says_what_it_does_and_all_but_one_speak_json(self):
        for verb in build_parser().verbs():
            assert verb.description
            has_json = "--json" in verb.format_help()
            assert has_json == (verb.name != "completion"), verb.name
            for action in verb._actions:
                assert action.help, f"{verb.name} {action.dest}"

    def test_it_needs_no_heavy_package(self):
        program = (
            "import sys\n"
            "from calibrant._cli import main\n"
            "try: main(['report', '--help'])\n"
            "except SystemExit: pass\n"
            "heavy = ('scipy', 'pyarrow', 'rich', 'shtab', 'matplotlib', 'narwhals', 'pandas')\n"
            "print([name for name in heavy if name in sys.modules])"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        assert done.stdout.splitlines()[-1] == "[]", done.stderr


class TestUsage:
    """Not argparse's 2: that is a check's "undecided"."""

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["dmo"], "no command is called 'dmo': did you mean 'demo'?"),
            (["check", "a.csv", "--levle", "0.9"], "'--levle' is not understood: did you mean"),
            (["check", "a.csv", "--lev", "0.9"], "did you mean '--level'?"),
            (["info", "more"], "'more' is not understood"),
            (["check", "a.csv", "--max", "ece"], "'ece' is not of the form ece=0.05"),
            (["check", "a.csv", "--max", "ece=x"], "'x' is not a number"),
            (["check", "a.csv", "--max", "ece=nan"], "'nan' is not a number"),
            (["check", "a.csv", "--level", "95"], "'95' is not between 0 and 1"),
            (["report"], "the following arguments are required: FILE"),
            (["report", "a.csv", "--label", ""], "'' has an empty name"),
            (["report", "a.csv", "--seed", "x"], "'x' is not a whole number"),
            (["scale", "--method", "isotonik"], "did you mean 'isotonic'?"),
        ],
    )
    def test_a_wrong_option_is_one_line_and_a_3(self, arguments, said, capsys):
        from cli.command import main

        with pytest.raises(SystemExit) as end:
            main(arguments)
        printed = capsys.readouterr()
        assert end.value.code == 3 and printed.out == ""
        assert said in printed.err and printed.err.count("\n") == 1
        assert printed.err.startswith("calibrant")

    def test_as_a_user_sees_it(self):
        done = run_installed("chek")
        assert done.returncode == 3 and done.stdout == ""
        assert done.stderr == (
            "calibrant: no command is called 'chek': did you mean 'check'? (see calibrant --help)\n"
        )

    def test_nothing_at_all_is_help_but_no_success(self):
        done = run_installed()
        assert done.returncode == 3 and "demo" in done.stdout


class TestDebug:
    def test_a_traceback_for_who_asks(self, tmp_path):
        for arguments in (["--debug", "report", "no.csv"], ["report", "no.csv", "--debug"]):
            done = run(*arguments, cwd=tmp_path)
            assert done.returncode == 3 and "Traceback" in done.stderr
            assert done.stderr.splitlines()[-1].startswith("calibrant: there is no file 'no.csv'")
        assert "Traceback" not in run("report", "no.csv", cwd=tmp_path).stderr

    def test_what_should_not_happen_is_a_sentence_too(self, monkeypatch, capsys):
        from calibrant._cli import info
        from cli.command import main

        def broken():
            raise RuntimeError("a screw is loose")

        monkeypatch.setattr(info, "installation", broken)
        assert main(["info"]) == 3
        said = capsys.readouterr().err
        assert "RuntimeError: a screw is loose" in said and "--debug" in said
        assert said.count("\n") == 1


@pytest.mark.skipif(os.name == "nt", reason="the shell is that of POSIX")
class TestPipes:
    def test_a_reader_that_has_seen_enough_is_no_error(self):
        first = subprocess.Popen(
            [INSTALLED, "info"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        first.stdout.close()  # before anything is printed, so that the write is sure to fail
        assert first.stderr.read() == b""
        assert first.wait() == 0
        first.stderr.close()

    def test_a_check_keeps_its_verdict(self, tmp_path):
        # In arrays, which take less to read than text: all else is imported for this alone.
        path = tmp_path / "rows.npz"
        np.savez(path, label=OUTCOMES, p=REPORTS)
        line = (
            f"{INSTALLED} check {path} --max brier=0.02 --by label | true; echo ${{PIPESTATUS[0]}}"
        )
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
        assert done.stdout == "1\n" and done.stderr == ""

    def test_closed_output_does_not_change_the_code(self, tmp_path):
        path = binary(tmp_path)
        line = f"{INSTALLED} check {path} --max brier=0.02 >&- 2>&-"
        assert subprocess.run(["bash", "-c", line], check=False).returncode == 1

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full disk to write to")
    def test_a_full_disk_is_said(self):
        done = subprocess.run(
            ["bash", "-c", f"{INSTALLED} info > /dev/full"], capture_output=True, text=True
        )
        assert done.returncode == 3
        assert done.stderr == "calibrant: No space left on device\n"


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGINT to send")
class TestInterrupts:
    """Ctrl-C in the middle of long work: 130, one line, and every file as it was."""

    @pytest.mark.parametrize(
        ("arguments", "out"),
        [
            (["report", "big.npz", "--all-intervals", "-o", "out.html"], "out.html"),
            (["reproduce", "soft-mean", "-o", "out"], "out"),
        ],
        ids=["report", "reproduce"],
    )
    def test_nothing_is_left_behind(self, tmp_path, arguments, out):
        if arguments[0] == "report":
            predictions = np.random.default_rng(0).random(2_000_000)
            np.savez(tmp_path / "big.npz", y=(predictions > 0.4).astype(np.int8), p=predictions)
        before = sorted(path.name for path in tmp_path.iterdir())
        child = subprocess.Popen(
            [INSTALLED, *arguments], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        time.sleep(1)  # to start takes less than half of that
        child.send_signal(signal.SIGINT)
        printed, said = child.communicate(timeout=60)
        assert child.returncode == 130
        assert printed == b"" and said == b"calibrant: interrupted\n"
        assert sorted(path.name for path in tmp_path.iterdir()) == before

    @pytest.mark.parametrize("after", [0.1, 0.2, 0.3, 0.5])
    def test_before_anything_is_done(self, tmp_path, after):
        np.savez(tmp_path / "big.npz", y=np.zeros(5_000_000, np.int8), p=np.full(5_000_000, 0.5))
        # The command itself: the interpreter's own first steps are not ours to answer for.
        begun = "import calibrant._cli as c, sys; print('begun', flush=True); sys.exit(c.main())"
        child = subprocess.Popen(
            [sys.executable, "-c", begun, "report", "big.npz", "--all-intervals"],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert child.stdout.readline() == b"begun\n"
        time.sleep(after / 2)
        child.send_signal(signal.SIGINT)
        printed, said = child.communicate(timeout=60)
        assert child.returncode == 130
        assert printed == b"" and said == b"calibrant: interrupted\n"

    def test_an_exception_that_is_lost_comes_again(self, tmp_path):
        # Python drops what is raised in a finalizer: the command went on to its end.
        lost = (
            "import sys, time\n"
            "import calibrant._cli as c, calibrant._cli.report as r\n"
            "class Slow:\n"
            "    def __del__(self):\n"
            "        print('begun', flush=True)\n"
            "        time.sleep(30)\n"
            "def run(options):\n"
            "    Slow()\n"
            "    time.sleep(30)\n"
            "r.run = run\n"
            "sys.exit(c.main())\n"
        )
        child = subprocess.Popen(
            [sys.executable, "-c", lost, "report", "any.csv"],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert child.stdout.readline() == b"begun\n"
        child.send_signal(signal.SIGINT)
        _, said = child.communicate(timeout=20)
        assert child.returncode == 130
        assert said.endswith(b"calibrant: interrupted\n")

    def test_an_interrupted_write_leaves_the_old_file(self, tmp_path):
        path = tmp_path / "page.html"
        path.write_text("as it was")

        def write():
            with atomic_write(str(path)) as beside:
                beside.write_text("half of")
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            write()
        assert path.read_text() == "as it was"
        assert list(tmp_path.iterdir()) == [path]

    def test_a_write_that_fails_is_said(self, tmp_path):
        def write():
            with atomic_write(str(tmp_path / "no" / "page.html")) as beside:
                beside.write_text("whole")

        with pytest.raises(InputError, match=r"page.html cannot be written: No such file"):
            write()
