"""The action of this repository: its scripts run here, with the variables that GitHub sets."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from needs import need

ROOT = Path(__file__).parents[2]
if not (ROOT / "action.yml").exists() or shutil.which("bash") is None:
    pytest.skip("the action, or bash, is not here", allow_module_level=True)
EXAMPLE = "src/calibrant/examples/fashion.npz"
COLUMNS = "--label test_labels --proba test_logits --from-logits"


def read(path):
    return need("yaml").safe_load((ROOT / path).read_text(encoding="utf-8"))


ACTION = read("action.yml")
PYTHON, INSTALL, CHECK = ACTION["runs"]["steps"]


def filled(text, inputs):
    """A value as GitHub makes it: an input that is not given has its default, or is empty."""
    defaults = {name: str(each.get("default", "")) for name, each in ACTION["inputs"].items()}
    return re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda m: (defaults | inputs)[m[1]], text)


def check(folder, **inputs):
    """The exit code, the outputs, the summary and what was printed, of the last step."""
    folder.mkdir(exist_ok=True)
    command = folder / "calibrant"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m calibrant "$@"\n')
    command.chmod(0o755)
    inputs = {name.replace("_", "-"): value for name, value in inputs.items()}
    assert set(inputs) <= set(ACTION["inputs"])
    variables = {name: filled(text, inputs) for name, text in CHECK["env"].items()}
    variables |= {"GITHUB_OUTPUT": str(folder / "out"), "GITHUB_STEP_SUMMARY": str(folder / "sum")}
    script = folder / "script.sh"
    script.write_text(CHECK["run"], encoding="utf-8")
    # As GitHub starts `shell: bash`.
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
        cwd=ROOT,
        text=True,
        env={**os.environ, **variables, "CALIBRANT": str(command)},
        capture_output=True,
    )
    out, summary = ((folder / name) for name in ("out", "sum"))
    pairs = (line.partition("=") for line in (out.read_text().split() if out.exists() else ()))
    outputs = {name: value for name, _, value in pairs}
    written = summary.read_text(encoding="utf-8") if summary.exists() else ""
    return done.returncode, outputs, written, done.stdout + done.stderr


def test_a_limit_that_is_kept_and_one_that_is_not(tmp_path):
    code, outputs, summary, said = check(
        tmp_path / "a", files=EXAMPLE, max="ece=0.1\nbrier=0.4", options=COLUMNS
    )
    assert (code, outputs) == (0, {"code": "0", "verdict": "pass"}), said
    assert "| ece \\<= 0.1 |" in summary and "| brier \\<= 0.4 |" in summary
    code, outputs, summary, said = check(
        tmp_path / "b", files=EXAMPLE, max="ece=0.02", options=COLUMNS
    )
    assert (code, outputs) == (1, {"code": "1", "verdict": "fail"}), said
    assert summary.startswith("### ❌") and "::error title=" in said


def test_too_few_rows_and_a_baseline(tmp_path):
    few = tmp_path / "few rows.csv"
    few.write_text("label,p\n" + "0,0.2\n1,0.7\n" * 20, encoding="utf-8")
    given = {"files": str(few), "max": "ece=0.2", "baseline": str(few), "max_increase": "ece=0.1"}
    code, outputs, summary, said = check(tmp_path / "a", **given)
    assert (code, outputs["verdict"]) == (2, "undecided") and "::warning" in said
    assert "increase" in summary
    code, outputs, *_ = check(tmp_path / "b", allow_undecided="true", **given)
    assert (code, outputs["code"]) == (0, "2")


def test_what_cannot_be_checked_never_passes(tmp_path):
    code, outputs, summary, said = check(
        tmp_path / "a", files="not-there.csv", max="ece=0.1", allow_undecided="true"
    )
    assert (code, outputs, summary) == (3, {"code": "3", "verdict": "error"}, "")
    code, *_, said = check(tmp_path / "b", files=EXAMPLE, max="ece=0.1", options="--by 'a b")
    assert code == 3 and "a quote is not closed" in said
    code, *_ = check(tmp_path / "c", files=EXAMPLE, options=COLUMNS)
    assert code == 3, "no limit at all"


def test_inputs_are_words_and_never_commands(tmp_path):
    code, *_, said = check(
        tmp_path / "a",
        files=f"{EXAMPLE}\n",
        max="ece=0.1",
        options=COLUMNS + " --by '$(touch a b); `touch c`'",
    )
    assert code == 3 and "$(touch a b); `touch c`" in said
    assert not any((ROOT / name).exists() for name in "abc")
    assert "${{" not in CHECK["run"] + INSTALL["run"]


def test_it_installs_the_checkout_that_it_is_of(tmp_path):
    assert INSTALL["env"]["SOURCE"] == "${{ github.action_path }}"
    said = tmp_path / "said"
    python = tmp_path / "python"
    # A Python that makes environments whose pip says what it is asked for.
    python.write_text(
        f'#!/bin/sh\nmkdir -p "$3/bin"\nprintf \'#!/bin/sh\\necho "$@" > "{said}"\\n\' '
        '> "$3/bin/python"\nchmod +x "$3/bin/python"\n'
    )
    python.chmod(0o755)
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", INSTALL["run"]],
        text=True,
        capture_output=True,
        env={
            **os.environ,
            "PYTHON": str(python),
            "SOURCE": "/a checkout",
            "RUNNER_TEMP": str(tmp_path / "temp"),
            "GITHUB_ENV": str(tmp_path / "env"),
        },
    )
    assert done.returncode == 0, done.stderr
    assert said.read_text().split("install")[1].strip().endswith("/a checkout[cli]")
    command = (tmp_path / "env").read_text().strip()
    assert command == f"CALIBRANT={tmp_path / 'temp'}/calibrant/bin/calibrant"


def test_the_workflow_s_steps_end_as_it_says(tmp_path):
    steps = read(".github/workflows/action.yml")["jobs"]["action"]["steps"]
    expected = {"kept": 0, "broken": 1}
    for step in steps:
        if step.get("uses") == "./":
            code, *_, said = check(
                tmp_path / step["id"],
                **{name.replace("-", "_"): value for name, value in step["with"].items()},
            )
            assert code == expected.pop(step["id"]), said
    assert not expected
    assert PYTHON["uses"].startswith("actions/setup-python@v")
