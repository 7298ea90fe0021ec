"""The rows of several models: with shared labels or labels of their own, side by side or in long
format.

In long format the rows of all models stand one below the other, and a column says whose each is.
Where each model has labels of its own, such as whether its own answer was right, rows are matched
by their ids, and the confidence of every model is compared with its own labels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calibrant._api.rows import GivenRows
from calibrant._core.errors import InputError, errors_about
from calibrant._core.typing import Index
from calibrant._data.align_rows import align, differing_rows, rows_in_order, unique_ids
from calibrant._data.arrays import to_array
from calibrant._data.columns import (
    check_label_is_shared,
    check_labels_are_own,
    column_names,
    pick,
    take_rows,
)
from calibrant._data.logprobs import Given
from calibrant._data.samples import Samples
from calibrant._data.to_samples import to_samples


@dataclass(frozen=True, eq=False)
class ModelRows:
    """The rows of one model as the user gave them: arrays, or names of columns of `data`."""

    y_true: Any
    y_proba: Any
    sample_weight: Any
    votes: Any
    data: Any
    # Row numbers that bring this model into the common order of rows; None if they have it already.
    order: Index | None = None
    # Whether only predictions are to be reordered: labels, weights and votes have the common order.
    only_predictions: bool = False

    def samples(self, how: Given, classes: Sequence[Any] | None) -> Samples:
        """The model's validated samples, in the order of rows that all models share.

        `how` says whether predictions are probabilities, logits or log-probabilities.
        """
        given = (self.y_true, self.y_proba, self.sample_weight, how, classes, self.data)
        out = to_samples(*given, votes=self.votes)
        if classes is None:
            out = replace(out, class_names=None)
        if self.order is None:
            return out
        if self.order.size != out.n:
            what = " of y_proba" if self.only_predictions else ""
            raise InputError(f"there are {self.order.size} ids for {out.n} rows{what}")
        if self.only_predictions:
            return replace(out, predictions=out.predictions[self.order])
        return out.take(self.order)


@dataclass(frozen=True, eq=False)
class ModelSet:
    """The samples of every model by name, with slices (`by`) and clusters (`groups`) of rows."""

    samples: dict[str, Samples]
    # The number of rows in which some model has other labels than the first model.
    n_own_labels: int
    by: Any
    groups: Any
    data: Any
    # Whether rows were matched by ids.
    matched: bool


def model_set(given: GivenRows, models: Any, how: Given, classes: Sequence[Any] | None) -> ModelSet:
    """Validate every model's samples, and bring all into one order of rows.

    `models` has the name of each row's model, in long format; None if `y_proba` maps names to
    predictions. `how` says whether predictions are logits.
    """
    if models is None:
        rows = _rows_by_name(given)
        rest = given.by, given.groups, given.data, given.ids is not None
    else:
        rows, *others = _rows_of_long_format(given, models)
        rest = *others, True
    samples = {}
    for name, each in rows.items():
        with errors_about(name):
            samples[name] = each.samples(how, classes)
    _check_same_rows(samples)
    has_own = models is not None or isinstance(given.y_true, Mapping)
    return ModelSet(samples, _count_differing(samples) if has_own else 0, *rest)


def _rows_by_name(given: GivenRows) -> dict[str, ModelRows]:
    """The rows of each model by its name, if `y_proba` maps names to predictions."""
    ids, data, own = given.ids, given.data, isinstance(given.y_true, Mapping)
    labels = _labels_of_models(given)
    rows = {
        str(name): ModelRows(
            labels[name], given.y_proba[name], given.sample_weight, given.votes, data
        )
        for name in labels
    }
    if ids is None:
        return rows
    of_labels = isinstance(ids, Mapping) and "y_true" in ids
    if own and of_labels:
        raise InputError(
            "ids has 'y_true', but y_true has labels for each model: map each model's name to the "
            "ids of its rows"
        )
    if own:
        return _weights_in_own_order(_match_by_ids(rows, ids, data))
    if not of_labels:
        raise InputError("ids must map 'y_true', and names of predictors, to the id of each row")
    orders = rows_in_order(ids, list(labels), data)
    return {
        str(name): replace(rows[str(name)], order=orders.get(name), only_predictions=True)
        for name in labels
    }


def predictor_columns(given: GivenRows) -> dict[str, tuple[Any, Any]]:
    """The names of the columns of labels and of predictions of each predictor of a lazy frame, by
    its name. All arguments but these, weights and clusters are refused.
    """
    for argument in ("ids", "by", "votes"):
        if getattr(given, argument) is not None:
            raise InputError(
                f"{argument}= needs rows in memory, but the frame is in another engine: drop "
                f"{argument}=, or collect a sample of rows and compare that"
            )
    labels = _labels_of_models(given)
    return {str(name): (own, given.y_proba[name]) for name, own in labels.items()}


def _labels_of_models(given: GivenRows) -> dict[Any, Any]:
    """The labels, or columns of labels, of each model by its name as the user gave it."""
    y_true, y_proba = given.y_true, given.y_proba
    names, columns = _model_names(y_proba), column_names(given.data)
    if not isinstance(y_true, Mapping):
        check_label_is_shared(y_true, y_proba, columns)
        return dict.fromkeys(names, y_true)
    _check_one_each(y_true, names)
    check_labels_are_own(y_true, y_proba, columns)
    return {name: y_true[name] for name in names}


def _model_names(y_proba: Any) -> list[Any]:
    """The names of the models; an error unless there are two or more, all different."""
    if not isinstance(y_proba, Mapping):
        raise InputError(
            "y_proba must map names to predictions, such as {'a': p_a, 'b': p_b}; got "
            f"{type(y_proba).__name__}"
        )
    if len(y_proba) < 2:
        raise InputError(f"y_proba must hold two or more predictors to compare; got {len(y_proba)}")
    texts = [str(name) for name in y_proba]
    again = next((name for name in texts if texts.count(name) > 1), None)
    if again is not None:
        raise InputError(f"two predictors are named {again!r}: give each its own name")
    return list(y_proba)


def _check_one_each(y_true: Mapping[Any, Any], names: list[Any]) -> None:
    """Raise an InputError unless `y_true` has labels for exactly the models of these names."""
    absent = [name for name in names if name not in y_true]
    extra = [name for name in y_true if name not in names]
    if absent or extra:
        fault = f"has none for {absent[0]!r}" if absent else f"has {extra[0]!r}, not in y_proba"
        raise InputError(
            f"y_true maps models to their own labels, and {fault}: give labels for each of "
            f"{', '.join(map(repr, names))}, or one set for all"
        )


def _match_by_ids(rows: dict[str, ModelRows], ids: Any, data: Any) -> dict[str, ModelRows]:
    """The rows of each model, with the order that puts them in line with the first model's ids.

    An InputError is raised unless all models have the same ids.
    """
    if not isinstance(ids, Mapping) or {str(name) for name in ids} != set(rows):
        raise InputError(
            "ids must map each model's name to the id of each of its rows, for "
            f"{', '.join(map(repr, rows))}"
        )
    known = {str(name): unique_ids(values, str(name), data) for name, values in ids.items()}
    aligned = align({name: known[name] for name in rows})
    for name, absent in aligned.unmatched.items():
        if absent:
            raise InputError(
                f"ids of {name!r}: {len(absent)} do not occur for every model, such as "
                f"{absent[0]!r}. Compare models on the same rows"
            )
    return {
        name: replace(each, order=order)
        for (name, each), order in zip(rows.items(), aligned.rows.values(), strict=True)
    }


def _weights_in_own_order(rows: dict[str, ModelRows]) -> dict[str, ModelRows]:
    """The rows of each model, with weights and votes in the order of its own rows.

    The user gives weights and votes once, in the order of the first model's rows.
    """
    return {
        name: replace(
            each,
            sample_weight=_in_own_order(each.sample_weight, each.order, "sample_weight"),
            votes=_in_own_order(each.votes, each.order, "votes"),
        )
        for name, each in rows.items()
    }


def _in_own_order(values: Any, order: Index | None, argument: str) -> Any:
    """Reorder values from the shared order of rows into a model's own order.

    Names of columns, and one value for all rows, are unchanged. `order` has the model's row numbers
    in the shared order; `argument` is a name for errors.
    """
    if values is None or isinstance(values, str) or not np.ndim(values) or order is None:
        return values
    given = to_array(values, argument)
    if given.shape != order.shape:
        return values
    out = np.empty_like(given)
    out[order] = given
    return out


def _rows_of_long_format(
    given: GivenRows, models: Any
) -> tuple[dict[str, ModelRows], Any, Any, Any]:
    """From the long format: (rows of each model by name, slices, clusters, frame).

    The last three are those of the first model's rows, which all models share. `models` has the
    name of each row's model.
    """
    y_true, y_proba, ids, data = given.y_true, given.y_proba, given.ids, given.data
    if isinstance(y_proba, Mapping) or isinstance(y_true, Mapping):
        raise InputError(
            "models= names the model of each row (long format), so y_true and y_proba must be one "
            "column each; with a mapping of names, drop models="
        )
    if ids is None or isinstance(ids, Mapping):
        raise InputError(
            "models= needs ids=, the id of each row (a column, or one value per row), which "
            "matches rows across models"
        )
    whose = to_array(pick(data, models, "models") if data is not None else models, "models")
    keys = to_array(pick(data, ids, "ids") if data is not None else ids, "ids")
    if whose.ndim != 1 or keys.shape != whose.shape:
        raise InputError(
            f"models and ids must have one value per row; got the shapes {whose.shape} and "
            f"{keys.shape}"
        )
    names = list(dict.fromkeys(str(name) for name in whose.tolist()))
    if len(names) < 2:
        raise InputError(f"models must name two or more models; got {names}")
    text = whose.astype(str)
    parts = {name: np.flatnonzero(text == name) for name in names}

    def values_of(argument: str, part: Index) -> Any:
        """The values of an argument for the rows of one model."""
        return _take_values(getattr(given, argument), part, data, whose.size, argument)

    rows = {
        name: ModelRows(
            values_of("y_true", part),
            values_of("y_proba", part),
            values_of("sample_weight", part),
            given.votes if np.ndim(given.votes) == 0 else values_of("votes", part),
            None if data is None else take_rows(data, part),
        )
        for name, part in parts.items()
    }
    rows = _match_by_ids(rows, {name: keys[part] for name, part in parts.items()}, None)
    first = parts[names[0]]
    frame = None if data is None else take_rows(data, first)
    return rows, values_of("by", first), values_of("groups", first), frame


def _take_values(values: Any, rows: Index, data: Any, n: int, argument: str) -> Any:
    """The values of some rows; unchanged if they are columns' names, for then the frame is cut.

    An InputError, which names `argument`, is raised unless there are n values.
    """
    if values is None or data is not None:
        return values
    array = to_array(values, argument)
    if array.shape[:1] != (n,):
        raise InputError(f"{argument} must have one entry per row, {n}; got {array.shape[0]}")
    return array[rows]


def _check_same_rows(samples: Mapping[str, Samples]) -> None:
    """Raise an InputError unless all models have as many rows, the same classes and weights."""
    shapes = {name: each.predictions.shape[1:] for name, each in samples.items()}
    if len(set(shapes.values())) > 1:
        listed = ", ".join(f"{name} {('n', *shape)}" for name, shape in shapes.items())
        raise InputError(f"all predictors must have the same classes; the shapes are {listed}")
    (first_name, first), *others = samples.items()
    for name, each in others:
        if each.n != first.n:
            raise InputError(
                f"{first_name} has {first.n} rows, {name} has {each.n}: compare models on the same "
                "rows, matched by ids="
            )
        if each.targets.shape != first.targets.shape:
            raise InputError(f"the labels of {name} and {first_name} have different shapes")
        mine, theirs = each.weights, first.weights  # NaN is NaN: the row is named later
        if theirs is not None and not np.array_equal(mine, theirs, equal_nan=True):  # type: ignore[arg-type]
            raise InputError(f"{name} and {first_name} have different weights for the same rows")


def own_labels_note(n_own: int, n: int) -> tuple[str, ...]:
    """The note that labels differ between models in n_own of n rows; () if in none."""
    if not n_own:
        return ()
    return (f"each model has its own labels, which differ in {n_own:,} of {n:,} rows",)


def _count_differing(samples: Mapping[str, Samples]) -> int:
    """The number of rows in which some model has other labels than the first model."""
    first, *others = samples.values()
    other = np.zeros(first.n, dtype=np.bool_)
    for each in others:
        other |= differing_rows(each.targets, first.targets)
    return int(np.count_nonzero(other))
