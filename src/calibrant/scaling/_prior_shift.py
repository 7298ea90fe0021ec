"""Prior shift: predictions for a population in which the classes have other shares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calibrant._core.errors import InputError, StateError
from calibrant._core.validation import public
from calibrant._data.columns import pick
from calibrant._data.links import LOG_FLOOR, both_classes, sigmoid, softmax
from calibrant._engines.softmax_sums import FitFacts, SoftmaxModel
from calibrant.scaling._docstrings import documented
from calibrant.scaling._formula import Inputs, Node, softmax_nodes, total
from calibrant.scaling._predictions import FloatArray, Predictions, to_predictions
from calibrant.scaling._priors import (
    Prior,
    PriorFit,
    as_prior,
    best_ratio,
    prior_by_em,
    ratio_by_labels,
    shares_of_labels,
)
from calibrant.scaling._problem import Learned, Problem, Solution, named_classes, to_problem
from calibrant.scaling._scaler import Scaler
from calibrant.scaling._summed_rows import SoftmaxPasses, SummedRows


@documented
class PriorShift(Scaler):
    r"""Prior shift: adapt calibrated predictions to a population with other class shares.

    .. math:: q_{ir} = \frac{p_{ir}\, \pi'_r / \pi_r}{\sum_s p_{is}\, \pi'_s / \pi_s}

    where pi are the shares (prior) of the classes in the population that the predictions are
    calibrated for, and pi' those in the new population. It is exact if only the shares differ, and
    rows of one class have the same distribution in both populations (label shift). The origin of
    each prior:

    ================  ================  ==================================================
    `prior`           `source_prior`    what `fit` takes from its rows
    ================  ================  ==================================================
    given             given             nothing
    given             not given         the source prior: the shares of its labels
    not given         given             the new prior: the shares of its labels
    not given         not given         the ratio with the least log loss on its rows,
                                        which are labelled ones of the new population
    ================  ================  ==================================================

    `fit_unlabelled` needs no labels of the new population: it estimates the new prior from the
    predictions alone, by the EM algorithm of Saerens et al.

    Parameters
    ----------
    prior : float or sequence of float, optional
        pi': the share of class 1, or the shares of all classes in the order of `y_proba`.
    source_prior : float or sequence of float, optional
        pi: the shares at which the predictions are calibrated, in the same form.

    Attributes
    ----------
    prior_ : ndarray of shape (k,)
        pi': the share of each class where the map is used.
    source_prior_ : ndarray of shape (k,)
        pi: the share of each class where the predictions are calibrated.
    n_classes_, n_rows_, n_iter_ : int
        Classes and rows of the fit, and steps of EM or of the optimiser.
    loss_before_, loss_ : float
        Log loss on the rows of the fit, before and after; NaN after `fit_unlabelled`. With `prior`
        and labels of the source population it is the loss under the old shares, which rises.

    Notes
    -----
    Predictions that are miscalibrated in the source population remain miscalibrated: recalibrate
    them there first, then shift. A prediction of exactly 0 or 1 does not change, so it does not
    affect the ratio with the least log loss. Probabilities up to 1e-12, the floor of that loss, do
    not affect it either. Soft labels count by their shares.

    References
    ----------
    Saerens, Latinne and Decaestecker (2002), Adjusting the outputs of a classifier to new a priori
    probabilities: a simple procedure, Neural Computation 14(1):21-41,
    doi:10.1162/089976602753284446. Elkan (2001), The foundations of cost-sensitive learning, IJCAI.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.scaling import PriorShift
    >>> scaler = PriorShift(prior=0.02, source_prior=0.3).fit_unlabelled([0.1, 0.5, 0.9])
    >>> scaler.transform([0.1, 0.5, 0.9]).round(4).tolist()
    [0.0053, 0.0455, 0.3]
    """

    _learned = ("prior_", "source_prior_")
    _without_labels = True
    prior_: FloatArray
    source_prior_: FloatArray

    @public
    def __init__(
        self,
        *,
        prior: Prior | None = None,
        source_prior: Prior | None = None,
        from_logits: bool = False,
        from_logprobs: bool = False,
    ) -> None:
        self.prior = prior
        self.source_prior = source_prior
        super().__init__(from_logits=from_logits, from_logprobs=from_logprobs)

    @classmethod
    def _n_parameters(cls, k: int) -> float:
        """The number of fitted parameters for k classes: a share for each class, which sum to 1."""
        return k - 1

    @property
    def _learns(self) -> bool:
        """Whether the fit uses its rows at all: False if both priors are given as options."""
        return self.prior is None or self.source_prior is None

    @public
    def fit_unlabelled(
        self,
        y_proba: Any,
        *,
        y_source: Any = None,
        sample_weight: Any = None,
        classes: Sequence[Any] | None = None,
        data: Any = None,
    ) -> PriorShift:
        r"""Fit the map to predictions of the new population, whose labels are unknown.

        The new prior is `prior` if that is given, and otherwise the one under which the predictions
        are likeliest,

        .. math:: \max_{\pi'} \sum_i w_i \ln \sum_r p_{ir}\, \pi'_r / \pi_r,

        by EM, starting from pi. You may map these rows too: the fit used no labels, so `transform`
        does not warn.

        Parameters
        ----------
        y_proba : array-like of shape (n,) or (n, k)
            Predictions on rows of the new population.
        y_source : array-like of shape (m,) or (m, k), optional
            Labels of rows that the predictor is calibrated for or was trained on, in any form that
            `fit` takes; pi is then their shares. Not with `source_prior`.
        sample_weight : array-like of shape (n,), optional
            Weight of each row of `y_proba`; 1 by default.
        classes : sequence, optional
            The labels of `y_source` in the order of the columns of `y_proba`.
        data : frame, optional
            A frame; `y_proba` and `sample_weight` are then names of its columns.

        Returns
        -------
        PriorShift
            The map itself, fitted.

        Raises
        ------
        InputError
            If neither `source_prior` nor `y_source` gives the source prior, or both do.

        Warns
        -----
        CalibrantWarning
            If the predictions are likeliest when a class has a share of 0, which usually means that
            they are not calibrated at the source prior.

        Examples
        --------
        >>> import numpy as np
        >>> from calibrant.scaling import PriorShift
        >>> rng = np.random.default_rng(0)
        >>> y = rng.random(5000) < 0.1  # the new population: 10 %
        >>> p = 1 / (1 + np.exp(-(2 * rng.normal(2 * y - 1, 1))))  # calibrated at 50 %
        >>> scaler = PriorShift(source_prior=0.5).fit_unlabelled(p)
        >>> scaler.prior_.round(2).tolist(), y.mean().round(2).item()
        ([0.89, 0.11], 0.11)
        """
        if data is not None:
            y_proba = pick(data, y_proba, "y_proba")
            if isinstance(sample_weight, str):
                sample_weight = pick(data, sample_weight, "sample_weight")
        self._fit_rows(y_proba, y_source, sample_weight, classes)
        return self

    def _fit_rows(
        self, y_proba: Any, y_source: Any, sample_weight: Any, classes: Sequence[Any] | None
    ) -> None:
        """Fit to predictions without labels, and set all fitted attributes; the arguments are those
        of `fit_unlabelled`.
        """
        self._check_options()
        n = len(to_predictions(y_proba, given=self._given).values)
        problem = to_problem(
            np.zeros(n, np.int64),
            y_proba,
            given=self._given,
            sample_weight=sample_weight,
        )
        k = problem.n_classes
        source = self._source_prior(y_source, k, classes)
        if self.prior is not None:
            fit = PriorFit(as_prior(self.prior, "prior", k), 0, True)
        else:
            rows = both_classes(problem.predictions.probabilities())
            fit = prior_by_em(rows, source, problem.shares)
        solution = _solution(fit.values, source, fit)
        # No hash is kept: nothing was learnt from the outcome of these rows, so that they may be
        # judged on.
        self._set_fit(solution, problem.predictions.columns, n)
        self.loss_before_ = self.loss_ = float("nan")
        names = [str(each) for each in (range(k) if classes is None else classes)]
        mean = problem.shares @ np.exp(problem.predictions.log_probabilities())
        self._warn((*_about_vanished(fit.vanished, names, mean, source), *solution.cautions))

    def _source_prior(self, y_source: Any, k: int, classes: Sequence[Any] | None) -> FloatArray:
        """The source prior, one share for each of k classes, from the option `source_prior` or from
        the labels `y_source`; an InputError unless exactly one of them is given.
        """
        if (self.source_prior is None) == (y_source is None):
            came = "neither" if y_source is None else "both"
            raise InputError(
                "PriorShift needs the shares of the classes in the rows that the predictions were "
                f"calibrated for: give PriorShift(source_prior=...) or y_source=labels; got {came}"
            )
        if self.source_prior is not None:
            return as_prior(self.source_prior, "source_prior", k)
        if np.ndim(y_source) == 0:
            raise InputError(
                f"y_source must be the labels of rows; got {y_source!r}. To give a share, use "
                "source_prior"
            )
        uniform = np.full((len(y_source), k), 1.0 / k)
        labels = to_problem(
            y_source,
            uniform if k > 2 else uniform[:, 1],
            given=False,
            classes=classes,
        )
        return shares_of_labels(
            labels.shares @ labels.targets, labels.class_names, "give source_prior"
        )

    def _check_options(self) -> None:
        """Raise an InputError if an option is invalid."""
        super()._check_options()
        for argument in ("prior", "source_prior"):
            if getattr(self, argument) is not None:
                as_prior(getattr(self, argument), argument)

    def _check_fitted(self) -> None:
        """Raise a StateError if the map is not fitted."""
        if not hasattr(self, "loss_"):
            raise StateError(
                "PriorShift is not fitted: call fit(y_true, y_proba), or fit_unlabelled(y_proba), "
                "first"
            )

    def _check_learned(self) -> None:
        """Raise a ValueError if a prior read from a file is not a share for each class."""
        for name in self._learned:
            prior = getattr(self, name)
            if np.shape(prior) != (self.n_classes_,) or not abs(prior.sum() - 1.0) <= 1e-6:
                raise ValueError(f"{name} does not have a share for each class")
            if not (prior >= 0).all():
                raise ValueError(f"{name} has a negative share")
        if not (self.source_prior_ > 0).all():
            raise ValueError("source_prior_ has a share of 0")

    def _solve(self, problem: Problem) -> Solution:
        """Fit the new prior and the source prior; the table in the docstring of the class says
        which of them is estimated from the rows.
        """
        labels = problem.shares @ problem.targets
        new, source = self._given_priors(labels, problem.class_names)
        labels = labels / labels.sum()
        if source is not None:
            return _solution(labels if new is None else new, source)
        log_p = problem.predictions.log_probabilities()
        fit = ratio_by_labels(log_p, problem.targets, problem.shares)
        source = _source_of_ratio(fit.values, labels, problem.shares @ np.exp(log_p))
        # Where the floor of the log loss misleads the search, so that the shifted predictions fit
        # worse than the original ones, nothing is changed: the ratio is 1.
        predictions = problem.predictions
        after = problem.log_loss(shifted_predictions(predictions, labels, source))
        if after > problem.log_loss(predictions.probabilities()):
            source = np.maximum(labels, LOG_FLOOR)
        return _solution(labels, source, fit)

    def _solve_sums(self, rows: SummedRows) -> tuple[Solution, float | None]:
        """Fit the priors of rows (n, k) that are summed, as `_solve` does."""
        facts = rows.facts
        labels = facts.mass / facts.mass.sum()
        new, source = self._given_priors(labels, rows.class_names)
        if source is not None:
            return _solution(labels if new is None else new, source), None
        fit = _ratio_of_sums(rows, facts)
        source = _source_of_ratio(fit.values, labels, facts.predicted / facts.weight)
        self.prior_, self.source_prior_ = labels, source
        loss = rows.mean_loss(self)
        if loss > facts.loss:
            source, loss = np.maximum(labels, LOG_FLOOR), facts.loss
        return _solution(labels, source, fit), loss

    def _given_priors(
        self, labels: FloatArray, names: Sequence[str]
    ) -> tuple[FloatArray | None, FloatArray | None]:
        """The new prior and the source prior as far as options determine them, None otherwise. If
        only the new prior is given, the source prior is the shares of the `labels`, (k,).
        """
        k = len(labels)
        new = None if self.prior is None else as_prior(self.prior, "prior", k)
        if self.source_prior is not None:
            return new, as_prior(self.source_prior, "source_prior", k)
        if new is None:
            return None, None
        return new, shares_of_labels(labels, names, "give source_prior, or rows of every class")

    def _formula(self, inputs: Inputs) -> list[Node]:
        """The map as a formula of the inputs, one node for each output."""
        ratio = np.maximum(self.prior_, LOG_FLOOR) / self.source_prior_
        if inputs.given is True:
            moved_by = np.log(ratio)
            if not inputs.columns:
                return [(inputs.raw[0] + (moved_by[1] - moved_by[0])).sigmoid()]
            return softmax_nodes([s + r for s, r in zip(inputs.raw, moved_by, strict=True)])
        p = inputs.probabilities
        both = p if inputs.columns else [1.0 - p[0], p[0]]
        moved = [each * r for each, r in zip(both, ratio, strict=True)]
        whole = total(moved)
        return inputs.of_classes([each / whole for each in moved])

    def _apply(self, predictions: Predictions) -> FloatArray:
        """Recalibrated probabilities, in the shape of the predictions."""
        return shifted_predictions(predictions, self.prior_, self.source_prior_)


def _solution(prior: FloatArray, source: FloatArray, fit: PriorFit | None = None) -> Solution:
    """The priors as fitted attributes; with a warning if the search `fit` did not converge."""
    learned: dict[str, Learned] = {"prior_": prior, "source_prior_": source}
    if fit is None:
        return Solution(learned)
    cautions = () if fit.reached else (_about_no_convergence(fit.n_iter),)
    return Solution(learned, cautions, fit.n_iter)


def _source_of_ratio(ratio: FloatArray, labels: FloatArray, mean: FloatArray) -> FloatArray:
    """The source prior, from the fitted `ratio` of new to old prior and the shares of the labels.
    That of a class without labels cannot be estimated: its `mean` prediction stands in for it.
    """
    source = np.where(labels == 0, mean, labels / ratio)
    source = np.maximum(source / source.sum(), LOG_FLOOR)
    return source / source.sum()


def _ratio_of_sums(rows: SummedRows, facts: FitFacts) -> PriorFit:
    """The ratio of least log loss, as `ratio_by_labels` has it, of rows that are summed."""
    seen = facts.movable > 0
    if not seen.any():
        return PriorFit(np.where(facts.mass > 0, 1.0, LOG_FLOOR), 0, True)
    passes = SoftmaxPasses(rows, SoftmaxModel.biases(seen.tolist()))

    def value_and_gradient(theta: FloatArray) -> tuple[float, FloatArray]:
        """The log loss and its gradient."""
        sums = passes(theta)
        return sums.loss / sums.weight, sums.gradient / sums.weight

    def curvature(theta: FloatArray, moved: FloatArray) -> FloatArray:
        """The Hessian times the direction `moved`."""
        sums = passes(theta)
        return sums.hessian @ moved / sums.weight

    share = facts.movable[seen] / facts.movable.sum()
    mean = value_and_gradient(np.zeros(int(seen.sum())))[1] + share
    return best_ratio(facts.mass, facts.movable, mean, value_and_gradient, curvature)


def shifted_predictions(
    predictions: Predictions, prior: FloatArray, source: FloatArray
) -> FloatArray:
    """Predictions that are calibrated at the prior `source`, moved to another `prior`:
    probabilities times prior / source, divided by their sum, in the shape of the predictions.
    """
    ratio = np.maximum(prior, LOG_FLOOR) / source
    values = predictions.values
    if predictions.from_logits:
        moved = np.log(ratio)
        if values.ndim == 1:
            return sigmoid(values + (moved[1] - moved[0]))
        return softmax(values + moved)
    if values.ndim == 1:
        ones = values * ratio[1]
        return ones / (ones + (1.0 - values) * ratio[0])
    rows = values * ratio
    return rows / rows.sum(axis=1, keepdims=True)


def _about_vanished(
    vanished: Sequence[int], names: Sequence[str], mean: FloatArray, source: FloatArray
) -> list[str]:
    """The warning for classes whose likeliest share is 0, as a list of one text; an empty list if
    there are none. `vanished` are their positions in `names`; `mean` is the mean prediction of each
    class, `source` the source prior.
    """
    if not vanished:
        return []
    r = vanished[0]
    return [
        f"the predictions are likeliest if {named_classes([names[i] for i in vanished])} has a "
        f"share of 0, so transform predicts almost 0 for it on every row. Class {names[r]} is "
        f"predicted at {mean[r]:.3g} on average, with a source prior of {source[r]:.3g}. Check "
        "that the predictions are calibrated there, or give the prior itself, as the class may be "
        "too rare to appear"
    ]


def _about_no_convergence(n_iter: int) -> str:
    """The warning that the search for the prior stopped after `n_iter` steps without
    convergence.
    """
    return (
        f"the prior did not converge in {n_iter:,} steps, because the predictions hardly separate "
        "the classes. Give more rows, or the prior itself"
    )
