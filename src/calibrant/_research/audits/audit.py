"""`audit`: which properties does a measure have?"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from calibrant._core.binning import Bins, as_rule
from calibrant._core.errors import InputError, one_of
from calibrant._core.validation import check_count, check_seed, public
from calibrant._measures.catalogue import Shape, canonical, catalogue, find, nearest_measure
from calibrant._research.audits import (
    bin_sensitivity,
    continuity,
    limits,
    sequences,
    truthfulness,
    weighting,
)
from calibrant._research.audits.subjects import Function, Subject, call_function
from calibrant.results._audit import Audit, AuditVerdict

PROPERTIES = ("truthful", "continuous", "complete", "sound", "weighted", "bin_sensitivity")
# Tested where it is asked for: whoever sees outcomes can cheat most calibration errors.
ON_REQUEST = ("sequential",)
_SHAPES: tuple[Shape, ...] = ("binary", "multiclass")
_REPLAYS: dict[str, Callable[[Subject, dict[str, Any]], dict[str, float]]] = {
    "truthful": truthfulness.replay,
    "continuous": continuity.replay,
    "complete": limits.replay,
    "sound": limits.replay,
    "weighted": weighting.replay,
    "bin_sensitivity": bin_sensitivity.replay,
    "sequential": sequences.replay,
}


@public
def audit(
    measure: str | Function | Sequence[str] | None = None,
    *,
    properties: Iterable[str] | None = None,
    shape: str | None = None,
    bins: Bins | None = None,
    claims: Mapping[str, bool] | None = None,
    n_draws: int = 50,
    seed: int = 0,
) -> Audit:
    """Test which properties measures have, in worlds where the truth is known.

    Small worlds are summed over every outcome; large ones are simulated. Each property gets a
    verdict with a witness, and the claim of the catalogue. An audit is false unless it confirms
    every claim, so ``assert audit(...)`` can fail.

    Parameters
    ----------
    measure : str, list of str or callable, optional
        A name of the catalogue, several names, or your own function ``f(y_true, y_proba)`` that
        returns a number to keep low; a function with the argument `sample_weight` is tested with
        weights too. By default the whole catalogue (a minute or two).
    properties : iterable of str, optional
        By default all of:

        - "truthful": no misreport has a lower expectation than the true probabilities;
        - "continuous": no jump along paths of predictors;
        - "complete": it tends to 0 (a score: to its best) for calibrated predictors;
        - "sound": it stays above that for miscalibrated predictors;
        - "weighted": weights are shares, and multiplying them by a constant changes nothing;
        - "bin_sensitivity": how often another number of bins reverses the order of two predictors.

        And on request, for (n,) predictions:

        - "sequential": no strategy that sees the outcomes of earlier rows beats the truth; the best
          one is searched by optimisation.
    shape : {"binary", "multiclass"}, optional
        Audit only one shape of predictions; by default both.
    bins : int or binning rule, optional
        A bin rule other than each measure's own; the catalogue then makes no claims.
    claims : mapping of str to bool, optional
        What you claim of your own function, such as ``{"complete": True}``.
    n_draws : int, default 50
        Draws of each world that is too large to sum over every outcome.
    seed : int, default 0
        Seed of all draws.

    Returns
    -------
    Audit
        A row for each measure, shape and property: `verdict(measure, property)`, `table()`,
        `disagreements`, `replay(row)`, `to_frame()`, `to_json()`, `save(folder)`.

    Raises
    ------
    InputError
        If a measure, property, shape or claim is unknown, or the function returns no number.

    Examples
    --------
    >>> from calibrant import audit
    >>> result = audit("ece", shape="binary", properties=["truthful"])
    >>> row = result.verdict("ece", "truthful")
    >>> row.holds, row.witness["misreport"]
    (False, '0.5 for all')
    >>> result.replay(row)
    {'truth': 0.375, 'misreport': 0.1875, 'standard_error': 0.0}
    """
    wanted = _check_properties(properties)
    check_count("n_draws", n_draws, 2)
    check_seed(seed)
    if shape is not None:
        one_of("shape", shape, _SHAPES)
    if bins is not None:
        as_rule(bins)
    subjects, notes = _make_subjects(measure, shape, bins, _check_claims(claims, measure))
    rows: list[AuditVerdict] = []
    with np.errstate(invalid="ignore"):  # a user's function may be infinite
        for each in _SHAPES:
            rows += _run_tests([s for s in subjects if s.shape == each], wanted, n_draws, seed)
    if measure is not None:
        notes += _notes_on_untested(subjects, rows)
    # Rows are in the order of the measures asked for, and then of the properties.
    order = list(dict.fromkeys((s.name, str(s.shape)) for s in subjects))
    rows.sort(key=lambda row: (order.index((row.measure, row.shape)), wanted.index(row.property)))
    recipe = {
        "measures": list(dict.fromkeys(s.name for s in subjects)),
        "properties": list(wanted),
        "shape": shape,
        "bins": None if bins is None else str(as_rule(bins)),
        "n_draws": n_draws,
        "seed": seed,
    }
    return Audit(tuple(rows), notes, recipe, _Replay(bins, measure if callable(measure) else None))


@dataclass(frozen=True)
class _Replay:
    """Recomputes the evidence of an audited row from its witness, for `Audit.replay`.

    It can be pickled, and keeps a user's function through pickling where that function can be
    pickled.
    """

    bins: Bins | None
    function: Function | None = field(repr=False)
    lost: bool = False

    def __call__(self, row: AuditVerdict) -> dict[str, float]:
        """Compute the numbers of a row's evidence again, by name, from the row's witness."""
        assert row.witness is not None
        shape: Any = row.shape
        if self.lost:
            raise InputError(
                f"this audit could not store the function {row.measure}: run the audit again"
            )
        if self.function is not None:
            subject = Subject(row.measure, shape, function=self.function)
        else:
            subject = Subject(row.measure, shape, find(row.measure, shape), bins=self.bins)
        return _REPLAYS[row.property](subject, row.witness)

    def __reduce__(self) -> tuple[Any, ...]:
        """What pickle stores; a function that cannot be pickled is dropped and marked as lost."""
        import pickle

        try:
            pickle.dumps(self.function)
        except Exception:  # a lambda, or a function within a function
            return _Replay, (self.bins, None, True)
        return _Replay, (self.bins, self.function, self.lost)


def _notes_on_untested(subjects: list[Subject], rows: list[AuditVerdict]) -> tuple[str, ...]:
    """A note for each measure to which none of the requested properties applies.

    `rows` are the verdicts of the audit; a measure without a row was not tested.
    """
    tested = {row.measure for row in rows}
    names = dict.fromkeys(s.name for s in subjects if s.name not in tested)
    return tuple(f"not audited: none of the requested properties applies to {n}" for n in names)


def _check_claims(claims: Any, measure: Any) -> dict[str, bool] | None:
    """Check the claims a user makes of an own function: a dict of property to True or False.

    The result is None if there are no claims. Claims about a measure of the catalogue are an error.
    """
    if claims is None:
        return None
    if not callable(measure):
        raise InputError(
            "claims apply only to your own function: measures of the catalogue have their own "
            "claims"
        )
    if not isinstance(claims, Mapping) or not all(isinstance(c, bool) for c in claims.values()):
        raise InputError(f"claims must map properties to True or False; got {claims!r}")
    for name in claims:
        one_of("claims", name, PROPERTIES[:-1])
    return dict(claims)


def _run_tests(
    subjects: list[Subject], wanted: tuple[str, ...], n_draws: int, seed: int
) -> list[AuditVerdict]:
    """Run the tests of the requested properties on subjects (measures) of one shape.

    The result has one verdict for each subject and property that applies to it.
    """

    def tested(*names: str) -> list[Subject]:
        """The subjects to which one of these properties applies, if it is requested."""
        return [s for s in subjects if any(n in wanted and s.applies(n) for n in names)]

    return [
        *truthfulness.truthfulness(tested("truthful"), n_draws=n_draws, seed=seed),
        *continuity.continuity(tested("continuous"), seed=seed),
        *limits.limits(tested("complete", "sound"), wanted, seed=seed),
        *weighting.weighting(tested("weighted"), seed=seed),
        *bin_sensitivity.bin_sensitivity(tested("bin_sensitivity"), seed=seed),
        *sequences.sequences(tested("sequential")),
    ]


def _check_properties(properties: Iterable[str] | None) -> tuple[str, ...]:
    """Check the names of the requested properties, and put them in the order of `PROPERTIES`.

    None requests all of them but those on request.
    """
    if properties is None:
        return PROPERTIES
    asked = [properties] if isinstance(properties, str) else list(properties)
    if not asked:
        raise InputError("properties is empty: drop it for all of " + ", ".join(PROPERTIES))
    for name in asked:
        one_of("properties", name, (*PROPERTIES, *ON_REQUEST))
    return tuple(p for p in (*PROPERTIES, *ON_REQUEST) if p in asked)


def _make_subjects(
    measure: Any, shape: str | None, bins: Bins | None, claims: Mapping[str, bool] | None
) -> tuple[list[Subject], tuple[str, ...]]:
    """The subjects of an audit (measures under test), one for each measure and shape, and notes.

    `shape` is "binary" or "multiclass", or None for both. `measure` is a name, a list of names, a
    user's function, or None for the whole catalogue. The notes name shapes that a function rejects.
    A name that is unknown, or not defined for the shapes, is an InputError.
    """
    shapes = tuple(s for s in _SHAPES if shape in (None, s))
    if callable(measure):
        return _subjects_of_function(measure, shapes, claims)
    if measure is None:
        names = list(dict.fromkeys(m.name for s in shapes for m in catalogue(s)))
    else:
        asked = [measure] if isinstance(measure, str) else list(measure)
        names = [canonical(name) for name in asked]
    subjects = []
    for name in dict.fromkeys(names):
        fitting = [s for s in shapes if any(m.name == name for m in catalogue(s))]
        if not fitting:
            _raise_unknown_measure(name, shapes)
        subjects += [Subject(name, s, find(name, s), bins=bins) for s in fitting]
    if not subjects:
        raise InputError("measure is an empty list: drop it for the whole catalogue")
    return subjects, ()


def _raise_unknown_measure(name: object, shapes: tuple[Shape, ...]) -> None:
    """Raise an InputError that says why a name is no measure of the catalogue for these shapes."""
    if not isinstance(name, str):
        raise InputError(
            "measure must be a name of the catalogue, a list of names, or a function "
            f"f(y_true, y_proba) that returns a number; got {name!r}"
        )
    known = {m.name for m in catalogue()}
    if name in known:
        raise InputError(f"the measure {name!r} is not defined for {shapes[0]} predictions")
    raise InputError(f"no measure is called {name!r}: {nearest_measure(name, sorted(known))}")


def _subjects_of_function(
    function: Function, shapes: tuple[Shape, ...], claims: Mapping[str, bool] | None
) -> tuple[list[Subject], tuple[str, ...]]:
    """A subject (measure under test) for each shape that a user's function accepts, and notes.

    A function accepts a shape ("binary" or "multiclass") if a call with 7 rows of that shape raises
    no error. Each shape that it rejects gets a note.
    """
    name = getattr(function, "__name__", type(function).__name__)
    name = "your function" if name == "<lambda>" else str(name)
    if inspect.isclass(function):
        raise InputError(f"measure must be a function f(y_true, y_proba); got the class {name}")
    subjects, refused = [], []
    for shape in shapes:
        subject = Subject(name, shape, function=function, claims=claims)
        rng = np.random.default_rng(0)
        predictions = rng.random(7) if shape == "binary" else rng.dirichlet(np.ones(3), 7)
        labels = np.arange(7) % (2 if shape == "binary" else 3)
        try:
            call_function(subject, labels, predictions)
        except InputError:
            raise
        except Exception as error:  # a user's function may raise anything
            refused.append(f"not audited on {shape} predictions: {type(error).__name__}: {error}")
        else:
            subjects.append(subject)
    if not subjects:
        raise InputError(f"measure {name} takes no predictions: " + "; ".join(refused))
    return subjects, tuple(refused)
