"""Every example in the guides runs and prints what it says."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from needs import need

DOCS = Path(__file__).parents[2] / "docs"
GUIDES = sorted(path for path in DOCS.glob("*.md") if ">>>" in path.read_text(encoding="utf-8"))


def test_there_are_guides():
    assert {path.stem for path in GUIDES} >= {"recalibration", "uncertainty", "comparison"}


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)
def test_guide_examples(guide):
    need("sklearn")
    failures, tried = doctest.testfile(str(guide), module_relative=False)
    assert tried > 5
    assert failures == 0
