"""What a message says to do: the name that was meant, and where a thing is."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant.scaling import SCALERS
from cli.command import csv, run
from needs import need

P = np.linspace(0.05, 0.95, 40)
Y = (np.arange(40) % 3 == 0).astype(int)


@pytest.fixture
def file(tmp_path):
    return csv(tmp_path / "answers.csv", {"label": Y, "p": P})


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("--y-true", "--label"),
        ("--y_true", "--label"),
        ("--y-proba", "--proba"),
        ("--y_proba=p", "--proba"),
        ("--sample-weight", "--weight"),
        ("--measrues", "--measures"),
        ("--n-bins", "--bins"),
        ("--from_logits", "--from-logits"),
    ],
)
def test_options_by_their_names_in_python(file, given, meant):
    done = run("report", file, given, "label")
    assert done.returncode == 3 and f"did you mean {meant!r}?" in done.stderr


class TestFilesThatAreNotThere:
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path, file):
        for name in ("fig.py", "g.csv", "README.md", "LICENSE", "notes.txt"):
            (tmp_path / name).write_text("")
        return tmp_path

    def said(self, folder, name):
        with pytest.raises(cal.InputError) as raised:
            cal.evaluate_file(folder / name)
        return str(raised.value)

    def test_a_slip_of_the_pen(self, folder):
        for name in ("anwsers.csv", "answers.csvv", "Answers.CSV.gz", "answers.parquet"):
            assert self.said(folder, name).endswith("did you mean 'answers.csv'?")

    def test_another_name(self, folder):
        said = self.said(folder, "fig.csv")
        assert "did you mean" not in said and "fig.py" not in said
        assert said.endswith("That folder has 'answers.csv', 'g.csv'")

    def test_nothing_to_read(self, folder):
        (folder / "empty").mkdir()
        (folder / "empty" / "code.py").write_text("")
        assert self.said(folder / "empty", "code.csv").endswith("code.csv'")


def test_measures_have_the_nearest_name_as_a_hint():
    with pytest.raises(cal.InputError, match="did you mean 'classification_error'"):
        cal.evaluate(Y, P, measures=["error_rate"])
    with pytest.raises(cal.InputError, match="did you mean 'brier'"):
        cal.evaluate(Y, P, measures=["brierr"])


def test_two_columns_are_several_models_or_classes():
    pd = need("pandas")
    two = np.stack([P, P**2], axis=1)
    said = r"If these are 2 models, give them by name, y_proba=\{'a': p_a, 'b': p_b\}"
    for given in (two, pd.DataFrame(two, columns=["a", "b"])):
        with pytest.raises(cal.InputError, match=said):
            cal.decision_curve(Y, given)
    frame = pd.DataFrame({"y": Y, "a": P, "b": P**2})
    with pytest.raises(cal.InputError, match=said):
        cal.decision_curve("y", ["a", "b"], data=frame)


@pytest.mark.parametrize("kind", SCALERS)
def test_a_map_has_no_predict(kind):
    scaler = SCALERS[kind]()
    for name in ("predict", "predict_proba"):
        with pytest.raises(AttributeError, match=r"transform\(y_proba\) gives the recalibrated"):
            getattr(scaler, name)
        assert not hasattr(scaler, name)
    with pytest.raises(AttributeError, match=r"has no attribute 'loss_'$"):
        _ = scaler.loss_


def test_displays_have_no_savefig(tmp_path):
    need("matplotlib").use("agg")
    display = cal.reliability(Y, P).plot()
    with pytest.raises(AttributeError, match=r"'savefig': save\(path\) writes the figure"):
        display.savefig(tmp_path / "a.png")
    with pytest.raises(AttributeError, match="figure_ is the Matplotlib figure"):
        _ = display.fig
    with pytest.raises(AttributeError, match=r"has no attribute 'colour'$"):
        _ = display.colour
    assert display.save(tmp_path / "a.png").exists()


@pytest.mark.parametrize(
    ("function", "option", "meant"),
    [
        (cal.evaluate, "labels", "y_true"),
        (cal.evaluate, "confidence", "level"),
        (cal.evaluate, "random_state", "seed"),
        (cal.ece, "weights", "sample_weight"),
        (cal.ece, "n_bins", "bins"),
        (cal.find_segments, "max_depth", "depth"),
    ],
)
def test_options_by_their_names_elsewhere(function, option, meant):
    with pytest.raises(cal.UnknownOption, match=f"did you mean '{meant}'"):
        function(Y, P, **{option: 1})


@pytest.mark.parametrize(
    ("function", "option"),
    [
        (cal.evaluate_file, "stream"),
        (cal.report, "out"),
        (cal.evaluate, "verbose"),
        (cal.check, "max_ece"),
        (cal.noise_floor, "target_"),
    ],
)
def test_an_option_that_is_like_none_is_not_said_to_be_one(function, option):
    """'stream' is not 'y_true', although they share half of their letters."""
    with pytest.raises(cal.UnknownOption, match="has no option") as raised:
        function(Y, P, **{option: 1})
    assert "use one of 'y_" in str(raised.value) or "use one of 'path'" in str(raised.value)


@pytest.mark.parametrize(
    ("measure", "said"),
    [("error", "'classification_error'"), ("mae", "'brier' is"), ("ks", "'ks_error'")],
)
def test_measures_by_their_names_elsewhere(measure, said):
    with pytest.raises(cal.InputError, match=said):
        cal.evaluate(Y, P, measures=[measure])


@pytest.mark.parametrize(("verb", "meant"), [("evaluate", "report"), ("fit", "scale")])
def test_verbs_by_their_names_elsewhere(verb, meant, file):
    done = run(verb, file)
    assert done.returncode == 3 and f"did you mean {meant!r}?" in done.stderr
