"""`calibrant completion`: scripts that real shells load, and what they then complete."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from command import binary, run

from cli.command import main
from needs import need


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    need("shtab")
    folder = tmp_path_factory.mktemp("completion")
    for shell in ("bash", "zsh", "fish"):
        done = run("completion", shell)
        assert done.returncode == 0 and done.stderr == ""
        (folder / shell).write_text(done.stdout)
    return folder


def shell(name):
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    return name


# What bash does when Tab is pressed.
PRESS = """
source "$0"
function=$(complete -p calibrant | sed 's/.*-F \\([^ ]*\\).*/\\1/')
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
"$function" calibrant "${COMP_WORDS[COMP_CWORD]}" ""
printf '%s\\n' "${COMPREPLY[@]}"
"""
CASES = [
    (["ch"], {"check"}),
    (["re"], {"report", "reproduce"}),
    (["scale", "--method", "i"], {"isotonic"}),
    (
        ["check", "--m"],
        {"--max", "--max-decrease", "--max-increase", "--min", "--missing"},
    ),
    (["report", "--missing", ""], {"error", "drop"}),
    (["report", "row"], {"rows.csv"}),
]


@pytest.mark.parametrize(("words", "expected"), CASES)
def test_bash_completes_words(scripts, tmp_path, words, expected):
    binary(tmp_path)
    done = subprocess.run(
        [shell("bash"), "-c", PRESS, scripts / "bash", "calibrant", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(done.stdout.split()) == expected and done.stderr == ""


@pytest.mark.parametrize(("words", "expected"), CASES)
def test_fish_completes_words(scripts, tmp_path, words, expected):
    binary(tmp_path)
    line = " ".join(["calibrant", *words])
    done = subprocess.run(
        [shell("fish"), "--no-config", "-c", f"source {scripts / 'fish'}; complete -C '{line}'"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert {row.split("\t")[0] for row in done.stdout.splitlines()} >= expected


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_scripts_are_well_formed(scripts, name):
    subprocess.run([shell(name), "-n", scripts / name], check=True)
    text = (scripts / name).read_text()
    for verb in ("report", "compare", "check", "scale", "conventions", "merge", "completion"):
        assert verb in text


def test_another_shell(capsys):
    with pytest.raises(SystemExit) as end:
        main(["completion", "tcsh"])
    assert end.value.code == 3 and "did you mean 'zsh'?" in capsys.readouterr().err


def test_without_its_package(monkeypatch, capsys):
    import sys

    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 3
    assert "(the extra 'cli')" in capsys.readouterr().err
