"""`calibrant check --baseline`: changes with intervals, pairing, and files for build servers."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import numpy as np
import pytest
from command import (
    BETTER,
    LABELS,
    OUTCOMES,
    REPORTS,
    ROWS,
    SITES,
    SOFTER,
    N,
    binary,
    csv,
    named,
    run,
)

import calibrant as cal
from calibrant import Check
from calibrant.results import Limit, LimitCheck
from needs import need

INCREASE = ("--max-increase", "ece=0.02")


@pytest.fixture
def files(tmp_path):
    new = binary(tmp_path, "new.csv", id=np.arange(N), site=SITES)
    old = csv(
        tmp_path / "old.csv",
        {"label": OUTCOMES, "p": BETTER, "id": np.arange(N), "site": SITES},
    )
    return new, old


class TestExitCodes:
    def test_1_where_the_new_model_is_worse(self, files):
        done = run("check", files[0], "--baseline", files[1], *INCREASE)
        assert done.returncode == 1 and done.stderr == ""
        assert f"the baseline has the same {N} rows, paired by order" in done.stdout
        assert "fail, ece increase <= 0.02: from 0." in done.stdout
        # What was found in both files stands there once.
        assert done.stdout.count("columns found by name: label 'label', prediction 'p'") == 1
        assert "baseline: y_proba" not in done.stdout

    def test_0_where_it_is_better(self, files):
        done = run("check", files[1], "--baseline", files[0], *INCREASE)
        assert done.returncode == 0

    def test_0_where_nothing_changes(self, tmp_path):
        """The same predictions change nothing, on any number of rows."""
        few = csv(
            tmp_path / "few.csv", {"label": OUTCOMES[:20], "p": REPORTS[:20], "s": SITES[:20]}
        )
        for more in ((), ("--by", "s")):
            done = run("check", few, "--baseline", few, *INCREASE, *more)
            assert done.returncode == 0, done.stdout
            said = "pass, ece increase <= 0.02: the predictions equal the baseline's on all 20"
            assert f"{said} rows" in done.stdout and "too few" not in done.stdout
        every = {"ece": 0.01, "log_loss": 0.01, "dist_ce": 0.01, "classwise_ce": 0.01}
        for counts in (LABELS[:60], np.eye(3, dtype=int)[LABELS[:60]] * 2 + 1):
            found = cal.check(counts, ROWS[:60], baseline=ROWS[:60].copy(), max_increase=every)
            assert found.verdict == "pass" and {row.interval.high for row in found} == {0.0}
        better = cal.check(LABELS[:60], ROWS[:60], baseline=ROWS[:60], max_increase={"ece": -0.01})
        assert better.verdict == "fail"
        # The same decisions on a few rows are no proof of the same accuracy.
        other = np.where(REPORTS > 0.5, 0.9, 0.1)[:20]
        found = cal.check(
            OUTCOMES[:20], REPORTS[:20], baseline=other, max_decrease={"accuracy": 0.01}
        )
        assert found.verdict == "undecided" and found.rows[0].interval.high == 0.0

    def test_2_where_noise_decides(self, files):
        found = cal.compare(OUTCOMES, {"new": REPORTS, "old": BETTER}, measures=["ece"])
        change = found.difference("new", "old")
        limit = f"ece={change.estimate:.4f}"
        done = run("check", files[0], "--baseline", files[1], "--max-increase", limit, "--json")
        assert done.returncode == 2
        only = json.loads(done.stdout)["limits"][0]
        assert only["interval"]["low"] == pytest.approx(change.low)
        assert only["interval"]["high"] == pytest.approx(change.high)
        assert only["change"] == pytest.approx(change.value)
        assert only["baseline"] == pytest.approx(cal.ece(OUTCOMES, BETTER))

    def test_the_values_alone(self, files):
        change = cal.ece(OUTCOMES, REPORTS) - cal.ece(OUTCOMES, BETTER)
        for limit, code in ((change + 1e-9, 0), (change - 1e-9, 1)):
            options = ("--point", "--max-increase", f"ece={limit!r}")
            assert run("check", files[0], "--baseline", files[1], *options).returncode == code

    def test_both_models_in_one_file(self, tmp_path):
        path = csv(tmp_path / "both.csv", {"label": OUTCOMES, "p": REPORTS, "old": BETTER})
        options = ("--proba", "p", "--baseline", path, "--baseline-proba", "old", *INCREASE)
        assert run("check", path, *options).returncode == 1

    def test_classes_in_another_order(self, tmp_path):
        new = named(tmp_path)
        old = named(tmp_path, "old.csv", order=(2, 0, 1), predictions=SOFTER)
        done = run("check", new, "--baseline", old, "--max-increase", "brier=0.01", "--json")
        change = cal.brier_score(LABELS, ROWS) - cal.brier_score(LABELS, SOFTER)
        assert json.loads(done.stdout)["limits"][0]["change"] == pytest.approx(change)

    def test_slices_against_a_baseline(self, files):
        done = run("check", files[0], "--baseline", files[1], *INCREASE, "--by", "site", "--json")
        assert [row["slice"] for row in json.loads(done.stdout)["limits"]] == [
            None,
            "site north",
            "site south",
        ]


class TestPairing:
    def notes(self, *arguments):
        done = run("check", *arguments, "--json")
        assert done.returncode in (0, 1, 2), done.stderr
        return json.loads(done.stdout)["notes"][0]

    def test_by_a_column_in_any_order(self, files, tmp_path):
        new, old = files
        turned = tmp_path / "turned.csv"
        head, *lines = old.read_text().splitlines()
        turned.write_text("\n".join([head, *reversed(lines)]) + "\n")
        options = ("--id", "id", *INCREASE)
        assert "paired by id" in self.notes(new, "--baseline", turned, *options)
        both = [
            json.loads(run("check", new, "--baseline", path, *options, "--json").stdout)["limits"]
            for path in (old, turned)
        ]
        assert both[0][0]["interval"]["low"] == pytest.approx(both[1][0]["interval"]["low"])
        assert "not paired" in self.notes(new, "--baseline", turned, *INCREASE)

    def test_other_rows_have_wider_intervals(self, files):
        new, old = files
        widths = []
        for more in ((), ("--unpaired",)):
            done = run(
                "check", new, "--baseline", old, "--max-increase", "brier=0.01", *more, "--json"
            )
            interval = json.loads(done.stdout)["limits"][0]["interval"]
            widths.append(interval["high"] - interval["low"])
        assert widths[1] > 1.2 * widths[0]

    def test_rows_that_were_dropped_keep_the_others_in_place(self, files):
        new, old = files
        lines = old.read_text().splitlines()
        assert lines[0] == "label,p,id,site"
        lines[3] = f"{OUTCOMES[2]},,2,{SITES[2]}"
        old.write_text("\n".join(lines) + "\n")
        note = self.notes(new, "--baseline", old, "--missing", "drop", *INCREASE)
        assert f"the same {N - 1} rows, paired by position in the files" in note

    def test_ids_of_which_some_are_missing(self, files):
        new, old = files
        old.write_text("\n".join(old.read_text().splitlines()[:-10]) + "\n")
        done = run("check", new, "--baseline", old, "--id", "id", *INCREASE)
        assert done.returncode == 3 and "10 ids are not in both, such as '590'" in done.stderr
        assert "--missing drop" in done.stderr and "--unpaired" in done.stderr
        done = run("check", new, "--baseline", old, "--id", "id", "--missing", "drop", *INCREASE)
        assert "10 of the checked rows and 0 of the baseline's rows were dropped" in done.stdout

    @pytest.mark.parametrize("column", ["label", "correct"])
    def test_labels_that_differ(self, tmp_path, column):
        other = [*(1 - OUTCOMES[:5]), *OUTCOMES[5:]]
        new = csv(tmp_path / "new.csv", {column: OUTCOMES, "p": REPORTS, "id": range(N)})
        old = csv(tmp_path / "old.csv", {column: other, "p": BETTER, "id": range(N)})
        options = ("check", new, "--baseline", old, "--id", "id", *INCREASE)
        done = run(*options)
        if column == "label":
            assert done.returncode == 3 and "--own-labels" in done.stderr
            done = run(*options, "--own-labels")
        assert done.returncode < 3 and "each model has its own labels" in done.stdout

    def test_whole_numbers_are_one_id_in_every_format(self, tmp_path):
        pa, parquet = need("pyarrow"), need("pyarrow.parquet")
        columns = {"label": OUTCOMES, "p": REPORTS}
        points = csv(tmp_path / "points.csv", columns | {"id": np.arange(N) * 1.0})
        plain = csv(tmp_path / "plain.csv", columns | {"id": range(N)})
        floats, whole = tmp_path / "floats.parquet", tmp_path / "whole.parquet"
        parquet.write_table(pa.table(columns | {"id": np.arange(N) * 1.0}), floats)
        parquet.write_table(pa.table(columns | {"id": np.arange(N)}), whole)
        for old in (points, floats, whole):
            options = ("--id", "id", *INCREASE)
            assert "paired by id" in self.notes(plain, "--baseline", old, *options)
            done = run("compare", plain, old, "--id", "id", "--measures", "brier")
            assert done.returncode == 0, done.stderr

    def test_ids_of_other_rows(self, files):
        new, old = files
        other = csv(old, {"label": OUTCOMES, "p": BETTER, "id": [f"x{i}" for i in range(N)]})
        done = run("check", new, "--baseline", other, "--id", "id", *INCREASE)
        assert done.returncode == 3 and "have no id in common" in done.stderr
        assert "--unpaired" in done.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--max-increase", "ece=0.01"), "say --baseline FILE"),
        (("--baseline", "OLD", "--max", "ece=0.1"), "--baseline has no effect without"),
        (("--max", "ece=0.1", "--id", "id"), "--id has no effect without --baseline"),
        (("--max", "ece=0.1", "--unpaired"), "--unpaired has no effect without --baseline"),
        (("--baseline", "OLD", *INCREASE, "--own-labels"), "--own-labels needs --id"),
        (("--max", "auroc=0.9"), "use --min auroc=..."),
        (("--min", "ece=0.01"), "use --max ece=..."),
        (("--baseline", "OLD", "--max-decrease", "ece=0.1"), "use --max-increase ece=..."),
        (("--baseline", "OLD", "--max-increase", "auroc=0.1"), "use --max-decrease auroc=..."),
        (("--baseline", "OLD", "--max-increase", "ece=1.5"), "always true"),
        (("--baseline", "OLD", "--max-increase", "ecc=0.1"), "did you mean 'ece'?"),
        (("--baseline", "OLD", *INCREASE, *INCREASE), "--max-increase names a measure twice"),
        (("--baseline", "OLD", *INCREASE, "--id", "id", "--unpaired"), "contradict each other"),
        (("--baseline", "none.csv", *INCREASE), "none.csv"),
        (("--baseline", "OLD", *INCREASE, "--junit", "OLD"), "is read by this command"),
    ],
)
def test_what_a_wrong_option_gets(files, options, said):
    options = [files[1] if option == "OLD" else option for option in options]
    done = run("check", files[0], *options)
    assert done.returncode == 3 and done.stdout == ""
    assert said in done.stderr


class TestSlope:
    def test_between_bounds(self):
        steep = cal.cox_calibration(OUTCOMES, BETTER)
        good = cal.check(OUTCOMES, BETTER, at_least={"slope": 0.5}, at_most={"slope": 1.6})
        assert good and {row.limit.kind for row in good} == {"max", "min"}
        assert good.rows[0].interval.low == pytest.approx(steep.slope_low)
        assert cal.check(OUTCOMES, REPORTS, at_least={"slope": 0.8}).verdict == "fail"

    def test_its_change_has_the_spread_of_its_rows(self):
        found = cal.check(OUTCOMES, REPORTS, baseline=BETTER, max_decrease={"slope": 0.2}).rows[0]
        # The predictions of one are the other's on another scale: the slopes are proportional.
        assert found.value == pytest.approx(found.baseline / 2, abs=1e-4)
        fit = cal.cox_calibration(OUTCOMES, BETTER)
        half = (fit.slope_high - fit.slope_low) / 4
        assert (found.interval.high - found.interval.low) / 2 == pytest.approx(half, rel=0.1)

    @pytest.mark.parametrize("name", ["intercept", "intercept_in_the_large"])
    def test_limits_on_both_sides_of_an_intercept(self, name):
        assert cal.check(OUTCOMES, BETTER, at_least={name: -1}, at_most={name: 1}).verdict == "pass"

    def test_not_estimable_is_undecided(self):
        found = cal.check([1] * 50, [0.9] * 50, at_least={"slope": 0.8})
        assert found.verdict == "undecided" and "every outcome is 1" in found.rows[0].sentence


class TestIndependentSamples:
    def test_means_have_welchs_interval(self):
        from scipy.special import stdtrit

        a, b = slice(0, 350), slice(350, N)
        found = cal.check(
            OUTCOMES[a],
            REPORTS[a],
            max_increase={"brier": 0.01},
            baseline={"y_true": OUTCOMES[b], "y_proba": REPORTS[b]},
        ).rows[0]
        losses = (REPORTS - OUTCOMES) ** 2
        (v, n), (w, m) = ((losses[part].var(ddof=1), losses[part].size) for part in (a, b))
        error = np.sqrt(v / n + w / m)
        df = error**4 / ((v / n) ** 2 / (n - 1) + (w / m) ** 2 / (m - 1))
        middle, half = losses[a].mean() - losses[b].mean(), stdtrit(df, 0.975) * error
        assert found.interval.low == pytest.approx(middle - half, abs=2e-3)
        assert found.interval.high == pytest.approx(middle + half, abs=2e-3)
        assert found.n_baseline == N - 350 and "on 250 and 350 rows" in found.sentence

    def test_slices_need_those_of_the_baseline(self):
        with pytest.raises(cal.InputError, match="'by'"):
            cal.check(
                OUTCOMES,
                REPORTS,
                max_increase={"brier": 0.01},
                by=SITES,
                baseline={"y_true": OUTCOMES[:50], "y_proba": REPORTS[:50]},
            )

    def test_own_labels_of_the_same_rows(self):
        other = OUTCOMES.copy()
        other[:5] = 1 - other[:5]
        ids = np.arange(N)
        given = {
            "max_increase": {"brier": 0.01},
            "ids": ids,
            "baseline": {"y_true": other, "y_proba": BETTER, "ids": ids},
        }
        with pytest.raises(cal.InputError, match=r"differ .* in 5 of 600 .*own_labels=True"):
            cal.check(OUTCOMES, REPORTS, **given)
        found = cal.check(OUTCOMES, REPORTS, own_labels=True, **given)
        assert "labels differ from the baseline's in 5 of 600 rows" in found.notes[1]

    def test_own_labels_need_rows_that_are_known_to_be_the_same(self):
        with pytest.raises(cal.InputError, match="own_labels=True needs ids"):
            cal.check(
                OUTCOMES, REPORTS, baseline=BETTER, max_increase={"brier": 0}, own_labels=True
            )
        with pytest.raises(cal.InputError, match="no baseline was given"):
            cal.check(OUTCOMES, REPORTS, at_most={"brier": 0.5}, own_labels=True)

    def test_ids_that_have_nothing_in_common(self):
        given = {
            "max_increase": {"brier": 0.01},
            "ids": np.arange(N),
            "baseline": {"y_true": OUTCOMES, "y_proba": BETTER, "ids": np.arange(N) + N},
        }
        with pytest.raises(cal.InputError, match=r"no id in common .ids such as 0 and 600"):
            cal.check(OUTCOMES, REPORTS, **given)
        assert "not paired" in cal.check(OUTCOMES, REPORTS, paired=False, **given).notes[0]

    def test_weights_that_differ(self):
        with pytest.raises(cal.InputError, match="other weights for the same rows"):
            cal.check(
                OUTCOMES,
                REPORTS,
                max_increase={"brier": 0.01},
                sample_weight=np.ones(N),
                baseline={"y_proba": BETTER, "sample_weight": np.arange(N)},
            )


def test_assert_passed():
    passed = cal.check(OUTCOMES, BETTER, at_most={"brier": 0.5})
    assert passed
    passed.assert_passed()
    failed = cal.check(OUTCOMES, REPORTS, at_most={"ece": 0.05, "brier": 0.5})
    assert not failed
    with pytest.raises(
        AssertionError, match=r"fail, 1 of 2 limits .*\n  fail, ece <= 0.05: the bias-"
    ):
        failed.assert_passed()
    with pytest.raises(cal.CheckFailed, match="undecided"):
        cal.check([0, 1], [0.2, 0.7], at_most={"brier": 0.5}).assert_passed()


class TestBuildServers:
    ODD = Check(
        (
            LimitCheck(Limit("ece", "max", 0.05), "<a|b>\n::error::x", 9, 0.1, None),
            LimitCheck(Limit("ece", "max", 0.05), "\x00\x1b[1m", 9, float("nan"), None, "50% & so"),
            LimitCheck(Limit("ece", "max", 0.05), None, 9, 0.01, None),
        ),
        9,
        0,
        None,
        True,
        ("a <note>",),
    )

    def test_junit_of_a_check_that_could_not_be_done(self, files, tmp_path):
        junit = tmp_path / "junit.xml"
        options = ("--max", "ece=0.9", "--junit", junit)
        assert run("check", files[0], *options).returncode == 0
        assert ElementTree.parse(junit).getroot().get("errors") == "0"
        for wrong in (("none.csv",), (files[0], "--unpaired"), (files[0], "--label", "lable")):
            assert run("check", files[0], *options).returncode == 0
            assert run("check", *wrong, *options).returncode == 3
            root = ElementTree.parse(junit).getroot()
            assert root.get("errors") == "1" and root.get("failures") == "0"
        assert "--label names the column 'lable'" in root.find(".//error").get("message")

    def test_junit_is_what_its_schema_says(self):
        suites = ElementTree.fromstring(self.ODD.to_junit(name='a "name" <of> it'))
        assert suites.tag == "testsuites"
        (suite,) = suites
        assert suite.tag == "testsuite" and set(suite.attrib) >= {"name", "tests", "failures"}
        cases = suite.findall("testcase")
        assert [child.tag for child in suite] == ["testcase"] * 3 + ["system-out"]
        for element in (suites, suite):
            assert element.get("tests") == "3"
            assert element.get("failures") == "1" and element.get("errors") == "1"
        assert all(set(case.attrib) == {"classname", "name"} for case in cases)
        kinds = [[(child.tag, child.get("type")) for child in case] for case in cases]
        assert kinds == [[("failure", "fail")], [("error", "undecided")], []]
        assert cases[0].get("name").startswith("ece <= 0.05 (<a|b>")

    def test_annotations_are_a_line_each_and_cannot_begin_another(self):
        summary, annotations = self.ODD.to_github(name="a: b, c")
        first, second = annotations.splitlines()
        assert first.startswith("::error title=a%3A b%2C c%3A fail::<a|b>%0A::error::x: fail, ece")
        assert second.startswith("::warning title=") and "50%25 & so" in second
        assert summary.startswith("### ❌ a: b, c: fail\n\n| limit | rows of |")
        assert r"\<a\|b\> ::error::x" in summary and "- a &lt;note>" in summary

    def test_the_command_writes_them(self, files, tmp_path, monkeypatch):
        summary, junit = tmp_path / "summary.md", tmp_path / "junit.xml"
        summary.write_text("before\n")
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
        done = run("check", files[0], "--baseline", files[1], *INCREASE, "--summary", "github",
                   "--junit", junit)  # fmt: skip
        assert done.returncode == 1
        assert done.stdout.splitlines()[-1].startswith("::error title=calibrant check ")
        assert summary.read_text().startswith("before\n### ❌ calibrant check ")
        assert ElementTree.parse(junit).getroot().get("failures") == "1"

    def test_json_stays_json(self, files, monkeypatch):
        monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
        done = run("check", files[0], "--max", "ece=0.01", "--summary", "github", "--json")
        assert json.loads(done.stdout)["verdict"] == "fail"
        assert "### ❌" in done.stderr and "::error" in done.stderr


def test_the_workflow_in_the_docs_says_what_the_action_has(tmp_path):
    import re
    from pathlib import Path

    import yaml

    root = Path(__file__).parents[2]
    page = (root / "docs" / "howto" / "ci-gate.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"```yaml title=.*?\n(.*?)```", page, re.DOTALL)
    steps = yaml.safe_load(text)["jobs"]["gate"]["steps"]
    (step,) = [step for step in steps if step.get("uses", "").startswith("OWNER/calibrant@")]
    action = yaml.safe_load((root / "action.yml").read_text(encoding="utf-8"))
    assert set(step["with"]) <= set(action["inputs"])
    table = need("pyarrow").table({"label": OUTCOMES, "p": BETTER})
    need("pyarrow.parquet").write_table(table, tmp_path / step["with"]["files"])
    limits = [word for limit in step["with"]["max"].split() for word in ("--max", limit)]
    done = run("check", step["with"]["files"], *limits, cwd=tmp_path)
    assert done.returncode in (0, 1, 2) and "log_loss <= 0.65" in done.stdout, done.stderr


def test_rows_needed_are_of_the_smaller_sample():
    rng = np.random.default_rng(0)
    p = rng.random(3000)
    y = (rng.random(3000) < p).astype(int)
    few = {"y_true": y[:20], "y_proba": p[:20]}
    found = cal.check(y, p, baseline=few, max_increase={"ece": 0.01}, paired=False).rows[0]
    assert "20 rows of the baseline are too few to decide" in found.sentence
    assert f"{found.rows_needed:,} rows of the baseline would" in found.sentence
    whole = {"y_true": y, "y_proba": p}
    found = cal.check(
        y[:20], p[:20], baseline=whole, max_increase={"ece": 0.01}, paired=False
    ).rows[0]
    assert "20 rows are too few to decide" in found.sentence
