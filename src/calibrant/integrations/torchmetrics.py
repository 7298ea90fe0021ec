"""A torchmetrics metric for every measure that a stream can have, in constant memory."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
import torch
from torch import Tensor

from calibrant._api.streaming.accumulator import Accumulator
from calibrant._core.binning import Bins
from calibrant._core.errors import InputError, MissingExtra, StateError
from calibrant._core.messages import Naming, named_by
from calibrant._core.validation import public
from calibrant._data.tensor_samples import holds_float64
from calibrant._measures.catalogue import Shape, canonical, find
from calibrant.integrations._dense import rows_of_batch

try:
    from torchmetrics import Metric
except ImportError as error:
    purpose = "calibrant.integrations.torchmetrics"
    raise MissingExtra("torchmetrics", "torchmetrics", purpose) from error


# The place of the kind of labels in an accumulator's counts.
LABEL_KIND = 5
OTHER_OPTIONS = (
    "the loaded or merged state was summed with other options (bins, from_logits, from_logprobs, "
    "classes, missing): make both metrics in the same way"
)


class CalibrationMetric(Metric):
    """A measure of the catalogue, or several, as a torchmetrics metric of constant memory.

    The states are sums in float64 (those of an `Accumulator`): they add up over batches and over
    ranks, so two processes and one get the same counts to the last bit, and a sync sends a few
    kilobytes for any number of rows. `update` takes (preds, target), in the order of torchmetrics,
    on any device and in any precision; the predictions stay on their device.

    Parameters
    ----------
    measure : str or sequence of str, default "ece"
        The name of a measure of `calibrant.catalogue()`, or a list of names; for a list, `compute`
        returns a dict. Measures that need the samples themselves are an error; with
        ``approximate=True`` those that need them in order are computed from fine cells.
    num_classes : int, optional
        The columns of preds, (n, num_classes), or their channels, (B, num_classes, ...), in which
        every position is a row: a pixel, a token. None for binary preds of the shape (n,); 1 for
        binary preds of any shape, (B, ...) or (B, 1, ...).
    bins : int, EqualWidth or Edges, default 15
        Bins that do not depend on the data.
    from_logits : bool, default False
        Whether preds are logits.
    from_logprobs : bool, default False
        Whether preds are log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Labels of the classes, in the order of the columns.
    missing : {"error", "drop"}, default "error"
        What to do with rows with a missing value.
    approximate : bool, default False
        Whether measures that need all predictions in order may come from fine cells.
    ignore_index : int, optional
        Rows with this target are dropped first, such as padding and unlabelled pixels; with soft
        labels, rows with this value in every class.
    dist_sync_on_step : bool, default False
        An option of `torchmetrics.Metric`.
    process_group : process group, optional
        An option of `torchmetrics.Metric`.
    dist_sync_fn : callable, optional
        An option of `torchmetrics.Metric`.
    sync_on_compute, compute_with_cache : bool, default True
        Options of `torchmetrics.Metric`.

    Examples
    --------
    >>> import torch
    >>> from calibrant.integrations.torchmetrics import CalibrationMetric
    >>> metric = CalibrationMetric("ece", bins=10)
    >>> metric.update(torch.tensor([0.2, 0.7]), torch.tensor([0, 1]))
    >>> metric.update(torch.tensor([0.9, 0.4]), torch.tensor([1, 0]))
    >>> round(metric.compute().item(), 6)
    0.25

    A segmentation map: every pixel is a row, and those labelled 255 are none.

    >>> pixels = CalibrationMetric("ece", num_classes=3, from_logits=True, ignore_index=255)
    >>> logits, labels = torch.zeros(2, 3, 4, 4), torch.zeros(2, 4, 4, dtype=torch.long)
    >>> labels[0] = 255
    >>> pixels.update(logits, labels)
    >>> pixels.accumulator().n_rows
    16
    """

    is_differentiable = False
    full_state_update = False
    recipe_digest: Tensor
    label_kind: Tensor

    @public
    def __init__(
        self,
        measure: str | Sequence[str] = "ece",
        *,
        num_classes: int | None = None,
        bins: Bins = 15,
        from_logits: bool = False,
        from_logprobs: bool = False,
        classes: Sequence[Any] | None = None,
        missing: str = "error",
        approximate: bool = False,
        ignore_index: int | None = None,
        dist_sync_on_step: bool = False,
        process_group: Any = None,
        dist_sync_fn: Callable[..., Any] | None = None,
        sync_on_compute: bool = True,
        compute_with_cache: bool = True,
    ) -> None:
        super().__init__(
            dist_sync_on_step=dist_sync_on_step,
            process_group=process_group,
            dist_sync_fn=dist_sync_fn,
            sync_on_compute=sync_on_compute,
            compute_with_cache=compute_with_cache,
        )
        is_count = isinstance(num_classes, Integral) and not isinstance(num_classes, bool)
        if num_classes is not None and (not is_count or num_classes < 1):
            raise InputError(
                "num_classes must be None for binary preds (n,), 1 for binary preds of any shape, "
                f"or the number of classes; got {num_classes!r}"
            )
        self.measure = measure if isinstance(measure, str) else tuple(measure)
        self.num_classes = None if num_classes is None else int(num_classes)
        self.ignore_index = ignore_index
        self._blank = Accumulator(
            bins=bins,
            from_logits=from_logits,
            from_logprobs=from_logprobs,
            classes=classes,
            measures=self._names,
            missing=missing,
            approximate=approximate,
        )
        for name, array in self._one_row_accumulator().packed().items():
            self.add_state(name, torch.zeros(array.shape, dtype=torch.float64), "sum")
        # What kind of labels there were is one number of the counts, which does not add up.
        self.add_state("label_kind", torch.zeros(1, dtype=torch.float64), "max")
        self.add_state("recipe_digest", self._options_digest(), "max")

    @property
    def higher_is_better(self) -> bool | None:  # type: ignore[override]
        """Whether higher values are better, as the catalogue says; None if the measures differ."""
        shape: Shape = "binary" if self._columns == 1 else "multiclass"
        directions = {find(name, shape).higher_is_better for name in self._names}
        return directions.pop() if len(directions) == 1 else None

    def update(self, preds: Any, target: Any, sample_weight: Any = None) -> None:
        """Add a batch; bad input leaves the state as it was.

        Parameters
        ----------
        preds : tensor of shape (n,), (n, num_classes) or (B, num_classes, ...)
            Predicted probabilities; logits with ``from_logits=True``, log-probabilities with
            ``from_logprobs=True``. Maps of them (pixels, tokens) have the classes second, and every
            position is a row; with ``num_classes=1``, (B, ...) or (B, 1, ...).
        target : tensor of shape (n,), (n, num_classes), (B, ...) or (B, num_classes, ...)
            Labels, hard or soft, or counts of votes of shape (n, num_classes); (n, 2) without it.
        sample_weight : tensor of shape (n,) or (B, ...), optional
            Weight of each row, or of each position.

        Raises
        ------
        InputError
            If the batch cannot be taken as labels and predictions.
        """
        rows = rows_of_batch(preds, target, sample_weight, self.num_classes, self.ignore_index)
        if self.ignore_index is not None and not len(rows.target):
            return
        batch = self._blank.copy()
        try:
            with named_by(_MetricNames()):
                batch.update(rows.target, rows.preds, sample_weight=rows.sample_weight)
        except InputError as error:
            raise InputError(f"{error}{rows.note}") from None
        if batch.columns != self._columns:
            raise InputError(
                f"preds has {_shape_of(batch.columns)}; this metric was made with "
                f"num_classes={self.num_classes}, for {_shape_of(self._columns)}"
            )
        packed = batch.packed()
        for name, array in packed.items():
            state: Tensor = getattr(self, name)
            setattr(self, name, state + torch.tensor(array, device=state.device))
        kind = float(packed["counts"][LABEL_KIND])
        self.label_kind = self.label_kind.clamp(min=kind)

    def compute(self) -> Tensor | dict[str, Tensor]:
        """Compute the measure of everything added.

        Returns
        -------
        Tensor or dict of str to Tensor
            The value in float64, or a dict of values; NaN before any data.
        """
        stream = self.accumulator()
        nothing = dict.fromkeys(self._names, float("nan"))
        values = stream.evaluate().values if stream.n_rows else nothing
        where = self.recipe_digest.device
        out = {
            name: torch.tensor(values[name], dtype=torch.float64, device=where) for name in values
        }
        return out[self._names[0]] if isinstance(self.measure, str) else out

    def merge_state(self, incoming_state: Any) -> None:
        """Add the sums of another metric of the same options.

        Parameters
        ----------
        incoming_state : CalibrationMetric or dict
            The other metric, or its states by name.

        Raises
        ------
        StateError
            If the other was made with other options.
        """
        states = getattr(incoming_state, "metric_state", incoming_state)
        digest = states.get("recipe_digest") if isinstance(states, dict) else None
        if digest is not None and not torch.equal(digest.cpu(), self._options_digest()):
            raise StateError(OTHER_OPTIONS)
        super().merge_state(incoming_state)

    def accumulator(self) -> Accumulator:
        """Give what was summed so far, to be saved, merged, or evaluated in full.

        Returns
        -------
        Accumulator
            The sums of this rank; inside `sync_context`, of all ranks.
        """
        if not torch.equal(self.recipe_digest.cpu(), self._options_digest()):
            raise StateError(OTHER_OPTIONS)
        names = [name for name in self._defaults if name not in ("label_kind", "recipe_digest")]
        arrays = {name: getattr(self, name).cpu().numpy() for name in names}
        counts = np.array(arrays["counts"])
        counts[1] = self._columns if counts[0] else 0
        counts[LABEL_KIND] = float(self.label_kind)
        return Accumulator.unpacked(self._blank.recipe(), arrays | {"counts": counts})

    @property
    def _names(self) -> tuple[str, ...]:
        """The names of the measures in the catalogue."""
        asked = (self.measure,) if isinstance(self.measure, str) else self.measure
        return tuple(canonical(name) for name in asked)

    @property
    def _columns(self) -> int:
        """The number of columns of predictions: 1 for binary ones."""
        return self.num_classes or 1

    def _one_row_accumulator(self) -> Accumulator:
        """Make an accumulator of one row with the metric's options, to try them.

        Its arrays give the shapes of the metric's states; a measure that sums cannot give is an
        error.
        """
        row = np.full((1, self._columns), 1.0 / max(2, self._columns))
        row = row if self._columns > 1 else row[:, 0]
        blank = self._blank
        probe = Accumulator(
            bins=blank.rule if blank.own_bins else blank.rule.m,
            from_logits=blank.from_logits,
            measures=blank.measures,
            approximate=blank.approximate,
        ).update(row, row)
        probe.evaluate()
        return probe

    def _options_digest(self) -> Tensor:
        """A digest (SHA-256) of the options, as a tensor of 32 numbers.

        Torchmetrics shares equal states between metrics; the digest is a state that keeps metrics
        with other options apart.
        """
        recipe = self._blank.recipe()
        recipe.pop("measures")
        text = json.dumps([recipe, self.num_classes, self.ignore_index], default=str)
        return torch.tensor(list(hashlib.sha256(text.encode()).digest()), dtype=torch.float64)

    def _apply(self, fn: Callable[..., Any], exclude_state: Sequence[str] = "") -> Any:
        """Move the states to a device or type as `fn` moves tensors, but keep them in float64.

        They go to the host if the device has no float64.
        """

        @functools.wraps(fn)  # torchmetrics reads the function's name
        def moved(tensor: Tensor) -> Tensor:
            """Move a tensor as `fn` does; float64 stays float64, on the host if necessary."""
            if tensor.dtype != torch.float64:
                return fn(tensor)
            device = fn(torch.zeros(1, device=tensor.device)).device
            return tensor.to(device if holds_float64(device) else "cpu")

        return super()._apply(moved, exclude_state)


def _shape_of(columns: int) -> str:
    """The shape of predictions with this many columns, in words."""
    return "the shape (n,)" if columns == 1 else f"{columns} columns"


class _MetricNames(Naming):
    """The names of arguments in messages: those of torchmetrics, with preds first."""

    order = ("y_proba", "y_true")

    def name(self, argument: str) -> str:
        """The name of an argument: `preds` for `y_proba`."""
        return _CALLED.get(argument, argument)

    def values(self, argument: str) -> str:
        """The name of the values that an argument holds, as in `preds[3]`."""
        return _CALLED.get(argument, argument)


_CALLED = {"y_true": "target", "y_proba": "preds"}
