"""Printed numbers measured again: a made-up folder, conventions in plain Python, what ships."""

import csv
import json
import math
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError, reproduce
from calibrant._research.papers import literature
from calibrant._research.papers.literature_rows import NotAtHand, PredictionSet, Rows, read_rows
from calibrant._research.papers.literature_rules import agrees, digits, measured, search

# Ten rows a model: confidences in percent, most of them on edges of ten bins.
STATED = {
    "a": [50, 50, 75, 100, 0, 10, 80, 100, 30, 35],
    "b": [65, 35, 95, 55, 85, 75, 5, 15, 45, 25],
}
RIGHT = {"a": [1, 0, 1, 1, 1, 0, 1, 1, 0, 1], "b": [1, 0, 1, 0, 1, 1, 0, 0, 1, 0]}


def binned(u, z, *, bins=10, right=False, edges=None, skip=(), plain_mean=False):
    """An error over bins, from its definition."""
    edges = edges or [j / bins for j in range(bins + 1)]
    filled: dict[int, list[float]] = {}
    for p, y in zip(u, z, strict=True):
        if p in skip:
            continue
        inside = [p > e if right else p >= e for e in edges[1:-1]]
        filled.setdefault(sum(inside), []).append(p - y)
    gaps = [abs(math.fsum(gap)) for gap in filled.values()]
    if plain_mean:
        return math.fsum(g / len(f) for g, f in zip(gaps, filled.values(), strict=True)) / len(gaps)
    return math.fsum(gaps) / len(u)


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "some+body"
    (place / "deep").mkdir(parents=True)
    with (place / "stated.csv").open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["model", "question", "stated", "right"])
        for model, stated in STATED.items():
            for i, (u, z) in enumerate(zip(stated, RIGHT[model], strict=True)):
                out.writerow([model, f"q{i // 2}", u, bool(z)])
    records = [{"p": u / 100, "y": z} for u, z in zip(STATED["b"], RIGHT["b"], strict=True)]
    (place / "deep" / "run.json").write_text(json.dumps({"runs": {"b": records}}))
    (place / "labels.json").write_text("\n".join(json.dumps(r) for r in records))
    for part in (0, 1):
        lines = [f"{'Good' if r['y'] else 'Bad'} {r['p']}" for r in records[part::2]]
        (place / f"x_b-q{part}.txt").write_text("\n".join(["grade score", *lines]))
    return tmp_path


def a_set(file, prediction, outcome, rows="", clusters="", pool="", name="s"):
    return PredictionSet(name, "some+body", file, rows, prediction, outcome, clusters, pool)


def test_a_set_is_read_from_every_kind_of_file(folder):
    read = read_rows(folder, a_set("stated.csv", "stated / 100", "right", "model = b", "question"))
    assert read.predictions.tolist() == [u / 100 for u in STATED["b"]]
    assert read.outcomes.tolist() == RIGHT["b"]
    assert read.clusters is not None and read.clusters.tolist()[:3] == ["q0", "q0", "q1"]
    for file, outcome in (
        ("deep/run.json#runs/b", "y"),
        ("deep/run.json#runs/b", "../labels.json: y"),
    ):
        again = read_rows(folder, a_set(file, "p", outcome))
        assert again.predictions.tolist() == read.predictions.tolist()
        assert again.outcomes.tolist() == RIGHT["b"]
    parts = read_rows(
        folder, a_set("x_b-q*.txt", "score", "grade == Good", "", "@line _[^_]*(?=-q)")
    )
    assert sorted(parts.predictions) == sorted(read.predictions)
    assert parts.clusters is not None and parts.clusters[0] == "x-q0.txt 0"
    shrunk = read_rows(folder, a_set("deep/run.json#runs/b", "0.5 * p + 0.25", "y"))
    assert shrunk.predictions == pytest.approx([u / 200 + 0.25 for u in STATED["b"]], abs=1e-15)
    both = read_rows(folder, a_set("stated.csv", "stated, stated / 100", "right", "model != a"))
    assert both.predictions.shape == (10, 2)


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (a_set("none.csv", "p", "y"), "none.csv is not there"),
        (a_set("x_c-*.txt", "p", "y"), "is not there"),
        (a_set("stated.csv", "p", "right"), "no column 'p'"),
        (a_set("stated.csv", "stated", "right", "model = c"), "no rows with model = c"),
    ],
)
def test_what_is_not_in_the_folder_is_not_at_hand(folder, wanted, said):
    with pytest.raises(NotAtHand, match=said):
        read_rows(folder, wanted)


def test_each_convention_is_its_definition():
    draw = np.random.default_rng(0)
    u = (draw.choice([0, 10, 20, 30, 35, 45, 60, 70, 75, 80, 90, 100], 60) / 100).tolist()
    z = draw.integers(0, 2, 60).tolist()
    rows = Rows(np.array(u), np.array(z, float), np.arange(60) // 2)
    spaced = np.linspace(0, 1, 11).tolist()
    quantiles = np.quantile(u, np.linspace(0, 1, 6))[1:-1].tolist()
    last = [u[2 * (i // 2) + 1] for i in range(60)]
    hits = [float((p >= 0.5) == y) for p, y in zip(u, z, strict=True)]
    top = [max(p, 1 - p) for p in u]
    expected = {
        "10 bins": binned(u, z),
        "5 bins": binned(u, z, bins=5),
        "10 bins, right": binned(u, z, right=True),
        "10 bins, linspace": binned(u, z, edges=spaced),
        "10 bins, linspace, right": binned(u, z, edges=spaced, right=True),
        "10 bins, 1 in no bin": binned(u, z, skip=(1.0,)),
        "10 bins, right, 0 in no bin": binned(u, z, right=True, skip=(0.0,)),
        "10 bins, mean over bins": binned(u, z, plain_mean=True),
        "10 bins, mean over bins, 1 in no bin": binned(u, z, plain_mean=True, skip=(1.0,)),
        "5 quantile bins": binned(u, z, edges=[0.0, *sorted(set(quantiles)), 1.0]),
        "10 bins, last of cluster": binned(last, z),
        "10 bins, top label": binned(top, hits),
        "10 bins, hits": binned(u, hits),
    }
    for convention, value in expected.items():
        assert measured("ece", convention, rows) == pytest.approx(value, abs=1e-12), convention
    assert len({round(value, 9) for value in expected.values()}) >= 10  # they are not all alike
    brier = math.fsum((p - y) ** 2 for p, y in zip(u, z, strict=True)) / 60
    assert measured("brier", "", rows) == pytest.approx(brier, abs=1e-15)
    pairs = [
        (p > q) + (p == q) / 2
        for p, y in zip(u, z, strict=True)
        if y
        for q, x in zip(u, z, strict=True)
        if not x
    ]
    assert measured("auroc", "", rows) == pytest.approx(sum(pairs) / len(pairs), abs=1e-12)
    scores = Rows(10 * np.array(u) - 3, rows.outcomes, None)
    assert measured("auroc", "", scores) == measured("auroc", "", rows)


def test_a_bin_of_its_own_for_many_ones():
    u, z = np.array([0.2, 0.4, 0.6, 1.0, 1.0, 1.0, 1.0]), np.array([0, 1, 1, 1, 1, 0, 1.0])
    rows = Rows(u, z, None)
    quantiles = np.quantile(u, np.linspace(0, 1, 5)).tolist()
    assert quantiles[-2:] == [1.0, 1.0]
    edges = [0.0, *sorted(set(quantiles[1:-1])), 2.0]
    for plain_mean, words in ((False, ""), (True, ", mean over bins")):
        value = binned(u.tolist(), z.tolist(), edges=edges, plain_mean=plain_mean)
        assert measured("ece", f"4 quantile bins{words}", rows) == pytest.approx(value, abs=1e-12)


def test_classes_are_judged_by_their_top_label():
    p = np.array([[0.5, 0.3, 0.2], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]])
    rows = Rows(p, np.array([0, 1, 0.0]), None)
    assert measured("ece", "10 bins", rows) == pytest.approx((0.5 + 0.2 + 0.4) / 3, abs=1e-12)
    one_hot = np.eye(3)[[0, 1, 0]]
    brier = ((p - one_hot) ** 2).sum(axis=1).mean()
    assert measured("brier", "", rows) == pytest.approx(brier, abs=1e-12)
    assert measured("brier", "mean over classes", rows) == pytest.approx(brier / 3, abs=1e-12)


def test_printed_digits_decide():
    assert [digits(text) for text in ("0.12", ".120", "12", "1.5e-3")] == [2, 3, 0, 4]
    assert agrees("0.12", 0.1249) and not agrees("0.12", 0.1251)
    assert not agrees("0.120", 0.1249)
    # Of more than six digits, six decide: sums in single precision agree no further.
    assert agrees("0.123456789012", 0.1234571) and not agrees("0.123456789012", 0.123458)


def registry(printed, sets):
    tables = {
        "printed": [
            dict(
                zip(
                    ("set", "measure", "convention", "printed", "where", "explained_by", "why"),
                    line,
                    strict=True,
                )
            )
            for line in printed
        ],
        "sets": [vars(found) for found in sets],
        "sources": [{"source": "some+body", "commit": "0" * 40, "licence": "", "what": "made up"}],
    }
    return lambda name: [
        {"set" if key == "name" else key: value for key, value in line.items()}
        for line in tables[name]
    ]


@pytest.fixture
def done(folder, monkeypatch):
    u, z = [p / 100 for p in STATED["a"]], RIGHT["a"]
    sets = [
        a_set("stated.csv", "stated / 100", "right", f"model = {model}", "question", "both", model)
        for model in "ab"
    ] + [a_set("gone.csv", "p", "y", name="gone")]
    printed = [
        ("a", "ece", "10 bins", f"{binned(u, z):.4f}", "here", "", ""),
        ("a", "ece", "10 bins", f"{binned(u, z, right=True):.4f}", "here", "", ""),
        (
            "a",
            "ece",
            "10 bins",
            f"{binned(u, z, skip=(1.0, 0.0)):.4f}",
            "here",
            "10 bins, 1 in no bin, 0 in no bin",
            "some rows are in no bin",
        ),
        ("a", "brier", "", "0.9", "here", "", "of another run"),
        ("a", "auroc", "", "0.987", "here", "", ""),
        ("b", "ece", "10 bins", "0.3", "here", "", ""),
        ("gone", "ece", "10 bins", "0.1", "there", "", ""),
    ]
    monkeypatch.setattr(literature, "read_registry", registry(printed, sets))
    return reproduce("literature", data=folder)


def test_each_printed_number_has_its_verdict(done):
    columns = done.tables["printed"].columns
    assert columns["verdict"] == [
        "met",
        "met under another convention",
        "wrong",
        "wrong",
        "unexplained",
        "met",
        "not at hand",
    ]
    assert columns["comes out with"][1:4] == [
        "10 bins, right",
        "10 bins, 1 in no bin, 0 in no bin",
        "",
    ]
    assert columns["why"][2:4] == ["some rows are in no bin", "of another run"]
    assert "gone.csv is not there" in columns["why"][6] and columns["measured"][6] is None
    sources = done.tables["sources"].columns
    assert sources["numbers"] == [7, 7] and sources["wrong"] == [2, 2]
    causes = done.tables["causes"].columns
    assert causes["come out with that mistake"][causes["why"].index("some rows are in no bin")] == 1


def test_orders_are_those_of_the_printed_numbers(done, folder):
    columns = done.tables["orders"].columns
    assert list(zip(columns["better"], columns["worse"], strict=True)) in (
        [("a", "b")],
        [("b", "a")],
    )
    u = {m: np.array(STATED[m]) / 100 for m in "ab"}
    found = cal.compare(
        RIGHT, u, measures=["ece"], bins=10, groups=[f"q{i // 2}" for i in range(10)]
    ).difference(columns["better"][0], columns["worse"][0])
    assert (columns["low"][0], columns["high"][0]) == (found.low, found.high)
    quick = reproduce("literature", data=folder, quick=True)
    assert not quick.tables["orders"].columns
    assert quick.tables["printed"].columns == done.tables["printed"].columns


def test_rows_of_a_pool_are_matched_by_their_clusters():
    names = np.array(["x", "y", "z"])
    one = Rows(np.array([0.1, 0.2, 0.3]), np.array([0, 1, 0.0]), names)
    turned = Rows(np.array([0.3, 0.2, 0.1]), np.array([0, 1, 0.0]), names[::-1])
    other = Rows(one.predictions, one.outcomes, np.array(["x", "y", "w"]))
    pool = {"one": one, "turned": turned, "other": other}
    kept = literature._same_rows(
        {name: literature.Candidate("0.1", "10 bins", rows) for name, rows in pool.items()}
    )
    assert list(kept) == ["one", "turned"]
    assert kept["turned"].rows.predictions.tolist() == one.predictions.tolist()


def test_what_ships_is_whole():
    done = reproduce("literature")
    printed = done.tables["printed"].columns
    registered = literature.read_registry("printed")
    shipped = sorted(zip(printed["set"], printed["measure"], printed["printed"], strict=True))
    assert shipped == sorted((r["set"], r["measure"], r["printed"]) for r in registered)
    verdicts = Counter(printed["verdict"])
    assert set(verdicts) == {"met", "met under another convention", "wrong"}, "none is unexplained"
    assert all(w for w, v in zip(printed["why"], printed["verdict"], strict=True) if v == "wrong")
    for said, value, verdict in zip(
        printed["printed"], printed["measured"], printed["verdict"], strict=True
    ):
        assert agrees(said, value) or verdict != "met"
    assert len(set(printed["source"])) >= 25 and len(printed["set"]) >= 300
    sets = literature.read_registry("sets")
    assert {line["set"] for line in sets} == set(printed["set"])
    assert not {line["source"] for line in sets} - {
        s["source"] for s in literature.read_registry("sources")
    }
    sources = done.tables["sources"].columns
    assert sources["source"][-1] == "all" and sources["numbers"][-1] == len(registered)
    assert sources["orders"][-1] == len(done.tables["orders"].columns["order"])


def test_a_folder_that_is_none_is_an_error(tmp_path):
    with pytest.raises(InputError, match="not a folder"):
        reproduce("literature", data=tmp_path / "none")
    empty = reproduce("literature", data=tmp_path, quick=True)
    assert set(empty.tables["printed"].columns["verdict"]) == {"not at hand"}


def test_a_page_is_written(done, tmp_path):
    place = done.write(tmp_path / "out")
    page = (place / "index.html").read_text(encoding="utf-8")
    assert "some/body" in page and "of another run" in page


def test_search_goes_from_the_stated_bins_to_others():
    u, z = np.array([0.3, 0.7, 0.7, 0.6]), np.array([0, 1, 0, 1.0])
    rows = Rows(u, z, None)
    value = measured("ece", "15 bins", rows)
    assert search("ece", "10 bins", f"{value:.9f}", rows) is not None
    assert search("ece", "10 bins", "0.999", rows) is None
    assert search("auroc", "", "0.999", rows) is None


def test_the_page_of_the_documentation_has_the_shipped_numbers():
    page = (Path(__file__).parents[2] / "docs/research/literature.md").read_text(encoding="utf-8")
    tables = reproduce("literature").tables
    sources = tables["sources"].columns
    counted = ("numbers", "met", "met under another convention", "wrong")
    for i, name in enumerate(sources["source"]):
        cells = " | ".join(str(sources[column][i]) for column in counted)
        label = "**all**" if name == "all" else f"[{name}](https://github.com/{name})"
        assert re.search(rf"\| {re.escape(label)} \| .*\| {re.escape(cells)} \|", page), name
    causes = tables["causes"].columns
    for why, numbers, n in zip(causes["why"], causes["numbers"], causes["sources"], strict=True):
        assert f"| {why} | {numbers} | {n} |" in page
    sets = tables["sets"].columns
    for cells in re.findall(r"^\| `([\w/.-]+)` \| (.*) \|$", page, re.MULTILINE):
        i = sets["set"].index(cells[0])
        texts = [f"{sets[name][i]:.3f}" for name in ("ECE", "noise, 95 %", "low", "high")]
        assert " | ".join(texts[:2]) + f" | {texts[2]} to {texts[3]}" in cells[1], cells[0]
