"""The torchmetrics metric: the catalogue's numbers, in constant memory, summed across processes."""

from __future__ import annotations

import multiprocessing
import pickle
import sys
import warnings
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError, StateError, UnknownOption
from every_engine import engine
from needs import failed_examples, message_without, need

torch = need("torch")


@pytest.fixture(scope="module", autouse=True)
def _late_imports():
    """Every process collects this file and one runs it: the package is imported then."""
    global torchmetrics, CalibrationMetric
    torchmetrics = need("torchmetrics")
    from calibrant.integrations.torchmetrics import CalibrationMetric


N, K, PARTS = 800, 5, 8
DRAW = torch.Generator().manual_seed(4)
LOGITS = 2 * torch.randn(N, K, generator=DRAW)
ROWS = LOGITS.double().softmax(dim=1)
LABELS = torch.multinomial(ROWS, 1, generator=DRAW)[:, 0]
SOFT = 0.5 * ROWS + 0.5 * torch.randn(N, K, generator=DRAW).double().softmax(dim=1)
REPORTS = torch.rand(N, generator=DRAW, dtype=torch.float64)
OUTCOMES = (torch.rand(N, generator=DRAW) < REPORTS).long()
WEIGHTS = torch.rand(N, generator=DRAW)

# What a stream has exactly, whatever the data: measures of bins and losses.
EXACT = ["ece", "rmsce", "mce", "brier", "log_loss", "spherical_loss", "classification_error"]
PROBLEMS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "binary": (REPORTS, OUTCOMES, {}),
    "rows": (ROWS, LABELS, {"num_classes": K}),
    "soft rows": (ROWS, SOFT, {"num_classes": K}),
    "logits": (LOGITS, LABELS, {"num_classes": K, "from_logits": True}),
    "half logits": (LOGITS.half(), LABELS, {"num_classes": K, "from_logits": True}),
    "bfloat16 logits": (LOGITS.bfloat16(), LABELS, {"num_classes": K, "from_logits": True}),
    "right-closed bins": (ROWS, LABELS, {"num_classes": K, "bins": cal.EqualWidth(10, "right")}),
}
every_problem = pytest.mark.parametrize("name", PROBLEMS)


def parts(*tensors: Any) -> Any:
    ends = np.linspace(0, N, PARTS + 1).astype(int)
    for start, stop in pairwise(ends):
        yield tuple(values[start:stop] for values in tensors)


def fed(metric: Any, preds: Any, target: Any) -> Any:
    for part in parts(preds, target):
        metric.update(*part)
    return metric


def whole(preds: Any, target: Any, options: dict[str, Any], measures: list[str]) -> Any:
    rest = {name: value for name, value in options.items() if name != "num_classes"}
    return cal.evaluate(target, preds, measures=measures, **rest)


@every_problem
@pytest.mark.parametrize("engine_name", ["native", "torch"])
def test_values_are_those_of_evaluate(name, engine_name):
    preds, target, options = PROBLEMS[name]
    measures = [*EXACT, "ls_ece", "smooth_ece"]
    measures += ["classwise_ece"] if "num_classes" in options else []
    expected = whole(preds, target, options, measures)
    with engine(engine_name):
        found = fed(CalibrationMetric(measures, **options), preds, target).compute()
    assert list(found) == measures
    for measure in EXACT:
        assert found[measure].item() == pytest.approx(expected[measure], rel=1e-12), measure
        assert found[measure].dtype == torch.float64 and found[measure].shape == ()
    for measure in set(measures) - set(EXACT):
        assert found[measure].item() == pytest.approx(expected[measure], rel=1e-6), measure


FROM_CELLS = ("debiased_l2", "confidence_ce", "confidence_ce_uncorrected")
# What needs the predictions in order has a value from fine cells.
FROM_CELLS += tuple(
    m.name for m in cal.catalogue("multiclass") if m.statistic == "levels" and m.needs_order
)


@pytest.mark.parametrize("measure", [m.name for m in cal.catalogue("multiclass")])
def test_every_measure_is_there_or_refused(measure):
    expected = cal.evaluate(SOFT, ROWS, measures=[measure])[measure]
    if measure in ("ace", "tace", "lin_ce", "classwise_ce", *FROM_CELLS):
        with pytest.raises(InputError, match="needs the rows"):
            CalibrationMetric(measure, num_classes=K)
        if measure not in FROM_CELLS:
            return
        metric = fed(CalibrationMetric(measure, num_classes=K, approximate=True), ROWS, SOFT)
        assert metric.compute().item() == pytest.approx(expected, rel=1e-2, abs=3e-3)
        return
    metric = fed(CalibrationMetric(measure, num_classes=K), ROWS, SOFT)
    rel = 1e-6 if measure in ("ls_ece", "smooth_ece") else 1e-12
    assert metric.compute().item() == pytest.approx(expected, rel=rel)


@pytest.mark.parametrize("n_updates", [1, 2, 4, 5, 8])
def test_labels_stay_soft_whatever_the_number_of_updates(n_updates):
    metric = CalibrationMetric("ece", num_classes=K)
    for part in range(n_updates):
        metric.update(ROWS[part::n_updates], SOFT[part::n_updates])
    assert metric.accumulator().soft
    assert (
        metric.accumulator().evaluate().inferred
        == cal.Accumulator().update(SOFT, ROWS).evaluate().inferred
    )


def test_weights_missing_rows_and_ignored_ones():
    metric = CalibrationMetric("ece")
    for preds, target, weight in parts(REPORTS, OUTCOMES, WEIGHTS):
        metric.update(preds, target, sample_weight=weight)
    expected = cal.ece(OUTCOMES, REPORTS, sample_weight=WEIGHTS)
    assert metric.compute().item() == pytest.approx(expected, rel=1e-12)

    holed = REPORTS.clone()
    holed[::7] = torch.nan
    kept = ~holed.isnan()
    metric = fed(CalibrationMetric("ece", missing="drop"), holed, OUTCOMES)
    expected = cal.ece(OUTCOMES[kept], REPORTS[kept])
    assert metric.compute().item() == pytest.approx(expected, rel=1e-12)
    assert metric.accumulator().n_missing == int((~kept).sum())

    padded = LABELS.clone()
    padded[::3] = -100
    padded[:150] = -100  # a whole batch of nothing else
    kept = padded != -100
    metric = fed(CalibrationMetric("ece", num_classes=K, ignore_index=-100), ROWS, padded)
    expected = cal.ece(LABELS[kept], ROWS[kept])
    assert metric.compute().item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("norm", ["l1", "l2", "max"])
def test_agrees_with_the_metrics_of_torchmetrics(norm):
    """Away from edges and with their float32, the same bins and the same formula."""
    from torchmetrics.classification import BinaryCalibrationError, MulticlassCalibrationError

    measure = {"l1": "ece", "l2": "rmsce", "max": "mce"}[norm]
    theirs = fed(MulticlassCalibrationError(num_classes=K, n_bins=15, norm=norm), ROWS, LABELS)
    mine = fed(CalibrationMetric(measure, num_classes=K), ROWS, LABELS)
    assert mine.compute().item() == pytest.approx(theirs.compute().item(), rel=1e-5)
    if norm == "l1":  # theirs of logits, which it guesses from the range
        theirs = fed(MulticlassCalibrationError(num_classes=K, n_bins=15), LOGITS, LABELS)
        mine = fed(CalibrationMetric(num_classes=K, from_logits=True), LOGITS, LABELS)
        assert mine.compute().item() == pytest.approx(theirs.compute().item(), rel=1e-5)
    theirs = fed(BinaryCalibrationError(n_bins=15, norm=norm), REPORTS, OUTCOMES)
    mine = fed(CalibrationMetric(measure), REPORTS, OUTCOMES)
    assert mine.compute().item() == pytest.approx(theirs.compute().item(), rel=1e-5)


# --- a Metric like others -------------------------------------------------------------------------


@every_problem
def test_forward_gives_the_batch_and_keeps_the_whole(name):
    preds, target, options = PROBLEMS[name]
    metric = CalibrationMetric("ece", **options)
    for batch in parts(preds, target):
        expected = whole(*batch, options, ["ece"])["ece"]
        assert metric(*batch).item() == pytest.approx(expected, rel=1e-12)
    expected = whole(preds, target, options, ["ece"])["ece"]
    assert metric.compute().item() == pytest.approx(expected, rel=1e-12)
    metric.reset()
    with pytest.warns(UserWarning, match="before the ``update``"):
        assert metric.compute().isnan()
    fed(metric, preds, target)
    assert metric.compute().item() == pytest.approx(expected, rel=1e-12)


def test_memory_does_not_grow():
    metric = CalibrationMetric(["ece", "brier", "classwise_ece"], num_classes=K)
    sizes = []
    for batch in parts(ROWS, LABELS):
        metric.update(*batch)
        sizes.append(sum(getattr(metric, name).numel() for name in metric._defaults))
    assert len(set(sizes)) == 1 and sizes[0] < 1000


def test_what_torchmetrics_asks_of_a_metric():
    assert CalibrationMetric("ece").higher_is_better is False
    assert CalibrationMetric("rank_cs").higher_is_better is True
    assert CalibrationMetric(["ece", "rank_cs"]).higher_is_better is None
    metric = CalibrationMetric("ece")
    assert metric.is_differentiable is False and metric.full_state_update is False
    tracker = torchmetrics.wrappers.MetricTracker(metric)
    for shift in (0.3, 0.0, 0.2):
        tracker.increment()
        tracker.update((REPORTS + shift).clamp(0, 1), OUTCOMES)
    best, step = tracker.best_metric(return_step=True)
    assert step == 1 and best == pytest.approx(cal.ece(OUTCOMES, REPORTS))


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.half(),
        lambda m: m.float(),
        lambda m: m.to(torch.bfloat16),
        lambda m: m.set_dtype(torch.float16),
        lambda m: torch.nn.ModuleList([m]).half()[0],
        lambda m: m.to("cpu"),
        lambda m: pickle.loads(pickle.dumps(m)),
        lambda m: m.clone(),
    ],
)
def test_states_stay_float64_and_whole(change):
    metric = fed(CalibrationMetric("ece", num_classes=K), ROWS, LABELS)
    before = metric.cells.clone()
    changed = change(metric)
    assert changed.cells.dtype == torch.float64 and torch.equal(changed.cells, before)
    fed(changed, ROWS, LABELS)
    assert torch.equal(changed.cells[:, 0], 2 * before[:, 0])
    changed.reset()
    assert changed.cells.dtype == torch.float64 and not changed.cells.any()


def test_states_are_moved_with_the_metric():
    metric = CalibrationMetric("ece", num_classes=K).to("meta")
    assert metric.cells.device.type == "meta" and metric.device.type == "meta"


def test_a_device_without_float64_leaves_the_states_on_the_host(monkeypatch):
    from calibrant.integrations import torchmetrics as module

    monkeypatch.setattr(module, "holds_float64", lambda device: device.type == "cpu")
    metric = fed(CalibrationMetric("ece", num_classes=K), ROWS, LABELS).to("meta")
    assert metric.device.type == "meta" and metric.cells.device.type == "cpu"
    assert metric.compute().item() == pytest.approx(cal.ece(LABELS, ROWS), rel=1e-12)


def test_state_dict():
    metric = fed(CalibrationMetric("ece", num_classes=K), ROWS, LABELS)
    assert not metric.state_dict()
    metric.persistent(True)
    saved = metric.state_dict()
    other = CalibrationMetric("ece", num_classes=K)
    other.load_state_dict(saved)
    assert torch.equal(other.cells, metric.cells)
    fed(other, ROWS, LABELS)
    assert other.accumulator().n_rows == 2 * N
    different = CalibrationMetric("ece", num_classes=K, bins=cal.EqualWidth(15, "right"))
    different.load_state_dict(metric.state_dict())
    different.update(ROWS, LABELS)
    with pytest.raises(StateError, match="other options"):
        different.compute()


@pytest.mark.parametrize("bins", [7, cal.EqualWidth(15, "right")])
def test_states_of_other_options_are_not_merged(bins):
    metric = fed(CalibrationMetric("ece", num_classes=K), ROWS, LABELS)
    metric.merge_state(fed(CalibrationMetric("ece", num_classes=np.int64(K)), ROWS, LABELS))
    assert metric.accumulator().n_rows == 2 * N
    other = fed(CalibrationMetric("ece", num_classes=K, bins=bins), ROWS, LABELS)
    for state in (other, other.metric_state):
        with pytest.raises(StateError, match="other options"):
            metric.merge_state(state)
    assert metric.accumulator().n_rows == 2 * N


def test_names_cannot_be_ignored_by_a_number():
    metric = CalibrationMetric("ece", num_classes=2, classes=["a", "b"], ignore_index=-100)
    with pytest.raises(InputError, match=r"target cannot be read as a tensor.*class indices"):
        metric.update(torch.tensor([[0.5, 0.5]]), ["a"])


def test_a_collection_shares_states_of_one_recipe_only():
    """Two metrics whose first batch looks alike must not share what comes later."""
    left, right = cal.EqualWidth(10), cal.EqualWidth(10, "right")
    made = {
        "ece": CalibrationMetric("ece", bins=left),
        "mce": CalibrationMetric("mce", bins=left),
        "right": CalibrationMetric("ece", bins=right),
    }
    collection = torchmetrics.MetricCollection(made)
    inside, outcomes = REPORTS[:100] * 0.09 + 0.005, OUTCOMES[:100]
    on_edges = torch.tensor([0.3, 0.25, 0.35, 0.7, 0.75], dtype=torch.float64)
    happened = torch.tensor([0, 1, 1, 1, 0])
    collection.update(inside, outcomes)
    assert sorted(sorted(group) for group in collection.compute_groups.values()) == [
        ["ece", "mce"],
        ["right"],
    ]
    collection.update(on_edges, happened)
    preds, target = torch.cat([inside, on_edges]), torch.cat([outcomes, happened])
    found = collection.compute()
    assert found["ece"].item() == pytest.approx(cal.ece(target, preds, bins=left))
    assert found["mce"].item() == pytest.approx(cal.ece(target, preds, bins=left, norm="max"))
    assert found["right"].item() == pytest.approx(cal.ece(target, preds, bins=right))
    assert cal.ece(target, preds, bins=left) != cal.ece(target, preds, bins=right)


def test_the_accumulator_behind_it_can_be_saved_and_evaluated(tmp_path):
    metric = fed(CalibrationMetric(["ece", "log_loss"], num_classes=K), ROWS, LABELS)
    stream = metric.accumulator()
    stream.save(tmp_path / "epoch.state")
    loaded = cal.Accumulator.load(tmp_path / "epoch.state")
    assert loaded.n_rows == N and loaded.evaluate()["ece"] == metric.compute()["ece"].item()
    assert CalibrationMetric("ece").accumulator().n_rows == 0


# --- what is refused ------------------------------------------------------------------------------


def test_mistakes_are_named():
    with pytest.raises(UnknownOption, match="did you mean 'num_classes'"):
        CalibrationMetric("ece", n_classes=3)
    with pytest.raises(InputError, match="did you mean 'ece'"):
        CalibrationMetric("ecee")
    with pytest.raises(InputError, match="fixed in advance"):
        CalibrationMetric("ece", bins=cal.Quantile(10))
    for wrong in (0, -1, True, "2", 2.0):
        with pytest.raises(InputError, match="num_classes"):
            CalibrationMetric("ece", num_classes=wrong)
    with pytest.raises(InputError, match="not defined for binary"):
        CalibrationMetric("classwise_ece")


def test_bad_batches_are_told_in_torchmetrics_words_and_leave_no_trace():
    metric = CalibrationMetric("ece", num_classes=K)
    metric.update(ROWS, LABELS)
    before = metric.cells.clone()
    bad = ROWS.clone()
    bad[3, 1] = torch.nan
    with pytest.raises(InputError, match=r"preds\[3, 1\] is nan"):
        metric.update(bad, LABELS)
    with pytest.raises(InputError, match=r"target\[0\] is 7"):
        metric.update(ROWS, torch.full((N,), 7))
    with pytest.raises(InputError, match="4 columns; this metric was made with num_classes=5"):
        metric.update(torch.full((8, 4), 0.25), torch.zeros(8, dtype=torch.long))
    with pytest.raises(InputError, match=r"the shape \(n,\); this metric was made with"):
        metric.update(REPORTS, OUTCOMES)
    assert torch.equal(metric.cells, before)


def test_a_missing_package_is_named(monkeypatch):
    message = message_without("torchmetrics", "calibrant.integrations.torchmetrics", monkeypatch)
    assert "'torchmetrics'" in message and "(the extra '" in message


def test_the_examples_run():
    from calibrant.integrations import torchmetrics as module

    assert failed_examples(module) == 0


# --- across processes -----------------------------------------------------------------------------

SYNCED = {
    "binary": (["ece", "brier", "ks_error", "smooth_ece"], {"approximate": True}),
    "rows": (["ece", "classwise_ece", "log_loss"], {"num_classes": K}),
    "soft rows": (["ece", "dist_ce"], {"num_classes": K}),
}


def work(rank: int, size: int, folder: str) -> None:
    """One process: its share of the batches, then the value of all and this process's states."""
    if rank:
        torch.set_num_threads(1)  # a copy of a process has none of its threads to wait for
    torch.distributed.init_process_group(
        "gloo",
        init_method=f"file://{folder}/meet",
        rank=rank,
        world_size=size,
        timeout=timedelta(minutes=5),  # where the other has failed
    )
    from calibrant.integrations.torchmetrics import CalibrationMetric

    out = {}
    for name, (measures, options) in SYNCED.items():
        preds, target, _ = PROBLEMS[name]
        metric = CalibrationMetric(measures, **options)
        for batch in list(parts(preds, target))[rank::size]:
            metric.update(*batch)
        with metric.sync_context():
            states = {state: getattr(metric, state).clone() for state in metric._defaults}
        out[name] = states, metric.compute(), metric.accumulator().n_rows
    torch.save(out, Path(folder) / f"rank{rank}.pt")
    torch.distributed.destroy_process_group()


def test_two_processes_count_as_one(tmp_path):
    # This one has imported everything, which takes a process seconds: where that is safe, the other
    # is a copy of it.
    how = "fork" if sys.platform == "linux" else "spawn"
    other = multiprocessing.get_context(how).Process(target=work, args=(1, 2, str(tmp_path)))
    other.start()
    work(0, 2, str(tmp_path))
    other.join()
    assert other.exitcode == 0
    for rank in range(2):
        found = torch.load(tmp_path / f"rank{rank}.pt", weights_only=True)
        for name, (measures, options) in SYNCED.items():
            preds, target, _ = PROBLEMS[name]
            one = fed(CalibrationMetric(measures, **options), preds, target)
            states, values, own_rows = found[name]
            assert own_rows == N // 2  # unsynced again
            for table in ("cells", "classwise"):
                if table in states:
                    counts = states[table][..., 0], getattr(one, table)[..., 0]
                    assert torch.equal(*counts) and counts[0].sum() > 0
            assert torch.equal(states["counts"], one.counts)
            for state, expected in one.metric_state.items():
                np.testing.assert_allclose(states[state], expected, rtol=1e-12, atol=1e-10)
            for measure, expected in one.compute().items():
                assert values[measure].item() == pytest.approx(expected.item(), rel=1e-12), measure


def test_no_warning_on_the_way():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fed(CalibrationMetric("ece", num_classes=K), ROWS, LABELS).compute()


def test_the_order_of_arguments_is_told_as_torchmetrics_has_it():
    metric = CalibrationMetric("ece")
    with pytest.raises(InputError, match=r"the order is \(preds, target\)"):
        metric.update(torch.tensor([0.2, 0.7]), torch.tensor([[0.2, 0.8], [0.7, 0.3]]))
