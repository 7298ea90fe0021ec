"""The rows of several predictors: each one's samples, all in one order, and how labels differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from calibrant._api.model_rows import ModelSet
from calibrant._core.errors import InputError, about
from calibrant._data.align_rows import rows_in_order
from calibrant._data.logprobs import Given
from calibrant._data.samples import Samples
from calibrant._data.to_samples import to_samples


def samples_of_models(
    given: ModelSet,
    ids: Any,
    y_proba: Any,
    how: Given,
    classes: Sequence[Any] | None,
) -> dict[str, Samples]:
    """Every predictor's samples, all in one order."""
    out: dict[str, Samples] = {}
    shared = isinstance(ids, Mapping) and "y_true" in ids
    order = rows_in_order(ids, list(y_proba), given.data) if shared else {}
    for name, rows in given.models.items():
        with about(name):
            each = to_samples(
                rows.y_true, rows.y_proba, rows.sample_weight, how, classes, rows.data,
                votes=rows.votes,
            )  # fmt: skip
            if name in order:
                if order[name].size != each.n:
                    raise InputError(
                        f"there are {order[name].size} ids for {each.n} rows of y_proba"
                    )
                each = replace(each, predictions=each.predictions[order[name]])
            if rows.order is not None:
                if rows.order.size != each.n:
                    raise InputError(f"there are {rows.order.size} ids for {each.n} rows")
                each = each.take(rows.order)
        out[name] = each if classes is not None else replace(each, class_names=None)
    _check_alike(out)
    return out


def _check_alike(samples: Mapping[str, Samples]) -> None:
    """An error unless all predictors have the same rows, classes and weights."""
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


def own_note(n_own: int, n: int) -> tuple[str, ...]:
    if not n_own:
        return ()
    return (f"labels are each model's own; they differ in {n_own:,} of {n:,} rows",)


def n_differing(samples: Mapping[str, Samples]) -> int:
    """Rows in which some model has other labels than the first."""
    first, *others = samples.values()
    other = np.zeros(first.n, dtype=np.bool_)
    for each in others:
        differs = np.asarray(each.targets != first.targets)
        other |= differs if differs.ndim == 1 else differs.any(axis=1)
    return int(np.count_nonzero(other))
