"""Claims of the catalogue are tried, and every witness can be called again."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import calibrant as cal
from audit_claims import GUIDE, hold_claims, hold_kept_rows, hold_witnesses
from calibrant import InputError, UnknownOption, audit
from calibrant._measures.catalogue import find
from calibrant._research.audits.subjects import Subject
from calibrant._research.audits.truthfulness import duel
from calibrant._research.audits.worlds import World, example_1_1, example_c_1
from calibrant.results import Audit
from calibrant.results._audit import as_markdown

# A measure of bins, a largest gap, a threshold, a loss, and two that are truthful or not by a term;
# `make long` audits the catalogue.
SOME = ("ece", "ks_error", "tace", "brier", "classwise_ce", "confidence_ce_uncorrected")


@pytest.fixture(scope="module")
def some() -> Audit:
    return audit(SOME)


def brier(y_true, y_proba):
    return float(np.mean((y_proba - y_true) ** 2))


class TestTheCatalogue:
    def test_the_claims_of_six_measures_are_borne_out(self, some):
        hold_claims(some, SOME)

    @pytest.mark.parametrize("name", ["truthful", "continuous", "bin_sensitivity"])
    def test_witnesses_can_be_replayed(self, some, name):
        hold_witnesses(some, name, least=6)

    def test_limits_can_be_replayed(self, some):
        row = some.verdict("tace", "sound", "multiclass")
        assert some.replay(row) == pytest.approx(row.evidence)

    def test_the_guide_shows_these_rows(self, some):
        table = {k: v for k, v in some.table().items() if k != "bin_sensitivity"}
        shown = GUIDE.read_text(encoding="utf-8")
        assert all(line in shown for line in as_markdown(table).splitlines())

    def test_the_measures_pages_show_these_verdicts(self, some, tmp_path):
        assert hold_kept_rows(some, tmp_path) > len(some)

    def test_an_audit_is_saved(self, some, tmp_path):
        folder = some.save(tmp_path / "new" / "folder")
        rows = list(csv.DictReader((folder / "audit.csv").open(encoding="utf-8")))
        assert len(rows) == len(some)
        saved = json.loads((folder / "audit.json").read_text(encoding="utf-8"))
        assert saved == json.loads(some.to_json())
        assert saved["rows"][0]["witness"]["misreport"]
        assert "| ece | binary | no |" in (folder / "audit.md").read_text(encoding="utf-8")

    def test_an_audit_is_shown(self, some):
        pytest.importorskip("pandas")
        text = repr(some)
        assert "claims confirmed" in text and "classwise_ce" in text and "!" not in text
        assert "<table>" in some._repr_html_()
        assert len(some.to_frame("pandas")) == len(some)


class TestKnownMisreports:
    def test_example_1_1_of_level_sets(self):
        """The constant 1/2 beats the truth: 0.03 against a third."""
        subject = Subject("ece", "binary", find("ece", "binary"), bins=cal.LevelSets())
        world = World("example 1.1", example_1_1(100), exact=False)
        found = duel(subject, world, "1/2", np.full(100, 0.5), n_draws=100, seed=1)
        assert found.won
        assert found.truth_value == pytest.approx(1 / 3, abs=0.01)
        assert found.misreport_value == pytest.approx(0.0327, abs=4 * 0.0025)

    @pytest.mark.parametrize(
        ("name", "won", "truth", "misreport"),
        [
            ("confidence_ce_uncorrected", True, 1 / 4, 9 / 100),
            ("confidence_ce", False, 3 / 4, 0.99),
        ],
    )
    def test_example_c_1(self, name, won, truth, misreport):
        """Exactly, for two rows: the values are those of n rows times 2/n."""
        subject = Subject(name, "multiclass", find(name, "multiclass"))
        world = World("example C.1", example_c_1(2, 10))
        found = duel(subject, world, "uniform", np.full((2, 10), 0.1), n_draws=0, seed=0)
        assert found.won is won
        assert found.truth_value == pytest.approx(truth / 2, rel=1e-12)
        assert found.misreport_value == pytest.approx(misreport / 2, rel=1e-12)

    def test_a_misreport_needs_more_than_luck(self):
        subject = Subject("brier", "binary", find("brier", "binary"))
        world = World("example 1.1", example_1_1(20), exact=False)
        # So near the truth that some draws favour it.
        near = np.clip(world.truth + 0.002, 0, 1)
        wins = [duel(subject, world, "near", near, n_draws=20, seed=s).won for s in range(20)]
        assert sum(wins) == 0

    def test_a_rule_of_ones_own(self):
        found = audit("ece", shape="binary", bins=cal.LevelSets(), properties=["continuous"])
        row = found.verdict("ece", "continuous")
        assert row.holds is False and row.claim is None and row.agrees is None
        assert found.recipe["bins"] == "exact level sets"


class TestFixedClaims:
    """What the audit taught the catalogue."""

    def test_a_sweep_does_not_see_a_predictor_turned_round(self):
        rng = np.random.default_rng(0)
        p = rng.random(20_000)
        y = rng.random(20_000) < p
        assert cal.sweep_ece(y, 1 - p) < 0.01
        assert cal.ece(y, 1 - p) > 0.4

    def test_at_a_fixed_sigma_logit_smoothing_is_not_complete(self):
        half = np.full(40_000, 0.5)
        y = np.arange(40_000) % 2
        # E|1/2 - sigmoid(xi)| is about sigma/4 sqrt(2/pi).
        assert cal.ls_ece(y, half, sigma=0.1) == pytest.approx(0.01995, abs=1e-4)
        assert cal.ls_ece(y, half, sigma="schedule") < 0.01

    @pytest.mark.parametrize("measure", [lambda y, p: cal.ls_ece(y, p, sigma=0.1), cal.smooth_ece])
    def test_smoothing_does_not_mend_a_change_of_top_class(self, measure):
        y, other = [0, 1], [0.35, 0.25, 0.4]
        before = measure(y, [[0.4, 0.4, 0.2], other])
        after = measure(y, [[0.4 - 1e-9, 0.4 + 1e-9, 0.2], other])
        assert abs(before - after) > 0.25


class TestOnesOwnMeasure:
    def test_a_proper_loss(self):
        found = audit(brier, properties=["truthful", "continuous", "complete"])
        assert [row.holds for row in found.rows] == [True, True, False]
        assert {row.claim for row in found.rows} == {None}
        assert found.notes[0].startswith("not audited on multiclass predictions")
        assert found.rows[0].measure == "brier"
        assert "no misreport beats" in repr(found)

    def test_a_lambda_and_its_witness(self):
        found = audit(lambda y, p: np.mean(np.abs(y - p)), shape="binary", properties=["truthful"])
        row = found.verdict("your function", "truthful")
        assert row.holds is False
        again = found.replay(row)
        assert again["misreport"] < again["truth"]

    def test_one_that_looks_at_the_mean_alone(self):
        found = audit(
            lambda y, p: abs(np.mean(y) - np.mean(p)),
            shape="binary",
            properties=["complete", "sound"],
        )
        assert [row.holds for row in found.rows] == [True, False]

    def test_what_is_not_a_number(self):
        with pytest.raises(InputError, match=r"must return one number.*returned list"):
            audit(lambda y, p: [1.0, 2.0], shape="binary")

    @pytest.mark.parametrize(
        ("value", "shape", "n_rows"),
        [(np.nan, None, 10), (np.inf, "binary", 5), (-np.inf, "multiclass", 5)],
    )
    def test_what_is_never_a_finite_number_is_not_judged(self, value, shape, n_rows):
        def constant(y_true, y_proba, sample_weight=None):
            return value

        rows = audit(constant, shape=shape, n_draws=2).rows
        assert len(rows) == n_rows and not any(row.holds for row in rows)
        # What is infinite at every size does not tend to 0, and that is a verdict.
        limits = ("complete", "sound")
        assert {row.holds for row in rows if row.property not in limits} == {None}

    def test_what_is_0_at_every_size_has_no_rate(self):
        found = audit(lambda y, p: 0.0, shape="binary", properties=["complete"])
        assert "inf" not in found.rows[0].sentence and "it is 0 on" in found.rows[0].sentence

    def test_samples_without_a_value_are_not_counted(self):
        def of_both_classes(y_true, y_proba):
            return brier(y_true, y_proba) if 0 < y_true.mean() < 1 else np.nan

        found = audit(of_both_classes, shape="binary", properties=["truthful"], n_draws=5)
        whole = audit(brier, shape="binary", properties=["truthful"], n_draws=5)
        some, every = (a.rows[0].evidence["worlds"] for a in (found, whole))
        assert 0 < some < every

    def test_what_takes_nothing(self):
        with pytest.raises(InputError, match="takes no predictions"):
            audit(lambda y: 0.0)


class TestRefused:
    def test_an_unknown_measure(self):
        with pytest.raises(InputError, match="did you mean 'smooth_ece'"):
            audit("smoth_ece")
        with pytest.raises(InputError, match="not defined for binary"):
            audit("classwise_ce", shape="binary")
        with pytest.raises(InputError, match="must be a name"):
            audit([3])
        with pytest.raises(InputError, match="empty"):
            audit([])

    def test_a_measure_that_no_property_is_about(self):
        result = audit(["auroc", "brier_score"], properties=["weighted"], shape="binary")
        assert {row.measure for row in result.rows} == {"brier"}
        assert result.notes == ("not audited: none of the requested properties applies to auroc",)

    def test_an_unknown_property_shape_or_option(self):
        with pytest.raises(InputError, match="did you mean 'truthful'"):
            audit("ece", properties=["truthfull"])
        with pytest.raises(InputError, match="shape='binry'"):
            audit("ece", shape="binry")
        with pytest.raises(InputError, match="n_draws"):
            audit("ece", n_draws=1)
        with pytest.raises(UnknownOption, match="did you mean 'seed'"):
            audit("ece", sed=1)

    @pytest.mark.parametrize("seed", [-1, 0.5, True, "0"])
    def test_a_seed_that_is_none(self, seed):
        with pytest.raises(InputError, match="seed"):
            audit("ece", seed=seed)

    def test_a_row_that_is_not_there(self):
        found = audit("brier", properties=["weighted"])
        with pytest.raises(InputError, match="no row"):
            found.verdict("ece", "weighted")
        with pytest.raises(InputError, match="both shapes"):
            found.verdict("brier", "weighted")
        with pytest.raises(InputError, match="no witness"):
            found.replay(found.verdict("brier", "weighted", "binary"))


def test_the_same_seed_finds_the_same():
    wanted = ["truthful", "continuous", "bin_sensitivity"]
    asked = {"measure": ["ece", "brier"], "shape": "binary", "n_draws": 5, "properties": wanted}
    assert audit(**asked, seed=3).to_json() == audit(**asked, seed=3).to_json()
