"""`calibrant report` and `calibrant conventions`: the numbers of the library, from every format."""

from __future__ import annotations

import json

import numpy as np
import pytest
from command import (
    BETTER,
    CLASSES,
    LABELS,
    LOGITS,
    OUTCOMES,
    REPORTS,
    ROWS,
    SITES,
    N,
    binary,
    csv,
    named,
    run,
)

import calibrant as cal
from cli.command import main
from needs import need

WEIGHTS = 1 + np.arange(N) % 3


def found_by(capsys, *arguments):
    assert main([*map(str, arguments), "--json"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    return json.loads(printed.out)


def values(found):
    return {measure["name"]: measure["value"] for measure in found["measures"]}


def test_numbers_intervals_and_verdict_are_the_library_s(tmp_path):
    done = run("report", binary(tmp_path), "--json")
    assert done.returncode == 0 and done.stderr == ""
    found = json.loads(done.stdout)
    expected = cal.evaluate(OUTCOMES, REPORTS)
    assert values(found) == expected.values
    by_name = {measure["name"]: measure for measure in found["measures"]}
    for name in ("ece", "lin_ce", "brier"):
        interval = cal.interval(OUTCOMES, REPORTS, measure=name)
        assert by_name[name]["interval"]["low"] == interval.low
        assert by_name[name]["interval"]["high"] == interval.high
    assert by_name["tace"]["interval"] is None
    assert "tace" in found["notes"][-1] and "--all-intervals" in found["notes"][-1]
    assert found["verdict"]["sentence"] == cal.verdict(OUTCOMES, REPORTS).sentence
    assert "y_proba is the column 'p', by name" in found["inferred"]
    assert found["recipe"]["columns"]["y_proba"] == ["p"] and found["recipe"]["files"] == 1


def test_a_measure_named_twice_is_there_once(tmp_path, capsys):
    found = found_by(capsys, "report", binary(tmp_path), "--measures", "brier,ece,brier")
    assert [measure["name"] for measure in found["measures"]] == ["brier", "ece"]


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet", "arrow", "npz"])
def test_every_format_gives_the_same(tmp_path, capsys, format):
    columns = {"label": OUTCOMES, "p": REPORTS}
    path = tmp_path / f"rows.{format}"
    if format == "csv":
        csv(path, columns)
    elif format == "npz":
        np.savez(path, **columns)
    elif format == "jsonl":
        pairs = zip(OUTCOMES.tolist(), REPORTS.tolist(), strict=True)
        path.write_text("".join(json.dumps({"label": y, "p": p}) + "\n" for y, p in pairs))
    else:
        table = need("pyarrow").table(columns)
        if format == "parquet":
            need("pyarrow.parquet").write_table(table, path)
        else:
            need("pyarrow.feather").write_feather(table, path)
    found = found_by(capsys, "report", path, "--measures", "ece,brier")
    assert values(found) == cal.evaluate(OUTCOMES, REPORTS, measures=["ece", "brier"]).values
    other = path.rename(tmp_path / "rows.dat")
    assert found_by(capsys, "report", other, "--format", format, "--measures", "ece") == {
        **found,
        "measures": found["measures"][:1],
    }


def test_weights_slices_clusters_and_bins(tmp_path, capsys):
    path = csv(
        tmp_path / "rows.csv",
        {"y": OUTCOMES, "score": REPORTS, "w": WEIGHTS, "site": SITES, "who": np.arange(N) // 5},
    )
    found = found_by(
        capsys, "report", path, "--label", "y", "--proba", "score", "--weight", "w", "--by", "site",
        "--groups", "who", "--bins", "quantile:5", "--measures", "ece,brier", "--level", 0.9,
    )  # fmt: skip
    expected = cal.evaluate(
        OUTCOMES,
        REPORTS,
        sample_weight=WEIGHTS,
        by=SITES,
        groups=(np.arange(N) // 5).astype(str),
        bins=cal.Quantile(5),
        measures=["ece", "brier"],
        uncertainty=True,
        level=0.9,
    )
    assert values(found) == expected.values
    alone = expected.estimate("brier").interval.to_dict()
    assert found["measures"][1]["interval"] | {"$schema": alone["$schema"], "version": "1"} == alone
    assert found["slices"]["by"] == "site"
    assert found["slices"]["slices"]["site"] == expected.slices.columns()["slice"]
    assert found["recipe"]["grouped"] is True


def test_classes_by_name_in_any_order_of_columns(tmp_path, capsys):
    expected = cal.evaluate(LABELS, ROWS, measures=["ece", "classwise_ece"]).values
    for order in ((0, 1, 2), (2, 0, 1)):
        path = named(tmp_path, order=order)
        found = found_by(capsys, "report", path, "--measures", "ece,classwise_ece")
        assert values(found) == pytest.approx(expected, rel=1e-12)
    told = found_by(capsys, "report", path, "--classes", ",".join(CLASSES), "--stream")
    assert set(told["classes"]["class"]) == set(CLASSES)


def test_labels_that_are_names_of_a_binary_problem(tmp_path, capsys):
    path = csv(tmp_path / "r.csv", {"label": np.where(OUTCOMES, "yes", "no"), "p": REPORTS})
    assert main(["report", str(path)]) == 3
    assert "--classes NEGATIVE,POSITIVE" in capsys.readouterr().err
    found = found_by(capsys, "report", path, "--classes", "no,yes", "--measures", "ece")
    assert values(found)["ece"] == cal.ece(OUTCOMES, REPORTS)


def test_logits_are_never_guessed(tmp_path, capsys):
    path = csv(tmp_path / "r.csv", {"label": OUTCOMES, "logits": LOGITS})
    assert main(["report", str(path)]) == 3
    assert "--proba logits --from-logits" in capsys.readouterr().err
    found = found_by(capsys, "report", path, "--from-logits", "--measures", "ece")
    assert values(found)["ece"] == pytest.approx(cal.ece(OUTCOMES, LOGITS, from_logits=True))


def test_missing_rows_are_counted(tmp_path, capsys):
    predictions = [("" if i % 10 == 0 else p) for i, p in enumerate(REPORTS.tolist())]
    path = csv(tmp_path / "r.csv", {"label": OUTCOMES, "p": predictions})
    assert main(["report", str(path)]) == 3
    assert "--missing drop" in capsys.readouterr().err
    found = found_by(capsys, "report", path, "--missing", "drop", "--measures", "ece")
    kept = np.arange(N) % 10 > 0
    assert values(found)["ece"] == cal.ece(OUTCOMES[kept], REPORTS[kept])
    assert found["recipe"]["n_missing"] == N // 10
    assert found["notes"][0].startswith(f"{N // 10} rows were dropped")
    page = tmp_path / "page.html"
    few = ("--measures", "ece", "--recalibrate", "platt")
    assert main(["report", str(path), "--missing", "drop", "-o", str(page), *few]) == 0
    recipe = page.read_text(encoding="utf-8").partition("missing</dt>")[2]
    assert recipe.partition("</dd>")[0].strip() == "<dd>drop"


def test_large_inputs_are_summed_as_they_are_read(tmp_path, capsys, set_limits):
    path = binary(tmp_path, site=SITES)
    whole = found_by(capsys, "report", path, "--by", "site")
    set_limits(reported_in_memory=N - 1)
    summed = found_by(capsys, "report", path, "--by", "site")
    streamed = found_by(capsys, "report", path, "--by", "site", "--stream")
    assert summed == streamed
    for name in ("verdict", "decided_by", "n"):
        assert summed["verdict"][name] == whole["verdict"][name]
    assert summed["verdict"]["high"] == pytest.approx(whole["verdict"]["high"], rel=1e-3)
    for name, value in values(summed).items():
        if name not in ("sweep_ece", "ks_error", "ls_ece", "smooth_ece") and "brier_" not in name:
            assert value == pytest.approx(values(whole)[name], rel=1e-9), name
    assert summed["slices"]["slices"]["ece"] == pytest.approx(
        whole["slices"]["slices"]["ece"], rel=1e-9
    )


@pytest.mark.parametrize("option", ["--groups", "--weight"])
def test_clusters_and_weights_of_streams_have_the_verdict_of_rows(tmp_path, capsys, option):
    rng = np.random.default_rng(92)
    path = binary(tmp_path, w=rng.integers(1, 5, N), game=np.arange(N) // 6)
    given = (option, {"--groups": "game", "--weight": "w"}[option])
    whole = found_by(capsys, "report", path, *given)["verdict"]
    summed = found_by(capsys, "report", path, *given, "--stream")["verdict"]
    assert summed["verdict"] == whole["verdict"]
    for name in ("value", "low", "high", "estimate"):
        assert summed[name] == pytest.approx(whole[name], rel=1e-2, abs=1e-3), name


def test_soft_labels_of_streams_have_the_verdict_of_rows(tmp_path, capsys):
    soft = csv(tmp_path / "soft.csv", {"label": np.round(REPORTS, 2), "p": REPORTS})
    whole = found_by(capsys, "report", soft)["verdict"]
    summed = found_by(capsys, "report", soft, "--stream")["verdict"]
    assert summed["verdict"] == whole["verdict"] == "calibrated within noise"
    assert summed["high"] == pytest.approx(whole["high"], abs=1e-3)


def test_what_sums_do_not_tell_is_a_note(tmp_path, capsys):
    votes = csv(
        tmp_path / "votes.csv",
        {"no": [1, 0, 3] * 9, "yes": [2, 3, 0] * 9, "p": [0.6, 0.9, 0.2] * 9},
    )
    found = found_by(capsys, "report", votes, "--stream", "--counts", "no,yes")
    assert found["verdict"] is None
    assert any(
        "intervals with votes resample the votes of each row" in note for note in found["notes"]
    )


def test_a_bad_row_is_told_with_its_line(tmp_path, capsys):
    predictions = REPORTS.copy()
    predictions[122] = 85.0
    for options in ([], ["--stream"]):
        path = csv(tmp_path / "r.csv", {"label": OUTCOMES, "p": predictions})
        assert main(["report", str(path), *options]) == 3
        said = capsys.readouterr().err
        assert "r.csv, line 124: y_proba[122] is 85.0" in said and "--from-logits" in said


class TestPage:
    def test_it_is_written_whole_and_says_what_the_terminal_says(self, tmp_path):
        need("altair")
        path = binary(tmp_path, site=SITES)
        # Of tace a terminal has no interval unasked, and a page has it.
        measures = ("--measures", "ece,lin_ce,tace,brier")
        page = ("-o", "page.html", *measures)
        done = run("report", path, "--by", "site", *page, "--json", cwd=tmp_path)
        assert done.returncode == 0 and done.stderr == "written: page.html\n"
        page = (tmp_path / "page.html").read_text(encoding="utf-8")
        assert page.rstrip().endswith("</html>") and "north" in page
        # Names and not folders, which are nobody's business that the page is sent to.
        typed = "rows.csv --by site -o page.html --measures ece,lin_ce,tace,brier --json"
        assert f"<code>calibrant report {typed}</code>" in page
        assert "<title>rows.csv</title>" in page and str(tmp_path) not in page
        found = json.loads(done.stdout)
        assert found["verdict"]["sentence"].split(":")[0] == "Miscalibrated"
        assert [bool(measure["interval"]) for measure in found["measures"]] == [True] * 4
        assert sorted(p.name for p in tmp_path.iterdir()) == ["page.html", "rows.csv"]

    def test_many_files_are_told_by_the_first(self, tmp_path):
        paths = [binary(tmp_path, f"{i}.csv") for i in range(5)]
        done = run("report", *paths, "--measures", "ece")
        assert done.stdout.startswith(f"{paths[0]} and 4 more: ")

    def test_maps_of_a_page_are_named(self, tmp_path, capsys):
        path = str(binary(tmp_path))
        assert main(["report", path, "--recalibrate", "beta"]) == 3
        assert "-o PAGE" in capsys.readouterr().err
        assert main(["report", path, "--recalibrate", "betta", "-o", str(tmp_path / "p.html")]) == 3
        assert "did you mean 'beta'" in capsys.readouterr().err

    def test_too_many_rows_for_a_page(self, tmp_path, capsys, set_limits):
        """Only what sums do not tell, such as clusters, needs the rows."""
        set_limits(on_a_page=100)
        out = tmp_path / "page.html"
        path = csv(tmp_path / "grouped.csv", {"label": OUTCOMES, "p": REPORTS, "site": SITES})
        assert main(["report", str(path), "-o", str(out), "--groups", "site"]) == 3
        assert "more than 100 predictions" in capsys.readouterr().err and not out.exists()
        assert main(["report", str(binary(tmp_path)), "-o", str(out), "--stream"]) == 3
        assert "a page needs the rows in memory" in capsys.readouterr().err


class TestConventions:
    def test_what_each_tool_would_say(self, tmp_path):
        done = run("conventions", binary(tmp_path), "--bins", 10, "--json")
        found = json.loads(done.stdout)
        expected = cal.conventions(OUTCOMES, REPORTS, bins=10).to_dict()
        assert {name: found[name] for name in expected} == expected
        assert found["n"] == N and len(found["inferred"]) == 2

    def test_in_words(self, tmp_path, capsys):
        path = csv(tmp_path / "r.csv", {"label": OUTCOMES, "p": BETTER})
        assert main(["conventions", str(path)]) == 0
        printed = capsys.readouterr().out
        assert "torchmetrics" in printed and "This is the definition." not in printed
        proposed = "scikit-learn calibration_error (proposed): It is in no release"
        assert proposed in printed
        words = " ".join(printed.split())
        value = f"{cal.ece(OUTCOMES, BETTER):.4f}"
        assert f"With 15 bins, these give Calibrant's {value}: torchmetrics" in words
        assert "These give another number: scikit-learn calibration_curve" in words
        assert main(["conventions", str(path), "--details"]) == 0
        assert "This is the definition." in capsys.readouterr().out


def test_segments_of_a_parquet_file_are_those_of_the_library(tmp_path, capsys):
    pl = need("polars")
    pl.DataFrame({"y": OUTCOMES, "p": REPORTS, "site": SITES}).write_parquet(tmp_path / "a.parquet")
    found = found_by(
        capsys, "report", tmp_path / "a.parquet", "--label", "y", "--proba", "p",
        "--segments", "site", "--measures", "ece",
    )  # fmt: skip
    table = found["segments"]["segments"]
    wanted = cal.find_segments(OUTCOMES, REPORTS, {"site": SITES})
    assert table["segment"] == wanted.columns()["segment"]
    assert table["gap"] == pytest.approx(wanted.columns()["gap"])
    lazy = cal.find_segments("y", "p", ["site"], data=tmp_path / "a.parquet")
    assert table["ratio"] == pytest.approx(lazy.columns()["ratio"])


@pytest.mark.parametrize("depth", ["0", "-1"])
def test_a_depth_below_1_is_refused_in_words_of_the_command(tmp_path, capsys, depth):
    with pytest.raises(SystemExit):
        main(["report", "rows.csv", "--segments", "site", f"--depth={depth}"])
    assert f"--depth: '{depth}' is not 1 or more" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("report a.csv --label p --proba p", "--label and --proba both name the column 'p'"),
        ("check a.csv --label p --proba p --max ece=0.1", "both name the column 'p'"),
        ("scale --fit a.csv --label p --proba p", "both name the column 'p'"),
        ("decide a.csv --label p --models a=p", "both name the column 'p'"),
        ("report a.csv --stream --label p --proba p", "both name the column 'p'"),
        ("report a.csv --multilabel --label p --proba p", "both name the column 'p'"),
        ("report a.csv --title X", "--title needs a page"),
        ("compare a=a.csv b=a.csv --title X", "--title needs a page"),
        ("monitor a.state --title X", "--title needs a page"),
        ("report a.csv --stream --all-intervals", "--all-intervals needs the rows in memory"),
        ("report a.csv --one-pass --all-intervals", "--all-intervals needs the rows in memory"),
    ],
)
def test_options_without_effect_and_one_column_for_two_are_refused(
    tmp_path, monkeypatch, capsys, line, words
):
    monkeypatch.chdir(tmp_path)
    binary(tmp_path, "a.csv")
    assert main(line.split()) == 3
    assert words in capsys.readouterr().err


def test_labels_between_two_columns_have_bounds(tmp_path):
    columns = np.column_stack([REPORTS, np.maximum(REPORTS - 0.1, 0), np.minimum(BETTER + 0.1, 1)])
    columns[:, 2] = np.maximum(columns[:, 1], columns[:, 2])
    np.savetxt(tmp_path / "a.csv", columns, "%.17g", delimiter=",", header="p,lo,hi", comments="")
    ends = ("--proba", "p", "--label-low", "lo", "--label-high", "hi")
    done = run("report", "a.csv", *ends, "-o", "page.html", cwd=tmp_path)
    own = cal.evaluate(cal.Between(columns[:, 1], columns[:, 2]), columns[:, 0])
    assert own.sentence in done.stdout and "gap_high" in done.stdout
    assert own.sentence in (tmp_path / "page.html").read_text(encoding="utf-8")
    found = json.loads(run("report", "a.csv", *ends, "--json", cwd=tmp_path).stdout)
    assert {each["name"]: each["low"] for each in found["bounds"]} == own.low
    for more, words in (
        (("--label", "lo"), "either --label, or both"),
        (("--votes", "lo"), "--votes needs known labels"),
        (("--by", "lo"), "--by needs known labels"),
    ):
        assert words in run("report", "a.csv", *ends, *more, cwd=tmp_path).stderr
