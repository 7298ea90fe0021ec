"""Recalibration: maps, fitted to held-out rows, from predictions to calibrated probabilities.

>>> from calibrant import examples
>>> from calibrant.scaling import TemperatureScaling
>>> fashion = examples.load("fashion")
>>> scaler = TemperatureScaling().fit(fashion.val_labels, fashion.val_logits)
>>> p = scaler.transform(fashion.test_logits)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calibrant.scaling._at_prior import at_prior
from calibrant.scaling._beta import BetaCalibration
from calibrant.scaling._histogram import HistogramBinning
from calibrant.scaling._isotonic import CentredIsotonic, IsotonicCalibration
from calibrant.scaling._label_smoothing import LabelSmoothingTemperature
from calibrant.scaling._linear import DirichletCalibration, MatrixScaling, VectorScaling
from calibrant.scaling._load import SCALERS, from_json, load
from calibrant.scaling._platt import PlattScaling
from calibrant.scaling._prior_shift import PriorShift
from calibrant.scaling._quadratic import QuadraticScaling
from calibrant.scaling._same_rows import SameRows
from calibrant.scaling._scaler import Scaler
from calibrant.scaling._spline import SplineScaling
from calibrant.scaling._structured import StructuredMatrixScaling, StructuredVectorScaling
from calibrant.scaling._temperature import TemperatureScaling
from calibrant.scaling._venn_abers import VennAbers

if TYPE_CHECKING:
    from calibrant.scaling._estimator import ScalingEstimator
    from calibrant.scaling._recalibrated import Recalibrated

__all__ = [
    "SCALERS",
    "BetaCalibration",
    "CentredIsotonic",
    "DirichletCalibration",
    "HistogramBinning",
    "IsotonicCalibration",
    "LabelSmoothingTemperature",
    "MatrixScaling",
    "PlattScaling",
    "PriorShift",
    "QuadraticScaling",
    "Recalibrated",
    "SameRows",
    "Scaler",
    "ScalingEstimator",
    "SplineScaling",
    "StructuredMatrixScaling",
    "StructuredVectorScaling",
    "TemperatureScaling",
    "VectorScaling",
    "VennAbers",
    "at_prior",
    "from_json",
    "load",
]


def __getattr__(name: str) -> Any:
    """Import the two classes that require scikit-learn at their first use."""
    if name == "ScalingEstimator":
        from calibrant.scaling._estimator import ScalingEstimator

        return ScalingEstimator
    if name == "Recalibrated":
        from calibrant.scaling._recalibrated import Recalibrated

        return Recalibrated
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names of the module, including the two classes imported at their first use."""
    return sorted({*globals(), *__all__})
