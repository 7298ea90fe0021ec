"""The folder of a reproduction: its files, a page that stands alone, and what is refused."""

import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from calibrant import InputError, MissingExtra, reproduce
from calibrant._core import optional
from calibrant._core.progress import TaskProgress
from calibrant._research.papers import output
from calibrant._research.papers.figures import new_figure
from calibrant._research.papers.folder import Erratum, Figure, Reproduction, Section, Table
from needs import need

NASTY = "<script>alert('x')</script> & \"quotes\""


def drawing():
    with new_figure() as (figure, axes):
        axes[0, 0].plot([0, 1], [0, 1])
    return figure


@pytest.fixture(scope="module")
def small() -> Reproduction:
    """Drawn once: nobody changes it."""
    need("matplotlib")
    table = Table(
        "numbers",
        NASTY,
        {"model": ["A", "A", NASTY], "error": [0.1, float("nan"), 1 / 3]},
        notes=(NASTY,),
        marks={(2, "error"): "1"},
    )
    hidden = Table("hidden", "not on the page", {"x": [1, None]}, on_page=False)
    section = Section(
        NASTY, (NASTY,), (table, hidden), (Figure("line", NASTY, drawing, {"x": [0, 1]}),)
    )
    return Reproduction(
        "small", NASTY, NASTY, (section,), (Erratum("1", NASTY, NASTY, NASTY),), {"seed": NASTY}
    )


def test_everything_is_written(small, tmp_path) -> None:
    folder = small.write(tmp_path / "new" / "out")
    names = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    assert names == {
        "index.html",
        "reproduction.json",
        "tables/numbers.csv",
        "tables/numbers.json",
        "tables/hidden.csv",
        "tables/hidden.json",
        "figures/line.svg",
        "figures/line.png",
        "figures/line.csv",
    }
    rows = list(csv.DictReader(io.StringIO((folder / "tables/numbers.csv").read_text())))
    assert rows[2] == {"model": NASTY, "error": repr(1 / 3)}
    table = json.loads((folder / "tables/numbers.json").read_text())
    assert table["columns"]["error"] == [0.1, None, 1 / 3]
    assert table["marks"] == [{"row": 2, "column": "error", "erratum": "1"}]
    assert (folder / "figures/line.png").read_bytes()[:4] == b"\x89PNG"
    assert b"<svg" in (folder / "figures/line.svg").read_bytes()
    assert not [p for p in folder.parent.iterdir() if p != folder]  # nothing is left beside


def test_the_page_needs_nothing_else_and_escapes_every_text(small) -> None:
    page = small.to_html()
    assert "<script" not in page and NASTY not in page
    assert "&lt;script&gt;" in page
    loaded = re.findall(r'(?:src|href|url\()\s*=?\s*["\']?([^"\'\s>)]+)', page)
    assert loaded and all(to.startswith(("#", "data:image/svg+xml;base64,")) for to in loaded)
    assert not re.search(r"https?://|<link|@import|<iframe", page)
    for target in (to[1:] for to in loaded if to.startswith("#")):
        assert f'id="{target}"' in page
    assert "not on the page" not in page
    assert page.count('class="number marked"') == 1


def test_the_same_numbers_give_the_same_bytes(small) -> None:
    again = Figure("line", NASTY, drawing)
    assert again.svg == small.figures["line"].svg
    assert again.png == small.figures["line"].png


def test_an_earlier_reproduction_is_replaced_whole(small, tmp_path) -> None:
    folder = small.write(tmp_path / "out")
    fewer = Reproduction("small", "Other", "", ())
    assert fewer.write(folder) == folder
    assert sorted(p.name for p in folder.iterdir()) == ["index.html", "reproduction.json"]


def test_a_folder_with_other_files_is_refused(small, tmp_path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match=r"holds 'thesis\.tex', which no reproduction"):
        small.write(tmp_path)
    folder = small.write(tmp_path / "out")
    (folder / "tables" / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"tables/notes\.txt"):
        small.write(folder)
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


def test_what_cannot_be_a_folder_is_refused_before_any_work(tmp_path, monkeypatch) -> None:
    need("matplotlib")
    (tmp_path / "file").write_text("")
    for out, why in (
        (tmp_path / "file", "is a file"),
        (tmp_path / "file" / "x", "cannot be"),
        ("", "must name a folder"),
        (".", "current folder"),
    ):
        with pytest.raises(InputError, match=why):
            reproduce("soft-mean", out=out)  # at once: the whole run takes far longer

    def refuse(*_: object, **__: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(output.tempfile, "mkdtemp", refuse)
    with pytest.raises(InputError, match="cannot be written: Permission denied"):
        reproduce("soft-mean", out=tmp_path / "out")


def test_an_interruption_leaves_what_was_there(small, tmp_path, monkeypatch) -> None:
    folder = small.write(tmp_path / "out")
    before = (folder / "index.html").read_bytes()
    write = Path.write_bytes

    def interrupted(path: Path, content: bytes) -> int:
        if path.name == "index.html":
            raise KeyboardInterrupt
        return write(path, content)

    monkeypatch.setattr(Path, "write_bytes", interrupted)
    for out in (folder, tmp_path / "other"):
        with pytest.raises(KeyboardInterrupt):
            Reproduction("small", "Other", "", ()).write(out)
    assert (folder / "index.html").read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_a_paper_that_is_not_known() -> None:
    with pytest.raises(InputError, match="did you mean 'soft-mean'"):
        reproduce("softmean")


def test_options_that_do_not_fit(tmp_path) -> None:
    with pytest.raises(InputError, match="drop data"):
        reproduce("soft-mean", data=tmp_path)
    for seed in (-1, 1.5, True, "7"):
        with pytest.raises(InputError, match="seed must be a whole number"):
            reproduce("soft-mean", seed=seed)


def test_without_matplotlib_the_way_to_get_it_is_said_first(tmp_path, monkeypatch) -> None:
    def absent(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(optional.importlib, "import_module", absent)
    with pytest.raises(MissingExtra, match=r"pip install matplotlib \(the extra 'plot'\)"):
        reproduce("soft-mean", out=tmp_path / "out")


def test_importing_papers_does_not_import_matplotlib() -> None:
    program = (
        "import sys, calibrant._research.papers.reproduce, calibrant._research.papers.soft_mean, "
        "calibrant._research.papers.logit_smoothing\n"
        "print('matplotlib' in sys.modules, 'scipy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split() == ["False", "False"], done.stderr


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class TestProgress:
    def run(self, file: io.StringIO, show: bool = True) -> str:
        with TaskProgress(show, file).task("Replications", 40) as step:
            for _ in range(40):
                step()
        return file.getvalue()

    def test_a_pipe_sees_nothing(self) -> None:
        assert self.run(io.StringIO()) == "" == self.run(Terminal(), show=False)

    def test_a_terminal_sees_a_bar(self) -> None:
        need("rich")
        assert "Replications" in self.run(Terminal())

    def test_a_plain_bar_without_rich(self, monkeypatch) -> None:
        monkeypatch.setattr("calibrant._core.progress.importlib.util.find_spec", lambda _: None)
        text = self.run(Terminal())
        assert text.endswith("[" + "#" * 32 + "]\n") and text.count("\r") == 32
