"""FrameSamples: columns of a frame that stays in its own engine and is summed there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from calibrant._core.typing import Shape
from calibrant._data.links import ROW_SUM_TOLERANCE
from calibrant._data.samples import Samples, shape_of

# Values of a column, each with the index of its class.
Labels = tuple[tuple[str | int | float, int], ...]


def column_of(frame: Any, name: str) -> Any:
    """An expression for a column of a narwhals frame; for Spark the name is put in backticks."""
    import narwhals as nw

    if frame.implementation.is_spark_like():  # to Spark a dot is not part of a name
        name = "`" + name.replace("`", "``") + "`"
    return nw.col(name)


@dataclass(frozen=True, eq=False)
class FrameSamples:
    """Names of the columns that hold predictions, targets and weights, and the frame they are in.

    Only `calibrant._data` makes these, and the frame's engine for parts of them: columns are known
    to exist and to be numbers. Nothing is read until something is summed.
    """

    # A narwhals LazyFrame.
    frame: Any
    predictions: tuple[str, ...]
    targets: tuple[str, ...]
    weight: str | None = None
    multiclass: bool = False
    from_logits: bool = False
    # The values of the column of labels with their class indices; None if it holds indices or
    # targets.
    labels: Labels | None = None
    class_names: tuple[str, ...] | None = None
    inferred: tuple[str, ...] = ()
    # The type to which predictions are rounded before they are compared with bin edges: their own.
    rounded_to: str = "float64"
    # Whether labels cannot be fractions, because their type has none.
    hard: bool = False
    # What to do with rows that miss a value: "error", or "drop" to drop and count them.
    missing: str = "error"
    # Whether all rows have been checked already, as part of other samples.
    sound: bool = False
    # How far from 1 the sum of a row may be; further if it came in half precision.
    row_sum_tolerance: float = ROW_SUM_TOLERANCE
    label_sum_tolerance: float = ROW_SUM_TOLERANCE
    # The columns whose sum is a row's number of votes, where targets are counts of them, to be read
    # as shares; and a column that must say the same number.
    vote_columns: tuple[str, ...] = ()
    stated_votes: str | None = None
    # Whether it is known how many votes are behind each row's target.
    voted: bool = False
    # Whether labels say if an answer was right.
    answers: bool = False

    engine: ClassVar[str] = "calibrant._engines.frames"
    # Rows are dropped, and counted, only in the pass that sums them.
    n_missing: ClassVar[int] = 0

    @property
    def shape(self) -> Shape:
        """The kind of problem: "binary", "answers" or "multiclass"."""
        return "multiclass" if self.multiclass else shape_of(1, self.answers)

    @property
    def n_classes(self) -> int:
        """The number of classes: the columns of predictions, or 2 for a binary problem."""
        return len(self.predictions) if self.multiclass else 2

    @property
    def n_columns(self) -> int:
        """The number of columns of predictions: one for each class, or 1 for a binary problem."""
        return len(self.predictions)

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return self.weight is not None

    @property
    def soft_rows(self) -> bool:
        """Whether targets are in several columns, one for each class."""
        return len(self.targets) > 1

    @property
    def precision(self) -> np.dtype[Any]:
        """The type in which predictions are compared with bin edges: float64 for logits, else their
        own.
        """
        return np.dtype("float64" if self.from_logits else self.rounded_to)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns that are read, each once."""
        weight = () if self.weight is None else (self.weight,)
        stated = () if self.stated_votes is None else (self.stated_votes,)
        votes = (*self.vote_columns, *stated)
        return tuple(dict.fromkeys((*self.targets, *self.predictions, *weight, *votes)))

    @property
    def where(self) -> str:
        """The name of the frame's engine, such as "polars"."""
        return str(self.frame.implementation.value)

    def column(self, name: str) -> Any:
        """A column of the frame as a narwhals expression."""
        return column_of(self.frame, name)

    def is_nan(self, value: Any) -> Any:
        """An expression that is true where `value`, a floating-point expression, is NaN, and false
        where it is null.

        DuckDB would look NaN up in the statistics of a Parquet file, which leave NaN out, and find
        none. The exponential in the expression makes it look at the values.
        """
        if self.frame.implementation.is_duckdb():
            value = (0.0 - value.abs()).exp()
        return value.is_nan().fill_null(False)

    def as_binary(self, frame: Any, *, weighted: bool, hard: bool) -> FrameSamples:
        """The samples of a binary problem in another frame, whose values are known to be valid. Its
        columns are u, the prediction; z, the target; and, if `weighted`, w, the weight. `hard` says
        that no target is a fraction.
        """
        return replace(
            self,
            frame=frame,
            predictions=("u",),
            targets=("z",),
            weight="w" if weighted else None,
            multiclass=False,
            from_logits=False,
            labels=None,
            hard=hard,
            missing="error",
            sound=True,
        )

    def count_rows(self) -> int:
        """Count the rows that are not dropped, by a separate query."""
        import narwhals as nw

        frame = self.frame
        if self.missing == "drop":
            schema = frame.collect_schema()
            gone = [self.column(name).is_null() for name in self.columns]
            gone += [
                self.is_nan(self.column(name)) for name in self.columns if schema[name].is_float()
            ]
            frame = frame.filter(~nw.any_horizontal(*gone, ignore_nulls=False))
        return int(frame.select(n=nw.len()).collect()["n"].to_list()[0])

    def row(self, number: int) -> Samples:
        """The samples of one row as arrays in memory; `number` is the row's number. A frame without
        an order may give another row for the same number.
        """
        places = {f"c{j}": self.column(name) for j, name in enumerate(self.columns)}
        rows = self.frame.select(**places).head(number + 1).collect()
        last = {
            name: rows[place].to_list()[-1]
            for place, name in zip(places, self.columns, strict=True)
        }
        predictions = np.array([[last[name] for name in self.predictions]], dtype=np.float64)
        targets = np.array([[last[name] for name in self.targets]])
        if self.vote_columns:
            targets = targets / sum(last[name] for name in self.vote_columns)
        return Samples(
            predictions if self.multiclass else predictions[:, 0],
            targets if self.soft_rows else targets[:, 0],
            None if self.weight is None else np.array([last[self.weight]], dtype=np.float64),
            self.from_logits,
            row_sum_tolerance=self.row_sum_tolerance,
            label_sum_tolerance=self.label_sum_tolerance,
        )

    def every_prediction_is_zero_or_one(self) -> bool:
        """Whether all predictions are 0 or 1, as if labels were given in their place; False for
        logits.
        """
        if self.from_logits:
            return False
        predictions = [self.column(name) for name in self.predictions]
        others = [(prediction != 0) & (prediction != 1) for prediction in predictions]
        return all(self.frame.filter(other).head(1).collect().is_empty() for other in others)
