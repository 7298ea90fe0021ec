"""Lists of measures in the guides say what the catalogue says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import calibrant as cal

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
if not (ROOT / "docs").is_dir():
    pytest.skip("the docs are not at hand", allow_module_level=True)

MEASURES = {measure.name: measure for measure in cal.catalogue()}
ALIASES = {alias for measure in cal.catalogue() for alias in measure.aliases}
# Read, not imported: they need torch.
PUBLIC = ROOT / "tests" / "house" / "public_names.txt"
LOSSES = {name.rpartition(".")[2] for name in PUBLIC.read_text(encoding="utf-8").split()}
# A name in backticks that ends like a measure's: `lin_ce`, `ks_error`.
LIKE_A_MEASURE = re.compile(r"`([a-z][a-z0-9_]*(?:_ce|_ece|_cs|_error|_loss|ece|mce))`")
WORDS = {True: "yes", False: "no", None: "-"}


def text_of(page: str) -> str:
    return (ROOT / "docs" / page).read_text(encoding="utf-8")


def table_rows(text: str) -> list[list[str]]:
    """The cells of every row of every table of a page."""
    lines = (line for line in text.splitlines() if line.startswith("|"))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_measure_that_a_page_names_exists(page: Path) -> None:
    known = {*MEASURES, *ALIASES, *cal.__all__, *LOSSES}
    named = set(LIKE_A_MEASURE.findall(page.read_text(encoding="utf-8")))
    assert named <= known, f"not in the catalogue: {sorted(named - known)}"


def test_the_audit_page_has_every_measure_and_claim() -> None:
    head = ["measure", "shape", "truthful", "continuous", "complete", "sound", "weighted"]
    rows = table_rows(text_of("research/audit.md"))
    first = rows.index(head) + 2
    table = {(row[0], row[1]): row[2:] for row in rows[first:] if row[0].strip("`") in MEASURES}
    for measure in cal.catalogue():
        for shape in measure.shapes:
            claims = [WORDS[getattr(measure.claims, name)] for name in head[2:]]
            if set(claims) != {"-"}:
                assert table.pop((measure.name, shape)) == claims, (measure.name, shape)
    assert not table


def test_the_page_on_coverage_says_how_every_interval_is_computed() -> None:
    rows = {row[0]: row[1] for row in table_rows(text_of("research/coverage.md")) if len(row) == 2}
    named = " ".join(rows)
    for measure in cal.catalogue():
        assert f"`{measure.name}`" in named or measure.group == "losses", measure.name
    methods = {
        "rate": "rate",
        "mean": "BCa interval of a mean",
        "inversion": "noncentral chi-square",
    }
    for key, text in rows.items():
        for measure in cal.catalogue():
            if f"`{measure.name}`" in key and "interval of" in text:
                assert methods[measure.interval_method] in text, measure.name


def test_the_page_on_monitoring_says_what_a_window_has() -> None:
    ranked = sorted(MEASURES.values(), key=lambda measure: measure.rank_in("monitor", "binary"))
    names = [f"`{m.name}`" for m in ranked if m.rank_in("monitor", "binary")]
    assert ", ".join(names) in text_of("howto/monitor.md")
