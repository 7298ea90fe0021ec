"""A PyTorch Ignite metric for every measure that a stream can have, in constant memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from calibrant._api.streaming.accumulator import Accumulator
from calibrant._core.binning import Bins
from calibrant._core.errors import InputError, MissingExtra
from calibrant._core.validation import public

try:
    import ignite.distributed as idist
    from ignite.metrics import Metric
except ImportError as error:
    raise MissingExtra("pytorch-ignite", "ignite", "calibrant.integrations.ignite") from error


class Calibration(Metric):  # type: ignore[misc, no-any-unimported, unused-ignore]
    """A measure of the catalogue, or several, as a metric that is attached to an Ignite engine.

    Batches are summed on their device, and only sums are kept. With several processes, `compute`
    adds up their sums.

    Parameters
    ----------
    measure : str or sequence of str, default "ece"
        Names of the catalogue. For several, `compute` gives a dict by name.
    output_transform : callable, optional
        A function from the engine's output to (predictions, labels), as in every metric of Ignite.
    bins : int, EqualWidth or Edges, default 15
        Bins that do not depend on the data.
    from_logits : bool, default False
        Whether predictions are logits.
    from_logprobs : bool, default False
        Whether predictions are log-probabilities.
    classes : sequence, optional
        Labels of the classes, in the order of the columns.
    approximate : bool, default False
        Whether measures that need all predictions in order may come from fine cells.
    device : str or torch.device, default "cpu"
        An option of every metric of Ignite; predictions stay on their device in any case.

    Examples
    --------
    >>> import torch
    >>> from ignite.engine import Engine
    >>> from calibrant.integrations.ignite import Calibration
    >>> evaluator = Engine(lambda engine, batch: batch)  # gives (predictions, labels)
    >>> Calibration(["ece", "brier"], bins=10).attach(evaluator, "calibration")
    >>> batches = [
    ...     (torch.tensor([0.2, 0.7]), torch.tensor([0, 1])),
    ...     (torch.tensor([0.9, 0.4]), torch.tensor([1, 0])),
    ... ]
    >>> found = evaluator.run(batches).metrics
    >>> round(found["ece"], 3), round(found["brier"], 3)
    (0.25, 0.075)
    """

    @public
    def __init__(
        self,
        measure: str | Sequence[str] = "ece",
        *,
        output_transform: Callable[..., Any] = lambda output: output,
        bins: Bins = 15,
        from_logits: bool = False,
        from_logprobs: bool = False,
        classes: Sequence[Any] | None = None,
        approximate: bool = False,
        device: str | torch.device = "cpu",
    ) -> None:
        self._single = isinstance(measure, str)
        self._settings: dict[str, Any] = {
            "measures": (measure,) if isinstance(measure, str) else tuple(measure),
            "bins": bins,
            "from_logits": from_logits,
            "from_logprobs": from_logprobs,
            "classes": classes,
            "approximate": approximate,
        }
        super().__init__(output_transform=output_transform, device=device)

    def reset(self) -> None:
        """Start anew, without rows."""
        self._sums = Accumulator(**self._settings)

    def update(self, output: Sequence[Any]) -> None:
        """Add a batch.

        Parameters
        ----------
        output : sequence
            Predictions, (n,) or (n, k), and labels, hard or soft; and weights, if there are three.
        """
        y_pred, y, *weight = output
        self._sums.update(y, y_pred, sample_weight=weight[0] if weight else None)

    def compute(self) -> float | dict[str, float]:
        """Compute the measures of everything added, in all processes.

        Returns
        -------
        float or dict of str to float
            The measure's value, or that of each measure by name.
        """
        parts: Any = [self._sums]
        if idist.get_world_size() > 1:
            parts = idist.all_gather(self._sums)
        total = Accumulator(**self._settings)
        for part in parts:
            if part.n_rows:
                total.merge(part)
        if not total.n_rows:
            raise InputError("no rows were added: run the engine on some batches first")
        values: dict[str, float] = total.evaluate().values
        return next(iter(values.values())) if self._single else values
