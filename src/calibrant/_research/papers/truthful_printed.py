"""What Lu, Wu, Hartline and Hu print in table 1, cell by cell, and how they call the errors."""

from __future__ import annotations

NAMES = {
    "conf_ece": "ConfECE",
    "conf_ce": "ConfCE",
    "conf_ce_corrected": "corrected ConfCE",
    "classwise_ce": "classwise LinCE",
}
# (error, first, second): within-model and cross-model Spearman
# correlation, each with its margin. The first is the classification error ("loss") or a number of
# bins; the second a number of bins.
TABLE_1: dict[tuple[str, str, str], tuple[tuple[float, float], tuple[float, float]]] = {
    ("conf_ece", "loss", "2000"): ((0.972, 0.002), (0.974, 0.002)),
    ("conf_ece", "loss", "20"): ((-0.009, 0.033), (0.654, 0.018)),
    ("conf_ece", "loss", "5"): ((-0.277, 0.030), (0.604, 0.020)),
    ("conf_ece", "2000", "20"): ((-0.006, 0.033), (0.672, 0.018)),
    ("conf_ece", "2000", "5"): ((-0.285, 0.030), (0.624, 0.020)),
    ("conf_ece", "20", "5"): ((0.660, 0.019), (0.841, 0.009)),
    ("conf_ce", "loss", "2000"): ((0.966, 0.002), (0.976, 0.002)),
    ("conf_ce", "loss", "20"): ((0.045, 0.033), (0.639, 0.019)),
    ("conf_ce", "loss", "5"): ((-0.121, 0.032), (0.582, 0.021)),
    ("conf_ce", "2000", "20"): ((0.070, 0.033), (0.662, 0.018)),
    ("conf_ce", "2000", "5"): ((-0.115, 0.032), (0.608, 0.020)),
    ("conf_ce", "20", "5"): ((0.652, 0.019), (0.828, 0.010)),
    ("conf_ce_corrected", "loss", "2000"): ((0.998, 0.000), (0.999, 0.000)),
    ("conf_ce_corrected", "loss", "20"): ((0.691, 0.017), (0.891, 0.007)),
    ("conf_ce_corrected", "loss", "5"): ((0.272, 0.031), (0.753, 0.014)),
    ("conf_ce_corrected", "2000", "20"): ((0.695, 0.017), (0.895, 0.006)),
    ("conf_ce_corrected", "2000", "5"): ((0.272, 0.031), (0.760, 0.014)),
    ("conf_ce_corrected", "20", "5"): ((0.642, 0.020), (0.884, 0.007)),
    ("classwise_ce", "loss", "2000"): ((0.994, 0.000), (0.992, 0.000)),
    ("classwise_ce", "loss", "20"): ((0.887, 0.007), (0.875, 0.008)),
    ("classwise_ce", "loss", "5"): ((0.884, 0.007), (0.873, 0.008)),
    ("classwise_ce", "2000", "20"): ((0.899, 0.006), (0.910, 0.006)),
    ("classwise_ce", "2000", "5"): ((0.895, 0.007), (0.907, 0.006)),
    ("classwise_ce", "20", "5"): ((0.997, 0.000), (0.997, 0.000)),
}
