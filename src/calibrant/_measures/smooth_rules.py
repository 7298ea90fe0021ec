"""The smooth ECE of another tool, done again: relplot's grid, kernel and search of a bandwidth."""

from __future__ import annotations

import numpy as np

from calibrant._core.typing import Array
from calibrant._measures.peer_rules import PeerRule
from calibrant._measures.smooth import valid_convolution

# relplot 1.0.3: points at which the smoothed residuals are read, and what is added to a density.
_MESH, _ADDED = 200, 1e-4
# Halvings in the search of the bandwidth, and the smallest one.
_HALVINGS, _SMALLEST = 10, 1e-3


def relplot_smooth_ece(predictions: Array, targets: Array, n_bins: int = 0) -> float:
    """`relplot.smECE`: the smoothed residual at its own bandwidth; `n_bins` is not used."""
    residuals = predictions - targets
    width = _bandwidth(predictions, residuals)
    return _error_at_bandwidth(predictions, residuals, width)


def _bandwidth(predictions: Array, residuals: Array) -> float:
    """The smallest width at which relplot's search finds an error no larger than the width; 1 if
    there is none.
    """

    def too_small(width: float) -> bool:
        """Whether a width is below its error, or below the smallest one."""
        return width < _SMALLEST or width < _error_at_bandwidth(predictions, residuals, width)

    if too_small(1.0):
        return 1.0
    above, below = 1.0, 0.0
    for _ in range(_HALVINGS):
        middle = (above + below) / 2
        if too_small(middle):
            below = middle
        else:
            above = middle
    return above


def _error_at_bandwidth(predictions: Array, residuals: Array, width: float) -> float:
    """relplot's error at a width: the mean absolute value of smoothed residuals, over the mean
    density.
    """
    mesh = np.linspace(0, 1, max(round(10 / width), _MESH))
    error = _smoothed(predictions, residuals, mesh, width)
    density = _smoothed(predictions, np.ones(predictions.size), mesh, width) + _ADDED
    return float(np.abs(error).sum() / density.sum())


def _smoothed(predictions: Array, values: Array, mesh: Array, width: float) -> Array:
    """Values at predictions, put on a grid, smoothed by a reflected Gaussian, and interpolated at
    the points `mesh`.

    The grid is mirrored at its outer nodes, each of which is there once. What lies on such a node
    should count twice, once for its image, and counts once: rows in the outer cells lose up to half
    of their weight, in the error and in the density that it is divided by.
    """
    nodes = max(2000, round(20 / width)) // 2 + 1
    at = (predictions * (nodes - 1)).astype(np.intp).clip(0, nodes - 2)
    share = predictions * (nodes - 1) - at
    grid = np.bincount(at, (1 - share) * values, nodes)
    grid += np.bincount(at + 1, share * values, nodes)
    steps = np.linspace(0, 1, nodes) - 0.5
    kernel = np.exp(-(steps**2) / (2 * width**2)) / (np.sqrt(2 * np.pi) * width)
    mirrored = np.concatenate([grid[::-1][:-1], grid, grid[::-1][1:]])
    smooth = valid_convolution(mirrored, kernel)[nodes // 2 : nodes // 2 + nodes]
    return np.interp(mesh, np.linspace(0, 1, nodes), smooth)


SMOOTH_RULES: tuple[PeerRule, ...] = (
    PeerRule(
        tool="relplot smECE",
        version="1.0.3",
        default_bins=0,
        rule="no bins: a reflected Gaussian whose width is its own error, on a grid of 1/1000 or "
        "finer; a row in the outer cell of the grid counts up to half",
        why=(
            "It is the smooth ECE. Its grid is mirrored at its outer nodes, which count once "
            "instead of twice. Confidences above 0.999 lose up to half of their weight, and the "
            "error of all others is divided by the rest."
        ),
        soft_targets="right",
        compute=relplot_smooth_ece,
    ),
)
