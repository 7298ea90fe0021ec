"""by= gives one evaluation for each value of a column, in the pass that reads the files."""

from __future__ import annotations

import json

import numpy as np
import pytest
from file_makers import FORMATS, LABELS, OUTCOMES, REPORTS, ROWS, WEIGHTS, K, N, write

import calibrant as cal
from calibrant import InputError
from needs import need

rng = np.random.default_rng(2)
REGION = np.array(["north", "south", "east"])[rng.integers(0, 3, N)]
DAY = rng.integers(1, 4, N)
# Calibrated, but for the south.
CALIBRATED = (rng.random(N) < REPORTS).astype(int)
SKEWED = np.where(REGION == "south", REPORTS**0.3, REPORTS)


@pytest.fixture(autouse=True)
def _small_chunks(set_limits):
    set_limits(chunk_rows=400)


@pytest.mark.parametrize("format", FORMATS)
def test_slices_are_those_of_arrays(tmp_path, format):
    path = write(tmp_path, format, {"label": CALIBRATED, "p": SKEWED, "region": REGION})
    found = cal.evaluate_file(path, by="region")
    expected = cal.evaluate(CALIBRATED, SKEWED, by=REGION)
    assert found.slices.by == "region" and len(found.slices) == 3
    assert found.slices.worst.name == expected.slices.worst.name == "south"
    for part in expected.slices:
        mine = found.slices[part.name]
        assert mine.n == part.n
        assert mine.values == pytest.approx(part.values, rel=1e-12)
        assert mine.p_value == pytest.approx(part.p_value, abs=0.06)
        assert mine.noise_95 == pytest.approx(part.noise_95, rel=0.08)
    assert found.slices["south"].p_corrected < 0.01 < found.slices["north"].p_corrected


def test_several_columns_and_numbers(tmp_path):
    path = write(
        tmp_path, "parquet", {"label": OUTCOMES, "p": REPORTS, "region": REGION, "day": DAY}
    )
    found = cal.evaluate_file(path, by=["region", "day"], measures=["ece"])
    both = [f"{a}, {b}" for a, b in zip(REGION, DAY, strict=True)]
    assert {part.name: part.n for part in found.slices} == {
        name: both.count(name) for name in set(both)
    }
    east = (REGION == "east") & (DAY == 2)
    assert found.slices["east, 2"].values["ece"] == pytest.approx(
        cal.ece(OUTCOMES[east], REPORTS[east]), rel=1e-12
    )
    assert set(found.slices["east, 2"].values) == {"ece"}


def test_slices_of_rows_of_classes(tmp_path):
    path = write(tmp_path, "parquet", {"label": LABELS, "probs": ROWS, "day": DAY})
    found = cal.evaluate_file(path, by="day", measures=["brier"])
    expected = cal.evaluate(LABELS, ROWS, by=DAY, measures=["brier"])
    for part in expected.slices:
        assert found.slices[part.name].values == pytest.approx(part.values, rel=1e-12)
    assert ROWS.shape[1] == K


def test_soft_labels_and_weights_have_no_noise_floor_from_sums(tmp_path):
    columns = {"label": OUTCOMES, "soft": REPORTS**1.3, "p": REPORTS, "w": WEIGHTS, "day": DAY}
    path = write(tmp_path, "npz", columns)
    for options in ({"y_true": "soft"}, {"y_true": "label", "sample_weight": "w"}):
        found = cal.evaluate_file(path, by="day", measures=["ece"], **options)
        assert all(np.isnan([part.p_value, part.noise_95]).all() for part in found.slices)
    expected = cal.evaluate(OUTCOMES, REPORTS, sample_weight=WEIGHTS, by=DAY, measures=["ece"])
    assert found.slices["2"].values == pytest.approx(expected.slices["2"].values, rel=1e-12)


def test_slices_without_a_value_or_without_weight(tmp_path):
    path = tmp_path / "rows.jsonl"
    rows = [
        {"y": 1, "p": 0.7, "w": 1, "who": "a"},
        {"y": 0, "p": 0.2, "w": 0, "who": "b"},
        {"y": 1, "p": 0.9, "w": 1},
        {"y": 0, "p": 0.4, "w": 2, "who": None},
        {"y": 1, "w": 2, "who": "a"},
        {"y": 1, "p": 0.3, "w": 2, "who": 1},
        {"y": 1, "p": 0.8, "w": 2, "who": "1"},
    ]
    path.write_text("\n".join(json.dumps(row) for row in rows))
    found = cal.evaluate_file(
        path, by="who", y_true="y", sample_weight="w", missing="drop", measures=["ece"]
    )
    assert {part.name: part.n for part in found.slices} == {"a": 1, "(missing)": 2, "1": 2}
    assert found.slices.notes == ("b: 1 row without positive weight dropped",)


def test_categories_dates_and_truth_values(tmp_path):
    pa, pq = need("pyarrow"), need("pyarrow.parquet")
    table = pa.table(
        {
            "label": OUTCOMES,
            "p": REPORTS,
            "region": pa.array(REGION).dictionary_encode(),
            "date": pa.array(DAY.astype("datetime64[D]")),
            "late": DAY > 2,
            "moment": pa.array(DAY, pa.timestamp("ns")),
        }
    )
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=300)
    for by, names in (
        ("region", {"north", "south", "east"}),
        ("date", {"1970-01-02", "1970-01-03", "1970-01-04"}),
        ("late", {"True", "False"}),
        ("moment", {f"1970-01-01 00:00:00.00000000{day}" for day in (1, 2, 3)}),
    ):
        found = cal.evaluate_file(tmp_path / "rows.parquet", by=by, measures=["ece"])
        assert {part.name for part in found.slices} == names
        assert sum(part.n for part in found.slices) == N


@pytest.mark.parametrize("format", ["parquet", "csv", "jsonl", "npz"])
def test_folders_may_name_columns(tmp_path, format):
    for day in np.unique(DAY):
        for region in np.unique(REGION):
            folder = tmp_path / f"day=2026-01-0{day}" / f"region={region}%20coast"
            folder.mkdir(parents=True)
            rows = (day == DAY) & (region == REGION)
            write(folder, format, {"label": OUTCOMES[rows], "p": REPORTS[rows]})
    found = cal.evaluate_file(tmp_path, by=["day", "region"], measures=["ece"])
    assert found.recipe["files"] == 9 and found.recipe["n"] == N
    rows = (DAY == 2) & (REGION == "east")
    part = found.slices["2026-01-02, east coast"]
    assert part.n == rows.sum()
    assert part.values["ece"] == pytest.approx(cal.ece(OUTCOMES[rows], REPORTS[rows]), rel=1e-12)
    with pytest.raises(InputError, match="did you mean 'region'"):
        cal.evaluate_file(tmp_path, by="regoin")


def test_labels_and_weights_may_be_in_folders(tmp_path):
    for label in (0, 1):
        for weight in ("2", "__HIVE_DEFAULT_PARTITION__"):
            folder = tmp_path / f"label={label}" / f"w={weight}"
            folder.mkdir(parents=True)
            write(folder, "parquet", {"p": REPORTS[label * 100 :][:50]})
    found = cal.evaluate_file(tmp_path, sample_weight="w", missing="drop", measures=["ece"])
    y, p = np.repeat([0, 1], 50), np.concatenate([REPORTS[:50], REPORTS[100:150]])
    assert found["ece"] == pytest.approx(cal.ece(y, p), rel=1e-12)
    assert found.recipe["n_missing"] == 100
    with pytest.raises(InputError, match="sample_weight is missing"):
        cal.evaluate_file(tmp_path, sample_weight="w")


def test_too_many_values_are_refused(tmp_path, set_limits):
    set_limits(slices_of_a_file=100)
    path = write(tmp_path, "npz", {"label": OUTCOMES, "p": REPORTS, "user": np.arange(N)})
    with pytest.raises(InputError, match="by='user' has more than 100 values"):
        cal.evaluate_file(path, by="user")


def test_slices_of_other_values_are_others_though_they_read_alike(tmp_path):
    columns = {"label": OUTCOMES, "p": REPORTS}
    columns["a"] = np.array(["a, b", "a"])[np.arange(N) % 2]
    columns["b"] = np.array(["c", "b, c"])[np.arange(N) % 2]
    columns["zero"] = np.array([0.0, -0.0])[np.arange(N) % 2]
    path = write(tmp_path, "parquet", columns)
    found = cal.evaluate_file(path, by=["a", "b"], measures=["ece"])
    assert {part.name: part.n for part in found.slices} == {
        "'a, b', 'c'": (N + 1) // 2,
        "'a', 'b, c'": N // 2,
    }
    whole = cal.evaluate_file(path, by="zero", measures=["ece"]).slices
    assert [(part.name, part.n) for part in whole] == [("0.0", N)]


def test_the_name_of_missing_values_as_a_value(tmp_path):
    path = tmp_path / "rows.jsonl"
    rows = [
        {"label": i % 2, "p": 0.5, "where": [None, "(missing)", "x"][i % 3]} for i in range(900)
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    found = cal.evaluate_file(path, by="where", measures=["ece"]).slices
    assert {part.name: part.n for part in found} == {"(missing)": 300, "'(missing)'": 300, "x": 300}


@pytest.mark.parametrize("most", [4, 1 << 20])
def test_three_columns_of_many_values_are_crossed(tmp_path, set_limits, most):
    set_limits(codes_of_slices=most)
    columns = {"region": REGION, "day": DAY, "site": np.arange(N) % 11}
    path = write(tmp_path, "parquet", {"label": OUTCOMES, "p": REPORTS, **columns})
    found = cal.evaluate_file(path, by=list(columns), measures=["ece", "brier"])
    names = np.array([", ".join(map(str, each)) for each in zip(*columns.values(), strict=True)])
    assert {part.name: part.n for part in found.slices} == {
        str(name): int((names == name).sum()) for name in np.unique(names)
    }
    for part in found.slices:
        rows = names == part.name
        assert part.values == pytest.approx(
            {
                "ece": cal.ece(OUTCOMES[rows], REPORTS[rows]),
                "brier": cal.brier_score(OUTCOMES[rows], REPORTS[rows]),
            },
            rel=1e-12,
        )


@pytest.mark.parametrize("dictionary", [True, False, ["region"]])
def test_text_is_the_same_however_parquet_stores_it(tmp_path, dictionary):
    pa, pq = need("pyarrow"), need("pyarrow.parquet")
    region = pa.array([None if day == 3 else name for name, day in zip(REGION, DAY, strict=True)])
    kinds = [region, region.cast("large_string"), region.dictionary_encode()]
    results = []
    for kind in kinds:
        table = pa.table({"label": OUTCOMES, "p": REPORTS, "region": kind})
        pq.write_table(table, tmp_path / "rows.parquet", 700, use_dictionary=dictionary)
        found = cal.evaluate_file(tmp_path / "rows.parquet", by="region", measures=["ece"])
        results.append([(part.name, part.n, part.values["ece"]) for part in found.slices])
    assert results[0] == results[1] == results[2]
    assert {name for name, _, _ in results[0]} == {"north", "south", "east", "(missing)"}


def test_a_named_loss_counts_what_a_logarithm_would_not_take(tmp_path):
    sure = np.where(np.arange(N) < 5, 1 - OUTCOMES, REPORTS)
    path = write(tmp_path, "parquet", {"label": OUTCOMES, "p": sure})
    for measures in (["brier"], ["brier", "log_loss"], ["spherical_loss"]):
        found = cal.evaluate_file(path, measures=measures)
        expected = cal.evaluate(OUTCOMES, sure, measures=measures)
        assert found.values == pytest.approx(expected.values, rel=1e-12)
        said = [note for note in found.notes if "1e-12" in note]
        assert said == [note for note in expected.notes if "1e-12" in note]
        # It is of no interest beside measures without a logarithm.
        assert bool(said) == ("log_loss" in measures) and "KL" not in "".join(said)
