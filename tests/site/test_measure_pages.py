"""The measures' pages are made from the catalogue, and their examples run."""

from __future__ import annotations

import csv
import importlib
import sys
from pathlib import Path

import pytest

import calibrant as cal
from needs import need
from page_examples import run_page

MAKE = Path(__file__).parents[2] / "docs" / "make"
NAMES = sorted({measure.name for measure in cal.catalogue()})


@pytest.fixture(scope="module")
def made():
    need("latex2mathml")
    sys.path.insert(0, str(MAKE))
    try:
        return importlib.import_module("measures").pages()
    finally:
        sys.path.remove(str(MAKE))


def test_pages_say_what_the_catalogue_says(made):
    for measure in cal.catalogue():
        page = made[f"measures/{measure.name}.md"]
        # The formula stands once: as the docstring has it, or else as the catalogue.
        short = f"```text\n{measure.formula}\n```"
        assert (page.count("```math\n"), page.count(short)) in {(1, 0), (0, 1)}, measure.name
        assert measure.reference in page, measure.name
        assert measure.range.replace("|", "\\|") in page, measure.name
        assert f"`cal.{measure.function}`" in page, measure.name


@pytest.mark.parametrize("name", NAMES)
def test_a_page_says_when_to_use_it_and_how_it_is_cheated(made, name):
    texts = sys.modules["measure_page"].texts()
    assert set(texts) == set(NAMES)
    told = texts[name]
    assert set(told) == {"picture", "use", "avoid", "cheat"}
    page = made[f"measures/{name}.md"]
    assert f"]({name}.svg)" in page
    assert all(text in page for text in told.values())
    assert all(
        len(sentence.split()) <= 25 for text in told.values() for sentence in text.split(". ")
    )


def test_every_measure_has_a_picture(made, monkeypatch):
    need("matplotlib")
    monkeypatch.syspath_prepend(str(MAKE))
    module = importlib.import_module("measure_pictures")
    assert set(module.DRAWN) == set(NAMES)
    drawn = module.pictures()
    assert set(drawn) == {f"measures/{name}.svg" for name in NAMES}
    assert all(b"<svg" in picture and len(picture) < 100_000 for picture in drawn.values())


@pytest.mark.parametrize("name", NAMES)
def test_the_example_runs(made, name):
    page = made[f"measures/{name}.md"]
    tried, wrong = run_page(page, name)
    assert tried >= 6
    assert not wrong, "\n".join(wrong)
    # The function alone and the measure by its name are one number.
    answers = [line for line in page.splitlines() if line.startswith(("0.", "1.", "2."))]
    assert len(answers) >= 2
    assert answers[::2] == answers[1::2]


def test_no_claim_is_shown_without_a_verdict(made):
    with (MAKE.parent / "measures" / "audit.csv").open(encoding="utf-8") as file:
        tried = {(row["measure"], row["shape"], row["property"]) for row in csv.DictReader(file)}
    for measure in cal.catalogue():
        for shape in measure.shapes:
            for name in ("truthful", "continuous", "complete", "sound"):
                if getattr(measure.claims, name) is not None:
                    assert (measure.name, shape, name) in tried
    assert " ! |" not in made["measures/index.md"]
