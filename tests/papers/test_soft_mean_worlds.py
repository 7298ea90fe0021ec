"""The experiments of Leznik (2026) in other worlds: right posteriors, and tables that follow."""

import re

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import calibrant as cal
from calibrant import reproduce
from calibrant._research.papers.soft_mean_worlds import World, errors_of
from cli.command import run

WORLDS = [
    World(inputs="gaussian"),
    World(inputs="gaussian", sd=2.0),
    World(inputs="gaussian", sd=0.5, dimensions=4),
    World(inputs="gaussian", dimensions=3),
]


@pytest.mark.parametrize("world", WORLDS, ids=str)
@pytest.mark.parametrize("k", [0.5, 2.0])
def test_classes_are_as_frequent_as_the_posterior_says(world, k):
    """Inputs are drawn from the classes, so that outcomes know nothing of the formula."""
    sample, y = world.draw(np.random.default_rng(1), k, 200_000)
    order = np.argsort(sample.posterior)
    for rows in np.array_split(order, 20):
        p = sample.posterior[rows]
        error = (y[rows] - p).sum() / np.sqrt((p * (1 - p)).sum() + 1e-9)
        assert abs(error) < 4.5


@pytest.mark.parametrize("world", [*WORLDS, World(sd=3.0, dimensions=2)], ids=str)
def test_log_odds_are_those_of_the_densities(world):
    x = np.random.default_rng(2).normal(size=(50, world.dimensions))
    m = world.mean(1.5)
    assert np.linalg.norm(m) == pytest.approx(0.75)
    one = multivariate_normal(m, world.sd**2 * np.eye(world.dimensions)).logpdf(x)
    zero = multivariate_normal(-m, np.eye(world.dimensions)).logpdf(x)
    np.testing.assert_allclose(world.log_odds(x, 1.5), one - zero, atol=1e-9)


def test_the_paper_s_world_is_the_default():
    x = np.linspace(-3, 3, 21)
    np.testing.assert_allclose(World().log_odds(x[:, None], 2.0), 2 * x, atol=1e-12)
    sample, y = World().draw(np.random.default_rng(3), 2.0, 20_000)
    assert (sample.thresholded == (sample.posterior > 0.5)).all() and set(y) == {0.0, 1.0}
    found = errors_of(World(), np.random.default_rng(4), 2.0, 20_000)
    # Population values: those of the printed tables, with the last bin closed.
    np.testing.assert_allclose(found["SMECE"], [0, 0.076, 0.137, 0.110, 0.25], atol=0.01)
    np.testing.assert_allclose(found["ECE"], [0.116, 0.040, 0.253, 0.157, 0.25], atol=0.015)


def test_labels_are_thresholded_at_tau():
    world = World(tau=0.7)
    sample, _ = world.draw(np.random.default_rng(5), 1.0, 2000)
    assert (sample.thresholded == (sample.posterior > 0.7)).all()
    found = errors_of(world, np.random.default_rng(5), 1.0, 2000)
    own = cal.ece((sample.posterior > 0.7).astype(int), sample.posterior, bins=10)
    assert found["ECE"][0] == pytest.approx(own, abs=1e-12) and own > 0.2
    # Half of the posteriors are above 1/2, and fewer above 0.7.
    assert 0.3 < sample.thresholded.mean() < 0.45


def test_smece_puts_the_posterior_first_and_thresholds_do_not():
    done = reproduce("soft-mean", quick=True, tau=0.55, sd=1.5)
    ranks = done.tables["ranks"].columns
    assert ranks["target"][0] == ranks["target"][1] == "SMECE"
    assert ranks["world"] == ["this", "the paper's"] * 3
    smece, known, ece = ([ranks[name][row] for name in list(ranks)[2:]] for row in range(3))
    assert all(each.startswith("A") for each in smece)
    assert not any(each.startswith("A ") for each in ece)
    errors = done.tables["smece"].columns
    assert errors["model"][0].startswith("A") and errors["k = 1"][0] == "0.0000"
    orders = sorted(zip(map(float, errors["k = 1"]), "ABCDE", strict=True))
    assert [name for _, name in orders] == smece[1].split()
    same = sum(a == b for a, b in zip(smece, known, strict=True))
    words = " ".join(done.sections[0].paragraphs)
    assert (
        f"(against the posterior) ranks the models as in the paper's world at {same} of 6" in words
    )
    assert "--tau 0.55 --sd 1.5 --seed 42 --quick" in done.recipe["command"]
    shares = done.tables["ranking"].columns
    assert shares["target"] == ["SMECE", "ECE", "ECE on outcomes"]
    assert float(shares["k = 2"][0]) > float(shares["k = 2"][1])


def test_models_that_are_all_but_hard_are_tied():
    """At k = 50 and with a wide class 1, every model predicts 1: there is nothing to rank."""
    ranks = reproduce("soft-mean", quick=True, sd=2.0).tables["ranks"].columns
    assert ranks["k = 50"][0] == "A=B=C=D E"


def test_the_command_takes_the_options(tmp_path):
    options = ("--inputs", "gaussian", "--dimensions", "2", "--quick")
    done = run("reproduce", "soft-mean", *options, cwd=tmp_path)
    assert "x is drawn from the classes in 2 dimensions" in done.stdout.replace("\n", " ")
    for more, words in (
        (("soft-mean", "--tau", "2"), "between 0 and 1"),
        (("soft-mean", "--sd", "-1"), "sd must be a number from 0.1 to 10"),
        (("truthful", "--tau", "0.4"), "an option only of 'soft-mean'"),
    ):
        assert words in run("reproduce", *more, cwd=tmp_path).stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tau": 1.0}, "tau must be a number between 0 and 1"),
        ({"sd": 0.0}, "sd must be a number from 0.1 to 10"),
        ({"dimensions": 0}, "dimensions must be a whole number, at least 1"),
        ({"dimensions": 2000}, "at most 1000"),
        ({"inputs": "cauchy"}, "inputs='cauchy' is not known"),
    ],
)
def test_options_out_of_range_are_errors(options, message):
    with pytest.raises(cal.InputError, match=re.escape(message)):
        reproduce("soft-mean", **options)
