"""The notebook runs from top to bottom, and its outputs are what it prints."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from needs import need

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "examples" / "quickstart.ipynb"
if not NOTEBOOK.exists():
    pytest.skip("the notebook is not at hand", allow_module_level=True)


@pytest.fixture(scope="module")
def kept():
    return need("nbformat").read(NOTEBOOK, as_version=4)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    need("nbclient")
    need("ipykernel")
    make = runpy.run_path(str(ROOT / "docs" / "make" / "notebook.py"))
    return make["run"](NOTEBOOK, tmp_path_factory.mktemp("notebook"))


def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def printed(cell):
    """Texts and tables; of a picture, only that it is there."""
    found = []
    for output in cell.outputs:
        data = output.get("data", {})
        picture = "image/png" in data
        found.append("a picture" if picture else output.get("text") or data.get("text/plain"))
    return found


def test_outputs_are_what_it_prints(kept, made):
    """If not: python docs/make/notebook.py."""
    for old, new in zip(code(kept), code(made), strict=True):
        assert printed(old) == printed(new), old.source
    assert sum(printed(cell) == ["a picture"] for cell in code(made)) == 2


def test_it_is_small_and_says_nothing_of_the_machine_it_ran_on(kept):
    assert NOTEBOOK.stat().st_size < 200_000
    assert kept.metadata == {
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
        "language_info": {"name": "python"},
    }
    assert not [cell for cell in code(kept) if cell.metadata]
    text = NOTEBOOK.read_text(encoding="utf-8")
    assert not [name for name in ("/home/", "/tmp/", str(ROOT), str(Path.home())) if name in text]


def test_it_leads_to_pages(kept):
    text = " ".join(cell.source for cell in kept.cells)
    pages = [part.partition(")")[0] for part in text.split("](")[1:]]
    assert len(pages) >= 2
    assert [page for page in pages if not (NOTEBOOK.parent / page).exists()] == []
