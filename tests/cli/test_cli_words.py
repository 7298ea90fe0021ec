"""What the command line says is true there: options that it has, files that are what they are."""

import json

import numpy as np
import pytest
from command import ROWS, SOFTER

import calibrant as cal
from calibrant import InputError
from cli.command import main

N = 60
OUTCOMES = np.arange(N) % 2
P = np.where(OUTCOMES, 0.8, 0.3)


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("label,p\n" + "".join(f"{y},{u}\n" for y, u in zip(OUTCOMES, P, strict=True)))
    return path


def said(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    found = capsys.readouterr()
    return code, found.out, found.err


def test_no_output_names_votes_as_an_option(tmp_path, capsys):
    path = tmp_path / "soft.npz"
    np.savez(path, y_true=SOFTER[:100], y_proba=ROWS[:100])
    only = ("--measures", "ece")
    page = tmp_path / "page.html"
    for more in ((), ("--json",), ("-o", page)):
        code, out, err = said(capsys, "report", path, *only, *more)
        assert code == 0 and "votes=" not in out + err
        assert "without the number of votes" in out
    assert "votes=" not in page.read_text()
    code, out, err = said(capsys, "check", path, "--max", "ece=0.9")
    assert "votes=" not in out + err


def test_rows_left_out_are_told_with_the_option_of_the_command(tmp_path, capsys):
    path = tmp_path / "gaps.csv"
    path.write_text("label,p\n" + "1,0.8\n0,0.3\n" * 20 + "1,\n")
    verbs = {
        "report": (path,),
        "report --stream": (path, "--stream"),
        "conventions": (path,),
        "check": (path, "--max", "ece=0.9"),
        "scale": ("--fit", path, "--method", "platt"),
    }
    for verb, arguments in verbs.items():
        code, out, _ = said(capsys, verb.split()[0], *arguments, "--missing", "drop")
        assert code in (0, 2) and "dropped" in out, verb
        assert "missing='drop'" not in out and "--missing drop" in out, verb


def test_a_page_keeps_to_the_measures_that_were_asked_for(rows, tmp_path, capsys):
    page = tmp_path / "page.html"
    code, out, _ = said(capsys, "report", rows, "-o", page, "--measures", "brier,ace", "--json")
    assert code == 0
    assert [row["name"] for row in json.loads(out)["measures"]] == ["brier", "ace"]
    text = page.read_text()
    assert "spherical_loss" not in text and "brier" in text and "ace" in text
    found = cal.report(OUTCOMES, P, measures=["brier", "ace"], recalibrate="platt")
    assert set(found.evaluation.values) == {"ece", "brier", "ace"}
    assert found.evaluation["brier"] == cal.evaluate(OUTCOMES, P)["brier"]
    assert {name for _, _, names in found.groups for name in names} == {"ece", "brier", "ace"}
    code, _, err = said(capsys, "report", rows, "-o", page, "--measures", "breir")
    assert code == 3 and "'brier'" in err
    with pytest.raises(InputError):
        cal.report(OUTCOMES, P, measures="brier")


@pytest.mark.parametrize("measure", ["lin_ce", "sweep_ece", "tace"])
def test_what_windows_do_not_hold_is_told_without_options_of_python(
    rows, tmp_path, capsys, measure
):
    state = tmp_path / "new.state"
    given = ("--update", rows, "--time", "p", "--measures", measure)
    code, _, err = said(capsys, "monitor", state, *given)
    assert code == 3 and not state.exists()
    assert err.endswith("does not keep: drop it from --measures\n")


def test_a_state_of_all_measures_is_begun_and_told_by_that_word(tmp_path, capsys):
    path, state = tmp_path / "days.csv", tmp_path / "all.state"
    times = [f"2026-01-0{1 + i % 2}" for i in range(N)]
    lines = [f"{y},{u},{t}\n" for y, u, t in zip(OUTCOMES, P, times, strict=True)]
    path.write_text("label,p,at\n" + "".join(lines))
    given = ("--update", path, "--time", "at", "--measures", "all")
    code, out, err = said(capsys, "monitor", state, *given)
    assert code == 0 and "not computed, because a stream" in out and "approximate=" not in out, err
    assert cal.Monitor.load(state).recipe()["measures"] is None
    assert said(capsys, "monitor", state, "--measures", "all")[0] == 0
    code, _, err = said(capsys, "monitor", state, "--measures", "ece")
    assert code == 3 and "was created with 'all'" in err
    for command in (("report", state), ("merge", state, "-o", tmp_path / "merged.state")):
        code, out, _ = said(capsys, *command)
        assert code == 0 and "not computed, because a stream" in out and "approximate=" not in out


def test_a_state_is_told_to_be_one(rows, tmp_path, capsys):
    state, monitor = tmp_path / "day.state", tmp_path / "all.state"
    cal.Accumulator().update(OUTCOMES, P).save(state)
    cal.Monitor(every="1d").update(OUTCOMES, P, time=0).save(monitor)
    for path in (state, monitor):
        code, _, err = said(capsys, "conventions", path)
        assert (
            code == 3 and "is a state saved by" in err and "Evaluate it with calibrant merge" in err
        )
        assert said(capsys, "report", path)[0] == 0
        code, out, err = said(capsys, "check", path, "--max", "ece=0.1")
        if path == state:
            assert code in (0, 1, 2) and "95% CI" in out
        else:  # windows have no fine cells
            assert code == 3 and str(path) in err and "--point" in err
    with pytest.raises(InputError, match=r"Accumulator.load or Monitor.load"):
        cal.evaluate_file(state)
    other = tmp_path / "rows.state"
    other.write_bytes(rows.read_bytes())
    code, _, err = said(capsys, "report", other)
    assert code == 3 and "--format" in err and "a state" not in err
    assert said(capsys, "report", other, "--format", "csv")[0] == 0


@pytest.fixture(scope="module")
def made():
    report = cal.report(OUTCOMES, P, measures=["ece"], recalibrate="platt")
    return report, cal.compare(OUTCOMES, {"a": P, "b": P**2}, measures=["brier"])


@pytest.mark.parametrize("name", ["x.pdf", "x.json", "x", "x.html.txt", ".html"])
def test_pages_are_written_to_names_that_say_html(made, rows, tmp_path, capsys, name):
    page = tmp_path / name
    for each in made:
        with pytest.raises(InputError, match=r"a page is HTML; give it a name that ends in \.html"):
            each.save(page)
    for verb in (("report", rows), ("compare", rows, "--models", "a=p", "b=p")):
        assert said(capsys, *verb, "-o", page)[0] == 3
    assert not page.exists()


def test_demo_replaces_no_file_but_its_own(tmp_path, capsys):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "test.csv").write_text("my,own\n1,2\n")
    code, _, err = said(capsys, "demo", "-o", folder)
    assert code == 3 and "test.csv is there already" in err and "-o" in err
    assert sorted(path.name for path in folder.iterdir()) == ["test.csv"]
    assert (folder / "test.csv").read_text() == "my,own\n1,2\n"
    (folder / "test.csv").unlink()
    (folder / "notes.txt").write_text("kept")
    for _ in range(2):  # again is fine: what is there is demo's
        assert said(capsys, "demo", "-o", folder)[0] == 0
    assert (folder / "notes.txt").read_text() == "kept"


@pytest.mark.usefixtures("audited_once")
def test_audit_replaces_no_file_but_its_own(tmp_path, capsys):
    (tmp_path / "audit.csv").write_text("my own books\n")
    measure = "classwise_ece"  # of those with verdicts the quickest
    code, _, err = said(capsys, "audit", measure, "-o", tmp_path)
    assert code == 3 and "audit.csv is there already" in err
    assert (tmp_path / "audit.csv").read_text() == "my own books\n"
    for _ in range(2):
        assert said(capsys, "audit", measure, "-o", tmp_path / "new")[0] in (0, 1)


def test_the_command_line_names_measures_as_the_catalogue_does(rows, capsys):
    """No guess of its own: the hint is that of cal.evaluate."""
    for name in ("aec", "smece", "breir"):
        with pytest.raises(InputError) as error:
            cal.evaluate(OUTCOMES, P, measures=[name])
        code, _, err = said(capsys, "report", rows, "--measures", name)
        assert code == 3 and str(error.value) in err
        code, _, err = said(capsys, "check", rows, "--max", f"{name}=0.1")
        assert code == 3 and str(error.value).partition(": ")[2] in err
