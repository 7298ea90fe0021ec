"""Large tensors on an accelerator: intervals, verdicts, checks and comparisons from sums that are
taken there. Here the CPU stands in for the device; the benchmark runs the same on one.
"""

import sys

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError
from calibrant._data.arrays import is_summed_on_device
from calibrant._data.tensor_samples import TensorSamples
from calibrant._engines.cells import pooled_groups
from every_engine import settings
from needs import need
from rivals import sigmoid

torch = need("torch")
N = 4000


@pytest.fixture
def on_device(monkeypatch):
    """Every tensor counts as large and on a device, and no rows may come to the host."""

    def refuse(samples):
        raise AssertionError("rows were copied to the host")

    for name, module in list(sys.modules.items()):
        if name.startswith("calibrant") and hasattr(module, "is_summed_on_device"):
            monkeypatch.setattr(module, "is_summed_on_device", torch.is_tensor)
    import calibrant._api.tensor_predictor as predictor

    monkeypatch.setattr(predictor, "is_summed_on_device", torch.is_tensor)
    monkeypatch.setattr(TensorSamples, "in_memory", refuse)
    with settings("torch"):
        yield


def rows(seed=0):
    rng = np.random.default_rng((23, seed))
    group = np.repeat(np.arange(N // 10), 10)
    h = rng.normal(0, 1.2, N) + rng.normal(0, 0.4, N // 10)[group]
    p, other = sigmoid(1.4 * h), sigmoid(1.1 * h + rng.normal(0, 0.2, N))
    y = (rng.random(N) < sigmoid(h)).astype(np.int64)
    weight = rng.choice([1.0, 2.0], N)
    soft = rng.choice([0.0, 0.25, 0.9, 1.0], N, p=[0.4, 0.1, 0.1, 0.4])
    return {"y": y, "soft": soft, "p": p, "other": other, "g": group, "w": weight}


def tensors(columns):
    return {name: torch.tensor(column) for name, column in columns.items()}


OPTIONS = [{}, {"groups": "g"}, {"sample_weight": "w"}, {"groups": "g", "sample_weight": "w"}]


def both(columns, options):
    """The options with arrays, and with tensors."""
    here = tensors(columns)
    return [{k: each[name] for k, name in options.items()} for each in (columns, here)]


def assert_alike(found, known, share=0.02):
    width = known.high - known.low
    assert found.low == pytest.approx(known.low, abs=share * width)
    assert found.high == pytest.approx(known.high, abs=share * width)


@pytest.mark.parametrize("label", ["y", "soft"])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_intervals_of_tensors_are_those_of_rows(on_device, options, label):
    columns = rows()
    here, (known, given) = tensors(columns), both(columns, options)
    for measure in ("ece", "brier", "lin_ce"):
        first = cal.interval(columns[label], columns["p"], measure=measure, **known)
        found = cal.interval(here[label], here["p"], measure=measure, **given)
        assert found.value == pytest.approx(first.value, abs=1e-12)
        assert_alike(found, first)
    first = cal.noise_floor(columns[label], columns["p"], **known)
    found = cal.noise_floor(here[label], here["p"], **given)
    assert (found.value, found.upper) == pytest.approx((first.value, first.upper), rel=0.05)
    first = cal.verdict(columns[label], columns["p"], **known)
    found = cal.verdict(here[label], here["p"], **given)
    assert (found.verdict, found.decided_by) == (first.verdict, first.decided_by)
    evaluated = cal.evaluate(
        here[label], here["p"], measures=["ece", "brier"], uncertainty=True, **given
    )
    wanted = cal.evaluate(
        columns[label], columns["p"], measures=["ece", "brier"], uncertainty=True, **known
    )
    for name in ("ece", "brier"):
        assert_alike(evaluated.estimate(name).interval, wanted.estimate(name).interval)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_checks_of_tensors_are_those_of_rows(on_device, options):
    columns = rows()
    here, (known, given) = tensors(columns), both(columns, options)
    limits = {
        "at_most": {"ece": 0.045, "brier": 0.5, "slope": 0.9},
        "max_increase": {"ece": 0.0, "brier": 0.01},
    }
    first = cal.check(columns["y"], columns["p"], baseline=columns["other"], **limits, **known)
    found = cal.check(here["y"], here["p"], baseline=here["other"], **limits, **given)
    assert (found.verdict, found.notes) == (first.verdict, first.notes)
    for one, other in zip(first, found, strict=True):
        assert (other.limit, other.verdict, other.n) == (one.limit, one.verdict, one.n)
        # A slope is fitted to cells of nearly equal predictions.
        near = 1e-4 if one.limit.measure == "slope" else 1e-9
        assert other.value == pytest.approx(one.value, rel=near)
        assert_alike(other.interval, one.interval, 0.04)
    values = cal.check(here["y"], here["p"], at_most={"ece": 0.045}, point=True)
    assert values.rows[0].value == pytest.approx(cal.ece(columns["y"], columns["p"]), abs=1e-12)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_comparisons_of_tensors_are_those_of_rows(on_device, options):
    columns = rows()
    here, (known, given) = tensors(columns), both(columns, options)
    models = ("p", "other")
    measures = ["ece", "brier", "lin_ce", "smooth_ece"]
    first = cal.compare(columns["y"], {m: columns[m] for m in models}, measures=measures, **known)
    found = cal.compare(here["y"], {m: here[m] for m in models}, measures=measures, **given)
    np.testing.assert_allclose(found.values, first.values, rtol=1e-9)
    for measure in measures:
        # Other draws: from seed to seed a limit of smooth_ece varies by 7 % of the width.
        share = 0.25 if measure == "smooth_ece" else 0.05
        assert_alike(
            found.difference("p", "other", measure), first.difference("p", "other", measure), share
        )
    assert found.recipe["grouped"] == ("groups" in options)


def test_comparisons_of_top_labels_leave_out_what_needs_classes(on_device):
    rng = np.random.default_rng(3)
    logits = rng.normal(0, 2, (N, 4))
    y = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    first, second = (torch.tensor(scale * logits) for scale in (1.0, 1.6))
    pair = {"right": first, "sharp": second}
    found = cal.compare(torch.tensor(y), pair, from_logits=True)
    assert "top_label_ece" not in found.measures
    assert any("it needs every class of each row" in note for note in found.notes)
    known = cal.compare(
        y, {name: each.numpy() for name, each in pair.items()}, from_logits=True, measures=["ece"]
    )
    one, other = (each.difference("sharp", "right", "ece") for each in (known, found))
    assert_alike(other, one, 0.05)


def test_what_sums_do_not_tell_is_computed_of_rows(on_device, monkeypatch):
    monkeypatch.undo()  # rows may come to the host
    rng = np.random.default_rng(5)
    p = rng.dirichlet([1, 1, 1], 600)
    y = np.array([rng.choice(3, p=each) for each in p])
    import calibrant._api.tensor_predictor as predictor
    from calibrant._api.metrics import uncertainty

    for module in (predictor, uncertainty):
        monkeypatch.setattr(module, "is_summed_on_device", torch.is_tensor)
    cells = cal.Cells(np.arange(600) % 7)
    known, found = (cal.interval(*each, bins=cells) for each in ((y, p), map(torch.tensor, (y, p))))
    assert (found.low, found.high) == (known.low, known.high)
    known = cal.interval(y, p, measure="classwise_ece")
    found = cal.interval(torch.tensor(y), torch.tensor(p), measure="classwise_ece")
    assert (found.low, found.high) == (known.low, known.high)


def test_many_clusters_are_put_together_into_blocks(on_device, monkeypatch):
    import calibrant._engines.tensors.pooled as pooled

    columns = rows()
    here = tensors(columns)
    pairs = torch.arange(N) // 4  # 1,000 clusters
    known = cal.interval(columns["y"], columns["p"], groups=pairs.numpy())
    monkeypatch.setattr(pooled, "MOST_GROUPS", 100)
    sizes = []
    monkeypatch.setattr(
        pooled, "pooled_groups", lambda *sums: sizes.append(sums[3].max()) or pooled_groups(*sums)
    )
    found = cal.interval(here["y"], here["p"], groups=pairs)
    assert sizes == [pooled.BLOCKS - 1]
    # 512 blocks know a standard error to 3 %.
    assert_alike(found, known, 0.1)


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        (torch.zeros(N, dtype=torch.int64), "at least two groups"),
        (torch.arange(N - 1), "a group for each of the"),
        (torch.full((N,), torch.nan), "groups is missing"),
    ],
    ids=["one", "short", "missing"],
)
def test_wrong_clusters_are_refused_as_of_rows(on_device, groups, words):
    here = tensors(rows())
    with pytest.raises(InputError, match=words):
        cal.interval(here["y"], here["p"], groups=groups)


def test_names_of_clusters_may_lie_on_the_host(on_device):
    columns = rows()
    here = tensors(columns)
    names = np.array([f"user {g}" for g in columns["g"]])
    one, other = (cal.interval(here["y"], here["p"], groups=g) for g in (here["g"], names))
    assert (one.low, one.high) == pytest.approx((other.low, other.high), rel=0.02)


def test_small_tensors_of_an_accelerator_are_copied():
    sizes = {1000: False, 2_000_000: True}
    assert {n: is_summed_on_device(torch.empty(n, device="meta")) for n in sizes} == sizes
