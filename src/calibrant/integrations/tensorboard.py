"""TensorBoard: calibration as scalars and as a reliability diagram, of every epoch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from numpy.typing import ArrayLike

from calibrant._api.evaluate import evaluate
from calibrant._api.reliability import reliability
from calibrant._core.arguments import Rows
from calibrant._core.binning import Bins
from calibrant._core.validation import public


@public
def log_calibration(
    writer: Any,
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    step: int | None = None,
    tag: str = "calibration",
    measures: Sequence[str] = ("ece", "smooth_ece", "brier", "log_loss"),
    bins: Bins = 15,
    figure: bool = True,
    **rows: Unpack[Rows],
) -> dict[str, float]:
    """Write measures, and the reliability diagram, of some rows to TensorBoard.

    Parameters
    ----------
    writer : SummaryWriter
        A writer of `torch.utils.tensorboard`, or another one with `add_scalar` and `add_figure`.
    y_true : array-like of shape (n,) or (n, k)
        Labels, hard or soft.
    y_proba : array-like of shape (n,) or (n, k)
        Predicted probabilities.
    step : int, optional
        The step of training, or the epoch.
    tag : str, default "calibration"
        Prefix of the names in TensorBoard: ``calibration/ece``.
    measures : sequence of str, default ("ece", "smooth_ece", "brier", "log_loss")
        Names of the catalogue.
    bins : int or rule of binning, default 15
        The bins, of the measures and of the diagram.
    figure : bool, default True
        Whether to draw the diagram, ``calibration/reliability``; that needs matplotlib.

    Returns
    -------
    dict of str to float
        Each measure's value.

    Examples
    --------
    >>> from torch.utils.tensorboard import SummaryWriter
    >>> from calibrant.integrations.tensorboard import log_calibration
    >>> with SummaryWriter("runs") as writer:  # doctest: +SKIP
    ...     log_calibration(writer, labels, probabilities, step=epoch)
    """
    values: dict[str, float] = evaluate(
        y_true, y_proba, measures=measures, bins=bins, **rows
    ).values
    for name, value in values.items():
        writer.add_scalar(f"{tag}/{name}", value, step)
    if figure:
        drawn = reliability(y_true, y_proba, bins=bins, **rows).plot()
        writer.add_figure(f"{tag}/reliability", drawn.figure_, step)  # and closes it
    return values
