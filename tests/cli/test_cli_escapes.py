"""What users and files call things never reaches a terminal raw: every verb, every kind of name."""

import json
import shutil
import unicodedata

import numpy as np
import pytest

import calibrant as cal
from cli.command import main

# Colours, a line of its own, the direction of writing, an isolate, a tab and a bell.
EVIL = "e\x1b[31mvil\nrow\u202ereversed\u2066\t\x07"
N = 40


def raw(text):
    """What could move a cursor: control and format characters but for the ends of lines."""
    return [sign for sign in text if sign != "\n" and unicodedata.category(sign) in ("Cc", "Cf")]


@pytest.fixture
def run(capsys):
    def running(*arguments):
        code = main([str(argument) for argument in arguments])
        found = capsys.readouterr()
        for text in (found.out, found.err):
            assert not raw(text), repr(text)
            # A name's line break starts no line.
            assert not any(line.startswith("row") for line in text.splitlines())
        return code, found.out + found.err

    return running


@pytest.fixture
def folder(tmp_path):
    """Files with such a name, such columns, such classes and such slices."""
    outcomes = np.arange(N) % 2
    p = np.where(outcomes, 0.7, 0.2)
    rows = {"label": outcomes, EVIL: p, "p": p, f"by {EVIL}": [EVIL, "plain"] * (N // 2)}
    (tmp_path / f"{EVIL}.jsonl").write_text(
        "".join(
            json.dumps(
                {
                    name: values[i] if name[:2] == "by" else float(values[i])
                    for name, values in rows.items()
                }
            )
            + "\n"
            for i in range(N)
        )
    )
    probs = [{EVIL: float(1 - u), "b": float(u)} for u in p]
    (tmp_path / f"classes {EVIL}.jsonl").write_text(
        "".join(
            json.dumps({"label": [EVIL, "b"][y], "probs": row}) + "\n"
            for y, row in zip(outcomes, probs, strict=True)
        )
    )
    return tmp_path


def columns(folder):
    return (folder / f"{EVIL}.jsonl", "--proba", EVIL)


@pytest.mark.parametrize("more", [(), ("--json",)])
@pytest.mark.parametrize("verb", ["report", "check", "conventions"])
def test_verbs_of_one_file(folder, run, verb, more):
    limits = ("--max", "ece=0.9") if verb == "check" else ()
    by = () if verb == "conventions" else ("--by", f"by {EVIL}")
    code, said = run(verb, *columns(folder), *limits, *by, *more)
    assert code in (0, 2) and ("vil" in said or verb == "conventions")
    code, said = run(verb, folder / f"classes {EVIL}.jsonl", *limits, *more)
    assert code in (0, 2) and "vil" in said


def test_report_writes_a_page(folder, run):
    page = folder / f"{EVIL}.html"
    few = ("--measures", "ece", "--recalibrate", "platt")
    code, said = run("report", *columns(folder), "-o", page, *few, "--title", EVIL)
    assert code == 0 and "written: " in said and page.exists()


def test_report_that_streams(folder, run):
    assert run("report", *columns(folder), "--stream", "--by", f"by {EVIL}")[0] == 0


def test_compare_shows_no_control_codes(folder, run):
    only = ("--measures", "brier", "--by", f"by {EVIL}", "-o", folder / f"{EVIL}.html")
    code, said = run(
        "compare", folder / f"{EVIL}.jsonl", "--models", f"{EVIL}={EVIL}", "b=p", *only
    )
    assert code == 0 and "vil" in said
    shutil.copy(folder / f"{EVIL}.jsonl", folder / "b.jsonl")
    code, _ = run("compare", folder / f"{EVIL}.jsonl", folder / "b.jsonl", "--proba", "p")
    assert code == 0


def test_scale_shows_no_control_codes(folder, run, set_limits):
    out, scaler = folder / f"out {EVIL}.csv", folder / f"{EVIL}.json"
    for path in (folder / f"{EVIL}.jsonl", folder / f"classes {EVIL}.jsonl"):
        told = ("--proba", EVIL) if path.name.startswith("e") else ()
        for method in ("platt", "isotonic"):
            code, said = run(
                "scale", "--fit", path, "--apply", path, "--method", method, "-o", out,
                "--scaler", scaler, *told,
            )  # fmt: skip
            assert code == 0 and "vil" in said and "written: " in said
            # One table with limits, which take most of the time, and the others without.
            set_limits(compared_predictions=10)


def test_merge_shows_no_control_codes(folder, run):
    states = [folder / f"{i}{EVIL}.state" for i in range(2)]
    for path, classes in zip(states, ([EVIL, "b"], ["a", EVIL]), strict=True):
        cal.Accumulator(classes=classes).update([classes[0], classes[1]], [0.2, 0.7]).save(path)
    code, said = run("merge", states[0], "-o", folder / f"{EVIL}.out")
    assert code == 0 and "vil" in said
    code, said = run("merge", *states)
    assert code == 3 and "vil" in said
    monitor = folder / f"monitor{EVIL}.state"
    cal.Monitor(every="1d").update([1, 0], [0.7, 0.2], time=0).save(monitor)
    assert run("merge", monitor)[0] == 0


def test_demo_shows_no_control_codes(folder, run):
    code, said = run("demo", "-o", folder / EVIL)
    assert code == 0 and "calibrant report" in said


@pytest.mark.usefixtures("audited_once")
def test_audit_reproduce_and_info(folder, run, capsys):
    code, said = run("audit", "classwise_ece", "-o", folder / f"audit {EVIL}")
    assert code in (0, 1) and "written: " in said
    file = folder / f"{EVIL}.jsonl"
    for arguments in (("audit", EVIL), ("reproduce", EVIL), ("reproduce", "soft-mean", "-o", file)):
        code, said = run(*arguments)
        assert code == 3 and "vil" in said
    for verb in ("info", "completion", EVIL):
        with pytest.raises(SystemExit):
            main([verb, EVIL])
        said = capsys.readouterr().err
        assert "vil" in said and not raw(said)


@pytest.mark.parametrize(
    "arguments",
    [
        ("report", "NOWHERE"),
        ("report", "FILE", "--proba", EVIL + "!"),
        ("report", "FILE", "--debug", "--label", EVIL + "?"),
        ("report", "FILE", "--measures", EVIL),
        ("check", "FILE", "--max", f"{EVIL}=0.1"),
        ("scale", "--fit", "NOWHERE"),
        ("scale", "--apply", "FILE", "--scaler", "NOWHERE", "-o", "FILE"),
        ("merge", "FILE"),
        ("compare", "FILE", "--models", EVIL),
        ("conventions", "NOWHERE"),
        ("report", "FILE", "-o", f"{EVIL}.pdf"),
    ],
)
def test_error_messages_escape_names_that_are_code(folder, run, arguments):
    places = {"FILE": folder / f"{EVIL}.jsonl", "NOWHERE": folder / f"no {EVIL}.csv"}
    code, said = run(*(places.get(argument, argument) for argument in arguments))
    assert code == 3 and "calibrant: " in said
