"""Bad input is refused by every public function, with a sentence that a person can act on."""

import functools
import inspect
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import calibrant as cal
from every_engine import available, each_array_engine, engine
from limits import SetLimits
from needs import need

Array = NDArray[Any]


def public_functions() -> dict[str, Callable[..., Any]]:
    """Every public function that needs `y_true` and `y_proba` and nothing else."""
    found = {}
    for name in cal.__all__:
        function = getattr(cal, name)
        if not inspect.isfunction(function):
            continue
        parameters = inspect.signature(function).parameters.values()
        needed = [p.name for p in parameters if p.default is p.empty]
        if needed == ["y_true", "y_proba"] and name not in {*OF_VOTES, *OF_LABELS, *OF_TEXTS}:
            found[name] = WRAPPED.get(name, lambda function: function)(function)
    return found


def with_a_limit(check: Callable[..., Any]) -> Callable[..., Any]:
    """`check` with a limit, without which it has nothing to look at."""

    @functools.wraps(check)
    def checked(y_true: Any, y_proba: Any, **options: Any) -> Any:
        return check(y_true, y_proba, at_most={"ece": 0.5}, **options)

    return checked


def of_two_alike(compare: Callable[..., Any]) -> Callable[..., Any]:
    """`compare` as a function of one predictor's predictions: it is compared with itself."""

    @functools.wraps(compare)
    def compared(y_true: Any, y_proba: Any, **options: Any) -> Any:
        return compare(y_true, {"a": y_proba, "b": y_proba}, **options)

    return compared


WRAPPED = {"compare": of_two_alike, "check": with_a_limit}
# Of counts or shares of votes: beside their number other labels are bad ones (see below).
OF_VOTES = {"vote_noise": cal.vote_noise, "vote_profile": cal.vote_profile}
# Of columns of labels, each a problem of its own: see tests/results/test_multilabel.py.
OF_LABELS = {"multilabel"}
# Of confidences as models write them: see tests/files/test_written_confidence.py.
OF_TEXTS = {"read_confidences"}
FUNCTIONS = public_functions()


def takes(name: str, option: str) -> bool:
    return option in inspect.signature(FUNCTIONS[name]).parameters


def takes_rows_only(name: str) -> bool:
    return name in ("classwise_ce", "classwise_ece", "classwise_reliability", "top_label_ece")


def takes_one_outcome_only(name: str) -> bool:
    return name in (
        "clinical_plot",
        "clinical_summary",
        "decision_curve",
        "e50",
        "e90",
        "emax",
        "ici",
        "threshold_loss",
    )


@functools.cache
def that_take(shape: str) -> list[str]:
    """The functions of a shape; those of one outcome must say that they take no other."""
    if shape == "binary":
        return [name for name in FUNCTIONS if not takes_rows_only(name)]
    for name in filter(takes_one_outcome_only, FUNCTIONS):
        message = refusal(FUNCTIONS[name], LABELS, ROWS)
        assert re.search(r"needs one outcome, with .* of the shape \(n,\).*\(n, 3\)", message)
    return [name for name in FUNCTIONS if not takes_one_outcome_only(name)]


def refusal(function: Callable[..., Any], *args: Any, **options: Any) -> str:
    """What an InputError says. Nothing may be computed on the way that warns of itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(cal.InputError) as caught:
            function(*args, **options)
    message = str(caught.value)
    assert message == message.strip()
    assert "\n" not in message
    assert isinstance(caught.value, ValueError), "callers who know only ValueError must catch it"
    return message


class Complaints:
    """What was wrong in a long list of cases: all of it is told, not only the first."""

    def __init__(self) -> None:
        self.wrong: list[str] = []

    def expect(
        self, case: str, sentence: str, function: Callable[..., Any], *args: Any, **options: Any
    ) -> None:
        """The call must be refused with a message that the sentence, a pattern, is found in."""
        try:
            message = refusal(function, *args, **options)
        except pytest.fail.Exception:
            self.wrong.append(f"{case}: not refused")
        except Exception as error:
            self.wrong.append(f"{case}: {type(error).__name__} instead of InputError: {error}")
        else:
            if re.search(sentence, message) is None:
                self.wrong.append(f"{case}: {message!r} lacks {sentence!r}")

    def settle(self) -> None:
        assert not self.wrong, "\n".join([f"{len(self.wrong)} cases", *self.wrong])


# --- one bad value in one row ---------------------------------------------------------------------

K = 3


@dataclass
class Problem:
    """Good input that a flaw is put into."""

    y_true: Array
    y_proba: Array
    sample_weight: Array | None = None
    from_logits: bool = False

    def options(self) -> dict[str, Any]:
        chosen: dict[str, Any] = {}
        if self.sample_weight is not None:
            chosen["sample_weight"] = self.sample_weight
        if self.from_logits:
            chosen["from_logits"] = True
        return chosen


def binary_problem(n: int) -> Problem:
    return Problem(np.arange(n) % 2, np.linspace(0.01, 0.99, n))


def rows_problem(n: int) -> Problem:
    first = np.linspace(0.1, 0.6, n)
    return Problem(np.arange(n) % K, np.stack([first, 0.7 - first, np.full(n, 0.3)], axis=1))


@dataclass(frozen=True)
class Flaw:
    """A bad value: where it goes, how the message names its place, and the advice it ends with."""

    place: Callable[[Problem, int], None]
    argument: str
    advice: str


def prediction(value: float, advice: str) -> Flaw:
    def place(problem: Problem, row: int) -> None:
        if problem.y_proba.ndim == 1:
            problem.y_proba[row] = value
        else:
            problem.y_proba[row, 1] = value

    return Flaw(place, "y_proba", advice)


def label(value: float, advice: str, dtype: Any = None) -> Flaw:
    def place(problem: Problem, row: int) -> None:
        if dtype is not None:
            problem.y_true = problem.y_true.astype(dtype, copy=False)
        problem.y_true[row] = value

    return Flaw(place, "y_true", advice)


def weight(value: float) -> Flaw:
    def place(problem: Problem, row: int) -> None:
        if problem.sample_weight is None:
            problem.sample_weight = np.ones(len(problem.y_proba))
        problem.sample_weight[row] = value

    return Flaw(place, "sample_weight", "finite and not negative")


def whole_row(row_values: list[float], advice: str) -> Flaw:
    def place(problem: Problem, row: int) -> None:
        problem.y_proba[row] = row_values

    return Flaw(place, "y_proba", advice)


def soft_row(row_values: list[float], advice: str) -> Flaw:
    def place(problem: Problem, row: int) -> None:
        if problem.y_true.ndim == 1:
            problem.y_true = np.eye(K)[problem.y_true] * 0.7 + 0.1
        problem.y_true[row] = row_values

    return Flaw(place, "y_true", advice)


def logit(value: float) -> Flaw:
    def place(problem: Problem, row: int) -> None:
        problem.from_logits = True
        if problem.y_proba.ndim == 1:
            problem.y_proba[row] = value
        else:
            problem.y_proba[row, 1] = value

    return Flaw(place, "y_proba", "finite")


NAN, INF = float("nan"), float("inf")
LOGITS_HINT = r"logits.*from_logits=True"

EITHER_SHAPE = {
    "prediction NaN": prediction(NAN, "finite"),
    "prediction infinite": prediction(INF, "finite"),
    "prediction minus infinite": prediction(-INF, "finite"),
    "prediction above 1": prediction(1.5, LOGITS_HINT),
    "prediction below 0": prediction(-0.2, LOGITS_HINT),
    "prediction a percentage": prediction(37.0, "percentages.*divide by 100"),
    "label negative": label(-1, r"classes="),
    "label NaN": label(NAN, "finite", np.float64),
    "label infinite": label(INF, "finite", np.float64),
    "weight negative": weight(-1.0),
    "weight NaN": weight(NAN),
    "weight infinite": weight(INF),
    "logit NaN": logit(NAN),
    "logit infinite": logit(INF),
}
BINARY_FLAWS = {
    **EITHER_SHAPE,
    "prediction just past the tolerance": prediction(1 + 1.1e-4, LOGITS_HINT),
    "prediction just below the tolerance": prediction(-1.1e-4, LOGITS_HINT),
    "label 2": label(2, r"classes=\[negative, positive\]"),
    "label 2 in one byte": label(2, r"classes=", np.uint8),
    "label 2 as a float": label(2.0, r"classes=", np.float64),
    "soft label above 1": label(1.5, "probability", np.float64),
    "soft label below 0": label(-0.5, "probability", np.float64),
}
ROW_FLAWS = {
    **EITHER_SHAPE,
    "row sums to 0.9": whole_row([0.2, 0.3, 0.4], r"sum to 1.*from_logits=True"),
    "row sums to 1.2": whole_row([0.4, 0.4, 0.4], r"sum to 1.*one-against-rest"),
    "row just past the tolerance": whole_row([0.3, 0.3, 0.40011], "sum to 1"),
    "row with a loss and a gain": whole_row([0.6, 0.6, -0.2], LOGITS_HINT),
    "row of zeros": whole_row([0.0, 0.0, 0.0], "sum to 1"),
    "label too high": label(K, r"0\.\.2.*classes="),
    "label too high as a float": label(K, r"0\.\.2.*classes=", np.float64),
    "label a fraction": label(0.5, "class indices 0..2, or rows of 3", np.float64),
    "soft row sums to 0.6": soft_row([0.2, 0.2, 0.2], "sum to 1.*if the shares were rounded"),
    "soft row below 0": soft_row([-0.1, 0.5, 0.6], r"\[0, 1\]"),
    "soft row NaN": soft_row([NAN, 0.5, 0.5], r"\[0, 1\]"),
    "soft row of votes": soft_row([3.0, 1.0, 0.0], "Vote counts.*divide"),
    "soft row without votes": soft_row([0.0, 0.0, 0.0], "[Ww]ithout votes"),
}


FLAWS: dict[str, tuple[dict[str, Flaw], Callable[[int], Problem]]] = {
    "binary": (BINARY_FLAWS, binary_problem),
    "rows": (ROW_FLAWS, rows_problem),
}


def place_of(argument: str, row: int) -> str:
    """How a message names a row of an argument, as a pattern."""
    return rf"\b{argument}\[{row}(, \d+)?\]"


def names_row(message: str, argument: str, row: int) -> bool:
    return re.search(place_of(argument, row), message) is not None


def expect_refused(
    complaints: Complaints, name: str, kind: str, flaw: Flaw, problem: Problem, row: int
) -> None:
    if problem.sample_weight is not None and not takes(name, "sample_weight"):
        return
    complaints.expect(
        f"{name}: {kind} in row {row}",
        f"{place_of(flaw.argument, row)}.*{flaw.advice}",
        FUNCTIONS[name],
        problem.y_true,
        problem.y_proba,
        **problem.options(),
    )


@each_array_engine
@pytest.mark.parametrize("shape", ["binary", "rows"])
def test_a_bad_value(shape: str, engine_name: str) -> None:
    """Every function sees every flaw, and every flaw is at either end and in the middle."""
    flaws, make = FLAWS[shape]
    complaints = Complaints()
    with engine(engine_name):
        for nth, name in enumerate(that_take(shape)):
            for place, (kind, flaw) in enumerate(flaws.items(), start=nth):
                if place % 2 == available().index(engine_name) % 2:
                    continue  # every second: of functions that share a pass each sees the other
                row = (0, 5, 10)[place % 3]
                problem = make(11)
                flaw.place(problem, row)
                expect_refused(complaints, name, kind, flaw, problem, row)
    complaints.settle()


# Sizes that are cut into blocks and shared out to threads, which must not hide the first bad row.
DISTANCES = [m.function.partition("(")[0] for m in cal.catalogue() if m.statistic == "distribution"]
N_LARGE = {"binary": 6_000, "rows": 5_000}
IN_LARGE = {
    "binary": (
        "prediction NaN",
        "prediction above 1",
        "label 2",
        "soft label above 1",
        "weight NaN",
    ),
    "rows": (
        "prediction NaN",
        "row sums to 0.9",
        "label too high",
        "label a fraction",
        "soft row sums to 0.6",
        "weight negative",
        "logit NaN",
    ),
}


def early_threads(set_limits: SetLimits) -> None:
    """Have rows of these sizes cut into lanes, searched, and shared out to threads."""
    set_limits(
        rows_for_lanes=1 << 12,
        rows_for_threads=1 << 12,
        rows_for_a_search=1 << 12,
    )


def bad_rows(n: int) -> list[tuple[int, ...]]:
    """Where flaws are put: the ends, the middle, and several, of which the first must be named."""
    return [(n // 3, n // 3 + 1, n // 2, n - 1), (0,), (n // 2 + 7,), (n - 1,)]


@each_array_engine
@pytest.mark.parametrize("shape", ["binary", "rows"])
def test_the_first_bad_row_of_a_large_sample(
    shape: str, engine_name: str, monkeypatch: pytest.MonkeyPatch, set_limits: SetLimits
) -> None:
    flaws, make = FLAWS[shape]
    n = N_LARGE[shape]
    monkeypatch.setenv("CALIBRANT_THREADS", "2")
    early_threads(set_limits)
    several, *single = bad_rows(n)
    cases = [(IN_LARGE[shape][0], rows) for rows in single]
    cases += [(kind, several) for kind in IN_LARGE[shape]]
    complaints = Complaints()
    with engine(engine_name):
        for nth, (kind, rows) in enumerate(cases):
            problem = make(n)
            for row in rows:
                flaws[kind].place(problem, row)
            for place, name in enumerate(that_take(shape)):
                # Functions share their passes, and the cases: each has every third; measures that
                # sort or take logarithms in every row, and NumPy, which are slow and take fewer
                # paths, have one.
                brief = engine_name == "numpy" or name in DISTANCES
                if (nth - place) % (len(cases) if brief else 3) == 0:
                    expect_refused(complaints, name, kind, flaws[kind], problem, rows[0])
    complaints.settle()


def compatible(first: str, second: str) -> bool:
    """Whether two flaws can be in one problem: logits cannot be bad probabilities too."""
    pair = {first, second}
    logits = any(kind.startswith("logit") for kind in pair)
    probabilities = any(kind.startswith(("prediction", "row")) for kind in pair)
    soft = any(kind.startswith("soft row") for kind in pair)
    hard = any(kind.startswith("label") for kind in pair)
    return not (logits and probabilities) and not (soft and hard)


PASSES = ["ece", "ace", "brier_score", "lin_ce"]


def pairs_of(flaws: dict[str, Flaw]) -> list[tuple[str, str]]:
    return [
        (a, b) for a in flaws for b in flaws if a.split()[0] != b.split()[0] and compatible(a, b)
    ]


@each_array_engine
@pytest.mark.parametrize("shape", ["binary", "rows"])
@pytest.mark.parametrize("name", PASSES)
def test_the_first_bad_row_whichever_argument_it_is_in(
    name: str, shape: str, engine_name: str
) -> None:
    flaws, make = FLAWS[shape]
    complaints = Complaints()
    # Every two flaws in one of the passes of an engine, and in another one of the other.
    turn = PASSES.index(name) + available().index(engine_name)
    with engine(engine_name):
        for earlier, later in pairs_of(flaws)[turn % len(PASSES) :: len(PASSES)]:
            problem = make(40)
            flaws[later].place(problem, 30)
            flaws[earlier].place(problem, 10)
            complaints.expect(
                f"{earlier} in row 10, {later} in row 30",
                place_of(flaws[earlier].argument, 10),
                FUNCTIONS[name],
                problem.y_true,
                problem.y_proba,
                **problem.options(),
            )
    complaints.settle()


@each_array_engine
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble])
def test_a_bad_prediction_of_any_type(dtype: Any, engine_name: str) -> None:
    with engine(engine_name):
        for value in (NAN, INF, 1.5, -0.5):
            predictions = np.linspace(0, 1, 50).astype(dtype)
            predictions[[20, 33]] = value
            message = refusal(cal.ece, np.arange(50) % 2, predictions)
            assert names_row(message, "y_proba", 20)
        for integers in (np.int8, np.int64, np.uint8):
            predictions = (np.arange(50) % 2).astype(integers)
            predictions[[20, 33]] = 2
            assert names_row(refusal(cal.ece, np.arange(50) % 2, predictions), "y_proba", 20)


@each_array_engine
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint64])
def test_a_bad_label_of_any_type(dtype: Any, engine_name: str) -> None:
    """Also labels that would be good ones if they were cut to fewer bits."""
    with engine(engine_name):
        for value in (2, 100, int(np.iinfo(dtype).max)):
            labels = (np.arange(50) % 2).astype(dtype)
            labels[[20, 33]] = value
            message = refusal(cal.ece, labels, np.linspace(0, 1, 50))
            assert names_row(message, "y_true", 20)
            rows = np.full((50, 2), 0.5)
            assert names_row(refusal(cal.ece, labels, rows), "y_true", 20)


def test_a_label_beyond_what_floats_hold_is_shown_as_it_came() -> None:
    labels = np.array([0, 1, 2**63 - 1])
    message = refusal(cal.ece, labels, [0.1, 0.2, 0.3])
    assert str(2**63 - 1) in message


# --- the tolerance --------------------------------------------------------------------------------


@each_array_engine
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_slight_overshoot_is_brought_back_counted_and_told(dtype: Any, engine_name: str) -> None:
    predictions = np.array([0.5, 1 + 9e-5, -9e-5, 1 + 1e-6, 0.25], dtype=dtype)
    with engine(engine_name):
        result = cal.evaluate([1, 1, 0, 1, 0], predictions)
        clipped = cal.evaluate([1, 1, 0, 1, 0], np.clip(predictions, 0, 1))
    assert result.values == clipped.values
    assert any(note.startswith("3 predictions outside [0, 1]") for note in result.notes), (
        result.notes
    )
    assert not any("outside [0, 1]" in note for note in clipped.notes)


@each_array_engine
def test_a_slight_overshoot_in_rows_is_counted_and_told(engine_name: str) -> None:
    rows = np.array([[1.00005, -0.00005], [0.5, 0.5], [0.30004, 0.70001], [0.2, 0.8]])
    with engine(engine_name):
        notes = cal.evaluate([0, 1, 1, 0], rows).notes
    assert any(note.startswith("2 predictions outside [0, 1]") for note in notes), notes
    assert any(note.startswith("1 row of y_proba sums") for note in notes), notes


@each_array_engine
def test_nothing_is_told_of_exact_input(engine_name: str) -> None:
    with engine(engine_name):
        assert cal.evaluate([0, 1], [0.25, 0.75]).notes == ()
        assert cal.evaluate([0, 1], [[0.75, 0.25], [0.5, 0.5]]).notes == ()


@each_array_engine
@pytest.mark.parametrize("n", [10, 400_000])
def test_overshoot_is_counted_once_however_often_rows_are_read(n: int, engine_name: str) -> None:
    predictions = np.linspace(0, 1, n)
    predictions[::10] = 1 + 1e-5  # even rows, whose label is 0
    with engine(engine_name):
        notes = cal.evaluate(np.arange(n) % 2, predictions, measures=["ece", "ace", "brier"]).notes
    told = f"{n // 10:,} predictions outside [0, 1] by at most 1e-4 were clipped"
    assert told in notes


# --- the input as a whole -------------------------------------------------------------------------

Y, P = [0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]
LABELS = [0, 1, 2, 0]
ROWS = [[0.2, 0.5, 0.3], [0.1, 0.2, 0.7], [0.6, 0.2, 0.2], [0.3, 0.3, 0.4]]

WHOLE: dict[str, tuple[Any, Any, str]] = {
    "empty lists": ([], [], "at least one row"),
    "empty arrays": (np.empty(0, int), np.empty(0), "at least one row"),
    "empty rows": (np.empty(0, int), np.empty((0, 3)), "at least one row"),
    "no labels": ([], P, "y_true"),
    "no predictions": (Y, [], "y_proba"),
    "rows without columns": (Y, np.empty((4, 0)), "y_proba.*class"),
    "fewer labels": (Y[:3], P, "same number of rows; got 3 and 4"),
    "fewer predictions": (Y, P[:2], "same number of rows; got 4 and 2"),
    "fewer labels than rows": (LABELS[:3], ROWS, "same number of rows; got 3 and 4"),
    "one column": (Y, np.array(P)[:, None], r"one class, .*y_proba\[:, 0\]"),
    "three dimensions": (Y, np.full((4, 2, 2), 0.5), r"y_proba.*shape.*\(4, 2, 2\)"),
    "a single number": (1, 0.3, "y_proba.*shape"),
    "a single label": (1, P, "y_true.*one entry per row"),
    "soft rows against one column": (ROWS, P, r"y_true has the shape \(4, 3\).*y_proba is \(n,\)"),
    "soft rows of other classes": (ROWS, np.full((4, 2), 0.5), "3 and 2 columns"),
    "labels of three dimensions": (np.zeros((4, 3, 2)), ROWS, "y_true.*shape"),
    "ragged rows": (LABELS, [[0.5, 0.5], [1.0], [0.5, 0.5], [0.5, 0.5]], "y_proba.*equal length"),
    "objects as predictions": (
        Y,
        np.array([*P[:3], {}], dtype=object),
        "y_proba must be numbers.*object",
    ),
    "objects as labels": (
        np.array([*Y[:3], {}], dtype=object),
        P,
        "y_true must be numbers.*object.*classes=",
    ),
    "a missing prediction": (Y, [0.2, None, 0.9, 0.4], "y_proba must be numbers"),
    "text as predictions": (Y, ["a", "b", "c", "d"], "y_proba must be numbers.*text"),
    "text as labels": (["a", "b", "a", "b"], P, "y_true must be numbers.*text.*classes="),
    "complex predictions": (Y, np.array(P) + 0j, "y_proba must be real numbers"),
    "complex labels": (np.array(Y) + 0j, P, "y_true must be real numbers"),
    "dates": (Y, np.array(["2020-01-01"] * 4, dtype="M8[D]"), "y_proba must be numbers.*datetime"),
    "records": (Y, np.zeros(4, dtype=[("p", float)]), "y_proba must be numbers"),
    "nothing": (Y, None, "y_proba must be numbers"),
}


def test_input_that_is_no_problem_at_all() -> None:
    complaints = Complaints()
    for kind, (y_true, y_proba, sentence) in WHOLE.items():
        for name, function in FUNCTIONS.items():
            complaints.expect(f"{name}: {kind}", sentence, function, y_true, y_proba)
    complaints.settle()


def test_three_labels_swapped_with_rows() -> None:
    message = refusal(cal.ece, ROWS, LABELS)
    assert "swapped" in message or "(y_true, y_proba)" in message, message


@each_array_engine
def test_swapped_arguments_of_a_binary_problem(engine_name: str) -> None:
    complaints = Complaints()
    sentence = r"y_true holds fractions.*y_proba.*swapped.*\(y_true, y_proba\)"
    with engine(engine_name):
        for name in FUNCTIONS:
            if not takes_rows_only(name):
                complaints.expect(name, sentence, FUNCTIONS[name], P, Y)
    complaints.settle()


@each_array_engine
def test_swapped_arguments_of_rows(engine_name: str) -> None:
    complaints = Complaints()
    with engine(engine_name):
        for name in FUNCTIONS:
            sentence = "needs one outcome, with" if takes_one_outcome_only(name) else "swapped"
            complaints.expect(name, sentence, FUNCTIONS[name], ROWS, np.eye(3)[LABELS])
    complaints.settle()


@each_array_engine
def test_fractions_against_some_predictions_of_0_and_1_are_not_swapped(engine_name: str) -> None:
    with engine(engine_name):
        assert cal.ece([0.5, 0.5, 0.25], [0, 1, 0.25], bins=1) == pytest.approx(0.0)
        assert cal.ece([0, 1, 1], [0, 1, 0]) == pytest.approx(1 / 3)


@each_array_engine
@pytest.mark.parametrize("shape", ["binary", "rows"])
def test_weights_that_are_all_0(shape: str, engine_name: str, set_limits: SetLimits) -> None:
    early_threads(set_limits)
    complaints = Complaints()
    with engine(engine_name):
        # Samples above some size are not sorted but searched, and shared out to threads.
        for n in (4, N_LARGE[shape]) if engine_name == "native" else (4,):
            good = FLAWS[shape][1](n)
            for name in that_take(shape):
                if takes(name, "sample_weight"):
                    complaints.expect(
                        f"{name}: {n} rows",
                        "sample_weight is 0 in every row",
                        FUNCTIONS[name],
                        good.y_true,
                        good.y_proba,
                        sample_weight=np.zeros(n),
                    )
    complaints.settle()


@pytest.mark.parametrize(
    "rule",
    [
        cal.EqualWidth(3),
        cal.EqualWidth(3, drop_one=True),
        cal.Quantile(3),
        cal.Quantile(3, ties="rank"),
        cal.Edges([0, 0.5, 1]),
        cal.LevelSets(),
    ],
    ids=str,
)
def test_weights_that_are_all_0_under_every_rule(rule: Any) -> None:
    for y_true, y_proba in ((Y, P), (LABELS, ROWS)):
        message = refusal(cal.ece, y_true, y_proba, bins=rule, sample_weight=np.zeros(4))
        assert "sample_weight is 0 in every row" in message


@each_array_engine
def test_weights_whose_sum_is_too_large_for_a_number(engine_name: str) -> None:
    with engine(engine_name):
        for name in ("ece", "ace", "ks_error", "smooth_ece", "brier_score", "lin_ce"):
            for y_true, y_proba in ((Y, P), (LABELS, ROWS)):
                weights = np.full(len(y_true), 1e308)
                found = getattr(cal, name)(y_true, y_proba, sample_weight=weights)
                assert found == pytest.approx(getattr(cal, name)(y_true, y_proba), rel=1e-12)


WEIGHTS_AS_A_WHOLE: dict[str, tuple[Any, str]] = {
    "too few": ([1, 2], r"sample_weight.*one weight per row.*\(4,\).*\(2,\)"),
    "a single number": (2.0, r"sample_weight.*one weight per row"),
    "a row per class": (np.ones((4, 3)), r"sample_weight.*\(4, 3\)"),
    "text": (["a"] * 4, "sample_weight must be numbers"),
    "objects": (np.array([1, 2, 3, None], dtype=object), "sample_weight must be numbers"),
    "complex": (np.ones(4) * 1j, "sample_weight must be real numbers"),
}


def test_weights_that_do_not_fit() -> None:
    complaints = Complaints()
    for kind, (weights, sentence) in WEIGHTS_AS_A_WHOLE.items():
        for name, function in FUNCTIONS.items():
            if takes(name, "sample_weight"):
                case = f"{name}: {kind}"
                complaints.expect(case, sentence, function, LABELS, ROWS, sample_weight=weights)
    complaints.settle()


# --- missing values -------------------------------------------------------------------------------


MISSING: dict[str, Callable[[], tuple[Any, Any]]] = {
    "pandas Int64": lambda: (need("pandas").Series([0, 1, None, None], dtype="Int64"), P),
    "pandas float": lambda: (Y, need("pandas").Series([0.2, 0.7, None, None])),
    "pandas Float64": lambda: (Y, need("pandas").Series([0.2, 0.7, None, None], dtype="Float64")),
    "pandas boolean": lambda: (
        need("pandas").Series([True, False, None, None], dtype="boolean"),
        P,
    ),
    "pandas extension array": lambda: (need("pandas").array([0, 1, None, None]), P),
    "polars": lambda: (Y, need("polars").Series([0.2, 0.7, None, None])),
    "polars NaN": lambda: (Y, need("polars").Series([0.2, 0.7, NAN, NAN])),
    "pyarrow": lambda: (need("pyarrow").array([0, 1, None, None]), P),
    "pyarrow chunks": lambda: (need("pyarrow").chunked_array([[0, 1], [None, None]]), P),
    "masked array": lambda: (Y, np.ma.array(P, mask=[0, 0, 1, 1])),
    "torch NaN": lambda: (Y, need("torch").tensor([0.2, 0.7, NAN, NAN])),
}


@pytest.mark.parametrize("kind", MISSING)
def test_missing_values_are_refused_with_the_first_row(kind: str) -> None:
    y_true, y_proba = MISSING[kind]()
    argument = "y_true" if y_proba is P else "y_proba"
    complaints = Complaints()
    for name, function in FUNCTIONS.items():
        if not takes_rows_only(name):
            complaints.expect(name, rf"{argument}\b.*(\[2\]|row 2)", function, y_true, y_proba)
    complaints.settle()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_missing_values_of_a_frame_are_refused_with_the_first_row_and_its_column(
    library: str,
) -> None:
    columns = {"a": [0.5, 0.5, 0.5, None], "b": [0.5, None, 0.5, 0.5]}
    message = refusal(cal.ece, Y, need(library).DataFrame(columns))
    assert re.search(r"y_proba.*'b'.*row 1", message), message


@pytest.mark.parametrize("missing", [None, NAN])
def test_missing_labels_with_names_are_refused_with_the_first_row(missing: Any) -> None:
    labels = np.array(["no", "yes", missing, "no"], dtype=object)
    message = refusal(cal.ece, labels, P, classes=["no", "yes"])
    assert re.search(r"y_true\b.*(\[2\]|row 2)", message), message
    numbers = np.array([1.0, 2.0, NAN, 1.0])
    message = refusal(cal.ece, numbers, P, classes=[1, 2])
    assert re.search(r"y_true\b.*(\[2\]|row 2)", message), message


@pytest.mark.parametrize("bins", [10, cal.Quantile(5), cal.LevelSets()])
@pytest.mark.parametrize("predictions", [[NAN, NAN], [[NAN, 1.0], [NAN, NAN]]])
def test_rows_that_all_lack_something_are_told_of(predictions: Any, bins: Any) -> None:
    said = "no row is left: each had a missing value"
    labels = [0, 1]
    options: dict[str, Any] = {"missing": "drop", "bins": bins}
    own = {"groups": labels, "by": labels}
    assert said in refusal(cal.evaluate, labels, predictions, **options)
    assert said in refusal(cal.evaluate, labels, predictions, sample_weight=[1, 2], **options)
    assert said in refusal(cal.evaluate, labels, predictions, uncertainty=True, **own, **options)
    assert said in refusal(cal.report, labels, predictions, **own, **options)
    assert said in refusal(cal.check, labels, predictions, at_most={"ece": 0.1}, **own, **options)
    frame = need("polars").DataFrame({"y": labels, "p": [NAN, None]})
    for data in (frame, frame.lazy()):
        assert said in refusal(cal.evaluate, "y", "p", data=data, **options)


# --- bins and other options -----------------------------------------------------------------------

BAD_BINS: dict[str, tuple[Any, str]] = {
    "none": (0, r"bins must be at least 1; got 0"),
    "negative": (-3, r"bins must be at least 1; got -3"),
    "more than memory holds": (100_000_000, r"bins must be at most 1,000,000; got 100,000,000"),
    "a fraction": (2.5, r"bins must be .*got 2\.5"),
    "NaN": (NAN, r"bins must be .*got nan"),
    "a truth value": (True, r"bins must be .*got True"),
    "nothing at all": (None, r"bins must be .*got None"),
    "a name nearly right": ("quantil", "did you mean 'quantile'"),
    "a name far off": ("kmeans", "use one of .*'uniform'"),
    "equal edges": ([0, 0.5, 0.5, 1], r"increase.*edges\[1\]=0\.5 and edges\[2\]=0\.5 are equal"),
    "edges out of order": ([0, 0.7, 0.3, 1], r"increase.*edges\[1\]=0\.7 and edges\[2\]=0\.3"),
    "an edge that is NaN": ([0, NAN, 1], r"edges\[\d\]=nan"),
    "edges that leave out 0": ([0.1, 0.5, 1], "cover.*0.1.*Add 0"),
    "edges that leave out 1": ([0, 0.5], "cover.*0.5.*Add 0 and 1"),
    "no edges": ([], "at least two"),
    "one edge": ([0.5], "at least two"),
    "edges of text": ([0, "x", 1], "edges must be numbers"),
    "edges in rows": ([[0, 1], [0.5, 1]], "edges must be numbers"),
    "a number in an array": (np.array(10), "bins must be"),
    "a set": ({0, 1}, "bins must be"),
}


def test_bins_that_are_none() -> None:
    # Where only a count will do, or a name of one, the message says so of anything else.
    count_only = r"^bins must be a whole number of bins, at least 1; got "
    complaints = Complaints()
    for name, function in FUNCTIONS.items():
        if not takes(name, "bins") or name == "bin_sensitivity":  # which takes numbers of bins
            continue
        annotation = inspect.signature(function).parameters["bins"].annotation
        takes_count_only = annotation in ("int", "int | str")
        for kind, (bins, sentence) in BAD_BINS.items():
            either = f"{sentence}|{count_only}" if takes_count_only else sentence
            complaints.expect(f"{name}: {kind}", either, function, LABELS, ROWS, bins=bins)
    complaints.settle()


@pytest.mark.parametrize("m", [0, -1, 1.5, True, "ten", None])
@pytest.mark.parametrize("rule", [cal.EqualWidth, cal.Quantile])
def test_rules_refuse_what_is_no_number_of_bins(rule: Any, m: Any) -> None:
    assert "bins must be" in refusal(rule, m)


MISTYPED = {
    "sample_weigth": "sample_weight",
    "weights": "sample_weight",
    "n_bins": "bins",
    "from_logit": "from_logits",
    "class": "classes",
    "norms": "norm",
    "notions": "notion",
    "treshold": "threshold",
}


def test_an_unknown_option_gets_the_nearest_name() -> None:
    complaints = Complaints()
    for name, function in FUNCTIONS.items():
        for option, right in MISTYPED.items():
            if takes(name, right):
                sentence = rf"^{name}\(\) has no option '{option}': did you mean '{right}'\?$"
                case = f"{name}: {option}"
                complaints.expect(case, sentence, function, LABELS, ROWS, **{option: 3})
    complaints.settle()


def test_an_unknown_option_is_a_type_error_too() -> None:
    for name, function in FUNCTIONS.items():
        with pytest.raises(TypeError, match=rf"{name}\(\) has no option 'zzz'"):
            function(LABELS, ROWS, zzz=1)


VALUES: dict[str, tuple[str, Any, str]] = {
    "norm in capitals": ("norm", "L1", "norm='L1'.*did you mean 'l1'"),
    "norm as a number": ("norm", 3, "norm=3"),
    "notion mistyped": ("notion", "class-wise", "notion='class-wise'.*did you mean 'classwise'"),
    "notion of another shape": ("notion", "binary", r"notion='binary' needs.*\(n, 3\)"),
    "logits as text": ("from_logits", "yes", "from_logits must be True or False; got 'yes'"),
    "logits as a number": ("from_logits", 1, "from_logits must be True or False; got 1"),
    "method mistyped": ("method", "isotonc", "method='isotonc'"),
    "measure mistyped": ("measures", ["eec"], "'eec'.*did you mean 'ece'"),
    "measure of another shape": ("measures", ["ece", 3], "3"),
    "measures as text": ("measures", "ece", "measures must be a list.*'ece'"),
    "threshold as text": ("threshold", "low", "threshold.*'low'"),
    "threshold NaN": ("threshold", NAN, "threshold.*nan"),
    "threshold too high": ("threshold", 1.0, "threshold of 1.*lower"),
    "phi too short": ("phi", [1, 2], r"phi must have a row per class.*\(3, d\)"),
    "phi not finite": ("phi", [1, NAN, 2], "phi must be finite"),
    "phi as text": ("phi", ["a", "b", "c"], "phi must be numbers"),
    "classes too few": ("classes", ["a", "b"], "classes must name every class.*3 columns.*2 names"),
    "classes twice": ("classes", ["a", "b", "a"], "classes must name every class once; 'a'"),
    "classes as a number": ("classes", 3, "classes"),
    "classes that cannot be told apart": ("classes", [["a"], ["b"], ["c"]], "classes"),
    "labels not among the classes": ("classes", [10, 20, 30], r"y_true\[0\] is 0.*classes"),
    "data that is no frame": ("data", 5, "data must be.*frame.*got int"),
}


def test_an_option_with_a_value_it_cannot_have() -> None:
    complaints = Complaints()
    for kind, (option, value, sentence) in VALUES.items():
        for name, function in FUNCTIONS.items():
            if takes(name, option):
                case = f"{name}: {kind}"
                complaints.expect(case, sentence, function, LABELS, ROWS, **{option: value})
    complaints.settle()


@pytest.mark.parametrize("notion", ["classwise", "full"])
def test_notions_that_need_rows(notion: str) -> None:
    for name, function in FUNCTIONS.items():
        if takes(name, "notion"):
            message = refusal(function, Y, P, notion=notion)
            assert re.search(rf"notion='{notion}'.*\(n, k\)", message), message


def test_the_first_label_that_has_no_name_is_named() -> None:
    """In the order of rows, whatever the order of the alphabet."""
    labels = ["cat", "zebra", "ant", "cat"]
    message = refusal(cal.ece, labels, P, classes=["cat", "dog"])
    assert message.startswith("y_true[1] is 'zebra', which is not in classes")


def test_labels_of_mixed_kinds_are_refused_or_read_but_do_not_crash() -> None:
    labels = np.array(["a", 1, "a", 2], dtype=object)
    message = refusal(cal.ece, labels, P, classes=["a", 1])
    assert message.startswith("y_true[3] is 2")


def test_a_name_of_two_measures_is_refused_everywhere() -> None:
    for function in (cal.evaluate, cal.bin_sensitivity):
        message = refusal(function, Y, P, measures=["smece"])
        assert "'smece'" in message and "'ece' (written SMECE) or 'smooth_ece'" in message
    message = refusal(cal.Accumulator, measures=["smece"])
    assert "'ece' (written SMECE) or 'smooth_ece'" in message


# --- columns of a frame ---------------------------------------------------------------------------

DATA_FLAWS: dict[str, tuple[Any, Any, dict[str, Any], str]] = {
    "a prediction's column mistyped": ("label", "prob_", {}, "y_proba names.*'prob_'.*'prob'"),
    "a label's column mistyped": ("lable", "prob", {}, "y_true names.*'lable'.*'label'"),
    "a weight's column mistyped": (
        "label",
        "prob",
        {"sample_weight": "wieght"},
        "sample_weight names.*'wieght'.*'weight'",
    ),
    "an array beside a name": (Y, "prob", {}, "with data=, y_true must be a column's name"),
    "one of several columns": ("label", ["prob", "prop"], {}, "'prop'.*did you mean 'prob'"),
    "a column twice": ("label", ["prob", "prob"], {}, "y_proba.*'prob'.*twice"),
}


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("kind", DATA_FLAWS)
def test_columns_that_are_not_there(kind: str, library: str) -> None:
    columns = {"label": Y, "prob": P, "weight": [1.0, 1.0, 2.0, 1.0]}
    module = need(library)
    frame = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
    y_true, y_proba, options, sentence = DATA_FLAWS[kind]
    message = refusal(cal.ece, y_true, y_proba, data=frame, **options)
    assert re.search(sentence, message), message


def test_columns_whose_names_are_numbers() -> None:
    frame = need("pandas").DataFrame({0: [0, 1], "p": [0.1, 0.2]})
    message = refusal(cal.ece, "label", "p", data=frame)
    assert message == (
        "y_true names the column 'label', which data does not have: use one of 0, 'p'"
    )


def test_names_of_columns_without_a_frame() -> None:
    message = refusal(cal.ece, "label", "prob")
    assert "data=" in message, message


# --- what a message is ----------------------------------------------------------------------------


def test_messages_read_as_sentences() -> None:
    """Which argument, what came, what is needed, what to do: for the commonest mistakes."""
    assert refusal(cal.ece, Y, [0.2, 3.5, 0.9, 0.4]) == (
        "y_proba[1] is 3.5: predictions must lie in [0, 1]. If these are logits, pass "
        "from_logits=True; if they are percentages, divide by 100"
    )
    assert refusal(cal.ece, Y, [0.2, NAN, 0.9, 0.4]) == (
        "y_proba[1] is nan: predictions must be finite numbers. Fix or drop that row"
    )
    assert refusal(cal.ece, [1, 2, 2, 1], P) == (
        "y_true[1] is 2: targets must be 0, 1 or a probability. If the labels are names or other "
        "numbers, pass classes=[negative, positive]; if they count the votes for class 1, give the "
        "number of votes with votes=, or give the counts of both classes as (n, 2)"
    )
    assert refusal(cal.ece, Y, P, sample_weight=[1, 1, -2, 1]) == (
        "sample_weight[2] is -2.0: weights must be finite and not negative"
    )
    assert refusal(cal.ece, P, Y) == (
        "y_true holds fractions while every y_proba is 0 or 1: the arguments seem to be swapped. "
        "The order is (y_true, y_proba). If y_true holds shares of votes, give the number of "
        "votes with votes=, or give vote counts"
    )
    assert cal.ece(P, Y, votes=5) > 0


@pytest.mark.parametrize("name", OF_VOTES)
def test_votes_and_predictions_that_cannot_be(name):
    rng = np.random.default_rng(0)
    rows = rng.dirichlet(np.ones(3), 20)
    counts = rng.multinomial(4, rows)
    function = OF_VOTES[name]
    function(counts, rows)
    for bad, sentence in (
        (np.nan, r"y_proba\[5"),
        (np.inf, r"y_proba\[5"),
        (-0.2, r"y_proba\[5"),
        (1.5, r"y_proba\[5"),
    ):
        wrong = rows.copy()
        wrong[5, 0] = bad
        with pytest.raises(cal.InputError, match=sentence):
            function(counts, wrong)
    for bad, sentence in (
        (-1, "must not be negative"),
        (0.5, r"y_true\[5"),
        (np.nan, r"y_true\[5"),
    ):
        some = counts.astype(float)
        some[5, 0] = bad
        with pytest.raises(cal.InputError, match=sentence):
            function(some, rows)
    with pytest.raises(cal.InputError, match=r"y_true\[5\] has no votes"):
        function(np.where(np.arange(20)[:, None] == 5, 0, counts), rows)
    with pytest.raises(cal.InputError, match="votes="):
        function(counts / 4, rows)
    ones = np.where(np.arange(20) == 7, np.inf, counts[:, 1])
    for bad in (np.inf, 1.5, -3.0):
        ones = np.where(np.arange(20) == 7, bad, counts[:, 1] + 2)
        with pytest.raises(cal.InputError, match=r"y_true\[7\] is .*finite whole numbers"):
            function(ones, rows[:, 1], votes=6)
    with pytest.raises(cal.InputError, match=r"no more votes can be for class 1"):
        function(np.full(20, 7), rows[:, 1], votes=6)


def test_the_options_of_a_class_are_those_of_its_user() -> None:
    makers: dict[str, Any] = {
        "Monitor": cal.Monitor,
        "PlattScaling": cal.PlattScaling,
        "from_predictions": cal.plots.ReliabilityDisplay.from_predictions,
    }
    for name, make in makers.items():
        with pytest.raises(
            TypeError, match=rf"^{name}\(\) has no option 'zzz': use one of"
        ) as told:
            make(zzz=1)
        named = re.findall(r"'(\w+)'", str(told.value))[1:]
        assert named == list(inspect.signature(make).parameters)


@pytest.mark.parametrize("kind", ["dict", "pandas", "polars lazy"])
def test_one_column_is_not_labels_and_predictions(kind: str) -> None:
    rows: Any = {"p": [0.2, 0.7, 0.9], "q": [0.8, 0.3, 0.1], "y": [0, 1, 1]}
    if kind == "pandas":
        rows = need("pandas").DataFrame(rows)
    elif kind == "polars lazy":
        rows = need("polars").LazyFrame(rows)
    for labels, predictions in (("p", "p"), ("q", ["p", "q"]), (["p", "q"], ["p", "q"])):
        with pytest.raises(cal.InputError, match="y_true and y_proba both name the column"):
            cal.evaluate(labels, predictions, data=rows)
