"""`calibrant check`: every exit code, and never a pass by skipping."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from command import BETTER, LABELS, OUTCOMES, REPORTS, ROWS, SITES, N, binary, csv, run

import calibrant as cal
from calibrant import Check, InputError, Interval, check
from calibrant.results import Limit, LimitCheck
from cli.command import main


class TestExitCodes:
    def test_0_where_the_whole_interval_keeps_the_limit(self, tmp_path):
        done = run("check", binary(tmp_path), "--max", "brier=0.3")
        assert done.returncode == 0 and done.stderr == ""
        assert done.stdout.startswith("pass: ")
        assert "columns found by name: label 'label', prediction 'p'" in done.stdout

    def test_1_where_the_whole_interval_breaks_it(self, tmp_path):
        done = run("check", binary(tmp_path), "--max", "ece=0.05", "--max", "brier=0.3", "--json")
        assert done.returncode == 1 and done.stderr == ""
        found = json.loads(done.stdout)
        assert found["verdict"] == "fail" and found["code"] == 1
        ece, brier = found["limits"]
        expected = cal.interval(OUTCOMES, REPORTS)
        assert (ece["interval"]["low"], ece["interval"]["high"]) == (expected.low, expected.high)
        assert expected.low > ece["max"] == 0.05 and ece["verdict"] == "fail"
        assert brier["verdict"] == "pass" and "is 0." in brier["sentence"]

    def test_2_where_noise_is_larger_than_the_room(self, tmp_path):
        low, high = (getattr(cal.interval(OUTCOMES, REPORTS), end) for end in ("low", "high"))
        limit = (low + high) / 2
        done = run("check", binary(tmp_path), "--max", f"ece={limit}")
        assert done.returncode == 2
        assert done.stdout.startswith("undecided: ")
        assert "there is not enough data to decide" in done.stdout

    def test_3_for_what_cannot_be_checked(self, tmp_path):
        done = run("check", tmp_path / "no.csv", "--max", "ece=0.05")
        assert done.returncode == 3 and done.stdout == ""

    def test_the_value_alone(self, tmp_path):
        path, value = binary(tmp_path), cal.ece(OUTCOMES, REPORTS)
        for limit, code in ((value + 1e-9, 0), (value - 1e-9, 1), (value, 0)):
            assert main(["check", str(path), "--point", "--max", f"ece={limit!r}"]) == code


class TestNeverAPassBySkipping:
    @pytest.mark.parametrize(
        ("content", "options", "code", "said"),
        [
            ("", [], 3, "no rows"),
            ("label,p\n", [], 3, "no rows"),
            ("label,p\n1,\n0,\n", [], 3, "is missing"),
            ("label,p\n1,\n0,\n", ["--missing", "drop"], 3, "each with a missing value"),
            ("label,p\n1,0.9\n", [], 2, "too few to decide"),
            ("label,p\n1,1\n" + "0,0\n" * 20, [], 2, "too few to decide"),
            ("label,p,w\n" + "1,0.9,0\n" * 99, ["--weight", "w"], 3, "0 in every row"),
            ("label,p,w\n1,1,1\n" + "1,1,0\n" * 99, ["--weight", "w"], 2, "equivalent to 1 of"),
            ("label,p,g\n" + "1,1,a\n0,0,b\n" * 99, ["--groups", "g"], 2, "2 clusters are too few"),
            ("label,q\n1,0.5\n", [], 3, "no column"),
        ],
    )
    def test_no_evidence_is_no_pass(self, tmp_path, capsys, content, options, code, said):
        path = tmp_path / "rows.csv"
        path.write_text(content)
        assert main(["check", str(path), "--max", "ece=0.05", *options]) == code
        printed = capsys.readouterr()
        assert said in (printed.out if code == 2 else printed.err)

    @pytest.mark.parametrize(
        ("limits", "said"),
        [
            ([], "there is nothing to check"),
            (["--max", "ecce=0.05"], "did you mean 'ece'?"),
            (["--max", "ece=5"], "always true. If it is a percentage"),
            (["--max", "ece=1"], "always true"),
            (["--min", "ece=0"], "always true"),
            (["--max", "ece=-0.1"], "never true"),
            (["--min", "rank_cs=1.5"], "never true"),
            (["--max", "ece=0.1", "--max", "ece=0.2"], "--max names a measure twice"),
            (["--max", "classwise_ece=0.1"], "not defined for binary"),
        ],
    )
    def test_a_limit_that_checks_nothing_is_refused(self, tmp_path, capsys, limits, said):
        assert main(["check", str(binary(tmp_path)), *limits]) == 3
        printed = capsys.readouterr()
        assert said in printed.err and printed.out == ""

    @pytest.mark.parametrize("limit", [0.3, 0.05, 0.01])
    def test_rows_enough_to_have_shown_the_fault(self, limit):
        """Perfect rows pass once a fault in a share `limit` of them would have shown."""
        needed = max(30, math.ceil(math.log(0.025) / math.log(1 - limit)))
        assert (1 - limit) ** needed <= 0.025
        for n, verdict in ((needed, "pass"), (needed - 1, "undecided")):
            assert check([1] * n, [1.0] * n, at_most={"ece": limit}).verdict == verdict

    def test_squared_errors_need_the_rows_of_their_root(self):
        assert check([1] * 72, [1.0] * 72, at_most={"lin_ce": 0.0025}).verdict == "pass"
        assert check([1] * 71, [1.0] * 71, at_most={"lin_ce": 0.0025}).verdict == "undecided"

    def test_exactly_zero_is_never_shown(self):
        assert check([1] * 999, [1.0] * 999, at_most={"ece": 0.0}).verdict == "undecided"

    def test_a_few_bad_rows_are_no_fail_either(self):
        assert check([0] * 10, [1.0] * 10, at_most={"ece": 0.05}).verdict == "undecided"
        assert check([0] * 30, [1.0] * 30, at_most={"ece": 0.05}).verdict == "fail"


class TestSlicesAndClusters:
    def test_each_slice_is_held_to_the_limits(self, tmp_path):
        good = np.where(SITES == "north", BETTER, REPORTS)
        path = csv(tmp_path / "rows.csv", {"label": OUTCOMES, "p": good, "site": SITES})
        done = run("check", path, "--max", "ece=0.06", "--by", "site", "--json")
        found = json.loads(done.stdout)
        by_slice = {part["slice"]: part for part in found["limits"]}
        assert set(by_slice) == {None, "site north", "site south"}
        south = SITES == "south"
        expected = cal.interval(OUTCOMES[south], good[south])
        assert by_slice["site south"]["interval"]["high"] == expected.high
        # What fails does so at the level of three parts: all rows, and two slices.
        strict = cal.interval(OUTCOMES[south], good[south], level=1 - 0.05 / 3)
        assert by_slice["site south"]["joint_interval"]["low"] == strict.low
        assert by_slice["site south"]["n"] == int(south.sum())
        verdicts = [part["verdict"] for part in found["limits"]]
        assert done.returncode == found["code"] == (1 if "fail" in verdicts else 2)

    def test_clusters_widen_the_interval(self, tmp_path):
        groups = np.arange(N) // 10
        alone = check(OUTCOMES, REPORTS, at_most={"brier": 0.25})
        clustered = check(OUTCOMES, REPORTS, at_most={"brier": 0.25}, groups=groups)
        assert clustered.rows[0].effective_n == 60 and alone.rows[0].effective_n == N
        assert clustered.rows[0].interval == cal.interval(
            OUTCOMES, REPORTS, measure="brier", groups=groups
        )

    def test_a_slice_of_one_cluster_is_undecided(self):
        by, groups = ["a"] * 300 + ["b"] * 300, np.repeat(np.arange(31), 20)[:N]
        groups[:300] = 99
        found = check(OUTCOMES, REPORTS, at_most={"brier": 0.5}, groups=groups, by=by)
        reasons = {part.where: part.reason for part in found.rows}
        assert reasons["a"] == "one cluster cannot be resampled" and reasons["b"] == ""
        assert found.verdict == "undecided"


class TestRules:
    """The decision, over every order of limit and interval."""

    @pytest.mark.parametrize(
        ("kind", "limit", "low", "high", "verdict"),
        [
            ("max", 0.3, 0.1, 0.2, "pass"),
            ("max", 0.2, 0.1, 0.2, "pass"),
            ("max", 0.15, 0.1, 0.2, "undecided"),
            ("max", 0.1, 0.1, 0.2, "undecided"),
            ("max", 0.05, 0.1, 0.2, "fail"),
            ("min", 0.05, 0.1, 0.2, "pass"),
            ("min", 0.1, 0.1, 0.2, "pass"),
            ("min", 0.15, 0.1, 0.2, "undecided"),
            ("min", 0.2, 0.1, 0.2, "undecided"),
            ("min", 0.3, 0.1, 0.2, "fail"),
            ("max", 0.3, math.nan, math.nan, "undecided"),
            ("min", 0.3, math.nan, math.nan, "undecided"),
        ],
    )
    def test_one_limit(self, kind, limit, low, high, verdict):
        assert Limit("ece", kind, limit).kept_by(low, high) == verdict

    @pytest.mark.parametrize(
        ("verdicts", "total"),
        [("pp", "pass"), ("pf", "fail"), ("pu", "undecided"), ("uf", "fail"), ("", "undecided")],
    )
    def test_several_limits(self, verdicts, total):
        values = {"p": 0.01, "f": 0.9, "u": math.nan}
        parts = tuple(
            LimitCheck(Limit("ece", "max", 0.1), None, 100, values[v], None) for v in verdicts
        )
        assert Check(parts, 100, 0, None, True).verdict == total

    def test_rows_needed_come_from_the_root_of_n(self):
        interval = Interval("ece", 0.05, 0.0, 0.08, 0.95, "", estimate=0.02)
        found = LimitCheck(Limit("ece", "max", 0.05), None, 1000, 0.05, interval)
        # The upper end is 0.06 above the estimate and must be 0.03 above it: four times the rows,
        # and twice as many for most samples to have it there.
        assert found.rows_needed == 8000
        assert "not enough data to decide (about 8,000 rows would be needed" in found.sentence

    def test_few_rows_for_which_no_number_would_do(self):
        found = check([0, 1] * 5, [0.5] * 10, at_most={"ece": 1e-6}).rows[0]
        assert found.rows_needed is None
        assert found.sentence.endswith("but 10 rows are too few to decide")

    def test_clusters_of_two_samples_are_not_counted_as_one(self):
        rng = np.random.default_rng(0)
        p = rng.random(3000)
        y = (rng.random(3000) < p).astype(int)
        old = {"y_true": y[:500], "y_proba": p[:500], "groups": np.arange(500) % 10}
        found = check(
            y,
            p,
            groups=np.arange(3000) // 3,
            baseline=old,
            paired=False,
            max_increase={"ece": 0.01},
        ).rows[0]
        assert "but 10 clusters are too few to decide (18,400 rows" in found.sentence

    def test_multiclass_and_python(self):
        limits = {"at_most": {"ece": 0.05, "log_loss": 9}, "at_least": {"log_loss": 0.5}}
        found = check(LABELS, ROWS, **limits)
        assert found.code == 1
        assert [part.limit.kind for part in found.rows] == ["max", "max", "min"]
        assert "verdict" in found._repr_html_() and "fail" in repr(found)
        assert json.loads(found.to_json())["verdict"] == "fail"

    def test_limits_that_worse_models_keep(self):
        with pytest.raises(InputError, match=r"worse models would pass .*: use at_most="):
            check(OUTCOMES, REPORTS, at_least={"ece": 0.01})
        with pytest.raises(InputError, match=r"worse models would pass .*: use at_least="):
            check(OUTCOMES, REPORTS, at_most={"auroc": 0.9})
        assert check(OUTCOMES, REPORTS, at_most={"brier": 0.9}, at_least={"brier": 0.01})

    def test_bad_arguments(self):
        for limits in ({"ece": math.nan}, {"ece": True}, {"ece": "0.1"}):
            with pytest.raises(InputError, match="must be a number"):
                check(OUTCOMES, REPORTS, at_most=limits)
        with pytest.raises(InputError, match="no limit"):
            check(OUTCOMES, REPORTS)


class TestLargeFiles:
    def test_values_alone_are_summed_as_they_are_read(self, tmp_path, set_limits, capsys):
        set_limits(checked_in_memory=100)
        path = str(binary(tmp_path, site=SITES))
        value = cal.ece(OUTCOMES, REPORTS)
        assert main(["check", path, "--point", "--max", f"ece={value + 1e-6}", "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["limits"][0]["value"] == pytest.approx(value, rel=1e-12)
        assert main(["check", path, "--point", "--max", f"ece={value - 1e-6}"]) == 1
        assert main(["check", path, "--max", "lin_ce=0.5", "--by", "site"]) == 3
        assert "more than 100 predictions" in capsys.readouterr().err

    def test_intervals_come_from_sums(self, tmp_path, set_limits, capsys):
        path = str(binary(tmp_path))
        limits = ("--max", "ece=0.05", "--max", "brier=0.3", "--json")
        assert main(["check", path, *limits]) == 1
        known = json.loads(capsys.readouterr().out)["limits"]
        set_limits(checked_by_sums=100, checked_in_memory=100)
        assert main(["check", path, *limits]) == 1
        found = json.loads(capsys.readouterr().out)
        assert found["n"] == N and not found["point"]
        for one, other in zip(known, found["limits"], strict=True):
            assert other["verdict"] == one["verdict"] and other["n"] == one["n"]
            assert other["interval"]["low"] == pytest.approx(one["interval"]["low"], rel=1e-3)
            assert other["interval"]["high"] == pytest.approx(one["interval"]["high"], rel=1e-3)

    def test_slices_come_from_sums(self, tmp_path, set_limits, capsys):
        """Values, rows and verdicts of every slice are those of its rows, and so are intervals but
        for what a cell of predictions hides.
        """
        columns = {"label": OUTCOMES, "p": REPORTS, "site": SITES, "day": np.arange(N) % 2}
        path = str(csv(tmp_path / "sliced.csv", columns))
        limits = ("--max", "ece=0.05", "--max", "brier=0.3", "--by", "site,day", "--json")
        code = main(["check", path, *limits])
        known = json.loads(capsys.readouterr().out)["limits"]
        set_limits(checked_by_sums=100, checked_in_memory=100)
        assert main(["check", path, *limits]) == code
        found = json.loads(capsys.readouterr().out)["limits"]
        assert len(found) == len(known) > 6
        for one, other in zip(known, found, strict=True):
            assert {"verdict", "n", "slice", "measure"} <= one.keys()
            for field in ("verdict", "n", "slice", "measure"):
                assert other[field] == one[field]
            assert other["value"] == pytest.approx(one["value"], rel=1e-12)
            width = one["interval"]["high"] - one["interval"]["low"]
            for end in ("low", "high"):
                assert abs(other["interval"][end] - one["interval"][end]) < 0.02 * width
            assert (other["joint_interval"] is None) == (one["joint_interval"] is None)

    def test_slices_of_what_sums_do_not_tell_are_read(self, tmp_path, set_limits, capsys):
        path = str(csv(tmp_path / "s.csv", {"label": OUTCOMES, "p": REPORTS, "site": SITES}))
        limits = ("--max", "lin_ce=0.2", "--by", "site", "--json")
        code = main(["check", path, *limits])
        known = capsys.readouterr().out
        set_limits(checked_by_sums=100)
        assert main(["check", path, *limits]) == code
        assert capsys.readouterr().out == known
        set_limits(checked_in_memory=100)
        assert main(["check", path, *limits]) == 3

    def test_rows_are_read_where_sums_do_not_tell(self, tmp_path, set_limits, capsys):
        set_limits(checked_by_sums=100)
        soft = csv(tmp_path / "soft.csv", {"label": np.round(REPORTS, 2), "p": REPORTS})
        assert main(["check", str(soft), "--max", "ece=0.3", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["limits"][0]["interval"]["low"] == 0.0
        path = str(binary(tmp_path))
        assert main(["check", path, "--max", "slope=5", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["limits"][0]["measure"] == "slope"

    def test_multiclass_too(self, tmp_path, set_limits):
        set_limits(checked_in_memory=100)
        np.savez(tmp_path / "rows.npz", label=LABELS, probs=ROWS)
        path = str(tmp_path / "rows.npz")
        value = cal.evaluate(LABELS, ROWS, measures=["classwise_ece"])["classwise_ece"]
        assert main(["check", path, "--point", "--max", f"classwise_ece={value + 1e-6}"]) == 0
        np.savez(tmp_path / "two.npz", label=OUTCOMES, probs=np.stack([1 - BETTER, BETTER], 1))
        assert (
            main(["check", str(tmp_path / "two.npz"), "--point", "--max", "classwise_ece=0.9"]) == 0
        )


def test_a_state_has_the_intervals_of_its_rows(tmp_path, capsys):
    stream = cal.Accumulator()
    stream.update(OUTCOMES, REPORTS)
    stream.save(tmp_path / "sums.npz")
    path = str(tmp_path / "sums.npz")
    assert main(["check", path, "--max", "ece=0.05", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)["limits"][0]
    known = cal.interval(OUTCOMES, REPORTS)
    assert found["interval"]["low"] == pytest.approx(known.low, rel=1e-3)
    assert found["interval"]["high"] == pytest.approx(known.high, rel=1e-3)
    assert main(["check", path, "--min", "slope=0.1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["limits"][0]["interval"]
    known = cal.cox_calibration(OUTCOMES, REPORTS)
    assert (found["low"], found["high"]) == pytest.approx(
        (known.slope_low, known.slope_high), abs=1e-3
    )
    assert main(["check", path, "--min", "slope=0.1", "--point"]) == 3
    assert "leave out --point" in capsys.readouterr().err


def test_a_state_of_clusters_has_no_intervals(tmp_path, capsys):
    """Its weights make each cluster count once, but rows of a cluster are not told apart."""
    monitor = cal.Monitor(grouped=True)
    monitor.update(OUTCOMES, REPORTS, time="2026-01-05", groups=SITES)
    monitor.save(tmp_path / "days.state")
    path = str(tmp_path / "days.state")
    assert main(["check", path, "--max", "ece=0.05"]) == 3
    assert "count each cluster once and do not hold its rows" in capsys.readouterr().err
    assert main(["report", path]) == 0
    shown = capsys.readouterr().out
    assert "count each cluster once and do not hold its rows" in shown and "95% CI" not in shown


def test_a_report_of_a_state_has_the_verdict_of_its_rows(tmp_path, capsys):
    cal.Accumulator().update(OUTCOMES, REPORTS).save(tmp_path / "sums.state")
    assert main(["report", str(tmp_path / "sums.state"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["verdict"]
    known = cal.verdict(OUTCOMES, REPORTS)
    assert found["verdict"] == known.verdict
    assert found["high"] == pytest.approx(known.high, rel=1e-2)


def test_each_limit_is_said_once(tmp_path):
    """A table under the sentences said all of them again."""
    csv(tmp_path / "rows.csv", {"label": OUTCOMES, "p": REPORTS, "site": SITES})
    done = run("check", "rows.csv", "--max", "ece=0.3", "--max", "brier=0.4", cwd=tmp_path)
    for limit in ("ece <= 0.3", "brier <= 0.4"):
        assert done.stdout.count(limit) == 1
    sliced = run("check", "rows.csv", "--max", "ece=0.3", "--by", "site", cwd=tmp_path)
    assert sliced.stdout.count("ece <= 0.3") == 3 and sliced.stdout.count("site north") == 1
