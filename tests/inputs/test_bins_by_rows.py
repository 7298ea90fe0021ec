"""bins="cbrt" and bins="auto": a number that follows from the rows, echoed as what it became."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import calibrant as cal
from calibrant._core.bin_counts import auto_bins, cube_root_bins

RNG = np.random.default_rng(5)
P = RNG.random(1331)
Y = (RNG.random(1331) < P).astype(int)
ROWS = np.column_stack([P, 1 - P])


def test_the_cube_root_is_exact() -> None:
    for n in [*range(1, 2000), *(r**3 + d for r in range(2, 2000, 37) for d in (-1, 0, 1))]:
        root = cube_root_bins(n)
        assert (root - 1) ** 3 < n <= root**3
    assert [auto_bins(n) for n in (1, 100, 1000, 10**9)] == [5, 5, 10, 100]


@pytest.mark.parametrize("name", ["cbrt", "auto"])
@pytest.mark.parametrize(
    "measure",
    [cal.ece, cal.soft_ece, cal.ace, cal.tace, cal.debiased_l2, cal.lin_ce,
     lambda y, p, bins: cal.brier_decomposition(y, p, method="binned", bins=bins),
     lambda y, p, bins: cal.noise_floor(y, p, bins=bins, n_resamples=50),
     lambda y, p, bins: cal.hosmer_lemeshow(y, p, bins=bins).p_value,
     lambda y, p, bins: cal.truthful_test(y, p, bins=bins).p_value,
     lambda y, p, bins: cal.classwise_ce(1 - y, np.column_stack([p, 1 - p]), bins=bins),
     lambda y, p, bins: cal.confidence_ce(1 - y, np.column_stack([p, 1 - p]), bins=bins),
     lambda y, p, bins: cal.HistogramBinning(bins=bins).fit(y, p).transform(p).tolist(),
     lambda y, p, bins: cal.check(y, p, at_most={"ece": 0.5}, point=True, bins=bins).rows[0].value],
)  # fmt: skip
def test_measures_take_the_name(measure: Any, name: str) -> None:
    assert measure(Y, P, bins=name) == measure(Y, P, bins=11)


def test_results_echo_the_number() -> None:
    words = "11 equal-width bins (cube root of 1,331 rows), left-closed"
    assert cal.evaluate(Y, P, bins="cbrt").recipe["bins"] == words
    assert words in repr(cal.reliability(Y, P, bins="cbrt"))
    both = cal.compare(Y, {"a": P, "b": P**2}, bins="cbrt", n_resamples=50, measures=["ece"])
    assert both.recipe["bins"] == words
    assert "cube root, 5 to 100, of 1,331 rows" in cal.evaluate(Y, P, bins="auto").recipe["bins"]
    assert cal.conventions(Y, P, bins="cbrt").bins == 11
    # It is where a number comes from, and no part of the rule.
    assert cal.evaluate(Y, P, bins="cbrt").reliability.rule == cal.EqualWidth(11)


def test_lazy_frames_and_files_are_counted(tmp_path: Path) -> None:
    frame = pl.DataFrame({"y": Y, "p": P}).with_columns(
        p=pl.when(pl.int_range(pl.len()) < 2).then(None).otherwise(pl.col("p"))
    )
    lazy = cal.evaluate("y", "p", data=frame.lazy(), bins="cbrt", missing="drop")
    assert "11 equal-width bins (cube root of 1,329 rows)" in lazy.recipe["bins"]
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(json.dumps({"y": int(y), "p": p}) for y, p in zip(Y, P, strict=True)))
    found = cal.evaluate_file(file, bins="cbrt", measures=["ece", "lin_ce"])
    assert "11 equal-width bins (cube root of 1,331 rows)" in found.recipe["bins"]
    assert math.isclose(found["ece"], cal.ece(Y, P, bins=11), rel_tol=1e-12)
    assert math.isclose(found["lin_ce"], cal.lin_ce(Y, P, bins=11), rel_tol=1e-12)


def test_streams_say_why_not() -> None:
    with pytest.raises(cal.InputError, match="bins='cbrt' follows from the number of rows"):
        cal.Accumulator(bins="cbrt")
    with pytest.raises(cal.InputError, match="'cbrt'"):
        cal.ece(Y, P, bins="cbt")


@pytest.mark.parametrize("bins", ["cbtr", [0, 0.5, 1], 0])
def test_conventions_name_what_they_take(bins):
    with pytest.raises(cal.InputError, match="A name \\('cbrt' or 'auto'\\) chooses a number"):
        cal.conventions([0, 1], [0.2, 0.7], bins=bins)
