"""Losses for training: the library's own numbers, with gradients as finite differences have."""

from __future__ import annotations

import math
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

import calibrant as cal
from needs import need

torch = need("torch")
losses = cal.losses

# Each loss with what the library calls it.
SAME = {
    "ls_ece": (losses.ls_ece_loss, cal.ls_ece, [{}, {"sigma": 0.03}, {"sigma": 2.5}]),
    "smooth_ece": (losses.smooth_ece_loss, cal.smooth_ece, [{"sigma": s} for s in (0.004, 0.1, 1)]),
    "atb": (losses.atb_loss, cal.atb, [{}, {"norm": "l1"}, {"root": True}]),
}
CASES = [(name, options) for name, (_, _, many) in SAME.items() for options in many]
EVERY = [
    (losses.ls_ece_loss, {}),
    (losses.smooth_ece_loss, {}),
    (losses.atb_loss, {}),
    (losses.atb_loss, {"norm": "l1"}),
    (losses.atb_loss, {"root": True}),
    (losses.soft_binned_ece_loss, {}),
    (losses.soft_binned_ece_loss, {"norm": "l1"}),
    (losses.soft_binned_ece_loss, {"norm": "squares"}),
]
MODULES = [losses.LSECELoss, losses.SmoothECELoss, losses.ATBLoss, losses.SoftBinnedECELoss]


def batch(n=60, k=None, *, soft=False, seed=0):
    """Logits, probabilities, labels and weights."""
    rng = np.random.default_rng(seed)
    x = rng.normal(0, 2, n if k is None else (n, k))
    if k is None:
        p = 1 / (1 + np.exp(-x))
        y = rng.random(n) if soft else (rng.random(n) < p**1.5).astype(np.int64)
    else:
        p = np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)
        y = rng.dirichlet(np.ones(k), n) if soft else rng.integers(0, k, n)
    return x, p, y, rng.uniform(0.1, 2.0, n)


def tensors(*arrays):
    return [torch.tensor(array) for array in arrays]


class TestValues:
    @pytest.mark.parametrize("soft", [False, True], ids=["hard", "soft"])
    @pytest.mark.parametrize(
        ("k", "notion"),
        [(None, "binary"), (None, "confidence"), (4, "confidence"), (4, "classwise")],
    )
    @pytest.mark.parametrize(("name", "options"), CASES)
    def test_they_are_those_of_the_library(self, name, options, k, notion, soft):
        loss, function, _ = SAME[name]
        x, p, y, w = batch(k=k, soft=soft)
        for values, from_logits in ((x, True), (p, False)):
            given = {"from_logits": from_logits, "notion": notion, **options}
            expected = function(y, values, sample_weight=w, **given)
            got = loss(*tensors(values, y), sample_weight=torch.tensor(w), **given)
            assert got.shape == () and got.item() == pytest.approx(expected, rel=1e-12)

    @pytest.mark.parametrize("name", SAME)
    def test_predictions_of_0_and_1_and_ties(self, name):
        loss, function, many = SAME[name]
        p = np.array([0.0, 0.0, 1.0, 1.0, 0.5, 0.5, 0.25, 1e-9])
        y = np.array([0, 1, 1, 0, 1, 0, 1, 0])
        given = tensors(p)[0].requires_grad_()
        value = loss(given, torch.tensor(y), from_logits=False, **many[-1])
        assert value.item() == pytest.approx(function(y, p, **many[-1]), rel=1e-12)
        value.backward()
        assert given.grad.isfinite().all()

    @pytest.mark.parametrize(("loss", "options"), EVERY)
    def test_one_row_and_a_perfect_batch(self, loss, options):
        one = torch.tensor([0.7], requires_grad=True)
        loss(one, torch.tensor([1]), from_logits=False, **options).backward()
        assert one.grad.isfinite().all() and one.grad.item() < 0
        perfect = torch.tensor([0.0, 1.0, 1.0], requires_grad=True)
        value = loss(perfect, torch.tensor([0, 1, 1]), from_logits=False, **options)
        value.backward()
        assert value.item() == pytest.approx(0.0, abs=1e-5) and perfect.grad.isfinite().all()

    def test_soft_bins_are_their_definition(self):
        _, p, y, w = batch(n=9)
        m, temperature = 4, 0.02
        middles = [(j + 0.5) / m for j in range(m)]
        gaps, weights = [0.0] * m, [0.0] * m
        for u, z, weight in zip(p, y, w, strict=True):
            near = [math.exp(-((u - c) ** 2) / temperature) for c in middles]
            for j in range(m):
                share = near[j] / math.fsum(near)
                gaps[j] += weight * share * (u - z)
                weights[j] += weight * share
        total = math.fsum(w)
        pairs = list(zip(gaps, weights, strict=True))
        expected = {
            "l1": sum(map(abs, gaps)) / total,
            "l2": math.sqrt(sum(g * g / v for g, v in pairs) / total),
            "squares": sum(g * g for g in gaps) / total**2,
        }
        for norm, value in expected.items():
            got = losses.soft_binned_ece_loss(
                *tensors(p, y),
                from_logits=False,
                bins=m,
                temperature=temperature,
                norm=norm,
                sample_weight=torch.tensor(w),
            )
            assert got.item() == pytest.approx(value, rel=1e-12)

    @pytest.mark.parametrize("notion", ["binary", "confidence", "classwise"])
    def test_hard_bins_are_the_limit_of_soft_ones(self, notion):
        _, p, y, w = batch(k=None if notion == "binary" else 3)

        def soft(norm):
            given = {"notion": notion, "temperature": 1e-9, "sample_weight": torch.tensor(w)}
            return losses.soft_binned_ece_loss(
                *tensors(p, y), from_logits=False, norm=norm, **given
            ).item()

        for norm in ("l1", "l2"):
            expected = cal.ece(y, p, norm=norm, notion=notion, sample_weight=w)
            assert soft(norm) == pytest.approx(expected, rel=1e-12)
        if notion == "binary":
            truthful = cal.lin_ce(y, p, bins=cal.EqualWidth(15), sample_weight=w)
        elif notion == "confidence":
            truthful = cal.confidence_ce(
                y, p, bins=cal.EqualWidth(15), corrected=False, sample_weight=w
            )
        else:
            truthful = cal.classwise_ce(y, p, bins=cal.EqualWidth(15), sample_weight=w)
        assert soft("squares") == pytest.approx(truthful, rel=1e-12)


class TestGradients:
    @pytest.mark.parametrize(
        ("k", "notion"),
        [(None, "binary"), (None, "confidence"), (3, "confidence"), (3, "classwise")],
    )
    @pytest.mark.parametrize(("loss", "options"), EVERY)
    def test_finite_differences_agree(self, loss, options, k, notion):
        x, _, y, w = batch(n=7, k=k, soft=True, seed=3)
        # A coarse grid, so that its cubics have a slope between the nodes that shows.
        wide = {"sigma": 0.3} if "ece_loss" in loss.__name__ and "soft" not in loss.__name__ else {}

        def value(logits, weight):
            return loss(
                logits,
                torch.tensor(y),
                from_logits=True,
                notion=notion,
                sample_weight=weight,
                **options,
                **wide,
            )

        given = [tensor.requires_grad_() for tensor in tensors(x, w)]
        assert torch.autograd.gradcheck(value, given, fast_mode=True)

    def test_probabilities_too(self):
        _, p, y, _ = batch(n=7, seed=5)
        for loss, options in EVERY:
            given = torch.tensor(p, requires_grad=True)

            def value(u, loss=loss, options=options):
                return loss(u, torch.tensor(y), from_logits=False, **options)

            assert torch.autograd.gradcheck(value, [given], eps=1e-7)

    @pytest.mark.parametrize(("loss", "options"), EVERY)
    @pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
    def test_other_precisions(self, loss, options, dtype):
        x, _, y, _ = batch(k=4)
        low, labels = tensors(x, y)
        low = low.to(dtype).requires_grad_()
        kept = low.detach().clone()
        value = loss(low, labels, from_logits=True, **options)
        value.backward()
        same = kept.double().requires_grad_()
        exact = loss(same, labels, from_logits=True, **options)
        exact.backward()
        assert value.dtype == torch.float32 and low.grad.dtype == dtype
        assert value.item() == pytest.approx(exact.item(), rel=1e-6)
        torch.testing.assert_close(low.grad.double(), same.grad, rtol=1e-2, atol=1e-5)
        assert torch.equal(low, kept)

    @pytest.mark.parametrize(("loss", "options"), EVERY)
    def test_masked_classes_and_certain_rows_have_finite_gradients(self, loss, options):
        x = torch.tensor([[0.3, -torch.inf], [200.0, -200.0], [0.1, 0.2], [-90.0, 90.0]])
        for notion in ("confidence", "classwise"):
            x = x.detach().requires_grad_()
            loss(
                x, torch.tensor([0, 1, 1, 1]), from_logits=True, notion=notion, **options
            ).backward()
            assert x.grad.isfinite().all()

    def test_crowded_predictions_leave_bins_all_but_empty(self):
        for width in (1e-4, 1e-3, 5e-3):
            p = torch.tensor([0.09, 0.1, 0.11, 0.13], requires_grad=True)
            loss = partial(losses.soft_binned_ece_loss, from_logits=False, temperature=width)
            loss(p, torch.tensor([0, 0, 1, 0])).backward()
            assert p.grad.isfinite().all()

    def test_a_step_lowers_each(self):
        x, _, y, _ = batch(n=200, k=4)
        for loss, options in EVERY:
            logits = torch.tensor(x, requires_grad=True)
            before = loss(logits, torch.tensor(y), from_logits=True, **options)
            before.backward()
            with torch.no_grad():
                step = logits - 1e-2 * logits.grad / logits.grad.norm()
            assert loss(step, torch.tensor(y), from_logits=True, **options) < before

    def test_a_compiled_loss_is_the_same(self):
        x, _, y, w = batch(k=3)
        for loss, weighted in zip(dict(EVERY), (False, True, False, True), strict=True):
            of = partial(loss, from_logits=True)
            given = {"sample_weight": torch.tensor(w)} if weighted else {}
            whole = torch.compile(of, backend="eager", fullgraph=True)
            torch.testing.assert_close(whole(*tensors(x, y), **given), of(*tensors(x, y), **given))

    @pytest.mark.parametrize("module", MODULES)
    def test_a_compiled_module_takes_weights(self, module):
        """Whatever it calls is compiled with it: the functions, and what they do with weights."""
        x, _, y, w = batch(k=3)
        loss = module(from_logits=True)
        whole = torch.compile(loss, backend="aot_eager", fullgraph=True)
        logits, labels, weight = tensors(x, y, w)
        got = whole(logits, labels, sample_weight=weight)
        torch.testing.assert_close(got, loss(logits, labels, sample_weight=weight))


class TestModules:
    @pytest.mark.parametrize("module", MODULES)
    def test_they_are_the_functions(self, module):
        x, _, y, w = batch(k=4)
        # Roots are of means over classes, and no mean of roots.
        norm = {"norm": "l1"} if module is losses.SoftBinnedECELoss else {}
        module = partial(module, from_logits=True, notion="classwise", **norm)
        loss = module(reduction="none")
        each = loss(*tensors(x, y), torch.tensor(w))
        assert each.shape == (4,)
        mean = module()(*tensors(x, y), torch.tensor(w))
        total = module(reduction="sum")
        assert mean.item() == pytest.approx(each.mean().item())
        assert total(*tensors(x, y), torch.tensor(w)).item() == pytest.approx(each.sum().item())
        assert "from_logits=True" in repr(loss) and list(loss.parameters()) == []

    def test_weights_of_0_leave_rows_out(self):
        x, _, y, _ = batch(k=4)
        some = torch.arange(60) < 40
        for module in MODULES:
            loss = module(from_logits=True)
            got = loss(*tensors(x, y), some.double())
            torch.testing.assert_close(got, loss(*tensors(x[:40], y[:40])))

    @pytest.mark.parametrize("soft", [False, True], ids=["hard", "soft"])
    @pytest.mark.parametrize("from_logits", [False, True], ids=["proba", "logits"])
    @pytest.mark.parametrize("k", [None, 4])
    def test_padding_may_hold_anything(self, k, from_logits, soft):
        x, p, y, _ = batch(k=k, soft=soft, n=20)
        given = x if from_logits else p
        few = torch.tensor(np.delete(y, slice(5, 9), axis=0))
        for loss, options in EVERY:
            some = torch.tensor(np.delete(given, slice(5, 9), axis=0), requires_grad=True)
            wanted = loss(some, few, from_logits=from_logits, **options)
            wanted.backward()
            for fill, label in ((np.nan, -100), (-np.inf, np.nan if soft else 7), (np.inf, 0)):
                padded, labels, w = given.copy(), y.copy(), np.ones(20)
                padded[5:9], labels[5:9], w[5:9] = fill, label, 0.0
                all_rows = torch.tensor(padded, requires_grad=True)
                got = loss(
                    all_rows,
                    torch.tensor(labels),
                    from_logits=from_logits,
                    sample_weight=torch.tensor(w),
                    **options,
                )
                torch.testing.assert_close(got, wanted)
                got.backward()
                rest = torch.tensor(w) > 0
                torch.testing.assert_close(all_rows.grad[rest], some.grad)
                assert (all_rows.grad[~rest] == 0).all(), loss


class TestErrors:
    @pytest.mark.parametrize(
        ("p", "y", "options", "words"),
        [
            ([0.2, 3.1], [0, 1], {}, r"input\[1\] is 3.1: probabilities .*from_logits=True"),
            ([0.2, 0.7], [0, 2], {}, r"target\[1\] is 2: labels must lie in \[0, 1\]"),
            ([[0.2, 0.7]], [0], {}, r"input.sum\(dim=1\)\[0\] is 0.9: rows must sum to 1"),
            ([[0.3, 0.7]], [2], {}, r"target\[0\] is 2: class indices must lie in 0 to 1"),
            ([[0.3, 0.7]], [1.0], {}, "must be class indices"),
            ([[0.3], [0.7]], [0, 1], {}, r"\(2, 1\); use input.squeeze\(-1\)"),
            ([0.3, 0.7], [0], {}, r"target must have the shape \(2,\), like input; got \(1,\)"),
            ([], [], {}, "input has no rows"),
            ([0.3], [0], {"notion": "classwise"}, r"needs input of the shape \(n, k\)"),
            ([[0.3, 0.7]], [0], {"notion": "binary"}, r"needs input of the shape \(n,\)"),
            ([0.3], [0], {"reduction": "men"}, "did you mean 'mean'"),
            ([0.3], [0], {"from_logits": None}, "from_logits must be True or False"),
            ([0.3], [0], {"from_logit": True}, "did you mean 'from_logits'"),
            ([0.3], [0], {"sample_weight": torch.tensor([-1.0])}, "weights must be at least 0"),
            ([0.3], [0], {"sample_weight": torch.ones(2)}, r"shape \(1,\); got \(2,\)"),
        ],
    )
    def test_they_say_what_is_needed(self, p, y, options, words):
        given = {"from_logits": False, **options}
        for loss in (losses.atb_loss, losses.smooth_ece_loss):
            with pytest.raises(cal.InputError, match=words):
                loss(torch.tensor(p), torch.tensor(y), **given)

    def test_the_other_order_and_other_types_are_noticed(self):
        with pytest.raises(cal.InputError, match=r"order is \(input, target\)"):
            losses.atb_loss(torch.tensor([0, 1]), torch.tensor([0.2, 0.7]), from_logits=False)
        with pytest.raises(cal.InputError, match="target must be a torch tensor; got list"):
            losses.atb_loss(torch.tensor([0.2, 0.7]), [0, 1], from_logits=False)

    @pytest.mark.parametrize(
        ("module", "options"),
        [
            (losses.LSECELoss, {"sigma": 0}),
            (losses.SmoothECELoss, {"sigma": "wide"}),
            (losses.ATBLoss, {"norm": "l3"}),
            (losses.ATBLoss, {"norm": "l1", "root": True}),
            (losses.SoftBinnedECELoss, {"bins": 0}),
            (losses.SoftBinnedECELoss, {"temperature": -1.0}),
            (losses.SoftBinnedECELoss, {"norm": "max"}),
            (losses.LSECELoss, {"notion": "top"}),
        ],
    )
    def test_options_are_checked_when_a_module_is_made(self, module, options):
        with pytest.raises(cal.InputError, match=next(iter(options))):
            module(from_logits=True, **options)

    def test_what_cannot_be_looked_at_is_nan(self, monkeypatch):
        monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
        for loss, options in EVERY:
            bad = loss(*tensors([0.2, 3.1], [0, 1]), from_logits=False, **options)
            good = loss(*tensors([0.2, 0.9], [0, 1]), from_logits=False, **options)
            assert bad.isnan() and good.isfinite()

    @pytest.mark.parametrize(
        ("x", "options", "words"),
        [
            ([torch.nan, 1.0], {}, r"input\[0\] is nan: logits must be numbers"),
            ([[0.0, 1.0], [torch.nan, 1.0]], {}, r"input\[1, 0\] is nan: logits must be"),
            ([[0.0, 1.0], [-torch.inf, -torch.inf]], {}, r"\[1\] is -inf: the largest logit"),
            ([torch.nan, 1.0], {"from_logits": False}, r"input\[0\] is nan: probabilities"),
            ([0.0, 1.0], {"sample_weight": torch.zeros(2)}, r"weight.sum\(\) is 0: some row"),
            ([0.0, 1.0], {"sample_weight": torch.tensor([torch.nan, 1.0])}, "weights must be"),
        ],
    )
    def test_what_is_no_number_or_has_no_weight_is_an_error(self, monkeypatch, x, options, words):
        given = {"from_logits": True, **options}
        batch = (torch.tensor(x), torch.tensor([0, 1]))
        for loss, own in EVERY:
            with pytest.raises(cal.InputError, match=words):
                loss(*batch, **given, **own)
        monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
        for loss, own in EVERY:
            assert loss(*batch, **given, **own).isnan(), loss

    def test_without_torch_the_error_says_what_to_install(self):
        program = (
            "import sys; sys.modules['torch'] = None\n"
            "import calibrant as cal\n"
            "try: cal.losses\n"
            "except cal.MissingExtra as error: print(error)"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        assert "pip install torch (the extra 'torch')" in done.stdout, done.stderr
