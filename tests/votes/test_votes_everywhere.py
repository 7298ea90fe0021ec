"""Counts of votes are labels in every function: alone, of every class, or beside ``votes=``."""

import inspect
import re

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError
from needs import need

RNG = np.random.default_rng(3)
ALL = RNG.integers(2, 9, 50)
FOR = RNG.binomial(ALL, 0.4)
P = RNG.random(50)
BOTH = np.stack([ALL - FOR, FOR], axis=1)
# Each has a reason: tests of calibration need outcomes; conventions are other tools', which know no
# votes; a label of several may be missing in a row, and has shares of its own; texts are read.
WITHOUT = {"conventions", "cox_calibration", "cutoff_test", "hosmer_lemeshow", "multilabel"} | {
    "read_confidences",
    "spiegelhalter",
    "truthful_test",
}
BY_NAME = {"compare", "decision_curve"}


def functions() -> dict[str, inspect.Signature]:
    found = {}
    for name in cal.__all__:
        each = getattr(cal, name)
        if inspect.isfunction(each):
            signature = inspect.signature(each)
            if {"y_true", "y_proba"} <= set(signature.parameters):
                found[name] = signature
    return found


OF_ROWS = {
    name: signature
    for name, signature in functions().items()
    if next(iter(signature.parameters)) == "y_true"
}
NUMBERS = [name for name, signature in OF_ROWS.items() if signature.return_annotation == "float"]


def test_every_function_takes_votes():
    without = {name for name, each in OF_ROWS.items() if "votes" not in each.parameters}
    assert without == WITHOUT
    assert len(NUMBERS) >= 25


@pytest.mark.parametrize("name", NUMBERS)
def test_counts_are_their_shares(name):
    function = getattr(cal, name)
    try:
        expected = function(FOR / ALL, P)
    except InputError as error:  # of a function that needs hard labels, or rows of classes
        why = re.escape(str(error))
        with pytest.raises(InputError, match=why):
            function(FOR, P, votes=ALL)
        return
    assert function(FOR, P, votes=ALL) == expected
    assert function(BOTH, P) == expected
    frame = need("pandas").DataFrame({"yes": FOR, "all": ALL, "p": P})
    assert function("yes", "p", votes="all", data=frame) == expected


@pytest.mark.parametrize("name", sorted(set(OF_ROWS) - WITHOUT))
def test_more_votes_for_a_class_than_there_are(name):
    function = getattr(cal, name)
    more = FOR.copy()
    more[7] = ALL[7] + 1
    given = {"m": P, "n": P} if name in BY_NAME else P
    rest = ({"column": ALL},) if name == "find_segments" else ()
    options = {"by": np.arange(50) % 5} if name == "centres" else {}
    with pytest.raises(
        InputError, match=rf"y_true\[7\] is {more[7]}: votes\[7\] is {ALL[7]}, and no more"
    ):
        function(more, given, *rest, votes=ALL, **options)


@pytest.mark.parametrize("engine", ["arrays", "polars", "duckdb"])
def test_sure_predictions_may_be_held_against_votes(engine):
    """Shares beside predictions of 0 and 1 look like labels in the place of predictions: but nobody
    says of predictions how many votes they are of.
    """
    sure = (P > 0.5).astype(float)
    expected = np.mean(np.abs(FOR / ALL - sure))
    if engine == "arrays":
        assert cal.dist_ce(BOTH, sure) == pytest.approx(expected, rel=1e-12)
        assert cal.dist_ce(FOR / ALL, sure, votes=ALL) == pytest.approx(expected, rel=1e-12)
        with pytest.raises(InputError, match=r"swapped.*number of votes with votes="):
            cal.dist_ce(FOR / ALL, sure)
        return
    columns = {"no": BOTH[:, 0], "yes": BOTH[:, 1], "all": ALL, "share": FOR / ALL, "p": sure}
    table = need("pyarrow").table(columns)
    if engine == "polars":
        frame = need("polars").from_arrow(table).lazy()
    else:
        frame = need("duckdb").connect().from_arrow(table)
    assert cal.ece(["no", "yes"], "p", data=frame) == pytest.approx(cal.ece(BOTH, sure), rel=1e-12)
    assert cal.ece("share", "p", votes="all", data=frame) == pytest.approx(
        cal.ece(BOTH, sure), rel=1e-12
    )
    with pytest.raises(InputError, match="swapped"):
        cal.ece("share", "p", data=frame)
