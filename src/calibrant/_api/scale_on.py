"""Predictors that are recalibrated before they are compared, each by a map fitted to validation
rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from calibrant._core.errors import InputError, errors_about, nearest, one_of
from calibrant._core.map_names import METHODS
from calibrant._core.messages import name_of
from calibrant._core.typing import Array
from calibrant._data.arrays import to_array
from calibrant._data.columns import pick
from calibrant._data.logprobs import Given, probabilities_of, read_given
from calibrant.scaling._load import new_scaler

KEYS = ("y_true", "y_proba", "sample_weight", "votes", "data")


def recalibrate_predictors(
    y_proba: Any, scale_on: Any, method: Any, how: Given, classes: Sequence[Any] | None, data: Any
) -> tuple[Any, Any, tuple[str, ...]]:
    """Recalibrate each predictor by a map fitted to its validation rows, `scale_on`.

    Returns predictions by name, None and notes on the maps; or, for columns of `data`, the columns'
    names as given, a frame with the new predictions, and notes. `how` says whether predictions are
    logits.
    """
    given = _check_validation(y_proba, scale_on)
    from_logits, logprobs = read_given(how)
    one_of("scaler", method, METHODS)
    out: dict[str, Array] = {}
    notes = []
    for name, predictions in y_proba.items():
        scaler = new_scaler(METHODS[method], from_logits=from_logits)
        with errors_about(f"{name_of('scale_on')}, {name}"):
            labels, seen, weights, votes = _validation_rows(given, name)
            if data is not None:
                predictions = pick(data, predictions, "y_proba")
            if logprobs:
                seen, predictions = (
                    probabilities_of(to_array(each, "y_proba")) for each in (seen, predictions)
                )
            scaler.fit(labels, seen, classes=classes, sample_weight=weights, votes=votes)
            out[name] = np.asarray(scaler.transform(predictions))
        notes.append(f"{name}: recalibrated. {scaler._in_words()}")
    if data is not None:
        return y_proba, _with_columns(data, y_proba, out), tuple(notes)
    return out, None, tuple(notes)


def _validation_rows(given: Mapping[str, Any], name: Any) -> tuple[Any, Any, Any, Any]:
    """Labels, predictions, weights and votes of one predictor's validation rows.

    Weights and votes may be None. `given` are the arguments for the validation rows of all.
    """
    labels, weights, votes = given["y_true"], given.get("sample_weight"), given.get("votes")
    labels = labels[name] if isinstance(labels, Mapping) else labels
    seen, frame = given["y_proba"][name], given.get("data")
    if frame is None:
        return labels, seen, weights, votes
    return (
        pick(frame, labels, "y_true"),
        pick(frame, seen, "y_proba"),
        None if weights is None else pick(frame, weights, "sample_weight"),
        pick(frame, votes, "votes") if isinstance(votes, str) else votes,
    )


def _with_columns(data: Any, y_proba: Mapping[Any, Any], out: Mapping[Any, Any]) -> Any:
    """The frame with the new predictions `out`, by predictor, instead of the old columns.

    `y_proba` has the name or names of each predictor's columns; other columns stay.
    """
    new = {}
    for name, names in y_proba.items():
        if isinstance(names, str):
            new[names] = out[name]
        else:
            columns = out[name].reshape(-1, len(names))
            new.update({column: columns[:, j] for j, column in enumerate(names)})
    if isinstance(data, Mapping):
        return {**data, **new}
    import narwhals as nw

    frame = nw.from_native(data, eager_only=True)
    series = [nw.new_series(*each, backend=frame.implementation) for each in new.items()]
    return frame.with_columns(*series).to_native()


def _check_validation(y_proba: Any, scale_on: Any) -> Mapping[str, Any]:
    """Raise an InputError if a predictor has no validation rows; return `scale_on` unchanged."""
    need = "scale_on must map y_true and y_proba to validation rows"
    if not isinstance(scale_on, Mapping):
        raise InputError(f"{need}; got {type(scale_on).__name__}")
    unknown = [key for key in scale_on if key not in KEYS]
    if unknown:
        raise InputError(f"{need}; it has {unknown[0]!r}: {nearest(unknown[0], KEYS)}")
    absent = [key for key in ("y_true", "y_proba") if scale_on.get(key) is None]
    if absent:
        raise InputError(f"{need}; {absent[0]} is not there")
    validation = scale_on["y_proba"]
    if not isinstance(validation, Mapping):
        raise InputError(
            "y_proba of scale_on must map names to predictions, with the same names as y_proba"
        )
    labels = scale_on["y_true"]
    if isinstance(labels, Mapping) and set(labels) != set(validation):
        raise InputError(
            "y_true of scale_on must have labels for every predictor, or one set for all"
        )
    if not isinstance(y_proba, Mapping):
        raise InputError(
            "scale_on does not support long format (models=): give y_proba as a mapping of names "
            "to predictions"
        )
    for mine, others, where in (
        (y_proba, validation, name_of("scale_on")),
        (validation, y_proba, "y_proba"),
    ):
        missing = [name for name in mine if name not in others]
        if missing:
            raise InputError(f"{where} has no predictions of {missing[0]!r}: give both")
    return scale_on
