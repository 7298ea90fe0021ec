"""RankRobustness: whether an error keeps its order of predictors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from calibrant._core.errors import counted
from calibrant.results._base import TableOfRows, column
from calibrant.results._rendering import as_frame

if TYPE_CHECKING:
    from calibrant.results._plots.robustness import RankRobustnessDisplay

Relation = Literal["loss", "bins", "dominance"]


@dataclass(frozen=True)
class RankCorrelation:
    """One rank correlation of an error.

    Attributes
    ----------
    measure : str
        The error.
    relation : {"loss", "bins", "dominance"}
        What it is correlated with: a loss, itself at other bins, or the order of dominance.
    first, second : str
        The two columns that are correlated.
    value, margin : float or None
        Spearman's correlation, and the margin ``1.96 (1 - value^2) / sqrt(n)``, which takes all
        predictors for independent; None where there is nothing to rank: a constant column, or a
        single predictor.
    n : int
        Predictors that were ranked.
    low, high : float or None
        The 95 % interval over groups of predictors, if there are groups.

    Examples
    --------
    >>> from calibrant.results import RankCorrelation
    >>> RankCorrelation("ece", "bins", "ece(5)", "ece(20)", 0.9, 0.05, 12).value
    0.9
    """

    measure: str
    relation: Relation
    first: str
    second: str
    value: float | None = field(metadata=column("spearman"))
    margin: float | None
    n: int
    low: float | None = field(default=None, metadata=column(when="n_groups"))
    high: float | None = field(default=None, metadata=column(when="n_groups"))


@dataclass(frozen=True, repr=False, kw_only=True)
class RankRobustness(TableOfRows[RankCorrelation]):
    """Rank correlations of errors with losses, with themselves at other bins, and with dominance.

    Made by `rank_robustness` and by `compare`.

    Attributes
    ----------
    rows : tuple of RankCorrelation
        The correlations.
    chain : tuple of int
        The predictors of the maximum dominance set, from the best to the worst.
    names : tuple of str or None
        The predictors.
    n : int
        The number of predictors.
    n_groups : int or None
        The number of groups of predictors over which intervals were computed.

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1, 1, 0] * 25, [0.1, 0.8, 0.9, 0.2] * 25
    >>> models = {f"{j}": [(u + j * (1 - u)) / (1 + j) for u in p] for j in range(8)}
    >>> robustness = cal.compare(y, models, measures=["ece"]).robustness
    >>> robustness.n, [robustness.names[i] for i in robustness.chain][:3]
    (8, ['0', '1', '2'])
    """

    _json_keys = "n chain chain_names correlations"
    _table_key = "correlations"
    _json_types: ClassVar = {"chain_names": list[str] | None}

    rows: tuple[RankCorrelation, ...]
    chain: tuple[int, ...]
    names: tuple[str, ...] | None
    n: int
    n_groups: int | None = None

    def select(
        self, *, measure: str | None = None, relation: Relation | None = None
    ) -> tuple[RankCorrelation, ...]:
        """Give the rows of one measure, of one relation, or of both.

        Parameters
        ----------
        measure : str, optional
            Name of the error.
        relation : {"loss", "bins", "dominance"}, optional
            What it is correlated with.

        Returns
        -------
        tuple of RankCorrelation
            The rows.
        """
        return tuple(
            row
            for row in self.rows
            if measure in (None, row.measure) and relation in (None, row.relation)
        )

    def table(self) -> dict[str, list[Any]]:
        """Give a row per measure, short and wide.

        Returns
        -------
        dict of str to list
            The rank correlation with the first loss, between numbers of bins, and with the
            dominance order, each with its interval over groups, or without groups its margin.
        """
        measures = list(dict.fromkeys(row.measure for row in self.rows))
        first_loss = next(row.first for row in self.rows if row.relation == "loss")
        columns: dict[str, list[Any]] = {"measure": measures}
        for row in self.rows:
            if row.relation == "loss" and row.first != first_loss:
                continue
            short = [name.replace(row.measure, "").strip("()") for name in (row.first, row.second)]
            cells = columns.setdefault(f"{short[0]} / {short[1]}", [""] * len(measures))
            if row.value is not None:
                margin = f"± {row.margin:.3f}"
                if row.low is not None:
                    margin = f"[{row.low:.3f}, {row.high:.3f}]"
                cells[measures.index(row.measure)] = f"{row.value:.3f} {margin}"
        return columns

    def to_frame(self, backend: str | None = None) -> Any:
        """Give a row per correlation, as a frame.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Library of the frame; by default, the first of them that is installed.

        Returns
        -------
        frame
            The columns, with NaN where nothing could be ranked.
        """
        numbers = ("spearman", "margin", "low", "high")
        columns = {
            # NaN in place of None keeps the column numeric where nothing could be ranked.
            name: [math.nan if v is None else v for v in values] if name in numbers else values
            for name, values in self.columns().items()
        }
        return as_frame(columns, backend)

    def _json_item(self, attribute: str) -> Any:
        """The value of an attribute in the JSON of the result (`to_dict`).

        `chain_names` are the names of the predictors in `chain`; null where predictors have no
        names.
        """
        if attribute != "chain_names":
            return super()._json_item(attribute)
        return None if self.names is None else [self.names[i] for i in self.chain]

    def plot(
        self,
        *,
        ax: Any = None,
        relation: Relation = "bins",
        measures: Sequence[str] | None = None,
        size: str | tuple[float, float] | None = None,
    ) -> RankRobustnessDisplay:
        """Draw the correlations of one relation with their intervals or margins. Needs matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; by default, a new figure.
        relation : {"bins", "loss", "dominance"}, default "bins"
            What the errors are correlated with.
        measures : sequence of str, optional
            Measures to draw; by default, all.
        size : "column" or tuple of two floats, optional
            Size of a new figure: 3.3 x 2.6 inches, or (width, height) in inches.

        Returns
        -------
        RankRobustnessDisplay
            The diagram; its `save` writes it to a file.
        """
        from calibrant.results._plots.robustness import RankRobustnessDisplay

        return RankRobustnessDisplay(self).plot(
            ax=ax, relation=relation, measures=measures, size=size
        )

    @property
    def title(self) -> str:
        """The number of predictors, in one line."""
        only_two = "; with two predictors, a correlation can only be 1 or -1" if self.n == 2 else ""
        of_groups = "" if self.n_groups is None else f" in {self.n_groups} groups"
        return (
            f"Rank robustness over {counted(self.n, 'predictor', '')}{of_groups}, "
            f"{len(self.chain)} of them in the maximum dominance set{only_two}"
        )
