"""The audit of the whole catalogue, every witness of it, and what the guide and the pages show.

`tests/audits/test_audit.py` holds six measures to the same in `make test`.
"""

from __future__ import annotations

import pytest

import calibrant as cal
from audit_claims import GUIDE, hold_claims, hold_kept_rows, hold_witnesses
from calibrant.results import Audit


@pytest.fixture(scope="module")
def whole() -> Audit:
    """The audit of the whole catalogue: most of a minute."""
    return cal.audit()


def test_every_claim_of_the_catalogue_is_borne_out(whole):
    hold_claims(whole, {measure.name for measure in cal.catalogue()})


@pytest.mark.parametrize("name", ["truthful", "continuous", "bin_sensitivity"])
def test_every_witness_can_be_replayed(whole, name):
    hold_witnesses(whole, name, least=16)


@pytest.mark.parametrize(
    ("measure", "shape"), [("debiased_l2", "binary"), ("rank_cs", "binary"), ("tace", "multiclass")]
)
def test_limits_of_the_whole_audit_can_be_replayed(whole, measure, shape):
    row = whole.verdict(measure, "sound", shape)
    assert whole.replay(row) == pytest.approx(row.evidence)


def test_the_guide_shows_the_table_of_the_audit(whole):
    table = {k: v for k, v in whole.table().items() if k != "bin_sensitivity"}
    guide = GUIDE.read_text(encoding="utf-8")
    for line in (table.keys(), *zip(*table.values(), strict=True)):
        assert "| " + " | ".join(map(str, line)) + " |" in guide


def test_the_pages_of_all_measures_show_their_verdicts(whole, tmp_path):
    """If not: calibrant audit -o FOLDER, and its audit.csv belongs in docs/measures."""
    assert hold_kept_rows(whole, tmp_path) == len(whole)
