"""Every kind of scaler by its name, and scalers read back from files and text."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from calibrant._core.errors import StateError, nearest
from calibrant._core.state_file import shortened, whole_number
from calibrant._core.validation import check_flag
from calibrant.scaling._beta import BetaCalibration
from calibrant.scaling._histogram import HistogramBinning
from calibrant.scaling._isotonic import ROUNDING, CentredIsotonic, IsotonicCalibration
from calibrant.scaling._label_smoothing import LabelSmoothingTemperature
from calibrant.scaling._linear import DirichletCalibration, MatrixScaling, VectorScaling
from calibrant.scaling._platt import PlattScaling
from calibrant.scaling._predictions import LARGEST_LOGIT, Predictions
from calibrant.scaling._prior_shift import PriorShift
from calibrant.scaling._quadratic import QuadraticScaling
from calibrant.scaling._same_rows import FittedRows
from calibrant.scaling._saved import COUNTS, LOSSES, decode_learned, decode_option, from_text
from calibrant.scaling._scaler import Scaler
from calibrant.scaling._spline import SplineScaling
from calibrant.scaling._structured import StructuredMatrixScaling, StructuredVectorScaling
from calibrant.scaling._temperature import TemperatureScaling
from calibrant.scaling._venn_abers import VennAbers

# A fixed list rather than a hook on subclasses: a file must never be read as a class of the caller
# that has one of these names. Messages and the command line use this order.
SCALERS: dict[str, type[Scaler]] = {
    kind.__name__: kind
    for kind in (
        TemperatureScaling,
        VectorScaling,
        MatrixScaling,
        StructuredVectorScaling,
        StructuredMatrixScaling,
        PlattScaling,
        QuadraticScaling,
        BetaCalibration,
        SplineScaling,
        IsotonicCalibration,
        CentredIsotonic,
        VennAbers,
        HistogramBinning,
        DirichletCalibration,
        LabelSmoothingTemperature,
        PriorShift,
    )
}
# No map has more classes: a larger number of columns means that the file is damaged.
MOST_COLUMNS = 1_000_000


def new_scaler(kind: str, *, from_logits: bool = False, from_logprobs: bool = False) -> Scaler:
    """An unfitted scaler of the class named `kind`, for predictions of the kind that the options
    state.
    """
    return SCALERS[kind](from_logits=from_logits, from_logprobs=from_logprobs)


def unchanging_scaler(
    n_classes: int, *, from_logits: bool = False, from_logprobs: bool = False
) -> Scaler:
    """A fitted scaler that does not change probabilities: a prior shift to the same class
    shares. Exact zeros stay zero, and other values change by no more than the rounding of a row's
    sum.
    """
    same = [1.0 / n_classes] * n_classes
    return PriorShift(
        prior=same, source_prior=same, from_logits=from_logits, from_logprobs=from_logprobs
    )


def from_json(text: str | bytes, *, serving: bool = False) -> Scaler:
    """Read a fitted scaler from the text that `Scaler.to_json` returned.

    Nothing in the text is executed; the map is tried on a few rows to check that its numbers are
    consistent.

    Parameters
    ----------
    text : str or bytes
        The JSON document.
    serving : bool, default False
        Whether the map serves predictions: `transform` then does not check whether rows were used
        in the fit, and does not warn.

    Returns
    -------
    Scaler
        A fitted scaler of the kind that was saved, with the same numbers to the last bit.

    Raises
    ------
    StateError
        If the text is damaged, is not a scaler, or has another version of the format.

    Examples
    --------
    >>> from calibrant.scaling import TemperatureScaling, from_json
    >>> scaler = TemperatureScaling().fit([0, 1, 1, 0], [-2.0, 1.0, 3.0, 0.5])
    >>> from_json(scaler.to_json()).temperature_ == scaler.temperature_
    True
    """
    return _scaler_from_text(text, "this text", serving)


def load(path: str | os.PathLike[str], *, serving: bool = False) -> Scaler:
    """Read a fitted scaler from the file that `Scaler.save` wrote.

    Parameters
    ----------
    path : str or os.PathLike
        The file to read.
    serving : bool, default False
        Whether the map serves predictions: `transform` then does not check whether rows were used
        in the fit, and does not warn.

    Returns
    -------
    Scaler
        A fitted scaler of the kind that was saved, with the same numbers to the last bit.

    Raises
    ------
    StateError
        If the file is damaged, is not a scaler, or has another version of the format.

    Examples
    --------
    >>> import tempfile
    >>> from calibrant.scaling import TemperatureScaling, load
    >>> scaler = TemperatureScaling().fit([0, 1, 1, 0], [-2.0, 1.0, 3.0, 0.5])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     scaler.save(f"{folder}/scaler.json")
    ...     again = load(f"{folder}/scaler.json")
    >>> again.temperature_ == scaler.temperature_
    True
    """
    return _scaler_from_text(Path(path).read_bytes(), str(path), serving)


def _scaler_from_text(text: str | bytes, source: str, serving: bool) -> Scaler:
    """The fitted scaler from a JSON text; a StateError that names `source` if the text holds none.
    `serving` is set on the scaler.
    """
    check_flag("serving", serving)
    content = from_text(text, source)
    kind = content.get("kind")
    if not isinstance(kind, str) or kind not in SCALERS:
        name = shortened(kind)
        hint = nearest(name, SCALERS)
        raise StateError(f"{source} holds an unknown kind of scaler, {name}: {hint}")
    try:
        scaler = _restore_scaler(SCALERS[kind], content)
    except Exception as error:  # anything may be written there: numbers too large, nests too deep
        reason = f"{type(error).__name__}: {str(error)[:500]}"
        raise StateError(f"{source} is damaged: {reason}") from None
    scaler._serving = bool(serving)
    return scaler


def _restore_scaler(kind: type[Scaler], content: dict[str, Any]) -> Scaler:
    """A scaler of the class `kind` from the parsed content of a file; an error of any type if its
    numbers are missing, too large or inconsistent.
    """
    scaler = kind(**{name: decode_option(value) for name, value in content["options"].items()})
    scaler._check_options()
    for name in kind._learned:
        learned = decode_learned(content["learned"][name])
        for array in learned if isinstance(learned, tuple) else (learned,):
            if (np.abs(array) > LARGEST_LOGIT).any():
                raise ValueError(f"{name} is too large for a map")
            if np.isnan(array).any() and name not in kind._may_be_unknown:
                raise ValueError(f"{name} has no number where one is needed")
        setattr(scaler, name, learned)
    for name in COUNTS:
        setattr(scaler, name, whole_number(content[name], name))
    for name in LOSSES:
        # Lazy frames do not sum the loss of every map.
        may_be = kind._without_labels or (name == "loss_" and not kind._of_logarithms)
        unknown = may_be and content[name] is None
        setattr(scaler, name, float("nan") if unknown else float(content[name]))
    k = content["columns"]
    scaler._columns = None if k is None else whole_number(k, "columns")
    if scaler.n_classes_ != (scaler._columns or 2) or scaler.n_classes_ > MOST_COLUMNS:
        raise ValueError(f"{shortened(k)} columns, but {scaler.n_classes_} classes")
    scaler._fitted_on = None if content["fitted_on"] is None else str(content["fitted_on"])
    rows = content.get("fitted_rows")
    scaler._fitted_rows = None if rows is None else FittedRows.from_dict(rows)
    scaler._check_learned()
    _check_map(scaler)
    return scaler


def _check_map(scaler: Scaler) -> None:
    """Raise a ValueError unless the map turns a few test rows into probabilities: 101 values from 0
    to 1, or for (n, k) a uniform row and rows certain of the first and of the last class.
    """
    columns = scaler._columns
    if columns is None:
        rows = np.linspace(0.0, 1.0, 101)
    else:
        rows = np.full((3, columns), 1 / columns)
        rows[1:] = 0.0
        rows[1, 0] = rows[2, -1] = 1.0
    with np.errstate(all="ignore"):
        out = scaler._apply(Predictions(rows, scaler._given is True, np.dtype(float)))
    if out.shape != rows.shape or not np.isfinite(out).all():
        raise ValueError("its numbers do not form a valid map")
    if out.min() < -ROUNDING or out.max() > 1 + ROUNDING:
        raise ValueError(
            f"it maps to {out.min():.6g} to {out.max():.6g}, but probabilities lie in [0, 1]"
        )
