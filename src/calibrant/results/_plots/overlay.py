"""Several predictors in one reliability diagram."""

# ruff: noqa: N803 - X is the name that scikit-learn has for features.

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from calibrant._core.binning import Bins
from calibrant._core.errors import InputError
from calibrant._core.validation import public
from calibrant.results._plots.canvas import Drawn
from calibrant.results._plots.reliability import ReliabilityDisplay
from calibrant.results._reliability import ReliabilityTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class OverlaidReliabilityDisplay(Drawn):
    """A curve for each of several predictors, in one reliability diagram.

    Use `from_predictions` or `from_estimator`, or give tables by name. Intervals of more than two
    curves hide one another: they are drawn only if `level` is given.

    Attributes
    ----------
    tables : the `ReliabilityTable` of each predictor, by name
    displays_ : the `ReliabilityDisplay` of each
    ax_, figure_ : matplotlib's axes and figure

    Examples
    --------
    >>> from calibrant.results._plots.overlay import OverlaidReliabilityDisplay
    >>> models = {"first": [0.2, 0.7, 0.9, 0.4], "second": [0.1, 0.8, 0.8, 0.6]}
    >>> display = OverlaidReliabilityDisplay.from_predictions([0, 1, 1, 0], models, bins=2)
    >>> [each.line_.get_label() for each in display.displays_]
    ['first: ECE 0.250', 'second: ECE 0.075']
    """

    def __init__(self, tables: Mapping[str, ReliabilityTable]) -> None:
        if not tables:
            raise InputError("tables must hold the table of one predictor or more, by name")
        self.tables = dict(tables)

    @classmethod
    @public
    def from_predictions(
        cls,
        y_true: Any,
        y_proba: Mapping[str, Any],
        *,
        bins: Bins = 15,
        notion: str | None = None,
        sample_weight: Any = None,
        from_logits: bool = False,
        classes: Sequence[Any] | None = None,
        data: Any = None,
        ax: Axes | None = None,
        level: float | None = None,
        counts: bool = True,
        ref_line: bool = True,
    ) -> OverlaidReliabilityDisplay:
        """The diagram of labels and the predictions of `y_proba`, name by name: the options of
        `calibrant.reliability`, then those of `plot`.
        """
        from calibrant._api.reliability import reliability

        if not isinstance(y_proba, Mapping):
            raise InputError(
                "y_proba must map names to predictions, such as {'forest': p, 'boosting': q}; got "
                f"{type(y_proba).__name__}. For one predictor use ReliabilityDisplay"
            )
        tables = {
            str(name): reliability(
                y_true, predictions, bins=bins, notion=notion, sample_weight=sample_weight,
                from_logits=from_logits, classes=classes, data=data,
            )
            for name, predictions in y_proba.items()
        }  # fmt: skip
        return cls(tables).plot(ax=ax, level=level, counts=counts, ref_line=ref_line)

    @classmethod
    @public
    def from_estimator(
        cls,
        estimators: Mapping[str, Any],
        X: Any,
        y: Any,
        *,
        bins: Bins = 15,
        notion: str | None = None,
        sample_weight: Any = None,
        y_soft: Any = None,
        response_method: str | tuple[str, ...] = "predict_proba",
        from_logits: bool = False,
        pos_label: Any = None,
        ax: Axes | None = None,
        level: float | None = None,
        counts: bool = True,
        ref_line: bool = True,
    ) -> OverlaidReliabilityDisplay:
        """The diagram of fitted classifiers, name by name, on rows X with labels y, or with soft
        labels `y_soft`.
        """
        from calibrant._api.reliability import reliability
        from calibrant.integrations._responses import read_problem, resolve_methods

        methods = resolve_methods(response_method, from_logits)
        tables = {}
        for name, estimator in estimators.items():
            problem = read_problem(
                estimator, X, y, y_soft=y_soft, pos_label=pos_label, methods=methods
            )
            tables[str(name)] = reliability(
                problem.y_true, problem.y_proba, bins=bins, notion=notion,
                sample_weight=sample_weight, from_logits=problem.from_logits,
                classes=problem.classes,
            )  # fmt: skip
        return cls(tables).plot(ax=ax, level=level, counts=counts, ref_line=ref_line)

    @public
    def plot(
        self,
        *,
        ax: Axes | None = None,
        level: float | None = None,
        counts: bool = True,
        ref_line: bool = True,
    ) -> OverlaidReliabilityDisplay:
        """Draw on `ax`, or on a new figure: see `ReliabilityDisplay.plot`.

        A strip of rows is drawn for up to three predictors.
        """
        self.displays_: list[ReliabilityDisplay] = []
        for name, table in self.tables.items():
            display = ReliabilityDisplay(table, name=name).plot(
                ax=ax, level=level, counts=counts and len(self.tables) <= 3, ref_line=ref_line
            )
            ax = display.ax_
            self.displays_.append(display)
        self.ax_, self.figure_ = self.displays_[0].ax_, self.displays_[0].figure_
        return self
