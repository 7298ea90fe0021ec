"""Calibrant: can these predicted probabilities be believed?

>>> import calibrant as cal
>>> cal.ece([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], bins=10)
0.25
"""

from calibrant._core.version import __version__ as __version__

# Where each public name is defined: a module is imported when one of its names is first used, so
# that `import calibrant` costs next to nothing. Editors and type checkers read the stub instead,
# which `.ci/stub.py` writes from this list.
_NAMES = {
    "calibrant._api.annotator_ceiling": ("annotator_ceiling",),
    "calibrant._api.annotators": ("annotators",),
    "calibrant._api.bayes_error": ("bayes_error",),
    "calibrant._api.bin_sensitivity": ("bin_sensitivity",),
    "calibrant._api.centres": ("centres",),
    "calibrant._api.certify": ("certify",),
    "calibrant._api.check": ("check",),
    "calibrant._api.clinical": ("clinical_summary",),
    "calibrant._api.clinical_plot": ("clinical_plot",),
    "calibrant._api.compare": ("compare",),
    "calibrant._api.conventions": ("conventions",),
    "calibrant._api.decision_curve": ("decision_curve",),
    "calibrant._api.decompose": ("decompose",),
    "calibrant._api.evaluate": ("evaluate",),
    "calibrant._api.files.evaluate_file": ("evaluate_file",),
    "calibrant._api.find_segments": ("find_segments",),
    "calibrant._api.judge": ("judge",),
    "calibrant._api.metrics.binned": (
        "ace",
        "debiased_l2",
        "ece",
        "hle_rms",
        "ks_error",
        "soft_ece",
        "grouping_gap",
        "sweep_ece",
        "tace",
        "top_label_ece",
    ),
    "calibrant._api.metrics.by_name": (
        "brier",
        "brier_discrimination",
        "brier_miscalibration",
        "brier_uncertainty",
        "classwise_ece",
        "confidence_ce_uncorrected",
        "e50",
        "e90",
        "emax",
        "js_divergence",
        "manhattan",
        "mce",
        "rmsce",
    ),
    "calibrant._api.metrics.cutoffs": ("atb", "cutoff_ce", "cutoff_test"),
    "calibrant._api.metrics.distribution": (
        "dist_ce",
        "ent_ce",
        "jsd",
        "kl",
        "rank_cs",
        "wasserstein",
    ),
    "calibrant._api.metrics.losses": (
        "accuracy",
        "brier_decomposition",
        "brier_score",
        "classification_error",
        "confidence_loss",
        "log_loss",
        "spherical_loss",
    ),
    "calibrant._api.metrics.ranking": (
        "accuracy_at_coverage",
        "auroc",
        "aurc",
        "risk_coverage",
    ),
    "calibrant._api.metrics.significance": (
        "cox_calibration",
        "hosmer_lemeshow",
        "spiegelhalter",
        "truthful_test",
    ),
    "calibrant._api.metrics.smooth": (
        "ece_kde",
        "ici",
        "ls_ece",
        "smooth_ece",
        "smooth_reliability",
    ),
    "calibrant._api.metrics.threshold_loss": ("threshold_loss",),
    "calibrant._api.metrics.truthful": (
        "classwise_ce",
        "confidence_ce",
        "lin_ce",
    ),
    "calibrant._api.metrics.uncertainty": (
        "interval",
        "noise_floor",
        "verdict",
        "vote_noise",
    ),
    "calibrant._api.match_boxes": ("match_boxes", "read_coco"),
    "calibrant._api.multilabel": ("multilabel",),
    "calibrant._api.optimism": ("optimism",),
    "calibrant._api.recommend": ("recommend",),
    "calibrant._api.reliability": (
        "classwise_reliability",
        "reliability",
    ),
    "calibrant._api.reliability_curve": ("reliability_curve",),
    "calibrant._api.report.report": ("report",),
    "calibrant._api.vote_profile": (
        "entropy_bands",
        "vote_profile",
    ),
    "calibrant._api.sampled_answers": ("sampled_answers",),
    "calibrant._api.streaming.accumulator": ("Accumulator",),
    "calibrant._api.streaming.monitor": ("Monitor",),
    "calibrant._core.binning": (
        "Edges",
        "EqualWidth",
        "LevelSets",
        "Quantile",
    ),
    "calibrant._core.given_cells": ("Cells",),
    "calibrant._core.errors": (
        "CalibrantError",
        "CalibrantWarning",
        "CheckFailed",
        "InputError",
        "MissingExtra",
        "NotDefined",
        "StateError",
        "UnknownOption",
    ),
    "calibrant._data.between": ("Between",),
    "calibrant._data.readers.confidences": ("read_confidences",),
    "calibrant._data.readers.read_rows": ("read_file",),
    "calibrant._data.vote_table": ("count_votes",),
    "calibrant._api.rank_robustness": ("rank_robustness",),
    "calibrant._measures.catalogue": ("catalogue",),
    "calibrant._research.audits.audit": ("audit",),
    "calibrant._research.papers.reproduce": ("reproduce",),
    "calibrant.results": (
        "BinSensitivity",
        "Bound",
        "Bounds",
        "BoxMatches",
        "CalibrationTest",
        "Certificate",
        "Check",
        "ClasswiseReliability",
        "ClinicalSummary",
        "Comparison",
        "Conventions",
        "CoxCalibration",
        "DecisionCurve",
        "Estimate",
        "Evaluation",
        "Interval",
        "JudgedRate",
        "NoiseFloor",
        "RankRobustness",
        "ReliabilityCurve",
        "ReliabilityTable",
        "RiskCoverage",
        "SampledAnswers",
        "Slices",
        "SmoothCurve",
        "Verdict",
        "VoteNoise",
        "VoteProfile",
        "Windows",
    ),
    "calibrant.results._loss_decomposition": ("LossDecomposition",),
    "calibrant.results._multilabel": ("Multilabel",),
    "calibrant.results._recommendation": ("Recommendation",),
    "calibrant.results._segments": ("Segments",),
    "calibrant.scaling": (
        "BetaCalibration",
        "DirichletCalibration",
        "HistogramBinning",
        "IsotonicCalibration",
        "LabelSmoothingTemperature",
        "MatrixScaling",
        "PlattScaling",
        "TemperatureScaling",
        "VectorScaling",
    ),
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names}
_SUBMODULES = ("examples", "integrations", "losses", "plots", "results", "scaling")
__all__ = sorted([*_MODULE_OF, "__version__"])


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _SUBMODULES:
        return import_module(f"calibrant.{name}")
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, *_SUBMODULES])
