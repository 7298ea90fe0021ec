"""The page of files too large for memory says what the page of their rows says."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError
from calibrant._api.report.summed import report_of_files
from calibrant._cli import main
from calibrant._core.errors import NeedsRows
from calibrant._data.readers.columns import ReadRequest
from calibrant._measures.catalogue import find
from limits import other_limits
from needs import need

pytestmark = pytest.mark.filterwarnings("ignore::calibrant.CalibrantWarning")
rng = np.random.default_rng(5)
N = 6000
P = np.round(rng.beta(1.5, 3, N), 4).astype(np.float32)
Y = (rng.random(N) < P**1.2).astype(np.int64)
SITE = np.array(["north", "south", "east"])[rng.integers(0, 3, N)]
OPTIONS = {"tolerance": 0.05, "level": 0.95, "seed": 0, "recalibrate": None, "measures": None}
PIECES = {"parquet_piece_rows": 1000, "chunk_rows": 400}
ONE_MAP = ("--recalibrate", "platt")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    pa, pq = need("pyarrow"), need("pyarrow.parquet")
    path = tmp_path_factory.mktemp("sums") / "rows.parquet"
    pq.write_table(pa.table({"p": P, "label": Y, "site": SITE}), path, 500)
    return path


@cache
def page_of(path, bins=15):
    with other_limits() as set_limits:
        set_limits(**PIECES)
        return made(path, bins=bins)


def made(path, **options):
    given = {"name": None, "source": None, "bins": 15, **OPTIONS, **options}
    return report_of_files(ReadRequest.build(path, by="site"), **given)


@cache
def page_of_rows(bins):
    return cal.report(Y, P, by=SITE, bins=bins)


@pytest.mark.parametrize("bins", [15, 55])
def test_it_says_what_the_page_of_the_rows_says(path, bins):
    found = page_of(path, bins=bins)
    known = page_of_rows(bins)
    assert found.answer == known.answer
    assert found.evaluation.verdict.verdict == known.evaluation.verdict.verdict
    for estimate in found.evaluation.estimates:
        assert estimate.value == pytest.approx(known.evaluation[estimate.name], rel=1e-9)
    assert found.evaluation.slices.worst.name == known.evaluation.slices.worst.name
    mine, theirs = found.views[0], known.views[0]
    assert mine.counts == theirs.counts and bins in mine.counts
    for one, other in zip(mine.tables["equal-width"], theirs.tables["equal-width"], strict=True):
        assert one.table.n.tolist() == other.table.n.tolist()
        np.testing.assert_allclose(one.table.sums, other.table.sums, rtol=1e-12, atol=1e-12)
    at = mine.counts.index(bins)
    quantile = mine.tables["quantile"][at].table, theirs.tables["quantile"][at].table
    np.testing.assert_allclose(quantile[0].sums, quantile[1].sums, rtol=1e-9, atol=1e-9)
    for one, other in zip(mine.tables["quantile"], theirs.tables["quantile"], strict=True):
        assert one.table.n.sum() == N and one.ece == pytest.approx(other.ece, abs=0.01)
    for one, other in zip(found.histogram, known.histogram, strict=True):
        # Rows at an edge, whose predictions are rounded to 32 bits, are on either side of it.
        assert one == pytest.approx(other, abs=5) and sum(one) == pytest.approx(sum(other))


def test_a_name_has_one_value_on_it(path):
    found = page_of(path)
    at = found.views[0].counts.index(15)
    for rule in ("equal-width", "quantile"):
        for name, values in found.views[0].values[rule].items():
            fixed = find(name, "binary").statistic == "bins"
            if fixed == (rule == "equal-width"):
                assert values[at] == pytest.approx(found.evaluation[name], rel=1e-12)


@pytest.fixture(scope="module")
def requests(path):
    """The requests for files of two and of three classes, and the map for each."""
    pa, pq = need("pyarrow"), need("pyarrow.parquet")
    p = rng.dirichlet([1, 1, 2], 900)
    columns = {f"p{k}": p[:, k] for k in range(3)}
    label = (rng.random((900, 1)) > p.cumsum(axis=1)).sum(axis=1).clip(0, 2)
    several = path.parent / "several.parquet"
    pq.write_table(pa.table({**columns, "label": label, "site": SITE[:900]}), several, 300)
    return {"binary": (path, None, "platt"), "multiclass": (several, [*columns], "temperature")}


@pytest.mark.parametrize("shape", ["binary", "multiclass"])
@pytest.mark.parametrize(
    ("names", "by"),
    [(["ece"], None), (["ece"], "site"), (["brier", "auroc"], None), (["tace"], "site")],
)
@pytest.mark.parametrize("bins", [15, [0, 0.2, 0.6, 1]])
def test_measures_without_quantile_bins_have_a_page(requests, shape, names, by, bins):
    path, y_proba, method = requests[shape]
    request = ReadRequest.build(path, y_proba=y_proba, by=by)
    given = {**OPTIONS, "measures": names, "recalibrate": [method]}
    found = report_of_files(request, name=None, source=None, bins=bins, **given)
    assert list(found.evaluation.values) == list(dict.fromkeys(["ece", *names]))
    assert (found.evaluation.slices is None) == (by is None)
    # Quantile bins are of cells: nearly as many rows in each.
    view = found.views[0]
    table = view.tables["quantile"][view.counts.index(15)].table
    n = found.evaluation.recipe["n"]
    assert table.n.sum() == n and np.ptp(table.n) < 0.05 * n
    assert found.to_html()


def test_curves_and_maps_of_all_rows_are_those_of_the_rows(path):
    found, known = page_of(path), page_of_rows(15)
    mine, theirs = found.views[0], known.views[0]
    for name, curve in theirs.curves.items():
        for field, values in curve.columns().items():
            assert mine.curves[name].columns()[field] == pytest.approx(values, nan_ok=True)
    assert [each.method for each in found.recalibrations] == [
        each.method for each in known.recalibrations
    ]
    assert found.risk.to_dict() == known.risk.to_dict()
    assert found.decisions.to_dict() == known.decisions.to_dict()


def test_rows_are_drawn_the_same_in_one_thread_and_in_several(path, set_limits, monkeypatch):
    set_limits(drawn_for_a_page=900, **PIECES)
    few = {"recalibrate": "platt"}  # the same rows are drawn for any map
    monkeypatch.setenv("CALIBRANT_THREADS", "1")
    one = made(path, **few)
    monkeypatch.setenv("CALIBRANT_THREADS", "4")
    several = made(path, **few)
    assert one.risk.to_dict() == several.risk.to_dict()
    note = next(note for note in one.evaluation.notes if "drawn at random" in note)
    drawn = int(note.split(" use ")[1].split(" ")[0].replace(",", ""))
    assert 750 < drawn < 1050 and drawn != 900
    assert one.views[0].tables["equal-width"][0].table.n.sum() == N


def test_what_sums_do_not_tell_is_read(tmp_path, path, set_limits, capsys):
    pa, pq = need("pyarrow"), need("pyarrow.parquet")
    soft = tmp_path / "soft.parquet"
    pq.write_table(pa.table({"p": P, "label": np.round(P, 1).astype(float)}), soft)
    with pytest.raises(NeedsRows):
        report_of_files(ReadRequest.build(soft), name=None, source=None, bins=15, **OPTIONS)
    set_limits(reported_in_memory=1000, **PIECES)
    out = tmp_path / "page.html"
    assert main(["report", str(soft), *ONE_MAP, "-o", str(out), "--json"]) == 0
    assert "drawn at random" not in out.read_text(encoding="utf-8")
    assert main(["report", str(path), *ONE_MAP, "-o", str(out), "--measures", "ece"]) == 0
    assert "drawn at random" in out.read_text(encoding="utf-8")
    capsys.readouterr()
    assert main(["report", str(path), *ONE_MAP, "-o", str(out), "--by", "site", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["slices"]["by"] == "site" and found["verdict"]
    page = out.read_text(encoding="utf-8")
    assert "drawn at random" in page and "rows.parquet" in page and str(path.parent) not in page


def test_bad_rows_are_named(tmp_path):
    pa, pq = need("pyarrow"), need("pyarrow.parquet")
    bad = tmp_path / "bad.parquet"
    pq.write_table(pa.table({"p": np.where(np.arange(N) == 77, 3.0, P), "label": Y}), bad)
    with pytest.raises(InputError, match="row 77"):
        report_of_files(ReadRequest.build(bad), name=None, source=None, bins=15, **OPTIONS)
