"""Centred isotonic calibration: an increasing map without steps."""

from __future__ import annotations

import numpy as np

from calibrant.scaling._isotonic import IsotonicCalibration, pooled
from calibrant.scaling._one_vs_rest import Column, ColumnFit

# Means of blocks that differ by less than this part of themselves are equal: sums of a million
# weights or soft labels, in whatever order and unit, agree to this and not to the last bit.
EQUAL = 1e-10


class CentredIsotonic(IsotonicCalibration):
    r"""Centred isotonic calibration: isotonic regression, its steps drawn together to points.

    .. math:: \bigl(c_B, q_B\bigr), \quad c_B = \frac{\sum_{i \in B} w_i p_i}{\sum_{i \in B} w_i},
        \quad q_B = \frac{\sum_{i \in B} w_i z_i}{\sum_{i \in B} w_i}

    for each block B of predictions on which the isotonic fit is constant; the map is linear between
    neighbouring points, and constant beyond the first and the last. So it increases strictly
    between them: it keeps the order of the predictions, where `IsotonicCalibration` gives whole
    stretches of them one value. Neighbouring blocks whose means agree to ten digits are one block,
    so that neither the order of rows nor the unit of weights matters. A block whose mean is 0 or 1
    stays as it is, as Oron and Flournoy have it: nothing was seen there that would lift it from
    that bound. Such a prediction may cost a held-out row an infinite log loss (Calibrant's floor is
    1e-12).

    Predictions (n, k) get a map for each class against the rest, and rows are divided by their sum;
    a row whose classes are all mapped to 0 stays as it came.

    Parameters
    ----------
    from_logits : bool, default False
        Whether the predictions are logits (else probabilities).
    from_logprobs : bool, default False
        Whether the predictions are log-probabilities: exp is applied to (n,), a softmax to (n, k).

    Attributes
    ----------
    thresholds_ : tuple of ndarray
        The predictions at which each map bends: one map for two classes, k for k > 2.
    values_ : tuple of ndarray
        What these predictions become.
    n_classes_, n_rows_, n_iter_ : int
        Classes and rows of the fit, and steps of the optimiser.
    loss_before_, loss_ : float
        Log loss on the rows of the fit, before and after.

    Notes
    -----
    The mean of the mapped predictions over the rows of the fit is no longer exactly that of the
    targets, as it is under isotonic calibration.

    References
    ----------
    Oron and Flournoy (2017), Centered isotonic regression: point and interval estimation for
    dose-response studies, Statistics in Biopharmaceutical Research 9(3):258-267,
    doi:10.1080/19466315.2017.1286256.

    Examples
    --------
    >>> from calibrant.scaling import CentredIsotonic, IsotonicCalibration
    >>> y, p = [0, 1, 0, 1], [0.1, 0.3, 0.5, 0.8]
    >>> CentredIsotonic().fit(y, p).transform([0.25, 0.35, 0.45]).round(3).tolist()
    [0.25, 0.417, 0.562]
    >>> IsotonicCalibration().fit(y, p).transform([0.25, 0.35, 0.45]).round(3).tolist()
    [0.375, 0.5, 0.5]
    """

    def _fit_column(self, column: Column) -> ColumnFit:
        blocks = pooled(column)
        # Neighbouring blocks of equal means are one flat stretch too.
        rises = np.diff(blocks.values) > EQUAL * blocks.values[1:]
        start = np.flatnonzero(np.append(True, rises))
        first, last = blocks.first[start], blocks.last[np.append(start[1:], blocks.values.size) - 1]
        mass = np.add.reduceat(blocks.mass, start)
        centre = np.add.reduceat(blocks.mass * blocks.centre, start) / mass
        centre = np.clip(centre, first, last)  # rounding must not put one beyond its block
        values = np.add.reduceat(blocks.mass * blocks.values, start) / mass
        values = np.where(values >= 1.0 - EQUAL, 1.0, values)
        at_bound = (values == 0.0) | (values == 1.0)
        points = np.where(at_bound[:, None], np.stack([first, last], 1), centre[:, None])
        thresholds, kept = np.unique(points.ravel(), return_index=True)
        return ColumnFit((thresholds, np.repeat(values, 2)[kept]))
