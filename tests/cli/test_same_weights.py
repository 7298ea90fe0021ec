"""Weights of the same rows in two files: what is missing in both is the same in both."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from calibrant._cli.same_rows import _check_weights
from calibrant._core.errors import InputError


def rows(*weights):
    return SimpleNamespace(sample_weight=np.array(weights))


def test_a_missing_weight_is_no_difference():
    _check_weights("b", "a", rows(1.0, np.nan), rows(1.0, np.nan))
    with pytest.raises(InputError, match="different weights"):
        _check_weights("b", "a", rows(1.0, np.nan), rows(np.nan, 1.0))
