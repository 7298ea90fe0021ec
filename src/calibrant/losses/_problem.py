"""From a batch to scalar problems: predictions, targets and weights, which keep their gradients.

A scalar problem has one prediction u in [0, 1], one target z and one weight w for each row. A
notion says which: "binary" (P(y = 1) and the label), "confidence" (the probability of the top label
and whether it is right), or "classwise" (a problem for each class).

Nothing is copied to the host, and no pass waits for the device. What can be seen from shapes and
types is checked everywhere; values are checked only in memory, where that costs nothing. Elsewhere,
and inside `torch.compile`, a bad value makes the loss NaN.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter

from calibrant._core.errors import InputError, one_of
from calibrant._core.grid import LOGIT_LIMIT
from calibrant._core.validation import have_no_index
from calibrant._engines.arrays.smooth import logit_reach

NOTIONS = ("binary", "confidence", "classwise")
REDUCTIONS = ("mean", "sum", "none")
# How far probabilities may lie outside [0, 1], and sums of rows from 1: in single precision or
# better, and in half precision.
OVERSHOOT, HALF_OVERSHOOT = 1e-3, 2e-2
# A logit that is this far below the largest of its row has a probability of exactly 0.
LEAST_LOGIT = -1000.0
# Tensors have no pandas index, and a graph of `torch.compile` cannot look for one.
have_no_index(Tensor, Parameter)


@dataclass(frozen=True, eq=False)
class Problem:
    """One scalar problem, or one for each class: predictions u and targets z of the shape
    (problems, rows).
    """

    u: Tensor
    z: Tensor
    # Weights, of the shape (1, rows).
    w: Tensor
    # Logits of u if the batch holds logits, else None. `raw` is True for a batch of logits (n,),
    # which are used unchanged.
    h: Tensor | None
    raw: bool
    # NaN if a value of the batch is bad and the batch is not in memory, else 0.
    nan_if_bad: Tensor
    # The type of the result: that of the predictions, or single precision for shorter ones.
    dtype: torch.dtype
    n_classes: int | None

    @property
    def total(self) -> Tensor:
        """The sum of weights of the batch, of the shape (1,)."""
        return self.w.sum(dim=1)

    @property
    def residual(self) -> Tensor:
        """The weight times (prediction less target), (problems, rows)."""
        return self.w * (self.u - self.z)

    def logits(self, eps: float) -> Tensor:
        """The logits of predictions clipped to [eps, 1 - eps], (problems, rows). If the batch holds
        binary logits, these, clipped to [-40, 40].
        """
        if self.h is None:
            u = self.u.clamp(eps, 1.0 - eps)
            return u.log() - (-u).log1p()
        return self.h.clamp(-self.largest_logit(eps), self.largest_logit(eps))

    def largest_logit(self, eps: float) -> float:
        """The largest absolute value that `logits` can have."""
        return LOGIT_LIMIT if self.raw else logit_reach(eps, whole=False)

    def reduce(self, values: Tensor, reduction: str) -> Tensor:
        """The value of the loss, from the error of each problem, `values` (problems,): a scalar for
        a single problem; for classes their mean or sum, or (classes,) for the reduction "none". It
        is NaN if a value of the batch was bad.
        """
        values = (values + self.nan_if_bad).to(self.dtype)
        if self.n_classes is None:  # one problem has one number
            return values[0]
        if reduction == "none":
            return values
        return values.mean() if reduction == "mean" else values.sum()


def problem_of(
    input: Tensor,
    target: Tensor,
    from_logits: bool,
    notion: str | None,
    sample_weight: Tensor | None,
    reduction: str,
) -> Problem:
    """Check a batch, and make the scalar problems (predictions, targets, weights) of its notion.
    The arguments are those of the losses.
    """
    _check_shapes(input, target, sample_weight)
    if not isinstance(from_logits, bool):
        raise InputError(f"from_logits must be True or False; got {from_logits!r}")
    one_of("reduction", reduction, REDUCTIONS)
    multiclass = input.ndim == 2
    chosen = _choose_notion(notion, input)
    # As elsewhere in the library sums are of double precision, where the device has it.
    wide = torch.float32 if input.device.type == "mps" else torch.float64
    x = input.to(wide)
    hard = multiclass and target.ndim == 1
    y = target.to(input.device)
    y = y if hard else y.to(wide)
    w = _weights(sample_weight, x)
    if sample_weight is not None:
        x, y, w = _without_padding(x, y, w, from_logits)
    nan_if_bad = _check_values(
        x, y, w, from_logits, HALF_OVERSHOOT if input.itemsize == 2 else OVERSHOOT
    )
    if from_logits and multiclass:
        # Classes that are masked by -inf have a probability of 0, and finite gradients.
        x = (x - x.detach().max(dim=1, keepdim=True).values).clamp(min=LEAST_LOGIT)
    dtype = input.dtype if input.itemsize >= 4 else torch.float32
    if multiclass:
        u, z, h = _class_problems(x, y, chosen, from_logits)
    else:
        u, z, h = _column_problem(x, y, chosen, from_logits)
    n_classes = x.shape[1] if chosen == "classwise" else None
    raw = from_logits and not multiclass
    return Problem(u, z, w[None], h, raw, nan_if_bad, dtype, n_classes)


Parts = tuple[Tensor, Tensor, Tensor | None]


def _column_problem(x: Tensor, z: Tensor, notion: str, from_logits: bool) -> Parts:
    """Predictions, targets and logits, each (1, rows), of a batch x (n,) with targets z; for
    "confidence" those of the likelier of the two classes. Logits are None if x holds probabilities.
    """
    if notion == "confidence":
        positive = x > (0.0 if from_logits else 0.5)
        z = torch.where(positive, z, 1.0 - z)
        x = x.abs() if from_logits else torch.where(positive, x, 1.0 - x)
    if from_logits:
        return x.sigmoid()[None], z[None], x[None]
    return x.clamp(0.0, 1.0)[None], z[None], None


def _class_problems(x: Tensor, y: Tensor, notion: str, from_logits: bool) -> Parts:
    """Predictions, targets and logits of a batch x (n, k) with labels y: each (1, rows), of the top
    class, for "confidence"; (k, rows) for "classwise". Logits are None if x holds probabilities.
    """
    p = x.softmax(dim=1) if from_logits else x.clamp(0.0, 1.0)
    h = _class_logits(x, p) if from_logits else None
    classes = torch.arange(x.shape[1], device=x.device)
    if notion == "classwise":
        # Compared rather than scattered: a class index out of range would be an error on a device.
        z = (y[:, None] == classes).to(p.dtype) if y.ndim == 1 else y
        return p.T, z.T, None if h is None else h.T
    top = p.detach().max(dim=1, keepdim=True).indices  # the first of equals
    z = (y[:, None] == top).to(p.dtype) if y.ndim == 1 else y.gather(1, top)
    return p.gather(1, top).T, z.T, None if h is None else h.gather(1, top).T


def _class_logits(x: Tensor, p: Tensor) -> Tensor:
    """The binary logit log p / (1 - p) of each class, (n, k), from logits x and their softmax p.

    1 - p loses precision where p is near 1, as only that of the top class can be: its logit is that
    of the class against all others together.
    """
    top = x.detach().max(dim=1, keepdim=True).indices
    is_top = torch.zeros_like(x, dtype=torch.bool).scatter(1, top, True)
    others = x.masked_fill(is_top, -torch.inf).logsumexp(dim=1, keepdim=True)
    rest = (-p.masked_fill(is_top, 0.0)).log1p()
    return torch.where(is_top, x - others, x.log_softmax(dim=1) - rest)


def _weights(sample_weight: Tensor | None, x: Tensor) -> Tensor:
    """The weights as a tensor (n,) of the type and device of x; 1 for each row by default."""
    if sample_weight is None:
        return torch.ones_like(x[:, 0] if x.ndim == 2 else x).detach()
    return sample_weight.to(x.device, x.dtype)


def _without_padding(
    x: Tensor, y: Tensor, w: Tensor, from_logits: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """The batch x, y, w with harmless values in rows of weight 0 (padding), where NaN would
    otherwise stay NaN when it is multiplied by 0, in gradients too.
    """
    off = w == 0
    plain = 0.0 if from_logits else 0.5 if x.ndim == 1 else 1.0 / x.shape[1]
    x = x.masked_fill(off if x.ndim == 1 else off[:, None], plain)
    return x, y.masked_fill(off if y.ndim == 1 else off[:, None], 0), w.masked_fill(off, 0.0)


def _choose_notion(notion: str | None, input: Tensor) -> str:
    """The notion of the problem, by default "confidence" for (n, k) and "binary" for (n,); raise
    InputError if the given notion does not suit the shape of the input.
    """
    multiclass = input.ndim == 2
    if notion is None:
        return "confidence" if multiclass else "binary"
    one_of("notion", notion, NOTIONS)
    if multiclass and notion == "binary":
        raise InputError(
            f"notion='binary' needs input of the shape (n,); it is {tuple(input.shape)}. "
            "Give one class's column, or use notion='confidence' or 'classwise'"
        )
    if not multiclass and notion == "classwise":
        raise InputError(
            "notion='classwise' needs input of the shape (n, k); it is (n,). Use notion='binary'"
        )
    return notion


# --- checks ---


def _check_shapes(input: Any, target: Any, sample_weight: Any) -> None:
    """Raise InputError unless input, target and weights are tensors whose shapes and types fit
    together.
    """
    for name, value in (("input", input), ("target", target), ("sample_weight", sample_weight)):
        if not isinstance(value, Tensor) and (value is not None or name != "sample_weight"):
            raise InputError(f"{name} must be a torch tensor; got {type(value).__name__}")
    if not input.is_floating_point():
        raise InputError(
            f"input must hold floating-point numbers; got {input.dtype}. The order is (input, "
            "target), as in torch's own losses"
        )
    if input.ndim not in (1, 2) or (input.ndim == 2 and input.shape[1] < 2):
        advice = "; use input.squeeze(-1)" if input.ndim == 2 else ""
        raise InputError(
            f"input must be of the shape (n,) for P(y = 1) or (n, k) for k classes; got "
            f"{tuple(input.shape)}{advice}"
        )
    if input.shape[0] == 0:
        raise InputError("input has no rows: a calibration error needs at least one")
    shapes = [input.shape[:1], input.shape]
    if target.shape not in shapes:
        fitting = " or ".join(str(tuple(shape)) for shape in dict.fromkeys(shapes))
        raise InputError(
            f"target must have the shape {fitting}, like input; got {tuple(target.shape)}"
        )
    if input.ndim == 2 and target.ndim == 1 and target.is_floating_point():
        raise InputError(
            f"target of the shape (n,) for input (n, k) must be class indices, whole numbers; got "
            f"{target.dtype}. Use target.long(), or soft labels of the shape (n, k)"
        )
    if sample_weight is not None and sample_weight.shape != input.shape[:1]:
        raise InputError(
            f"sample_weight must be of the shape {tuple(input.shape[:1])}; got "
            f"{tuple(sample_weight.shape)}"
        )


def _check_values(x: Tensor, y: Tensor, w: Tensor, from_logits: bool, slack: float) -> Tensor:
    """Check the values of a batch: a scalar tensor of 0, or of NaN if a value is bad; in memory (on
    the CPU, not compiled) InputError is raised for the first bad value instead. `slack` is how far
    probabilities may lie outside [0, 1], and sums of rows from 1.
    """
    total = w.sum()
    # Written so that NaN, which is neither above nor below, is bad too.
    checks = [
        ("sample_weight", w, ~((w >= 0) & (w < torch.inf)), "weights must be at least 0"),
        ("sample_weight.sum()", total, total == 0, "some row must have a weight above 0"),
    ]
    if y.ndim == 1 and x.ndim == 2:
        k = x.shape[1]
        bad = (y < 0) | (y >= k)
        checks.append(("target", y, bad, f"class indices must lie in 0 to {k - 1}"))
    else:
        bad = ~((y >= -slack) & (y <= 1.0 + slack))
        checks.append(("target", y, bad, "labels must lie in [0, 1]"))
    if from_logits:
        checks.append(("input", x, x.isnan(), "logits must be numbers"))
        if x.ndim == 2:
            top = x.max(dim=1).values
            needed = "the largest logit of a row must be finite"
            checks.append(("input.max(dim=1)", top, top.isinf(), needed))
    else:
        outside = ~((x >= -slack) & (x <= 1.0 + slack))
        logits = "If these are logits, pass from_logits=True"
        checks.append(("input", x, outside, f"probabilities must lie in [0, 1]. {logits}"))
        if x.ndim == 2:
            sums = x.sum(dim=1)
            off = (sums - 1.0).abs() > slack
            checks.append(("input.sum(dim=1)", sums, off, f"rows must sum to 1. {logits}"))
    if x.device.type == "cpu" and not torch.compiler.is_compiling():
        for name, values, bad, needed in checks:
            if bool(bad.any()):
                at = tuple(int(i) for i in bad.nonzero()[0])
                shown = f"[{', '.join(map(str, at))}]" if at else ""
                raise InputError(f"{name}{shown} is {values[at].item():g}: {needed}")
        return x.new_zeros(())
    any_bad = torch.stack([bad.any() for _, _, bad, _ in checks]).any()
    return torch.where(any_bad, torch.nan, 0.0).to(x.dtype)
