"""Predictions of exactly 1.0, at the edge of the last bin, are summed alike everywhere."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import calibrant as cal
from needs import need
from pairs import pairs

N = 3000


def saturated(k: int, dtype: type, seed: int = 0):
    """A softmax of large logits: a fifth of the confidences and more are 1.0."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0.0, 60.0 if dtype is np.float64 else 20.0, (N, k)).astype(dtype)
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    right = rng.random(N) < 0.8
    return np.where(right, p.argmax(axis=1), rng.integers(0, k, N)), p


@pytest.mark.parametrize(
    ("k", "dtype", "bins"),
    pairs(product((2, 3, 7), (np.float32, np.float64), (15, 2, cal.EqualWidth(10, "right")))),
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_frames_and_files_have_the_numbers_of_arrays(k, dtype, bins, tmp_path):
    pl = need("polars")
    need("pyarrow")
    y, p = saturated(k, dtype)
    assert (p.max(axis=1) == 1.0).mean() > 0.15
    names = [m.name for m in cal.catalogue("multiclass") if m.notion != "distribution"]
    measures = [name for name in names if name not in ("ls_ece", "smooth_ece")]
    expected = cal.evaluate(y, p, bins=bins, measures=[*measures, "top_label_ece"]).values
    columns = [f"p{j}" for j in range(k)]
    frame = pl.DataFrame({"y": y, **dict(zip(columns, p.T.copy(), strict=True))})
    frame.write_parquet(tmp_path / "rows.parquet")
    asked = {"bins": bins, "measures": list(expected)}
    lazy = cal.evaluate("y", columns, data=frame.lazy(), **asked).values
    path = tmp_path / "rows.parquet"
    file = cal.evaluate_file(path, y_true="y", y_proba=columns, **asked).values
    for found in (lazy, file):
        assert found == {name: pytest.approx(expected[name], rel=1e-9, abs=1e-15) for name in found}
        assert {"lin_ce", "top_label_ece", "ece"} <= set(found)


def test_the_top_label_error_of_certain_rows_by_hand():
    """Of each class a certain row and one of 0.97; one of the two is right."""
    pl = need("polars")
    y = np.array([0, 0, 1, 1])
    p = np.array([[1.0, 0.0], [0.0, 1.0], [0.97, 0.03], [0.03, 0.97]])
    frame = pl.DataFrame({"y": y, "a": p[:, 0], "b": p[:, 1]}).lazy()
    found = cal.evaluate("y", ["a", "b"], data=frame, measures=["top_label_ece"])
    # Class 0 says 1.97 and one is right, class 1 the same: each is off by 0.97 of 4 rows.
    assert found["top_label_ece"] == pytest.approx(0.485)
