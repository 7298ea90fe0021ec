"""The constructors that Displays share: every option is in the signature and in the docstring."""

from __future__ import annotations

import inspect

import pytest

from calibrant import InputError, UnknownOption, plots

DISPLAYS = [
    getattr(plots, name)
    for name in plots.__all__
    if hasattr(getattr(plots, name), "from_predictions")
]
FUNCTION_OPTIONS = {
    "ReliabilityDisplay": {"bins", "notion", "sample_weight", "from_logits", "classes", "data"},
    "ReliabilityCurveDisplay": {"method", "band", "span", "notion", "level", "groups", "seed"},
    "RiskCoverageDisplay": {"notion", "level", "groups", "sample_weight"},
    "RiskHistogramDisplay": {"bins", "notion", "sample_weight", "from_logits", "classes"},
    "SmoothReliabilityDisplay": {"kind", "sigma", "notion", "sample_weight"},
    "ClasswiseDisplay": {"bins", "sample_weight", "classes"},
    "BinSensitivityDisplay": {"bins", "measures", "sample_weight"},
    "WindowsDisplay": {"time", "every", "bins", "measures", "baseline"},
    "OverlaidReliabilityDisplay": {"bins", "notion", "sample_weight"},
    "ComparisonDisplay": {"measures", "bins", "level", "groups", "n_resamples", "seed"},
}


def test_these_displays_have_them():
    assert {cls.__name__ for cls in DISPLAYS} == set(FUNCTION_OPTIONS)


@pytest.mark.parametrize("cls", DISPLAYS, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("name", ["from_predictions", "from_estimator"])
def test_every_option_is_shown_and_described(cls, name):
    method = getattr(cls, name)
    signature = inspect.signature(method)
    drawn = set(inspect.signature(cls.plot).parameters) - {"self"}
    settled = {"classes", "data"} if name == "from_estimator" else set()
    assert drawn | (FUNCTION_OPTIONS[cls.__name__] - settled) <= set(signature.parameters)
    lines = [line.strip() for line in inspect.getdoc(method).split("\n")]
    for option in signature.parameters:
        assert any(line == option or line.startswith(f"{option} :") for line in lines), option
    assert signature.return_annotation == cls.__name__
    if name == "from_estimator":
        assert not {"classes", "data", "ids"} & set(signature.parameters)
        assert ("pos_label" in signature.parameters) == (cls.__name__ != "ClasswiseDisplay")


@pytest.mark.parametrize("cls", DISPLAYS, ids=lambda cls: cls.__name__)
def test_unknown_options_and_missing_arguments_are_named(cls):
    for name in ("from_predictions", "from_estimator"):
        with pytest.raises(UnknownOption, match=rf"{name}\(\) has no option 'axx'.*'ax'"):
            getattr(cls, name)([0, 1], [0.2, 0.7], axx=1)
    with pytest.raises(TypeError, match="y_proba"):
        cls.from_predictions([0, 1])


def test_several_estimators_come_by_name():
    for cls in (plots.OverlaidReliabilityDisplay, plots.ComparisonDisplay):
        with pytest.raises(InputError, match="estimators must map names"):
            cls.from_estimator(estimators=[], X=[[0]], y=[0])


def test_a_default_of_the_display_is_its_own():
    bins = inspect.signature(plots.ClasswiseDisplay.from_predictions).parameters["bins"]
    assert bins.default == 10
