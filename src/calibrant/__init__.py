"""Calibrant: can these predicted probabilities be believed?

>>> import calibrant as cal
>>> cal.ece([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], bins=10)
0.25
"""

from calibrant.accumulator import Accumulator
from calibrant.binning import Edges, EqualWidth, LevelSets, Quantile
from calibrant.errors import CalibrantError, InputError, MissingExtra, StateError
from calibrant.evaluation import evaluate, reliability
from calibrant.measures.catalogue import catalogue
from calibrant.peer_conventions import conventions
from calibrant.results.conventions import Conventions
from calibrant.results.evaluation import Estimate, Evaluation
from calibrant.results.reliability import ReliabilityTable
from calibrant.results.smooth_curve import SmoothCurve
from calibrant.scores.binned import ace, debiased_l2, ece, ks_error, soft_ece, sweep_ece, tace
from calibrant.scores.distribution import dist_ce, ent_ce, rank_cs
from calibrant.scores.losses import (
    brier_decomposition,
    brier_score,
    classification_error,
    confidence_loss,
    log_loss,
    spherical_loss,
)
from calibrant.scores.smooth import ls_ece, smooth_ece, smooth_reliability
from calibrant.scores.truthful import classwise_ce, confidence_ce, lin_ce

__version__ = "0.1.0"

__all__ = [
    "Accumulator",
    "CalibrantError",
    "Conventions",
    "Edges",
    "EqualWidth",
    "Estimate",
    "Evaluation",
    "InputError",
    "LevelSets",
    "MissingExtra",
    "Quantile",
    "ReliabilityTable",
    "SmoothCurve",
    "StateError",
    "__version__",
    "ace",
    "brier_decomposition",
    "brier_score",
    "catalogue",
    "classification_error",
    "classwise_ce",
    "confidence_ce",
    "confidence_loss",
    "conventions",
    "debiased_l2",
    "dist_ce",
    "ece",
    "ent_ce",
    "evaluate",
    "ks_error",
    "lin_ce",
    "log_loss",
    "ls_ece",
    "rank_cs",
    "reliability",
    "smooth_ece",
    "smooth_reliability",
    "soft_ece",
    "spherical_loss",
    "sweep_ece",
    "tace",
]
