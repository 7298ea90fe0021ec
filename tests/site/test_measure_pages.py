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
        formula = measure.formula
        assert f"```text\n{formula}\n```" in page or f"`{formula}`" in page, measure.name
        assert measure.reference in page, measure.name
        assert measure.range.replace("|", "\\|") in page, measure.name
        assert f"`cal.{measure.function}`" in page, measure.name


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
