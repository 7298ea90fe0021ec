"""The reliability diagram without bins: a smoothed curve, with a band where there is one."""

# ruff: noqa: N803 - X is the name that scikit-learn has for features.

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant._core.validation import public
from calibrant.results._plots.canvas import Drawn, canvas, fit_height
from calibrant.results._plots.diagram_parts import (
    CURVE,
    OUTSIDE,
    clear_corners,
    legend,
    prepare,
    strip_axes,
    turn_of,
    y_label_of,
)
from calibrant.results._plots.names import short_name
from calibrant.results._plots.style import COLUMN, look
from calibrant.results._smooth_curve import SmoothCurve

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class SmoothReliabilityDisplay(Drawn):
    """The smoothed mean target against the prediction, without bins.

    The curve is an average over neighbouring predictions: where the frequency changes within a
    bandwidth it does not follow, and its band knows nothing of that bias. Bins of the same rows
    that lie outside the band (`SmoothCurve.outside`) are drawn over it, as dots with their
    intervals.

    Use `from_predictions` or `from_estimator`, or `SmoothCurve.plot`. The curve is drawn where at
    least one row lies within about a bandwidth. The band is for one point at a time, and for the
    smoothed mean target (see `SmoothCurve.intervals`); soft labels have none. The strip on top
    shows the density of the predictions. It may be drawn over a `ReliabilityDisplay`, with its
    ``ax_``.

    Attributes
    ----------
    curve : the `SmoothCurve` that is drawn
    ax_, figure_ : matplotlib's axes and figure
    line_ : the curve
    band_ : the band, or None
    outside_ : the bins that lie outside the band, or None
    density_ax_ : the axes of the strip on top, or None

    Examples
    --------
    >>> from calibrant.results._plots.smooth import SmoothReliabilityDisplay
    >>> y, p = [0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]
    >>> display = SmoothReliabilityDisplay.from_predictions(y, p, sigma=0.2)
    >>> display.line_.get_label()
    'smoothed, σ = 0.2'
    """

    def __init__(self, curve: SmoothCurve, *, name: str | None = None) -> None:
        self.curve = curve
        self.name = name

    @classmethod
    @public
    def from_predictions(
        cls,
        y_true: Any,
        y_proba: Any,
        *,
        kind: str = "unit",
        sigma: float | None = None,
        notion: str | None = None,
        sample_weight: Any = None,
        from_logits: bool = False,
        classes: Sequence[Any] | None = None,
        data: Any = None,
        name: str | None = None,
        ax: Axes | None = None,
        level: float | None = 0.95,
        density: bool = True,
        ref_line: bool = True,
        color: Any = None,
        line_kwargs: Mapping[str, Any] | None = None,
    ) -> SmoothReliabilityDisplay:
        """The diagram of labels and predictions: the options of `calibrant.smooth_reliability`,
        then those of `plot`.
        """
        import calibrant

        curve = calibrant.smooth_reliability(
            y_true, y_proba, kind=kind, sigma=sigma, notion=notion, sample_weight=sample_weight,
            from_logits=from_logits, classes=classes, data=data,
        )  # fmt: skip
        return cls(curve, name=name).plot(
            ax=ax, level=level, density=density, ref_line=ref_line, color=color,
            line_kwargs=line_kwargs,
        )  # fmt: skip

    @classmethod
    @public
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        kind: str = "unit",
        sigma: float | None = None,
        notion: str | None = None,
        sample_weight: Any = None,
        y_soft: Any = None,
        response_method: str | tuple[str, ...] = "predict_proba",
        from_logits: bool = False,
        pos_label: Any = None,
        name: str | None = None,
        ax: Axes | None = None,
        level: float | None = 0.95,
        density: bool = True,
        ref_line: bool = True,
        color: Any = None,
        line_kwargs: Mapping[str, Any] | None = None,
    ) -> SmoothReliabilityDisplay:
        """The diagram of a fitted classifier on rows X with labels y, or with soft labels `y_soft`.

        Two classes: the predictions of the second, or of `pos_label`. More: the top label, or with
        `pos_label` that class against the rest.
        """
        from calibrant.integrations._responses import read_problem, resolve_methods

        problem = read_problem(
            estimator, X, y, y_soft=y_soft, pos_label=pos_label,
            methods=resolve_methods(response_method, from_logits),
        )  # fmt: skip
        return cls.from_predictions(
            problem.y_true, problem.y_proba, kind=kind, sigma=sigma, notion=notion,
            sample_weight=sample_weight, from_logits=problem.from_logits, classes=problem.classes,
            name=type(estimator).__name__ if name is None else name, ax=ax, level=level,
            density=density, ref_line=ref_line, color=color, line_kwargs=line_kwargs,
        )  # fmt: skip

    @public
    def plot(
        self,
        *,
        ax: Axes | None = None,
        name: str | None = None,
        level: float | None = 0.95,
        density: bool = True,
        ref_line: bool = True,
        color: Any = None,
        line_kwargs: Mapping[str, Any] | None = None,
    ) -> SmoothReliabilityDisplay:
        """Draw on `ax`, or on a new figure.

        `level` of the band (None: without), `density` for the strip on top, `ref_line` for the
        diagonal, `color` of everything drawn, `line_kwargs` for matplotlib's ``Axes.plot``.
        """
        with canvas(ax, (COLUMN, COLUMN)) as axes:
            turn = turn_of(axes)
            if turn == 0:
                top = self.curve.notion == "confidence"
                x_label = "confidence" if top else "reported probability"
                y_label = y_label_of(self.curve.notion, self.curve.is_hard)
                prepare(axes, x_label, y_label, ref_line)
            self.ax_, self.figure_ = axes, axes.figure
            colour = look(turn)["color"] if color is None else color
            self._draw(axes, level, colour, self.name if name is None else name, line_kwargs or {})
            self.density_ax_ = self._strip(axes, colour) if density else None
            legend(axes)
            fit_height(axes)
        return self

    def _draw(
        self,
        ax: Axes,
        level: float | None,
        colour: Any,
        name: str | None,
        line_kwargs: Mapping[str, Any],
    ) -> None:
        curve = self.curve
        with_band = level is not None and curve.n_effective is not None
        columns = curve.intervals(level) if with_band and level is not None else curve.columns()
        # A gap in the line, where there is no row near by to stand for.
        held = curve.n_near >= 1
        found = {key: np.where(held, values, np.nan) for key, values in columns.items()}
        x, y = np.asarray(columns["prediction"]), found["mean_target"]
        said = f"smoothed, σ = {curve.sigma:.2g}"
        label = said if name is None else f"{short_name(name, 24)}: {said}"
        looks = {"color": colour, "linewidth": 1.4, "zorder": 3, "label": label, "clip_on": False}
        (self.line_,) = ax.plot(x, y, gid=CURVE, **{**looks, **line_kwargs})
        self.band_ = None
        low, high = y, y
        if with_band and level is not None:
            low, high = found["low"], found["high"]
            self.band_ = ax.fill_between(
                x, low, high, color=colour, alpha=0.2, linewidth=0, zorder=1.5,
                gid=f"{100 * level:g}% interval, pointwise",
            )  # fmt: skip
        self.outside_ = self._mark_outside(ax)
        clear_corners(ax, x[held], low[held], high[held])

    def _mark_outside(self, ax: Axes) -> Any:
        """The bins that the curve contradicts, so that none is deceived by it."""
        bins = self.curve.outside
        if not bins:
            return None
        y = np.array([part.mean_target for part in bins])
        spans = [y - [part.low for part in bins], [part.high for part in bins] - y]
        marks = ax.errorbar(
            [part.mean_predicted for part in bins], y, yerr=np.maximum(spans, 0), fmt="o",
            color="black", markersize=3.5, linewidth=1, zorder=4,
        )  # fmt: skip
        marks.lines[0].set(gid=OUTSIDE, label=OUTSIDE)
        return marks

    def _strip(self, ax: Axes, colour: Any) -> Any:
        """Where predictions lie, unless a strip of bins shows it already."""
        kind = "density" if self.curve.kind == "unit" else "density\n(logits)"
        over = strip_axes(ax, kind)
        if len(over.patches):
            return over
        x, density = self.curve.points["prediction"], self.curve.points["density"]
        over.fill_between(x, 0, density, color=colour, alpha=0.2, linewidth=0)
        over.plot(x, density, color=colour, linewidth=1, clip_on=False)
        over.set(ylim=(0, max(over.get_ylim()[1], float(density.max()))), yticks=[])
        return over
