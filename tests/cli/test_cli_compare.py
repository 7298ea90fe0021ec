"""`calibrant compare`: models in one file, or in a file each, on rows that are the same rows."""

from __future__ import annotations

import json

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
from cli.command import main
from needs import need

ORDER = np.random.default_rng(0).permutation(N)


def compared(capsys, *arguments):
    assert main(["compare", *map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def refused(capsys, *arguments):
    assert main(["compare", *map(str, arguments)]) == 3
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.count("\n") == 1
    return printed.err


@pytest.fixture
def one_file(tmp_path):
    columns = {"label": OUTCOMES, "old": REPORTS, "new": BETTER, "site": SITES}
    return csv(tmp_path / "both.csv", columns)


@pytest.fixture
def two_files(tmp_path):
    ids = [f"row {i}" for i in range(N)]
    csv(tmp_path / "old.csv", {"id": ids, "label": OUTCOMES, "p": REPORTS})
    shuffled = {"id": [ids[i] for i in ORDER], "label": OUTCOMES[ORDER], "p": BETTER[ORDER]}
    csv(tmp_path / "new.csv", shuffled)
    csv(tmp_path / "new_in_order.csv", {"label": OUTCOMES, "p": BETTER})
    return tmp_path


EXPECTED = {"old": REPORTS, "new": BETTER}
# Where rows, columns and classes are the point: means over rows, which have no interval that must
# be simulated; the usual measures are in the first test.
FEW = ("brier", "log_loss")


def values_of(y, predictions):
    return cal.compare(y, predictions, measures=FEW, n_resamples=50).to_dict()["values"]


def only():
    return "--measures", ",".join(FEW)


def test_two_columns_of_one_file(one_file, capsys):
    found = compared(capsys, one_file, "--models", "old=old", "new=new", "--by", "site")
    expected = cal.compare(OUTCOMES, EXPECTED, by=SITES).to_dict()
    for part in ("values", "rankings", "differences"):
        assert found[part] == expected[part]
    assert found["slices"]["old"]["by"] == "site"
    assert "y_true is the column 'label', by its name" in found["inferred"]


def test_a_table_for_people(one_file):
    given = ("compare", one_file, "--models", "old=old", "new=new", "--measures", "ece,brier")
    done = run(*given)
    assert done.returncode == 0 and done.stderr == ""
    assert "2 models on 600 rows" in done.stdout and "Ranks by brier" not in done.stdout
    assert "By ECE and Brier score, new is best: old is significantly worse." in done.stdout
    limits = cal.compare(OUTCOMES, EXPECTED, measures=["ece", "brier"]).intervals("brier")
    new = f"{limits['estimate'][0]:.4f} ({limits['low'][0]:.4f} to {limits['high'][0]:.4f})"
    assert new in done.stdout
    done = run(*given, "--details")
    assert "Ranks by brier" in done.stdout and "Sample values" in done.stdout
    assert "Rank robustness" not in done.stdout  # of two, there is nothing to say


def test_a_file_each_in_the_same_order(two_files, capsys):
    files = two_files / "old.csv", two_files / "new_in_order.csv"
    found = compared(capsys, *files, *only())
    assert found["values"] == values_of(OUTCOMES, {"old": REPORTS, "new_in_order": BETTER})
    named_ = compared(capsys, f"a={files[0]}", f"b={files[1]}", *only())
    assert named_["values"]["predictor"] == ["a", "b"]


def test_rows_matched_by_a_column(two_files, capsys):
    files = two_files / "old.csv", two_files / "new.csv"
    found = compared(capsys, *files, "--id", "id", *only())
    assert found["values"] == values_of(OUTCOMES, EXPECTED)


def test_families_of_columns_by_a_pattern(tmp_path, capsys):
    rows = {"label": LABELS}
    for name, predictions in (("a", ROWS), ("b", SOFTER)):
        # 10 is after 9 and not after 1, so that a wrong order would show with more classes.
        rows |= {f"{name}_{j}": predictions[:, j].tolist() for j in (2, 0, 1)}
    path = csv(tmp_path / "r.csv", rows)
    expected = values_of(LABELS, {"a": ROWS, "b": SOFTER})
    for models in (("a=a_*", "b=b_*"), ("a=a_0,a_1,a_2", "b=b_0,b_1,b_2")):
        found = compared(capsys, path, "--models", *models, *only())
        assert found["values"] == expected


def test_numbers_in_names_are_numbers(tmp_path, capsys):
    wide = np.random.default_rng(1).dirichlet(np.ones(12), N)
    labels = np.random.default_rng(2).integers(0, 12, N)
    columns = {f"{m}_{j}": wide[:, j].tolist() for m in "ab" for j in range(12)}
    path = csv(tmp_path / "r.csv", {"label": labels, **columns})
    found = compared(capsys, path, "--models", "a=a_*", "b=b_*", "--measures", "brier")
    assert found["values"]["brier"][0] == pytest.approx(cal.brier_score(labels, wide), rel=1e-12)


def test_classes_in_another_order_are_put_right(tmp_path, capsys):
    named(tmp_path, "a.csv")
    named(tmp_path, "b.csv", order=(2, 0, 1), predictions=SOFTER)
    found = compared(capsys, tmp_path / "a.csv", tmp_path / "b.csv", *only())
    expected = values_of(LABELS, {"a": ROWS, "b": SOFTER})
    for measure, numbers in expected.items():
        assert found["values"][measure] == (
            numbers if measure == "predictor" else pytest.approx(numbers, rel=1e-12)
        )


def test_a_row_that_one_model_lacks_is_left_out_for_all(tmp_path, capsys):
    old = ["" if i in (3, 5) else p for i, p in enumerate(REPORTS.tolist())]
    new = ["" if i in (5, 9) else p for i, p in enumerate(BETTER.tolist())]
    path = csv(tmp_path / "r.csv", {"label": OUTCOMES, "old": old, "new": new})
    assert "--missing drop" in refused(capsys, path, "--models", "old=old", "new=new")
    kept = np.setdiff1d(np.arange(N), [3, 5, 9])
    expected = values_of(OUTCOMES[kept], {k: v[kept] for k, v in EXPECTED.items()})
    dropped = ("--missing", "drop", *only())
    found = compared(capsys, path, "--models", "old=old", "new=new", *dropped)
    assert found["values"] == expected
    assert found["notes"][0] == "3 rows were dropped because something was missing"
    csv(tmp_path / "old.csv", {"label": OUTCOMES, "p": old})
    csv(tmp_path / "new.csv", {"label": OUTCOMES, "p": new})
    found = compared(capsys, tmp_path / "old.csv", tmp_path / "new.csv", *dropped)
    assert found["values"] == expected


class TestRowsThatAreNotTheSame:
    def test_other_labels(self, two_files, capsys):
        said = refused(capsys, two_files / "old.csv", two_files / "new.csv")
        assert "different labels in" in said and "--id COLUMN" in said

    def test_other_numbers_of_rows(self, two_files, capsys):
        csv(two_files / "short.csv", {"label": OUTCOMES[:9], "p": BETTER[:9]})
        said = refused(capsys, two_files / "old.csv", two_files / "short.csv")
        assert "old has 600 rows, short has 9" in said

    def test_ids_that_one_file_lacks(self, two_files, capsys):
        ids = [f"row {i}" for i in range(N)]
        csv(two_files / "part.csv", {"id": ids[2:], "label": OUTCOMES[2:], "p": BETTER[2:]})
        files = two_files / "old.csv", two_files / "part.csv"
        assert "2 rows are not in every file, such as 'row 0'" in refused(
            capsys, *files, "--id", "id"
        )
        found = compared(capsys, *files, "--id", "id", "--missing", "drop", *only())
        assert found["recipe"]["n"] == N - 2
        assert found["notes"][0].startswith("old: 2 rows were dropped because not every file")

    def test_ids_twice_or_with_other_labels(self, two_files, capsys):
        ids = [f"row {i}" for i in range(N)]
        csv(two_files / "twice.csv", {"id": ["row 0", *ids[:-1]], "label": OUTCOMES, "p": BETTER})
        files = two_files / "old.csv", two_files / "twice.csv"
        assert "must name each row once; 'row 0' is twice" in refused(capsys, *files, "--id", "id")
        csv(two_files / "other.csv", {"id": ids, "label": 1 - OUTCOMES, "p": BETTER})
        files = two_files / "old.csv", two_files / "other.csv"
        assert "different labels in 600 of 600 rows" in refused(capsys, *files, "--id", "id")

    def test_other_weights(self, tmp_path, capsys):
        csv(tmp_path / "a.csv", {"label": OUTCOMES, "p": REPORTS, "w": np.ones(N)})
        csv(tmp_path / "b.csv", {"label": OUTCOMES, "p": BETTER, "w": np.arange(N)})
        said = refused(capsys, tmp_path / "a.csv", tmp_path / "b.csv", "--weight", "w")
        assert "b and a have different weights" in said


class TestWhatIsWrong:
    @pytest.mark.parametrize(
        ("models", "said"),
        [
            (None, "nothing to compare it with"),
            (["old"], "write NAME=COLUMN"),
            (["a=old", "a=new"], "names 'a' twice"),
            (["a=old", "b=nwe"], "there is no column 'nwe': did you mean 'new'?"),
            (["a=old", "b=x_*"], "no column has a name like 'x_*'"),
            (["a=old"], "two or more predictors"),
        ],
    )
    def test_models_that_cannot_be_meant(self, one_file, capsys, models, said):
        options = [] if models is None else ["--models", *models]
        assert said in refused(capsys, one_file, *options)

    def test_models_and_files(self, one_file, tmp_path, capsys):
        other = binary(tmp_path)
        assert "names columns of one file" in refused(
            capsys, one_file, other, "--models", "a=p", "b=p"
        )
        said = refused(capsys, one_file, "--models", "a=old", "b=new", "--proba", "old")
        assert "leave out --proba" in said
        said = refused(capsys, f"a={other}", f"a={one_file}")
        assert "two models are called 'a'" in said

    def test_files_of_one_name_go_by_their_paths(self, tmp_path, capsys):
        for folder in ("x", "y"):
            (tmp_path / folder).mkdir()
            binary(tmp_path / folder)
        paths = [str(tmp_path / folder / "rows.csv") for folder in ("x", "y")]
        assert compared(capsys, *paths, *only())["values"]["predictor"] == paths


def test_the_page_is_written_whole(one_file, tmp_path):
    need("altair")
    models = ("--models", "o=old", "n=new", *only())
    done = run("compare", one_file, *models, "-o", "c.html", cwd=tmp_path)
    assert done.returncode == 0 and done.stderr == "written: c.html\n"
    assert (tmp_path / "c.html").read_text(encoding="utf-8").rstrip().endswith("</html>")


def test_a_folder_or_pattern_alone_is_a_model_a_file(tmp_path, capsys):
    models = tmp_path / "models"
    models.mkdir()
    for name, predictions in EXPECTED.items():
        csv(models / f"{name}.csv", {"label": OUTCOMES, "p": predictions})
    for given in (models, models / "*.csv"):
        found = compared(capsys, given, "--measures", "ece")
        assert set(found["values"]["predictor"]) == {"old", "new"}
    assert "one file" in refused(capsys, models / "o*.csv")
    # Beside another, a folder is one model whose rows are in several files.
    twice = csv(tmp_path / "twice.csv", {"label": [*OUTCOMES] * 2, "p": [*BETTER] * 2})
    found = compared(capsys, models, twice, "--measures", "ece")
    assert set(found["values"]["predictor"]) == {"models", "twice"}


class TestScaleOn:
    """Recalibrated first, by maps fitted to other files, or to some of the rows."""

    def test_files_and_a_column_say_the_same(self, tmp_path):
        part = np.where(np.arange(N) < 200, "val", "test")
        whole = csv(
            tmp_path / "whole.csv",
            {"label": OUTCOMES, "a": REPORTS, "b": BETTER, "part": part},
        )
        files = {}
        for name, rows in (("val", part == "val"), ("test", part == "test")):
            (tmp_path / name).mkdir()
            for model, predictions in (("a", REPORTS), ("b", BETTER)):
                csv(
                    tmp_path / name / f"{model}.csv",
                    {"label": OUTCOMES[rows], "p": predictions[rows]},
                )
            files[name] = tmp_path / name
        options = ("--measures", "brier", "--method", "platt", "--json")
        one = run("compare", whole, "--models", "a=a", "b=b", "--scale-on", "part=val", *options)
        two = run("compare", files["test"], "--scale-on", files["val"], *options)
        first, second = (json.loads(done.stdout) for done in (one, two))
        assert first["values"] == second["values"]
        assert "maps are fitted to the 200 rows in which part is val" in first["notes"][0]
        assert first["recipe"]["n"] == N - 200

    def test_errors_and_tables(self, tmp_path):
        path = csv(tmp_path / "w.csv", {"label": OUTCOMES, "a": REPORTS, "b": BETTER})
        models = ("--models", "a=a", "b=b", "--measures", "brier")
        for options, said in (
            (("--scale-on", "prt=val"), "nor a column 'prt'"),
            (("--scale-on", "label=7"), "no row has that value"),
            (("--scale-on", "none.csv"), "--scale-on: there is no file"),
            (("--method", "beta"), "--method needs --scale-on"),
            (("--table", "x.pdf"), "name it .tex or .md"),
        ):
            done = run("compare", path, *models, *options)
            assert done.returncode == 3 and said in done.stderr
        for name, start in (("t.tex", r"\begin{tabular}"), ("t.md", "| predictor |")):
            assert run("compare", path, *models, "--table", tmp_path / name).returncode == 0
            assert (tmp_path / name).read_text().startswith(start)


def test_the_difference_of_two_models_is_in_the_table(one_file, capsys):
    assert main(["compare", str(one_file), "--models", "old=old", "new=new"]) == 0
    printed = capsys.readouterr().out
    found = cal.compare(OUTCOMES, EXPECTED)
    worse, better = reversed(found.order("ece"))
    of_ece = found.difference(worse, better, "ece")
    (row,) = [line for line in printed.splitlines() if line.startswith(f"  {worse} - {better}")][:1]
    assert f"{of_ece.estimate:.4f}" in row or f"{of_ece.estimate:#.3g}" in row


@pytest.mark.parametrize(
    ("column", "words"),
    [("nothing", "--id names the column 'nothing', which"), ("twice", "--id twice must name each")],
)
def test_errors_about_ids_name_the_option(capsys, tmp_path, column, words):
    lines = ["id,twice,label,p", "1,1,0,0.2", "2,1,1,0.7", "3,2,1,0.6"]
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for file in files:
        file.write_text("\n".join(lines), encoding="utf-8")
    assert words in refused(capsys, *map(str, files), "--id", column)
    check = ["check", str(files[0]), "--baseline", str(files[1]), "--max-increase", "ece=0.1"]
    assert main([*check, "--id", column]) == 3
    assert words in " ".join(capsys.readouterr().err.split())
