"""Every example in the guides runs and prints what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from needs import need
from page_examples import has_examples, run_page

DOCS = Path(__file__).parents[2] / "docs"
PAGES = {
    str(path.relative_to(DOCS).with_suffix("")): path.read_text(encoding="utf-8")
    for path in sorted(DOCS.rglob("*.md"))
}
GUIDES = [name for name, text in PAGES.items() if has_examples(text)]
# What a guide shows that is not part of every installation.
NEEDS = {
    "diagrams": ("matplotlib", "sklearn", "altair"),
    "files": ("pyarrow",),
    "for/data-lake": ("pyarrow", "duckdb"),
    "frames": ("polars", "duckdb"),
    "index": ("matplotlib",),
    "integrations": ("matplotlib", "sklearn", "evaluate"),
    "monitoring": ("pandas",),
    "papers": ("matplotlib",),
    "recalibration": ("sklearn",),
    "report": ("altair",),
    "torch": ("torch", "torchmetrics"),
    "tour": ("pandas", "duckdb"),
}


def test_there_are_guides():
    assert set(GUIDES) >= {"index", "which-measure", "recalibration", "uncertainty", "comparison"}
    assert set(GUIDES) >= {f"for/{who}" for who in ("researcher", "engineer", "clinician")}
    assert set(GUIDES) >= {"for/llm-evaluator", "for/data-lake"}


@pytest.mark.parametrize("guide", GUIDES)
def test_guide_examples(guide, tmp_path, monkeypatch):
    for package in NEEDS.get(guide, ()):
        need(package)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    tried, wrong = run_page(PAGES[guide], f"docs/{guide}.md")
    assert tried >= 3
    assert not wrong, "\n".join(wrong)
