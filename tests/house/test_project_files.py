"""The files around the code: workflows, hooks and citation are valid and call what there is."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
import sys
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
        # (`./` is the action of this repository.)
        assert re.fullmatch(r"\./|[\w-]+/[\w-]+@v\d+(\.\d+)*", step.get("uses", "a/b@v1"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_call_the_commands_that_people_call(path):
    for command in (step["run"] for step in steps(read(path)) if "run" in step):
        if command.startswith("make "):
            assert set(command.split()[1:]) <= TARGETS
        elif command.startswith("."):
            assert shutil.which(str(ROOT / command))
        else:  # what the machine lacks, and what an action has found
            assert re.match(r"sudo apt-get|choco install|test ", command)


def test_every_python_and_system_is_tested():
    matrix = read(".github/workflows/test.yml")["jobs"]["test"]["strategy"]["matrix"]
    assert matrix["python"] == ["3.11", "3.12", "3.13", "3.14"]
    assert {name.partition("-")[0] for name in matrix["os"]} == {"ubuntu", "macos", "windows"}
    project = need("tomllib").loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    names = [name.rpartition(" ")[2] for name in project["project"]["classifiers"]]
    assert set(matrix["python"]) <= set(names)
    built = project["tool"]["cibuildwheel"]["build"]
    names = [f"cp{version.replace('.', '')}" for version in matrix["python"]]
    assert built == [f"{name}-*" for name in [*names, f"{names[-1]}t"]]


def test_the_conda_recipe_needs_what_the_package_needs():
    text = (ROOT / "conda/meta.yaml").read_text(encoding="utf-8")
    recipe = need("yaml").safe_load(re.sub(r"\{%.*%\}|\{\{.*?\}\}", "", text))
    toml = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    project = need("tomllib").loads(toml)["project"]
    assert f'version = "{project["version"]}"' in text
    needed = {line.replace(" ", "") for line in recipe["requirements"]["run"]}
    assert needed == {*project["dependencies"], f"python{project['requires-python']}"}
    entries = {f"{name}={where}" for name, where in project["scripts"].items()}
    assert entries == {line.replace(" ", "") for line in recipe["build"]["entry_points"]}
    assert recipe["about"]["license"] == project["license"]


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
    papers = (ROOT / "docs/research/papers.md").read_text(encoding="utf-8")
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


class TestInstall:
    """`.ci/install.py`: uv looks for packages where pip does, and pip stands in for it."""

    install = runpy.run_path(str(ROOT / ".ci" / "install.py"))

    def test_uv_is_told_what_pip_is(self):
        listed = (
            ":env:.find-links='here there'\n:env:.default-timeout='180'\n"
            "global.cert='/certificates'\nglobal.extra-index-url='\\nfile:///a\\nfile:///b'\n"
            "global.find-links='elsewhere'\ninstall.index-url='https://mirror/simple'\n"
            "global.no-color='true'\n"
        )
        assert self.install["as_uv_has_it"](listed) == {
            "UV_FIND_LINKS": "here,there",  # the environment's word counts, not the file's
            "UV_HTTP_TIMEOUT": "180",
            "SSL_CERT_FILE": "/certificates",
            "UV_INDEX": "file:///a file:///b",
            "UV_DEFAULT_INDEX": "https://mirror/simple",
        }
        assert self.install["as_uv_has_it"]("") == {}

    @pytest.mark.parametrize("uv", [0, 1, None], ids=["works", "fails", "is missing"])
    def test_pip_is_asked_where_uv_fails(self, uv, monkeypatch, capsys):
        called = []

        def run(command, **options):
            called.append(command)
            if "uv" in Path(command[0]).name and uv is None:
                raise FileNotFoundError("no uv")
            fails = uv and "uv" in Path(command[0]).name
            return subprocess.CompletedProcess(command, int(bool(fails)), stdout="")

        monkeypatch.setattr(subprocess, "run", run)
        assert self.install["main"](["--editable", ".[test]"]) == 0
        by_pip = [c for c in called if c[:4] == [sys.executable, "-m", "pip", "install"]]
        assert [c[-1] for c in by_pip] == ([] if uv == 0 else ["pyspark", ".[test]"])
        assert ("pip installs instead" in capsys.readouterr().err) is (uv != 0)


class TestInterpreter:
    """`.ci/python.py`: the interpreter that `make` makes its environment with."""

    script = ROOT / ".ci" / "python.py"

    def ask(self, python, *arguments):
        command = [python, str(self.script), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def test_it_is_of_the_same_version(self):
        ours = sys.base_prefix + ("/python" if sys.platform == "win32" else "/bin/python3")
        found = self.ask(ours).stdout.strip()
        said = subprocess.run([found, "-V"], capture_output=True, text=True, check=True).stdout
        assert said.startswith("Python {}.{}.".format(*sys.version_info))

    def test_that_of_an_environment_is_kept(self):
        if sys.prefix == sys.base_prefix:
            pytest.skip("not run in an environment")
        assert self.ask(sys.executable).stdout.strip() == sys.executable

    def test_the_system_s_stands_in_for_its_own_version_alone(self):
        python = runpy.run_path(str(self.script))
        assert not python["can_stand_in"]("2.7")
        system = python["SYSTEM"]
        if Path(system).exists():
            assert self.ask(system, "2.7").returncode == 1
            assert self.ask(system).stdout.strip() == system


def test_the_picture_of_the_rooms_is_that_of_the_code():
    """If not: python docs/make/rooms.py."""
    drawn = runpy.run_path(str(ROOT / "docs/make/rooms.py"))
    assert drawn["PICTURE"].read_text(encoding="utf-8") == drawn["picture"]()
    heights = {room: row for row, rooms in enumerate(drawn["floors"]()) for room in rooms}
    assert all(heights[a] <= heights[b] for a, b in drawn["imports"]() if {a, b} <= set(heights))
