"""Arrow and feather files as polars writes them: with a list of batches, and without a stream."""

from __future__ import annotations

import numpy as np
import pytest
from file_makers import OUTCOMES, REPORTS

import calibrant as cal
from calibrant import InputError
from needs import need

pl = need("polars")
need("pyarrow")

SITES = np.array(["north", "south", "east"])[np.arange(REPORTS.size) % 3]
WRITERS = {
    "arrow": lambda frame, path, packing: frame.write_ipc(path, compression=packing),
    "feather": lambda frame, path, packing: frame.write_ipc(path, compression=packing),
    "oldest.arrow": lambda frame, path, packing: frame.write_ipc(
        path, compression=packing, compat_level=pl.CompatLevel.oldest()
    ),
    "parts.arrow": lambda frame, path, packing: frame.lazy().sink_ipc(path, compression=packing),
    "arrows": lambda frame, path, packing: frame.write_ipc_stream(path, compression=packing),
}


@pytest.mark.parametrize("packing", ["uncompressed", "lz4", "zstd"])
@pytest.mark.parametrize("suffix", WRITERS)
@pytest.mark.parametrize("kind", ["numbers", "names", "categories", "lists", "arrays"])
def test_what_polars_writes_is_read(tmp_path, suffix, packing, kind):
    frame = pl.DataFrame({"label": OUTCOMES, "p": REPORTS, "site": SITES})
    options, wanted = {}, (OUTCOMES, REPORTS)
    if kind == "names":
        words = np.array(["no", "yes"])[OUTCOMES]
        frame, options = frame.with_columns(label=pl.Series(words)), {"classes": ["no", "yes"]}
    elif kind == "categories":
        frame = frame.with_columns(pl.col("site").cast(pl.Categorical))
    elif kind in ("lists", "arrays"):
        rows = np.stack([1 - REPORTS, REPORTS], axis=1)
        column = pl.Series("probs", rows if kind == "arrays" else rows.tolist())
        frame, wanted = frame.drop("p").with_columns(column), (OUTCOMES, rows)
    file = tmp_path / f"rows.{suffix}"
    WRITERS[suffix](pl.concat([frame[:500], frame[500:]], rechunk=False), file, packing)
    found = cal.evaluate_file(file, by="site", measures=["ece", "brier"], **options)
    expected = cal.evaluate(*wanted, by=SITES, measures=["ece", "brier"])
    assert found.values == pytest.approx(expected.values, rel=1e-12)
    assert sorted(found.slices.columns()["site"]) == ["east", "north", "south"]
    np.testing.assert_array_equal(cal.read_file(file, **options).y_proba, wanted[1])


@pytest.mark.parametrize("cut", [0.3, 0.9, 0.999])
def test_a_file_cut_short_is_an_error(tmp_path, cut):
    file = tmp_path / "rows.arrow"
    pl.DataFrame({"label": OUTCOMES, "p": REPORTS}).write_ipc(file)
    content = file.read_bytes()
    file.write_bytes(content[: int(len(content) * cut)])
    with pytest.raises(InputError, match="the file is incomplete"):
        cal.evaluate_file(file)
    file.write_bytes(content[: int(len(content) * cut)] + content[-6:])
    with pytest.raises(InputError, match="cannot be read as Arrow"):
        cal.evaluate_file(file)
