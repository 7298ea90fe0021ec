"""DecisionCurve: the net benefit of acting on predictions, at every threshold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError, counted, nearest
from calibrant._measures.decision_loss import envelope_loss
from calibrant.results._base import Result
from calibrant.results._rendering import percent, range_text, shown

if TYPE_CHECKING:
    from calibrant.results._plots.decision_curve import DecisionCurveDisplay

Array = NDArray[np.float64]
ALL, NONE = "all", "none"
# The most thresholds that are printed.
_SHOWN = 10


@dataclass(frozen=True, eq=False)
class NetBenefit:
    """One strategy at every threshold.

    Attributes
    ----------
    tp_rate, fp_rate : ndarray
        The shares of rows that are acted on, rightly and in vain.
    value, low, high : ndarray
        The net benefit and its limits.
    recalibrated : ndarray or None
        The net benefit after cross-fitted recalibration; None for acting on all or none.
    gain, gain_low, gain_high : ndarray or None
        What recalibration adds, and its limits.

    Examples
    --------
    >>> import calibrant as cal
    >>> found = cal.decision_curve([0, 1, 1, 0] * 25, [0.2, 0.7, 0.9, 0.4] * 25, thresholds=[0.3])
    >>> found.benefits["all"].value.round(4).tolist()
    [0.2857]
    """

    tp_rate: Array
    fp_rate: Array
    value: Array
    low: Array
    high: Array
    recalibrated: Array | None = None
    gain: Array | None = None
    gain_low: Array | None = None
    gain_high: Array | None = None


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DecisionCurve(Result):
    """The net benefit of models, of acting on everyone and on no one, by threshold.

    Made by `decision_curve`.

    Attributes
    ----------
    models : tuple of str
        The models.
    thresholds : ndarray
        The thresholds: one acts if the prediction reaches them.
    benefits : dict of str to NetBenefit
        The net benefit of each model, of "all" and of "none".
    pairs : dict of (str, str) to (difference, low, high)
        Paired differences of strategies, as arrays over thresholds.
    level : float
        The confidence level of the intervals.
    n : int
        The number of rows with positive weight.
    prevalence : float
        The mean outcome.
    recalibration : str
        The map behind `recalibrated`, in words; empty without one.

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1, 1, 0] * 25, [0.2, 0.7, 0.9, 0.4] * 25
    >>> found = cal.decision_curve(y, {"model": p}, thresholds=[0.5])
    >>> found.net_benefit("model").tolist(), found.net_benefit("all").tolist()
    ([0.5], [0.0])
    """

    _json_keys = "models n prevalence level recalibration curves"
    _table_key = "curves"

    models: tuple[str, ...]
    thresholds: Array
    benefits: dict[str, NetBenefit]
    pairs: Mapping[tuple[str, str], tuple[Array, Array, Array]]
    level: float
    n: int
    prevalence: float
    recalibration: str

    def _check_strategy(self, name: Any) -> str:
        """Check the name of a strategy: a model, "all" or "none"; any other name is an error."""
        if name not in self.benefits:
            raise InputError(f"no strategy is called {name!r}: {nearest(name, self.benefits)}")
        return str(name)

    def net_benefit(self, name: str) -> Array:
        """Give the net benefit of a strategy at every threshold.

        Parameters
        ----------
        name : str
            A model, "all" or "none".

        Returns
        -------
        ndarray
            The net benefits.
        """
        return self.benefits[self._check_strategy(name)].value

    def difference(self, first: str, second: str) -> dict[str, list[float]]:
        """Give the net benefit of one strategy minus that of another, on the same rows.

        Parameters
        ----------
        first, second : str
            Models, "all" or "none".

        Returns
        -------
        dict of str to list
            `threshold`, `difference`, `low` and `high`.
        """
        a, b = self._check_strategy(first), self._check_strategy(second)
        if a == b:
            raise InputError(f"a difference needs two different strategies; both are {a!r}")
        sign = 1.0 if (a, b) in self.pairs else -1.0
        value, low, high = self.pairs[(a, b) if sign > 0 else (b, a)]
        if sign < 0:
            value, low, high = 0.0 - value, 0.0 - high, 0.0 - low
        return {
            "threshold": self.thresholds.tolist(),
            "difference": value.tolist(),
            "low": low.tolist(),
            "high": high.tolist(),
        }

    def decision_loss(self, model: str) -> tuple[float, float]:
        """Give the largest gain of recalibration in a decision with payoffs in [0, 1].

        At a threshold t it is ``gain (1 - t) / max(t, 1 - t)``: the gain in the decision between
        two actions with the largest stakes whose best choice changes at t. The maximum over
        thresholds is between one half and all of `calibration_decision_loss`, which also covers
        decisions between more actions.

        Parameters
        ----------
        model : str
            The name of one of the `models`.

        Returns
        -------
        tuple of float
            The loss, 0 if recalibration adds nothing, and its threshold.
        """
        t, gain = self.thresholds, self._gain(model)
        loss = gain * (1.0 - t) / np.maximum(t, 1.0 - t)
        worst = int(np.argmax(loss))
        return max(0.0, float(loss[worst])), float(t[worst])

    def calibration_decision_loss(self, model: str) -> float:
        """Give the largest gain of recalibration in a decision at these thresholds.

        It covers decisions with payoffs in [0, 1] between any number of actions whose choices
        change at `thresholds`; with fewer thresholds it is smaller. It is twice the height at 1/2
        of the least concave function above ``gain (1 - t)``. At most three actions are needed. The
        gains are those of the fitted map, on rows that it was not fitted to. For bins, or
        predictions with few distinct values, `ReliabilityTable.decision_loss` is the sample value.

        Parameters
        ----------
        model : str
            The name of one of the `models`.

        Returns
        -------
        float
            The loss, in [0, 1]; 0 if recalibration adds nothing.

        References
        ----------
        Hu and Wu (2024), arXiv:2404.13503.

        Examples
        --------
        >>> import calibrant as cal
        >>> y, p = [0, 1, 1, 0, 1, 0] * 40, [0.2, 0.9, 0.8, 0.6, 0.9, 0.7] * 40
        >>> curves = cal.decision_curve(y, p, thresholds=[0.3, 0.5, 0.65])
        >>> round(curves.calibration_decision_loss("model"), 3)
        0.333
        """
        return envelope_loss(self.thresholds, self._gain(model) * (1.0 - self.thresholds))

    def _gain(self, model: str) -> Array:
        """The net benefit that recalibration adds to a model's, at each threshold.

        It is an error if the model was not recalibrated.
        """
        gain = self.benefits[self._check_strategy(model)].gain
        if gain is None:
            raise InputError(
                f"{model!r} was not recalibrated: name a model, and call without recalibration=None"
            )
        return gain

    def columns(self) -> dict[str, list[Any]]:
        """Give a row per strategy and threshold.

        Returns
        -------
        dict of str to list
            `model`, `threshold`, `tp_rate`, `fp_rate`, `net_benefit`, `low`, `high`,
            `interventions_avoided` (in every row that is not acted on, compared with acting on
            all), `recalibrated`, `gain`, `gain_low` and `gain_high`.
        """
        out: dict[str, list[Any]] = {}
        everyone = self.benefits[ALL].value
        with np.errstate(divide="ignore", invalid="ignore"):
            per_harm = (1.0 - self.thresholds) / self.thresholds
            for name, part in self.benefits.items():
                empty = np.full(self.thresholds.size, np.nan)
                columns: dict[str, Any] = {
                    "model": [name] * self.thresholds.size,
                    "threshold": self.thresholds,
                    "tp_rate": part.tp_rate,
                    "fp_rate": part.fp_rate,
                    "net_benefit": part.value,
                    "low": part.low,
                    "high": part.high,
                    "interventions_avoided": (part.value - everyone) * per_harm,
                }
                for key in ("recalibrated", "gain", "gain_low", "gain_high"):
                    values = getattr(part, key)
                    columns[key] = empty if values is None else values
                for key, values in columns.items():
                    out.setdefault(key, []).extend(np.asarray(values).tolist())
        return out

    def display_columns(self) -> dict[str, list[Any]]:
        """Give a row per threshold, with a column of net benefit for each strategy.

        Returns
        -------
        dict of str to list
            A few thresholds, the net benefits, and the gain of recalibration.
        """
        step = max(1, -(-self.thresholds.size // _SHOWN))
        some = slice(step - 1, None, step) if self.thresholds.size > _SHOWN else slice(None)
        out: dict[str, list[Any]] = {"threshold": self.thresholds[some].tolist()}
        for name, part in self.benefits.items():
            if name != NONE:
                out[name] = part.value[some].tolist()
            if name in self.models:
                ends = zip(part.low[some].tolist(), part.high[some].tolist(), strict=True)
                label = percent(self.level) + ("" if len(self.models) == 1 else f" of {name}")
                out[label] = [range_text(*pair) for pair in ends]
        for name in self.models:
            gain = self.benefits[name].gain
            if gain is not None:
                label = "gain" if len(self.models) == 1 else f"{name}: gain"
                out[label] = gain[some].tolist()
        return out

    @property
    def title(self) -> str:
        """Rows and prevalence, in one line."""
        return (
            f"Net benefit of {counted(len(self.models), 'model', '')}, "
            f"{counted(self.n, 'row')}, mean outcome {shown(self.prevalence)}"
        )

    def _messages(self) -> tuple[str, ...]:
        """Sentences shown with the table: what `gain` is, and the decision loss of each model.

        There are none without recalibration. The calibration decision loss is the most that
        recalibration adds to any decision with payoffs in [0, 1] whose choices change at the
        thresholds; with fewer thresholds there are fewer decisions, so it is smaller.
        """
        if not self.recalibration:
            return ()
        losses = []
        for name in self.models:
            loss = self.calibration_decision_loss(name)
            losses.append(f"{name} {shown(loss)}")
        return (
            f"gain: net benefit added by recalibration ({self.recalibration})",
            "calibration decision loss at these thresholds, the largest gain in any decision with "
            f"payoffs in [0, 1] whose choices change at them: {', '.join(losses)}",
        )

    def plot(
        self,
        *,
        ax: Any = None,
        recalibrated: bool = False,
        legend: bool | str = True,
        size: str | tuple[float, float] | None = None,
    ) -> DecisionCurveDisplay:
        """Draw the net benefits by threshold. Needs matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; by default, a new figure.
        recalibrated : bool, default False
            Whether to draw the models after recalibration too, dashed.
        legend : bool or str, default True
            Whether to draw a legend where there is room, or its location inside the axes.
        size : "column" or tuple of two floats, optional
            Size of a new figure: 3.3 x 2.6 inches, or (width, height) in inches.

        Returns
        -------
        DecisionCurveDisplay
            The diagram; its `save` writes it to a file.
        """
        from calibrant.results._plots.decision_curve import DecisionCurveDisplay

        return DecisionCurveDisplay(self).plot(
            ax=ax, recalibrated=recalibrated, legend=legend, size=size
        )
