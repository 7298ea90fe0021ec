"""The files around the code: workflows, hooks and citation are valid and call what there is."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from needs import need

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.search(r"^\.PHONY: (.+)$", MAKEFILE, re.MULTILINE)[1].split())
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
if not WORKFLOWS:
    pytest.skip("the workflows are not part of the source package", allow_module_level=True)


def read(path):
    return need("yaml").safe_load((ROOT / path).read_text(encoding="utf-8"))


def steps(workflow):
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_are_whole(path):
    workflow = read(path)
    assert workflow["name"] == path.stem
    assert workflow[True]  # YAML reads `on` as a truth value
    for job in workflow["jobs"].values():
        assert job["runs-on"]
    for step in steps(workflow):
        assert ("uses" in step) != ("run" in step)
        # A version is named, and no branch that may change.
        assert re.fullmatch(r"[\w-]+/[\w-]+@v\d+(\.\d+)*", step.get("uses", "a/b@v1"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_call_the_commands_that_people_call(path):
    for command in (step["run"] for step in steps(read(path)) if "run" in step):
        if command.startswith("make "):
            assert set(command.split()[1:]) <= TARGETS
        elif command.startswith("."):
            assert shutil.which(str(ROOT / command))
        else:  # what the machine lacks
            assert re.match(r"sudo apt-get|choco install", command)


def test_every_python_and_system_is_tested():
    matrix = read(".github/workflows/test.yml")["jobs"]["test"]["strategy"]["matrix"]
    assert matrix["python"] == ["3.11", "3.12", "3.13", "3.14"]
    assert {name.partition("-")[0] for name in matrix["os"]} == {"ubuntu", "macos", "windows"}
    project = need("tomllib").loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    names = [name.rpartition(" ")[2] for name in project["project"]["classifiers"]]
    assert set(matrix["python"]) <= set(names)
    built = project["tool"]["cibuildwheel"]["build"]
    assert built == [f"cp{version.replace('.', '')}-*" for version in matrix["python"]]


def test_hooks_are_programs_of_the_environment():
    (repo,) = read(".pre-commit-config.yaml")["repos"]
    called = {hook["entry"].split()[0] for hook in repo["hooks"]}
    assert called == {f".venv/bin/{name}" for name in ("ruff", "lint-imports", "mypy")}
    assert all(name.removeprefix(".venv") in MAKEFILE.replace("$(BIN)", "/bin") for name in called)


def test_the_citation_names_this_version_and_the_papers():
    citation = read("CITATION.cff")
    project = need("tomllib").loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert citation["version"] == project["project"]["version"]
    assert citation["license"] == project["project"]["license"]
    first = {paper["authors"][0]["family-names"] for paper in citation["references"]}
    assert first == {"Leznik", "Chidambaram", "Lu"}
    papers = (ROOT / "docs/papers.md").read_text(encoding="utf-8")
    assert all(name in papers for name in first)


def test_commands_of_the_guides_for_contributors_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    called = set(re.findall(r"(?:^    |`)make (\w+)", text, re.MULTILINE))
    assert {"quick", "test", "docs", "bench"} <= called <= TARGETS


def test_the_worked_example_is_the_measure_that_is_tested():
    made_up = ROOT / "tests/laws/test_made_up_measure.py"
    if not made_up.exists():
        pytest.skip("the made-up measure is not there")
    tested = {line.strip() for line in made_up.read_text(encoding="utf-8").splitlines()}
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for name in ("two_bin_error", "twin_of_two_bin_ce"):
        code = re.search(rf"^    def {name}.+?(?=^\S)", text, re.MULTILINE | re.DOTALL)[0]
        lines = [line.strip() for line in code.splitlines() if line.strip()]
        body = [line for line in lines[1:] if not line.startswith('"""')]
        assert len(body) >= 4 and set(body) <= tested
