"""Chidambaram et al. (2024): counterexamples, figure 2, theorem 5.4, and real classifiers."""

import os
import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

import calibrant as cal
from calibrant import InputError, examples, reproduce
from calibrant._research.papers import logit_smoothing
from calibrant._research.papers.folder import Reproduction
from calibrant._research.papers.logit_experiments import (
    convergence,
    discontinuities,
    estimators,
    figure_2,
    figure_2_with_draws,
    true_error,
)
from calibrant._research.papers.predictions import read_predictions
from needs import need

REPOSITORY = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("CALIBRANT_DATA") or REPOSITORY.parent / "shared" / "data")


# The sections that need no predictions, in order.
SECTIONS = (
    "two_point",
    "jumps",
    "no_level_sets",
    "figure_2",
    "estimation",
    "convergence",
    "estimators",
)


@pytest.fixture(scope="module")
def done() -> Reproduction:
    """With 1 sample of each size in place of 10, as of a million rows one tells as much, with 2,000
    draws in place of 10,000, 8 samples for each estimator in place of 20, and 200 random predictors
    in place of 1,000.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logit_smoothing, "convergence", partial(convergence, n_replications=1))
        few = lambda *given: figure_2_with_draws(*given[:-1], 2000)  # noqa: E731
        patch.setattr(logit_smoothing, "figure_2_with_draws", few)
        patch.setattr(logit_smoothing, "estimators", lambda seed, _: estimators(seed, 8))
        patch.setattr(
            logit_smoothing, "discontinuities", lambda seed, _: discontinuities(seed, 200)
        )
        return reproduce("logit-smoothing")


def test_a_nudge_breaks_the_two_point_distribution(done) -> None:
    table = done.tables["two_point"].columns
    assert table["ECE"] == pytest.approx(table["expected"], rel=1e-14)
    assert table["ECE"][0] == 0.0 and table["ECE"][1] == pytest.approx(0.5, abs=1e-11)
    smooth = table["LS-ECE, sigma = 0.1"]
    assert abs(smooth[1] - smooth[0]) < 1e-9 and abs(smooth[2] - smooth[0]) < 1e-4
    assert table["smECE"][1] < 1e-6


def test_other_noise_other_links_and_kernels_estimate_the_same_error(done) -> None:
    table = done.tables["estimators"].columns
    assert table["estimator"][0] == "true ECE" and len(table["estimator"]) == 8
    for column in (name for name in table if name.startswith("overconfident")):
        true, *means = (float(cell.split()[0]) for cell in table[column])
        assert true == pytest.approx(true_error(2.0), abs=5e-5)
        assert means == pytest.approx([true] * 7, abs=0.02 if "2,000" in column else 0.05)
    for few, many in zip(table["calibrated, n = 500"], table["calibrated, n = 2,000"], strict=True):
        assert float(few.split()[0]) >= float(many.split()[0])


def test_a_perturbation_breaks_a_predictor_without_level_sets(done) -> None:
    table = done.tables["no_level_sets"].columns
    assert [f"{value:.3f}" for value in table["ECE"][1:]] == ["0.384", "0.340", "0.335"]
    assert table["ECE"][1:] == pytest.approx(table["expected"][1:], abs=5 * 0.236 / 200_000**0.5)
    assert all(e > b for e, b in zip(table["ECE"][1:], table["the proof's bound"][1:], strict=True))
    # The smooth errors tend to those of g itself.
    for name in ("LS-ECE, sigma = 0.1", "smECE"):
        assert table[name][3] == pytest.approx(table[name][0], abs=5e-4)


def test_bins_jump_and_logit_smoothing_does_not(done) -> None:
    """Fact 8 of two-point data with mean(y) = 0.537."""
    y = np.repeat([0.0, 1.0], [463, 537])
    found = figure_2(y, expit(1e-3 * (y - 0.5)))
    for name, values in done.figures["figure_2"].data.items():  # its sample has that mean too
        assert found[name] == pytest.approx(values, rel=1e-9)
    binned, smooth = np.array(found["binned ECE"]), np.array(found["LS-ECE"])
    np.testing.assert_allclose(binned[0::2], 0.037, atol=1e-4)
    np.testing.assert_allclose(binned[1::2], 0.5, atol=2e-4)
    assert smooth[9:].min() > 0.037 - 1e-4 and smooth[9:].max() < 0.038
    assert f"{smooth[0]:.3f}" == "0.177" and f"{smooth[1]:.4f}" == "0.0999"
    draws = done.tables["figure_2"].columns
    assert draws["LS-ECE by draws"] == pytest.approx(draws["LS-ECE"], abs=5e-3)


def test_logit_smoothing_is_a_consistent_estimator(done) -> None:
    data = {k: np.array(v) for k, v in done.figures["convergence"].data.items()}
    assert true_error(1.0) == 0.0
    rng = np.random.default_rng(3)
    h = rng.normal(0, 2, 400_000)
    assert true_error(2.0) == pytest.approx(np.abs(expit(h / 2) - expit(h)).mean(), abs=4e-4)
    for world in ("overconfident", "calibrated"):
        here = data["world"] == world
        gaps = np.abs(data["LS-ECE"] - data["true ECE"])[here]
        assert gaps[-1] < 0.005 and gaps[-1] < gaps[0] / 10
        narrow = (data["LS-ECE at 1/n"] - data["true ECE"])[here]
        assert np.nanmin(narrow) > 0.2  # n sigma does not grow: no convergence


def test_without_data_figures_are_of_predictions_that_ship(done) -> None:
    assert {"figure_3", "figure_4"} <= set(done.figures)
    table = done.tables["predictors"].columns
    assert table["set"] == ["fashion"] * 3 + ["shirt"]
    fashion = examples.load("fashion")
    expected = cal.ece(fashion.test_labels, fashion.test_logits, bins=10, from_logits=True)
    assert table["binned ECE"][0] == pytest.approx(expected)
    assert "twice as wide" in done.errata[0].found


@pytest.fixture(scope="module")
def networks(tmp_path_factory, done) -> Reproduction:
    names = [
        "cifar10_resnet32",
        "cifar10_vgg16_bn",
        "cifar10_mobilenetv2_x1_0",
        "imagenet50k_top1_8models",
        "cifar10h_human_counts",
    ]
    if not all((FOLDER / f"{name}.npz").is_file() for name in names):
        pytest.skip("the networks are not at hand: CALIBRANT_DATA names the folder to look in")
    folder = tmp_path_factory.mktemp("networks")
    for name in names:
        shutil.copy(FOLDER / f"{name}.npz", folder)
    with pytest.MonkeyPatch.context() as patch:  # what needs no networks is there already
        for i, name in enumerate(SECTIONS):
            patch.setattr(logit_smoothing, f"_{name}_section", lambda *_, i=i: done.sections[i])
        return reproduce("logit-smoothing", data=folder, quick=True)


def test_errors_of_real_networks_tell_one_story(networks) -> None:
    gaps = networks.tables["differences"].columns
    values = np.array([gaps[name] for name in ("LS-ECE", "LS-ECE, uniform", "smECE")])
    assert np.isfinite(values).all() and (values >= 0).all()
    many = np.array(gaps["bins"]) > 1
    gaussian, uniform, smooth = values[:, many]
    assert gaussian.max() < 0.002 and uniform.max() < 0.01 and smooth.max() < 0.003
    # The uniform window is the narrower one at the same sigma, and keeps more noise.
    assert (gaussian < uniform).all()
    errors = np.array(networks.tables["curves"].columns["binned ECE"])
    assert ((errors > 0) & (errors < 0.2)).all()


def test_networks_on_the_same_labels_are_one_set(networks) -> None:
    table = networks.tables["predictors"].columns
    assert table["set"].count("cifar10") == 3
    assert table["set"].count("imagenet50k_top1_8models") == 8
    assert any("cifar10h_human_counts" in text for text in networks.sections[-1].paragraphs)
    assert {"figure_3", "figure_4", "figure_5"} <= set(networks.figures)
    need("matplotlib")
    for name in ("figure_3", "figure_4", "figure_5"):
        assert networks.figures[name].svg.startswith(b"<?xml")


class TestFolderOfPredictions:
    def save(self, folder: Path, name: str, **arrays: object) -> None:
        np.savez(folder / f"{name}.npz", **{k: np.asarray(v) for k, v in arrays.items()})

    def test_what_files_may_hold(self, tmp_path) -> None:
        self.save(tmp_path, "net_a", logits=[[1.0, 2.0], [0.0, -1.0]], labels=[1, 0])
        self.save(tmp_path, "net_b", probs=[[0.3, 0.7], [0.6, 0.4]], labels=[1, 0])
        self.save(tmp_path, "rain", prob=[0.2, 0.9, 0.4], outcome=[0.0, 1.0, 1.0])
        self.save(tmp_path, "many", x_conf=[0.9, 0.5], x_pred=[3, 4], labels=[3, 1])
        self.save(tmp_path, "other", counts=[1, 2])
        (tmp_path / "broken.npz").write_bytes(b"PK not a zip")
        found = read_predictions(tmp_path)
        assert {k: [p.name for p in v] for k, v in found.sets.items()} == {
            "many": ["x"],
            "net": ["net_a", "net_b"],
            "rain": ["rain"],
        }
        assert [p.from_logits for p in found.predictors] == [False, True, False, False]
        assert found.predictors[0].labels.tolist() == [True, False]
        assert set(found.left_out) == {"other.npz", "broken.npz"}

    def test_no_such_folder(self, tmp_path) -> None:
        with pytest.raises(InputError, match=r"data=.*is not a folder"):
            reproduce("logit-smoothing", data=tmp_path / "nowhere")

    @pytest.mark.parametrize("data", ["", 7])
    def test_no_name_of_a_folder(self, data) -> None:
        with pytest.raises(InputError, match="is not a folder"):
            reproduce("logit-smoothing", data=data)

    def test_values_that_are_no_predictions(self, tmp_path) -> None:
        self.save(tmp_path, "rain", prob=[0.2, 7.0], outcome=[0, 1])
        with pytest.raises(InputError, match=r"data: rain: y_proba\[1\] is 7"):
            reproduce("logit-smoothing", data=tmp_path)

    def test_nothing_to_read(self, tmp_path) -> None:
        with pytest.raises(InputError, match=r"no predictions that can be read.*no \.npz file"):
            reproduce("logit-smoothing", data=tmp_path)
        self.save(tmp_path, "other", counts=[1, 2])
        with pytest.raises(
            InputError, match=r"other\.npz: no predictions with labels: it has counts"
        ):
            reproduce("logit-smoothing", data=tmp_path)

    @pytest.mark.parametrize(
        "arrays",
        [
            {"logits": np.zeros((3, 2)), "labels": np.zeros(4)},
            {"x_conf": np.zeros(3), "x_pred": np.zeros(3), "labels": np.zeros(4)},
            {"probs": np.zeros((0, 2)), "labels": np.zeros(0)},
        ],
    )
    def test_rows_that_do_not_fit(self, tmp_path, arrays) -> None:
        self.save(tmp_path, "net", **arrays)
        with pytest.raises(InputError, match=r"net\.npz: .* rows and 'labels' has [04]"):
            reproduce("logit-smoothing", data=tmp_path)

    def test_shapes_that_do_not_fit(self, tmp_path) -> None:
        self.save(tmp_path, "net", probs=np.zeros((2, 2, 2)), labels=[0, 1])
        with pytest.raises(InputError, match="must be"):
            reproduce("logit-smoothing", data=tmp_path)


def test_ece_jumps_where_a_value_hides_gaps_of_either_sign(done) -> None:
    """Theorems 3.8 and 3.10: continuous just where ECE is the mean gap, and never lower nearby."""
    found = done.tables["jumps"].columns
    assert found["ECE"] == pytest.approx([0.0875, 0.2, 0.025, 0.0])
    assert found["mean |g* - g|"] == pytest.approx([0.0875, 0.2, 0.1, 0.2])
    for error, gap, moved in zip(
        found["ECE"], found["mean |g* - g|"], found["moved by 1e-08"], strict=True
    ):
        low, high = map(float, moved.split(" to "))
        assert low == high == round(gap, 4) >= round(error, 4)


def test_rounding_makes_predictors_at_which_ece_jumps(done) -> None:
    """Corollary 3.4: of predictions without a tie none is one."""
    found = done.tables["discontinuities"].columns
    assert found["as drawn"] == [0.0, 0.0, 0.0]
    assert found["three digits"][-1] > 0.7 and found["one digit"][-1] == 1.0


def test_the_estimate_is_as_near_as_the_root_of_n_sigma(done) -> None:
    """Theorem 5.3, against an integral that a large sample meets."""
    found = done.tables["estimation"].columns
    for name in list(found)[2:]:
        scaled = [float(text.rstrip(")").split()[-1]) for text in found[name]]
        assert all(0.02 < value < 0.6 for value in scaled), name
    rng = np.random.default_rng(9)
    h = rng.normal(0, 2.0, 400_000)
    y = (rng.random(h.size) < 1 / (1 + np.exp(-h / 2))).astype(int)
    for sigma, true in zip(found["sigma"], found["true LS-ECE"], strict=True):
        assert cal.ls_ece(y, h, sigma=sigma, from_logits=True) == pytest.approx(true, abs=2e-3)
