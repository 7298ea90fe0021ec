"""Temperature scaling of tensors on their device: the fit, and all that goes with it, is that of
the same numbers in memory.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from calibrant import CalibrantWarning, InputError
from calibrant.scaling import TemperatureScaling, from_json
from every_engine import engine
from needs import need

torch = need("torch")

from calibrant.scaling import _temperature as on_device  # noqa: E402

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
N, K = 500, 6
RNG = np.random.default_rng(5)
LOGITS = 3 * RNG.standard_normal((N, K))
LABELS = np.where(RNG.random(N) < 0.6, LOGITS.argmax(1), RNG.integers(0, K, N))
WEIGHTS = RNG.exponential(size=N) * (RNG.random(N) < 0.9)
CASES = {
    "float64": (LABELS, LOGITS, "float64", {}),
    "float32": (LABELS, LOGITS, "float32", {}),
    "bfloat16": (LABELS, LOGITS, "bfloat16", {}),
    "weights": (LABELS, LOGITS, "float32", {"sample_weight": WEIGHTS}),
    "names": (np.array(list("abcdef"))[LABELS], LOGITS, "float32", {"classes": list("abcdef")}),
    "two classes": (LABELS % 2, LOGITS[:, :2], "float32", {}),
    "right on every row": (LOGITS.argmax(1), LOGITS, "float32", {}),
    "wrong on every row": (LOGITS.argmin(1), LOGITS, "float32", {}),
    "equal logits": (LABELS, np.zeros((N, K)), "float32", {}),
    "large logits": (LABELS, 200 * LOGITS, "float32", {}),
}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(on_device, "BLOCK", 700)


def fitted(y, x, options):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        scaler = TemperatureScaling().fit(y, x, **options)
    told = [str(w.message) for w in seen if issubclass(w.category, CalibrantWarning)]
    assert all(w.filename == __file__ for w in seen if issubclass(w.category, CalibrantWarning))
    return scaler, told


@pytest.mark.parametrize("name", CASES)
def test_the_fit_is_that_of_arrays(name, monkeypatch):
    y, x, dtype, options = CASES[name]
    there = torch.tensor(x, dtype=getattr(torch, dtype))
    expected, expected_told = fitted(y, there.double().numpy(), options)
    monkeypatch.setattr(TemperatureScaling, "_fit", None)  # nothing is copied to memory
    with engine("torch"):
        found, told = fitted(y, there.to(DEVICE), options)
    for attribute in ("temperature_", "loss_", "loss_before_"):
        value = getattr(expected, attribute)
        # On a GPU the losses are those of logits in single precision.
        close = 1e-6 if DEVICE == "cuda" and attribute == "loss_before_" else 1e-9
        assert getattr(found, attribute) == pytest.approx(value, rel=close), attribute
    for attribute in ("n_classes_", "n_rows_", "_columns", "_fitted_on"):
        assert getattr(found, attribute) == getattr(expected, attribute), attribute
    assert found._fitted_rows.to_dict() == expected._fitted_rows.to_dict()
    assert told == expected_told
    new = x[:50] + 0.5
    np.testing.assert_allclose(
        from_json(found.to_json()).transform(new), expected.transform(new), rtol=1e-6, atol=1e-12
    )


def test_rows_of_the_fit_are_recognised():
    with engine("torch"):
        scaler, _ = fitted(LABELS, torch.tensor(LOGITS, dtype=torch.bfloat16), {})
    rows = torch.tensor(LOGITS, dtype=torch.bfloat16).float().numpy()
    assert scaler.share_fitted(rows) == 1.0
    assert scaler.share_fitted(rows[::-1].copy()) == pytest.approx(1.0, abs=0.02)
    assert scaler.share_fitted(LOGITS + 1.0) == 0.0


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_bad_row_is_an_error_that_names_it(bad):
    x = torch.tensor(LOGITS)
    x[33, 2] = bad
    with engine("torch"), pytest.raises(InputError, match=r"y_proba\[33, 2\]"):
        TemperatureScaling().fit(LABELS, x.to(DEVICE))


def test_what_is_fitted_in_memory():
    """Soft labels, single columns and probabilities: as before, whatever device they are on."""
    soft = np.full((N, K), 1 / K)
    with engine("torch"):
        x = torch.tensor(LOGITS, device=DEVICE)
        assert TemperatureScaling().fit(soft, x).n_classes_ == K
        assert TemperatureScaling().fit(LABELS % 2, x[:, 0]).n_classes_ == 2
        p = x.softmax(1)
        assert TemperatureScaling(from_logits=False).fit(LABELS, p).n_classes_ == K
