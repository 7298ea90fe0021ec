"""What commands print fits 100 columns, or those of the terminal, whatever names files have."""

from __future__ import annotations

import io

import numpy as np
import pytest
from command import BETTER, LABELS, OUTCOMES, REPORTS, ROWS, SITES, csv, named, run

import calibrant as cal
from calibrant._cli.command import VERBS
from calibrant._cli.terminal import columns_of

LONG = "predictions_of_the_second_network_after_pruning_and_distillation_of_2026-11-01.csv"
LABEL = "the_outcome_within_thirty_days_after_the_discharge_from_hospital"
PROBA = "predicted_probability_of_a_readmission_by_the_second_network"
SITE = "hospital_and_department"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("width")
    sites = [f"{site} hospital of the city, with its departments and clinics" for site in SITES]
    site = [f'"{name} {i % 4}"' for i, name in enumerate(sites)]
    csv(out / LONG, {LABEL: OUTCOMES, PROBA: REPORTS, "better": BETTER, SITE: site})
    csv(out / "rows.csv", {"label": OUTCOMES, "p": REPORTS, "q": BETTER})
    csv(out / "other.csv", {"label": OUTCOMES, "p": BETTER, "q": BETTER})
    times = [f"2026-01-{1 + i % 9:02d}" for i in range(len(OUTCOMES))]
    csv(out / "days.csv", {"label": OUTCOMES, "p": REPORTS, "at": times})
    named(out, "classes.csv")
    np.savez(out / "soft.npz", y_true=ROWS[LABELS.argsort()], y_proba=ROWS)
    cal.Accumulator().update(OUTCOMES, REPORTS).save(out / "day.state")
    return out


NAMED = ("--label", LABEL, "--proba", PROBA)
TWO = ("--models", "a_model_with_a_long_name_of_its_own=" + PROBA, "the_better_one=better")
COMMANDS = {
    "report": ("report", "rows.csv"),
    "report, long": ("report", LONG, *NAMED, "--by", SITE),
    "report, details": ("report", LONG, *NAMED, "--by", SITE, "--details"),
    "report, classes": ("report", "classes.csv", "--details"),
    "report, soft": ("report", "soft.npz"),
    "report, clinical": ("report", "rows.csv", "--proba", "p", "--clinical"),
    "report, segments": ("report", LONG, *NAMED, "--segments", f"{SITE},better"),
    "report, stream": ("report", "rows.csv", "--stream", "--details"),
    "report, state": ("report", "day.state"),
    "compare": ("compare", LONG, "--label", LABEL, *TWO, "--by", SITE),
    "compare, details": ("compare", LONG, "--label", LABEL, *TWO, "--details"),
    "compare, files": ("compare", "rows.csv", "other.csv"),
    "check": ("check", LONG, *NAMED, "--max", "ece=0.05", "--by", SITE),
    "check, baseline": (
        "check", "other.csv", "--baseline", "rows.csv", "--max-increase", "brier=0.1",
    ),
    "certify": ("certify", LONG, *NAMED),
    "decide": ("decide", LONG, "--label", LABEL, *TWO),
    "centres": ("centres", LONG, *NAMED, "--by", SITE),
    "conventions": ("conventions", LONG, *NAMED, "--details"),
    "scale": ("scale", "--fit", LONG, *NAMED),
    "scale, auto": ("scale", "--fit", "rows.csv", "--proba", "p", "--map", "auto"),
    "monitor": ("monitor", "new.state", "--update", "days.csv", "--time", "at"),
    "info": ("info",),
    "an error": ("report", LONG, "--label", "labl"),
    "a mistyped option": ("report", LONG, "--labels-of-each-of-the-many-rows-of-the-file", LABEL),
}  # fmt: skip


# As wide as lines are by themselves, of each verb what prints most; every command in 80 columns.
WIDEST = (
    "report, details", "report, classes", "report, segments", "compare", "compare, details",
    "check", "certify", "decide", "centres", "conventions", "scale", "monitor", "info", "an error",
    "a mistyped option",
)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "width"), [*((name, "80") for name in COMMANDS), *((name, None) for name in WIDEST)]
)
def test_what_a_command_prints_fits(folder, name, width, monkeypatch):
    monkeypatch.delenv("COLUMNS")
    if width:
        monkeypatch.setenv("COLUMNS", width)
    (folder / "new.state").unlink(missing_ok=True)
    done = run(*COMMANDS[name], cwd=folder)
    assert (done.returncode == 3) == name.startswith(("an error", "a mistyped"))
    lines = [*done.stdout.splitlines(), *done.stderr.splitlines()]
    assert lines
    assert [line for line in lines if len(line) > int(width or 100)] == []


@pytest.mark.parametrize("width", [None, "80"])
@pytest.mark.parametrize("verb", VERBS)
def test_help_fits(verb, width, monkeypatch):
    monkeypatch.delenv("COLUMNS")
    if width:
        monkeypatch.setenv("COLUMNS", width)
    done = run(verb, "--help")
    assert done.returncode == 0
    assert [line for line in done.stdout.splitlines() if len(line) > int(width or 100)] == []


def test_the_summary_comes_first_and_details_after(folder):
    short, long = run("report", "rows.csv", "--proba", "p", cwd=folder), None
    lines = short.stdout.splitlines()
    assert len(lines) <= 16 and "Reliability" not in short.stdout
    assert "95% CI" in short.stdout and "smooth ECE" in short.stdout
    assert lines[-1] == "  --details prints all 25 measures, the bins and the other notes"
    long = run("report", "rows.csv", "--proba", "p", "--details", cwd=folder).stdout
    for words in ("Measures", "Reliability", "sweep_ece", "Other tools", "torchmetrics"):
        assert words in long
    assert "--details" not in long


def test_headings_of_tools_stand_in_one_line(folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "88")
    done = run("conventions", "rows.csv", "--proba", "p", cwd=folder)
    lines = done.stdout.splitlines()
    heading = next(line for line in lines if line.strip().startswith("tool "))
    assert heading.split() == ["tool", "bins", "value", "with", "15", "bins", "answer"]


def test_columns_found_alike_in_all_files_stand_there_once(folder):
    done = run("compare", "rows.csv", "other.csv", cwd=folder)
    assert done.stdout.count("found by name") == 1
    assert "columns found by name: label 'label', prediction 'p'" in done.stdout
    csv(folder / "renamed.csv", {"target": OUTCOMES, "p": BETTER})
    done = run("compare", "rows.csv", "renamed.csv", cwd=folder)
    assert "rows: y_true is the column 'label', by its name" in done.stdout
    assert "renamed: y_true is the column 'target', by its name" in done.stdout
    assert "columns found by name: prediction 'p'" in done.stdout


def test_the_width_is_that_of_the_terminal_and_100_at_most(monkeypatch):
    monkeypatch.delenv("COLUMNS")
    assert columns_of(io.StringIO()) == 100
    monkeypatch.setenv("COLUMNS", "132")
    assert columns_of(io.StringIO()) == 132  # somebody wants it so
    monkeypatch.setenv("COLUMNS", "nonsense")
    assert columns_of(io.StringIO()) == 100
