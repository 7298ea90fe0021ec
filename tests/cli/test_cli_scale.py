"""`calibrant scale`: maps fitted to a file, kept, and applied to another."""

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
    SCORES,
    SITES,
    SOFTER,
    N,
    csv,
    named,
    run,
)

import calibrant as cal
from calibrant import scaling
from calibrant._cli import scale
from calibrant._data.readers import read_rows
from cli.command import main
from needs import need
from scaling.map_words import MAPS

HALF = N // 2


@pytest.fixture
def halves(tmp_path):
    for name, rows in (("fit", slice(HALF)), ("test", slice(HALF, N))):
        columns = {"label": OUTCOMES[rows], "p": REPORTS[rows], "site": SITES[rows]}
        csv(tmp_path / f"{name}.csv", columns)
    return tmp_path


@pytest.fixture
def values_alone(set_limits):
    """Tables as those of large inputs, for tests that do not look at limits: resampling takes most
    of the time, and knows nothing of maps and files.
    """
    set_limits(compared_predictions=10)


def scaled(capsys, *arguments):
    assert main(["scale", *map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_fit_then_apply_as_a_user_does(halves):
    done = run(
        "scale", "--fit", "fit.csv", "--method", "platt", "-o", "map.json", "--json", cwd=halves
    )
    assert done.returncode == 0 and done.stderr == "written: map.json\n"
    expected = cal.PlattScaling(from_logits=False).fit(OUTCOMES[:HALF], REPORTS[:HALF])
    assert scaling.load(halves / "map.json").to_json() == expected.to_json()
    assert json.loads(done.stdout)["scaler"] == json.loads(expected.to_json())
    done = run("scale", "--apply", "test.csv", "--scaler", "map.json", "-o", "out.csv", cwd=halves)
    assert done.returncode == 0 and done.stderr == "written: out.csv\n"
    assert "no row of the fit was recognised among these" in done.stdout
    mapped = expected.transform(REPORTS[HALF:])
    found = cal.evaluate_file(halves / "out.csv", measures=["ece", "log_loss"])
    assert found["ece"] == cal.ece(OUTCOMES[HALF:], mapped)
    assert found["log_loss"] == pytest.approx(cal.log_loss(OUTCOMES[HALF:], mapped), rel=1e-12)


@pytest.mark.parametrize("method", MAPS)
def test_every_method(halves, capsys, request, method):
    with_limits = method in ("temperature", "isotonic")
    if not with_limits:
        request.getfixturevalue("values_alone")
    said = scaled(
        capsys, "--fit", halves / "fit.csv", "--method", method, "--apply", halves / "test.csv",
        "-o", halves / "out.npz", "--bins", 10,
    )  # fmt: skip
    kind = scaling.SCALERS[MAPS[method]]
    scaler = kind(from_logits=False, **({"bins": 10} if method == "histogram" else {}))
    mapped = scaler.fit(OUTCOMES[:HALF], REPORTS[:HALF]).transform(REPORTS[HALF:])
    written = np.load(halves / "out.npz")
    np.testing.assert_array_equal(written["y_proba"], mapped)
    np.testing.assert_array_equal(written["y_true"], OUTCOMES[HALF:])
    table = said["apply"]["measures"]
    at = table["measure"].index("ece")
    assert table["unchanged"][at] == cal.ece(OUTCOMES[HALF:], REPORTS[HALF:], bins=10)
    assert table["recalibrated"][at] == cal.ece(OUTCOMES[HALF:], mapped, bins=10)
    assert ({"low", "high"} <= set(table)) == with_limits and said["apply"]["share_fitted"] == 0


@pytest.mark.usefixtures("values_alone")
def test_maps_are_fitted_to_votes_in_each_form(tmp_path, capsys):
    rng = np.random.default_rng(0)
    votes = rng.integers(1, 6, 60)
    yes = rng.binomial(votes, 0.2 + 0.6 * REPORTS[:60])
    counts = np.stack([votes - yes, yes], axis=1)
    expected = cal.PlattScaling().fit(counts, REPORTS[:60])
    wide = csv(
        tmp_path / "wide.csv",
        {"yes": yes, "no": votes - yes, "share": yes / votes, "m": votes, "p": REPORTS[:60]},
    )
    rows = np.repeat(np.arange(60), votes)
    each = np.concatenate([np.arange(m) < c for m, c in zip(votes, yes, strict=True)]).astype(int)
    long = csv(tmp_path / "long.csv", {"i": rows, "vote": each, "p": REPORTS[rows]})
    for path, columns in (
        (wide, ("--label", "share", "--votes", "m")),
        (wide, ("--label", "yes", "--votes", "m")),
        (wide, ("--counts", "no,yes")),
        (long, ("--label", "vote", "--item", "i")),
    ):
        said = scaled(capsys, "--fit", path, "--method", "platt", "--proba", "p", *columns,
                      "-o", tmp_path / "map.json")  # fmt: skip
        found = scaling.load(tmp_path / "map.json")
        np.testing.assert_allclose(found.slope_, expected.slope_, rtol=1e-6)
        assert found.loss_before_ == pytest.approx(expected.loss_before_, rel=1e-9)
        assert any("fitted to the votes" in line for line in said["fit"]["inferred"])
    said = scaled(capsys, "--fit", wide, "--method", "label-smoothing", "--proba", "p",
                  "--counts", "no,yes", "-o", tmp_path / "map.json")  # fmt: skip
    assert any("the majority vote" in line for line in said["fit"]["inferred"])


@pytest.mark.parametrize("format", ["csv", "tsv", "jsonl", "parquet", "arrow", "npz"])
def test_what_is_written_is_found_by_its_names(tmp_path, capsys, request, format):
    if format != "csv":
        request.getfixturevalue("values_alone")
    if format in ("parquet", "arrow"):
        need("pyarrow")
    path, out = named(tmp_path), tmp_path / f"out.{format}"
    scaled(capsys, "--fit", path, "--apply", path, "-o", out)
    mapped = cal.TemperatureScaling(from_logits=False).fit_transform(LABELS, ROWS)
    found = cal.evaluate_file(out, measures=["ece", "brier"])
    assert found["ece"] == pytest.approx(cal.ece(LABELS, mapped), rel=1e-12)
    assert found["brier"] == pytest.approx(cal.brier_score(LABELS, mapped), rel=1e-12)


@pytest.mark.usefixtures("values_alone")
def test_columns_to_keep_are_of_the_applied_rows_alone(halves, capsys):
    csv(halves / "fit.csv", {"label": OUTCOMES[:HALF], "p": REPORTS[:HALF]})
    arguments = ("--fit", halves / "fit.csv", "--apply", halves / "test.csv", "--keep", "site")
    scaled(capsys, *arguments, "-o", halves / "out.jsonl")
    rows = [json.loads(line) for line in (halves / "out.jsonl").read_text().splitlines()]
    assert [row["site"] for row in rows] == SITES[HALF:].tolist()


@pytest.mark.usefixtures("values_alone")
def test_logits_in_probabilities_out(tmp_path, capsys):
    path = csv(tmp_path / "r.csv", {"label": OUTCOMES, "logits": LOGITS})
    scaled(capsys, "--fit", path, "--from-logits", "-o", tmp_path / "map.json")
    # The map knows that it is one of logits.
    scaled(
        capsys, "--apply", path, "--scaler", tmp_path / "map.json", "-o", tmp_path / "out.jsonl",
        "--keep", "logits",
    )  # fmt: skip
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    mapped = cal.TemperatureScaling().fit_transform(OUTCOMES, LOGITS)
    assert [row["y_proba"] for row in rows] == mapped.tolist()
    assert [float(row["logits"]) for row in rows] == LOGITS.tolist()
    csv(tmp_path / "p.csv", {"label": OUTCOMES, "p": REPORTS})
    scaled(capsys, "--fit", tmp_path / "p.csv", "-o", tmp_path / "map.json")
    assert main([
        "scale", "--apply", str(path), "--scaler", str(tmp_path / "map.json"), "--from-logits",
        "-o", str(tmp_path / "x.csv"),
    ]) == 3  # fmt: skip
    assert "fitted to probabilities" in capsys.readouterr().err


@pytest.mark.usefixtures("values_alone")
def test_classes_in_another_order_are_put_right(tmp_path, capsys):
    named(tmp_path, "fit.csv")
    named(tmp_path, "other.csv", order=(2, 0, 1))
    scaled(capsys, "--fit", tmp_path / "fit.csv", "--method", "vector", "-o", tmp_path / "m.json")
    assert json.loads((tmp_path / "m.json").read_text())["classes"] == CLASSES
    scaled(
        capsys, "--apply", tmp_path / "other.csv", "--scaler", tmp_path / "m.json", "-o",
        tmp_path / "out.npz",
    )  # fmt: skip
    expected = cal.VectorScaling(from_logits=False).fit_transform(LABELS, ROWS)
    np.testing.assert_allclose(np.load(tmp_path / "out.npz")["y_proba"], expected, rtol=1e-12)


ORDER = ("--proba", "proba_cat,proba_dog,proba_eel", "--classes", "cat,dog,eel")


@pytest.mark.usefixtures("values_alone")
@pytest.mark.parametrize("labels", [("--label", "label"), ()])
@pytest.mark.parametrize(
    "columns",
    [
        ("--proba", "proba_eel,proba_cat,proba_dog", "--classes", "eel,cat,dog"),
        ("--proba", "proba_eel,proba_cat,proba_dog"),
        ("--classes", "eel,cat,dog"),
    ],
)
def test_columns_named_in_another_order_are_put_right(tmp_path, capsys, columns, labels):
    path, out, map_file = named(tmp_path), tmp_path / "out.csv", tmp_path / "m.json"
    scaled(capsys, "--fit", path, "--method", "vector", *ORDER, "-o", map_file)
    if not labels:
        path.write_text(path.read_text().replace("label,", "kind,", 1))
    said = scaled(capsys, "--apply", path, "--scaler", map_file, *labels, *columns, "-o", out)
    expected = cal.VectorScaling(from_logits=False).fit_transform(LABELS, ROWS)
    written = cal.read_file(out, y_true="y_proba_cat", y_proba=[f"y_proba_{c}" for c in CLASSES])
    np.testing.assert_allclose(written.y_proba, expected, rtol=1e-9)
    if labels:
        table = said["apply"]["measures"]
        loss = table["recalibrated"][table["measure"].index("log_loss")]
        assert loss == pytest.approx(cal.log_loss(LABELS, expected), rel=1e-9)


@pytest.mark.usefixtures("values_alone")
@pytest.mark.parametrize(
    ("fit", "new", "said"),
    [
        (ORDER, ("--proba", "proba_eel,proba_cat,proba_dog", "--classes", "cat,dog,eel"),
         "name the columns in the order of the classes"),
        (ORDER, ("--proba", "proba_cat,proba_dog,proba_eel", "--classes", "cat,dog,fox"),
         "the map was fitted to the classes cat, dog, eel; these are cat, dog, fox"),
        (("--proba", "proba_cat,proba_dog,proba_eel", "--label", "y"),
         ("--proba", "proba_eel,proba_cat,proba_dog", "--label", "y"), "in that order"),
        (("--proba", "proba_cat", "--classes", "cat,dog"),
         ("--proba", "proba_cat", "--classes", "dog,cat"), "predictions of dog"),
    ],
)  # fmt: skip
def test_columns_that_cannot_be_those_of_the_map(tmp_path, capsys, fit, new, said):
    path, map_file = named(tmp_path), tmp_path / "m.json"
    head, *rows = path.read_text().splitlines()
    if "cat,dog" in fit:
        rows = [row for row in rows if not row.startswith("eel")]
    rows = [f"{row},{CLASSES.index(row.split(',')[0])}" for row in rows]
    path.write_text("\n".join([f"{head},y", *rows]) + "\n")
    both = () if "y" in fit else ("--label", "label")
    scaled(capsys, "--fit", path, "--method", "platt", *both, *fit, "-o", map_file)
    if "cat,dog,fox" in new:
        path.write_text(path.read_text().replace("\neel,", "\nfox,"))
    arguments = ["--apply", path, "--scaler", map_file, *both, *new, "-o", tmp_path / "o.csv"]
    assert main(["scale", *map(str, arguments)]) == 3
    assert said in capsys.readouterr().err and not (tmp_path / "o.csv").exists()


@pytest.mark.usefixtures("values_alone")
@pytest.mark.parametrize("shape", ["binary", "named", "list"])
def test_labels_are_not_needed_to_apply(tmp_path, capsys, shape):
    if shape == "binary":
        fit = csv(tmp_path / "fit.csv", {"label": OUTCOMES, "p": REPORTS})
        new = csv(tmp_path / "new.csv", {"p": REPORTS, "site": SITES})
        expected = cal.TemperatureScaling(from_logits=False).fit_transform(OUTCOMES, REPORTS)
    else:
        fit = named(tmp_path)
        expected = cal.TemperatureScaling(from_logits=False).fit_transform(LABELS, ROWS)
        if shape == "named":
            columns = {f"proba_{name}": ROWS[:, j].tolist() for j, name in enumerate(CLASSES)}
            new = csv(tmp_path / "new.csv", columns)
        else:
            new = tmp_path / "new.jsonl"
            new.write_text("".join(json.dumps({"probs": row}) + "\n" for row in ROWS.tolist()))
    said = scaled(capsys, "--fit", fit, "--apply", new, "-o", tmp_path / "out.npz")
    assert said["apply"]["measures"] is None
    written = np.load(tmp_path / "out.npz")
    np.testing.assert_allclose(written["y_proba"], expected, rtol=1e-12)
    assert "y_true" not in written


def test_the_rows_of_the_fit_are_called_so(tmp_path, capsys):
    path = str(csv(tmp_path / "r.csv", {"label": OUTCOMES, "p": REPORTS}))
    assert main(["scale", "--fit", path, "--apply", path, "-o", str(tmp_path / "o.csv")]) == 0
    printed = capsys.readouterr()
    assert printed.out.count("on the rows of the fit, where every map looks too good") == 2
    assert "no row of the fit" not in printed.out and printed.err.count("\n") == 1


@pytest.mark.usefixtures("values_alone")
def test_soft_labels_and_weights(tmp_path, capsys):
    weights = 1.0 + np.arange(N) % 2
    path = csv(tmp_path / "r.csv", {"label": BETTER, "p": REPORTS, "w": weights})
    scaled(capsys, "--fit", path, "--weight", "w", "-o", tmp_path / "m.json")
    expected = cal.TemperatureScaling(from_logits=False).fit(BETTER, REPORTS, sample_weight=weights)
    assert scaling.load(tmp_path / "m.json").temperature_ == expected.temperature_
    rows = {f"label_{j}": SOFTER[:, j].tolist() for j in range(3)}
    rows |= {f"logit_{j}": SCORES[:, j].tolist() for j in range(3)}
    path = csv(tmp_path / "s.csv", rows)
    out = tmp_path / "out.csv"
    scaled(capsys, "--fit", path, "--from-logits", "--apply", path, "-o", out)
    assert scaling.TemperatureScaling().fit(SOFTER, SCORES).temperature_ == pytest.approx(2, 1e-6)
    found = cal.evaluate_file(out, measures=["ece"])
    assert found["ece"] < 1e-6


@pytest.mark.usefixtures("values_alone")
def test_large_inputs_get_values_without_limits(tmp_path, capsys):
    path = csv(tmp_path / "r.csv", {"label": OUTCOMES, "p": REPORTS})
    table = scaled(capsys, "--fit", path)["fit"]["measures"]
    assert set(table) == {"measure", "unchanged", "recalibrated"}


class TestWhatIsWrong:
    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            ([], "nothing is asked for"),
            (["--apply", "test.csv", "-o", "o.csv"], "--apply needs a map"),
            (["--fit", "fit.csv", "--apply", "test.csv"], "needs a file to write to: -o"),
            (["--fit", "fit.csv", "--apply", "test.csv", "-o", "o.txt"], "this is none of them"),
            (["--fit", "fit.csv", "--scaler", "a.json", "-o", "b.json"], "leave out one of them"),
            (["--fit", "fit.csv", "--keep", "site"], "it needs --apply"),
            (
                ["--fit", "fit.csv", "--apply", "test.csv", "-o", "o.csv", "--keep", "sit"],
                "--keep names the column 'sit', which test.csv does not have: did you mean 'site'?",
            ),
            (
                ["--apply", "test.csv", "--scaler", "no.json", "-o", "o.csv"],
                "no.json cannot be read: No such file",
            ),
            (["--apply", "test.csv", "--scaler", "fit.csv", "-o", "o.csv"], "not a whole JSON"),
            (["--fit", "fit.csv", "-o", "no/map.json"], "no/map.json cannot be written"),
        ],
    )
    def test_it_is_one_sentence_and_nothing_is_written(
        self, halves, capsys, monkeypatch, arguments, said
    ):
        monkeypatch.chdir(halves)
        before = sorted(path.name for path in halves.iterdir())
        assert main(["scale", *arguments]) == 3
        printed = capsys.readouterr()
        assert said in printed.err and printed.err.count("\n") == 1 and printed.out == ""
        assert sorted(path.name for path in halves.iterdir()) == before

    def test_other_columns_than_in_the_fit(self, halves, capsys):
        named(halves)
        scaled(capsys, "--fit", halves / "fit.csv", "-o", halves / "m.json")
        arguments = ["--apply", halves / "named.csv", "--scaler", halves / "m.json"]
        assert main(["scale", *map(str, arguments), "-o", str(halves / "o.csv")]) == 3
        assert "as in fit" in capsys.readouterr().err and not (halves / "o.csv").exists()


@pytest.mark.usefixtures("values_alone")
class TestPriorShift:
    def test_a_prevalence_is_given(self, halves, capsys):
        said = scaled(
            capsys, "--fit", halves / "fit.csv", "--method", "prior-shift", "--prior", "0.02",
            "--apply", halves / "test.csv", "-o", halves / "out.npz",
        )  # fmt: skip
        expected = scaling.PriorShift(prior=0.02).fit(OUTCOMES[:HALF], REPORTS[:HALF])
        assert said["scaler"]["options"]["prior"] == 0.02
        assert "looks worse on them than it is" in said["fit"]["inferred"][-1]
        np.testing.assert_array_equal(
            np.load(halves / "out.npz")["y_proba"], expected.transform(REPORTS[HALF:])
        )

    def test_of_several_classes(self, tmp_path, capsys):
        said = scaled(
            capsys, "--fit", named(tmp_path), "--method", "prior-shift", "--prior", ".2,.3,.5",
            "--source-prior", "0.4,0.4,0.2",
        )  # fmt: skip
        assert said["scaler"]["learned"]["prior_"] == [0.2, 0.3, 0.5]
        assert said["scaler"]["learned"]["source_prior_"] == [0.4, 0.4, 0.2]

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["--prior", "0.02"], "need --fit FILE --method prior-shift"),
            (["--method", "prior-shift", "--prior", "2"], "If it is a percentage, divide"),
            (["--method", "prior-shift", "--prior", ".2,.3,.5"], "the 2 classes of y_proba"),
            (
                ["--method", "prior-shift", "--prior", "few"],
                "'few' is not a share: give one such as",
            ),
        ],
    )
    def test_what_is_wrong_is_one_sentence(self, halves, capsys, arguments, said):
        command = ["scale", "--fit", str(halves / "fit.csv"), *arguments]
        if "few" in arguments:  # the parser's own error
            with pytest.raises(SystemExit, match="3"):
                main(command)
        else:
            assert main(command) == 3
        printed = capsys.readouterr()
        assert said in printed.err and printed.err.count("\n") == 1 and printed.out == ""


@pytest.mark.usefixtures("values_alone")
def test_the_rows_choose_a_map_and_the_choice_is_explained(halves, capsys):
    days, out = np.arange(HALF) // 10, halves / "map.json"
    fit = csv(halves / "f.csv", {"label": OUTCOMES[:HALF], "p": REPORTS[:HALF], "day": days})
    said = scaled(capsys, "--fit", fit, "--map", "auto", "-o", out, "--groups", "day")
    expected = cal.recommend(OUTCOMES[:HALF], REPORTS[:HALF], groups=days.astype(str))
    choice = said["fit"]["choice"]
    assert choice == json.loads(expected.to_json())
    assert said["scaler"]["kind"] == MAPS[expected.best]
    assert scaling.load(out).to_json() == expected.scaler.to_json()
    # Clusters are of the fit: rows without the column go through the map all the same.
    rows = csv(halves / "plain.csv", {"label": OUTCOMES[HALF:], "p": REPORTS[HALF:]})
    arguments = ("--fit", fit, "--map", "auto", "--groups", "day", "--apply", rows)
    assert main(["scale", *map(str, arguments), "-o", str(halves / "o.csv")]) == 0
    printed = capsys.readouterr().out
    assert expected.why in printed and "above the lowest" in printed
    assert "\\n" not in printed


@pytest.mark.usefixtures("values_alone")
def test_where_no_map_helps_the_file_changes_nothing(tmp_path, capsys):
    rng = np.random.default_rng(0)
    p = rng.random(200).round(6)
    file = csv(tmp_path / "f.csv", {"label": (rng.random(200) < p).astype(int), "p": p})
    said = scaled(capsys, "--fit", file, "--map", "auto", "-o", tmp_path / "map.json")
    assert said["fit"]["choice"]["best"] == "unchanged" and not said["fit"]["choice"]["helps"]
    np.testing.assert_allclose(scaling.load(tmp_path / "map.json").transform(p), p, rtol=1e-12)
    rows = ("--apply", str(file), "-o", str(tmp_path / "o.csv"))
    assert main(["scale", "--fit", str(file), "--map", "auto", *rows]) == 0
    assert "No map is recommended" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [("--map", "beta"), ()])
def test_clusters_are_for_the_choice_of_a_map(halves, capsys, arguments):
    assert main(["scale", "--fit", str(halves / "fit.csv"), "--groups", "site", *arguments]) == 3
    assert "--groups needs --fit and --map auto" in capsys.readouterr().err


class TestLabelsAsTheyWere:
    """Labels 1 to 3 are not written as 0 to 2, or the command says so."""

    Y = np.random.default_rng(2).integers(0, 3, 200)
    P = np.random.default_rng(3).dirichlet([1, 1, 1], 200)

    def written(self, tmp_path, labels, ends, out="out.csv", *options):
        file = csv(
            tmp_path / "rows.csv",
            {"label": labels, **{f"p_{end}": self.P[:, j] for j, end in enumerate(ends)}},
        )
        to = tmp_path / out
        scaled = ("scale", "--fit", file, "--apply", file, "--method", "temperature", "-o", to)
        done = run(*scaled, *options, "--json")
        assert done.returncode == 0, done.stderr
        return to, json.loads(done.stdout)["apply"]["inferred"]

    @pytest.mark.parametrize("out", ["out.csv", "out.jsonl", "out.parquet"])
    def test_counted_from_1(self, tmp_path, out):
        to, inferred = self.written(tmp_path, self.Y + 1, (1, 2, 3), out)
        assert not any("labels are written" in line for line in inferred)
        rows = cal.read_file(to, columns=["y_true", "y_proba_1"])
        assert rows.columns["y_true"].astype(int).tolist() == (self.Y + 1).tolist()
        assert rows.y_true.tolist() == self.Y.tolist()  # found by itself, as before
        assert rows.y_proba[:, 0].tolist() == rows.columns["y_proba_1"].astype(float).tolist()

    def test_in_another_order(self, tmp_path):
        names = ["--proba", "p_3,p_1,p_2", "--classes", "3,1,2"]
        to, _ = self.written(tmp_path, self.Y + 1, (1, 2, 3), "out.csv", *names)
        rows = cal.read_file(to)
        assert rows.y_true.tolist() == self.Y.tolist()
        straight, _ = self.written(tmp_path, self.Y + 1, (1, 2, 3), "other.csv")
        np.testing.assert_allclose(rows.y_proba, cal.read_file(straight).y_proba, rtol=1e-9)

    def test_counted_from_0_stays(self, tmp_path):
        to, inferred = self.written(tmp_path, self.Y, (0, 1, 2))
        assert to.read_text().startswith("y_true,y_proba_0,y_proba_1,y_proba_2\n")
        assert not any("labels are written" in line for line in inferred)

    def test_soft_labels_counted_from_1(self, tmp_path):
        soft = np.random.default_rng(4).dirichlet([1, 1, 1], 200)
        columns = {f"y_{j + 1}": soft[:, j] for j in range(3)}
        columns |= {f"p_{j + 1}": self.P[:, j] for j in range(3)}
        file, to = csv(tmp_path / "rows.csv", columns), tmp_path / "out.csv"
        named = ["--label", "y_1,y_2,y_3", "--proba", "p_1,p_2,p_3", "--classes", "1,2,3"]
        scaled = ("scale", "--fit", file, "--apply", file, "--method", "temperature", "-o", to)
        assert run(*scaled, *named).returncode == 0
        np.testing.assert_allclose(cal.read_file(to).y_true, soft)

    def test_other_labels_are_told(self, tmp_path):
        to, inferred = self.written(tmp_path, self.Y + 1, (1, 2, 3), "out.npz")
        assert "labels are written as numbers: '1' as 0, '2' as 1, '3' as 2" in inferred
        assert np.load(to)["y_true"].tolist() == self.Y.tolist()
        names = ["--proba", "p_10", "--classes", "no,yes"]
        labels = np.where(self.Y == 0, "yes", "no")
        _, inferred = self.written(tmp_path, labels, (10, 20, 30), "out.csv", *names)
        assert "labels are written as numbers: 'no' as 0, 'yes' as 1" in inferred


def test_a_map_is_written_without_hashes_of_rows(halves, values_alone):
    for name, options in (("whole", []), ("small", ["--no-fitted-rows"])):
        done = run(
            "scale",
            "--fit",
            "fit.csv",
            "--map",
            "platt",
            "-o",
            f"{name}.json",
            *options,
            cwd=halves,
        )
        assert done.returncode == 0
    whole, small = (
        json.loads((halves / f"{name}.json").read_text()) for name in ("whole", "small")
    )
    assert whole["fitted_rows"]["hashes"] and small["fitted_rows"] is None
    assert small["fitted_on"] is None and small["learned"] == whole["learned"]


def test_hashes_of_rows_come_last(halves, values_alone):
    done = run("scale", "--fit", "fit.csv", "--map", "platt", "-o", "m.json", "--json", cwd=halves)
    found = json.loads(done.stdout)
    assert [*found][-1] == "scaler" and [*found["scaler"]][-1] == "fitted_rows"
    assert found["scaler"]["fitted_rows"]["hashes"] and done.stdout.endswith("}}}\n")
    assert [*json.loads((halves / "m.json").read_text())][-1] == "fitted_rows"


def test_auto_and_the_page_choose_one_map(tmp_path, values_alone):
    """The page said "no map" where this chose one, by another rule."""
    rng = np.random.default_rng(2)
    p = rng.random(900)
    y = (rng.random(900) < np.where(p < 0.6, 0.12, 0.95)).astype(int)
    csv(tmp_path / "rows.csv", {"label": y, "p": p})
    done = run(
        "scale", "--fit", "rows.csv", "--map", "auto", "-o", "m.json", "--json", cwd=tmp_path
    )
    kind = json.loads(done.stdout)["scaler"]["kind"]
    report = cal.report(y, p, measures=["ece"])
    assert report.before_after.method == kind == type(cal.recommend(y, p).scaler).__name__


def test_progress_of_auto_is_shown_also_in_a_pipe(halves, set_limits, values_alone):
    set_limits(progress_in_log=0.0)
    done = run("scale", "--fit", "fit.csv", "--map", "auto", "-o", "map.json", cwd=halves)
    lines = [line for line in done.stderr.splitlines() if line.startswith("Trying maps: ")]
    assert lines[0] == "Trying maps: 1 of 50" and lines[-1].endswith("50 of 50")


# --- large files ----------------------------------------------------------------------------------

BY_SUMS = ["temperature", "platt", "beta", "vector", "prior-shift", "isotonic", "histogram"]


@pytest.mark.parametrize("method", BY_SUMS)
def test_large_files_are_fitted_in_passes_and_never_loaded(
    halves, capsys, set_limits, monkeypatch, method
):
    """The map, its counts, its losses and the hashes of its rows are those of rows in memory."""
    words = ["--fit", halves / "fit.csv", "--method", method]
    known = scaled(capsys, *words)
    set_limits(fitted_by_sums=100)
    monkeypatch.setattr(read_rows, "_combine", None)  # what puts all rows side by side
    found = scaled(capsys, *words)
    for name, values in known["scaler"]["learned"].items():
        assert flat(found["scaler"]["learned"][name]) == pytest.approx(flat(values), abs=1e-8)
    for name in ("loss_", "loss_before_"):
        assert found["scaler"][name] == pytest.approx(known["scaler"][name], abs=1e-8)
    assert found["scaler"]["fitted_rows"]["hashes"] == known["scaler"]["fitted_rows"]["hashes"]
    assert (found["fit"]["n"], known["fit"]["n"]) == (HALF, HALF)
    assert any("summed while reading" in line for line in found["fit"]["inferred"])
    before, after = (each["fit"]["measures"] for each in (known, found))
    for name in ("brier", "log_loss"):
        at = before["measure"].index(name), after["measure"].index(name)
        for column in ("unchanged", "recalibrated"):
            values = before[column][at[0]], after[column][at[1]]
            assert values[0] == pytest.approx(values[1], abs=1e-9)


def flat(values):
    """The numbers of a fitted attribute."""
    if isinstance(values, dict):
        values = next(iter(values.values()))
    while isinstance(values, list) and values and isinstance(values[0], list):
        values = [each for part in values for each in part]
    return values


@pytest.mark.parametrize("more", [["--method", "spline"], ["--map", "auto"], ["--bins", "cbrt"]])
def test_large_files_are_loaded_where_sums_do_not_suffice(
    halves, capsys, set_limits, values_alone, more
):
    words = ["--fit", halves / "fit.csv", *more]
    known = scaled(capsys, *words)
    set_limits(fitted_by_sums=100)
    assert scaled(capsys, *words)["scaler"] == known["scaler"]


def test_the_printed_change_says_in_words_whether_the_map_helped():
    table = {
        "measure": ["ece", "brier", "log_loss"],
        "unchanged": [0.07, 0.26, 0.61],
        "recalibrated": [0.02, 0.26, 0.62],
        "difference": [-0.05, 0.0, 0.01],
        "estimate": [-0.06, 0.0, 0.01],
        "low": [-0.08, -0.01, 0.004],
        "high": [-0.03, 0.01, 0.02],
    }
    printed = scale._as_changes(table)
    assert list(printed) == [
        "measure", "unchanged", "recalibrated", "change (sample)", "change (corrected)", "95% CI",
    ]  # fmt: skip
    assert printed["95% CI"][0] == "-0.0800 to -0.0300"
    assert scale._change_in_words(table).strip() == (
        "The map helped in part: ECE improved by more than chance explains; log loss got worse by "
        "more than chance explains; Brier score did not change significantly."
    )
    unclear = {name: values[1:2] for name, values in table.items()}
    assert "The map was not shown to help: Brier score" in scale._change_in_words(unclear)
    only = {name: values[:1] for name, values in table.items()}
    assert "The map helped: ECE improved" in scale._change_in_words(only)
    values = {name: table[name] for name in ("measure", "unchanged", "recalibrated")}
    assert scale._as_changes(values) == values and not scale._change_in_words(values)
