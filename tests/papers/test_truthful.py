"""Lu et al. again: examples, identities, and the ranking of a pool of predictors."""

from __future__ import annotations

import gzip
import importlib.util
import re
import sys
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import calibrant as cal
from calibrant import reproduce
from calibrant._research.papers import (
    pool,
    truthful,
    truthful_claims,
    truthful_ranks,
    truthful_theory,
)
from calibrant._research.papers.truthful import TABLE_1
from needs import need

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module", autouse=True)
def _theory_once():
    """The same examples and identities stand beside every pool."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(truthful, "_theory_section", cache(truthful._theory_section))
        patch.setattr(
            truthful_theory, "section_on_orders", cache(truthful_theory.section_on_orders)
        )
        yield


def saved(folder, name, *, checkpoints=3, n=400, k=4, seed=0, labels=None):
    """A trace of checkpoints that get better, overconfident by 2."""
    rng = np.random.default_rng(0)
    targets = rng.integers(0, k, 2 * n) if labels is None else labels
    skill = np.linspace(1, 3, checkpoints)[:, None, None]
    noise = np.random.default_rng(seed).normal(size=(checkpoints, 2 * n, k))
    logits = 2 * (skill * np.eye(k)[targets] + noise)
    np.savez(
        folder / f"{name}.npz",
        val_logits=logits[:, :n],
        val_labels=targets[:n],
        test_logits=logits[:, n:],
        test_labels=targets[n:],
    )
    return logits, targets


def test_example_1_1_rewards_the_constant():
    found = truthful_theory.example_1_1(1, 100, (100, 1000))
    assert found["truth"] == pytest.approx([1 / 3, 1 / 3], abs=0.01)
    assert found["constant 1/2"] == pytest.approx(found["constant, in theory"], rel=0.25)


def test_example_c_1_is_as_printed():
    found = truthful_theory.example_c_1()
    assert found["truth"] == pytest.approx([0.0050, 0.0150], abs=1e-12)
    assert found["uniform prediction"] == pytest.approx([0.0018, 0.0198], abs=1e-12)


def test_identities_hold_to_rounding():
    tables = {table.name: table for table in truthful._theory_section(truthful.SEED, True).tables}
    for columns in (tables["theorem_3_1"].columns, tables["lemma_d_1"].columns):
        assert np.abs(columns["difference"]).max() < 1e-14


def test_a_predictor_is_scaled_and_measured(tmp_path):
    logits, labels = saved(tmp_path, "a")
    row = pool.measure_pool(tmp_path)[2]
    assert row["trace"] == "a" and row["checkpoint"] == 2
    # Noise of variance 1 about a gap of 3 has the log odds 3 x: the logits are 2 x.
    assert row["temperature"] == pytest.approx(2 / 3, rel=0.1)
    scaler = cal.TemperatureScaling().fit(labels[:400], logits[2, :400])
    p, y = scaler.transform(logits[2, 400:]), labels[400:]
    assert row["conf_ece_20"] == cal.ece(y, p, bins=cal.EqualWidth(20, closed="right"))
    corrected = cal.confidence_ce(y, p, bins=cal.Quantile(20, ties="rank"))
    assert row["conf_ce_corrected_20"] == pytest.approx(corrected, rel=1e-12)
    assert row["brier"] == cal.brier_score(y, p)


def test_a_pool_is_ranked_and_goes_on_a_page(tmp_path):
    need("matplotlib")
    folder = tmp_path / "pool"
    folder.mkdir()
    for seed in range(4):
        saved(folder, f"run_{seed}", seed=seed)
    done = reproduce("truthful", data=folder, quick=True)
    assert done.tables["pool_table_1"].columns["measured"][0]
    assert len(done.tables["pool_table_1"].columns["error"]) == len(TABLE_1) == 24
    page = done.to_html()
    assert "12 predictors" in page and "http://" not in page.replace("http://www.w3.org", "")
    rows = pool.measure_pool(folder)
    pool.write_table(rows, tmp_path / "table.csv")
    for name, kept in pool.read_table(tmp_path / "table.csv").items():
        wanted = [row[name] for row in rows]
        assert kept == (wanted if name == "trace" else pytest.approx(wanted, rel=1e-5))
    again = reproduce("truthful", data=tmp_path / "table.csv", quick=True)
    assert again.tables["table_table_1"].columns == done.tables["pool_table_1"].columns


def test_the_kept_pools_show_what_the_paper_says(monkeypatch):
    """Those of halves have tests of their own below."""
    sizes, ranked = {"within": 2000, "cross": 1350}, {}
    monkeypatch.setattr(truthful, "SHIPPED", {name: truthful.SHIPPED[name] for name in sizes})

    def rank_and_keep(columns, rank=truthful.rank_pool):
        return ranked.setdefault(len(columns["trace"]), rank(columns))

    monkeypatch.setattr(truthful, "rank_pool", rank_and_keep)
    done = reproduce("truthful", quick=True)
    for name, n in sizes.items():
        found = ranked[n]
        least = {error: truthful.lowest_bin_correlation(found, error) for error in pool.ERRORS}
        # The truthful confidence error keeps its order better than those it corrects.
        assert least["conf_ce_corrected"] > max(least["conf_ece"], least["conf_ce"]) + 0.1
        assert least["classwise_ce"] > max(least["conf_ece"], least["conf_ce"])
        order = done.tables[f"{name}_dominance"].columns
        assert order["2000 bins"][2] > 0.99  # corrected ConfCE along the dominance set


def test_wheels_leave_all_pools_out_but_the_smallest():
    """A pattern of setuptools counts from the package's folder, and its stars cross folders."""
    project = need("tomllib").loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = project["tool"]["setuptools"]["exclude-package-data"]["*"]
    kept = [f"_research/papers/pools/{file}" for file in truthful.SHIPPED.values()]
    held = [path for path in kept if not any(fnmatch(path, pattern) for pattern in patterns)]
    assert held == ["_research/papers/pools/fashion_cross.csv.gz"]


def test_a_pool_that_a_wheel_lacks_is_named(monkeypatch):
    kept = {"cross": "fashion_cross.csv.gz", "elsewhere": "not_in_wheels.csv.gz"}
    monkeypatch.setattr("calibrant._research.papers.truthful.SHIPPED", kept)
    found = reproduce("truthful", quick=True)
    assert "without elsewhere, which is only in the source package" in found.recipe["pool"]


def test_a_folder_without_logits_is_refused(tmp_path):
    with pytest.raises(cal.InputError, match="is not a folder"):
        reproduce("truthful", data=tmp_path / "nowhere")
    with pytest.raises(cal.InputError, match="holds no pool"):
        reproduce("truthful", data=tmp_path)
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    with pytest.raises(cal.InputError, match="holds no pool"):
        reproduce("truthful", data=tmp_path)


@pytest.mark.parametrize("damage", [lambda raw: b"", lambda raw: b"x" * 40, lambda raw: raw[:-60]])
def test_a_damaged_file_is_named(tmp_path, damage):
    saved(tmp_path, "a")
    path = tmp_path / "b.npz"
    path.write_bytes(damage((tmp_path / "a.npz").read_bytes()))
    with pytest.raises(cal.InputError, match=r"b\.npz cannot be read as \.npz"):
        reproduce("truthful", data=tmp_path)


def test_a_pool_of_two_without_validation_rows_says_so(tmp_path):
    logits, labels = saved(tmp_path, "a", checkpoints=2)
    (tmp_path / "a.npz").unlink()
    for name, each in zip("ab", logits, strict=True):
        np.savez(tmp_path / f"{name}.npz", logits=each, labels=labels)
    section = reproduce("truthful", data=tmp_path, quick=True).sections[-1]
    text = " ".join(section.paragraphs)
    assert "fitted on a random half of its rows" in text and "its validation rows" not in text
    assert "can only be 1 or -1" in text and "reversed" not in text
    shown = {table.name: table.on_page for table in section.tables}
    filled = {
        t.name: any(v is not None for v in t.columns["5 bins"])
        for t in section.tables
        if t.name.endswith("_dominance")
    }
    assert {name: shown[name] for name in filled} == filled


def test_a_pool_of_one_is_refused(tmp_path):
    saved(tmp_path, "only", checkpoints=1)
    with pytest.raises(cal.InputError, match="one predictor"):
        reproduce("truthful", data=tmp_path)


def test_other_test_rows_are_refused(tmp_path):
    saved(tmp_path, "a")
    saved(tmp_path, "b", labels=np.random.default_rng(9).integers(0, 4, 800))
    with pytest.raises(cal.InputError, match=r"b\.npz and a\.npz have different test labels"):
        reproduce("truthful", data=tmp_path)


def test_rows_that_do_not_match_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", logits=np.zeros((5, 3)), labels=np.zeros(4, int))
    np.savez(tmp_path / "b.npz", logits=np.zeros((5, 3)), labels=np.zeros(5, int))
    with pytest.raises(cal.InputError, match=r"a\.npz: logits has 5 rows and labels 4"):
        reproduce("truthful", data=tmp_path)


def test_a_table_that_is_none_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(cal.InputError, match="is not a table of a pool"):
        reproduce("truthful", data=tmp_path / "t.csv")


def test_logits_without_validation_rows_are_split(tmp_path):
    logits, labels = saved(tmp_path, "a", checkpoints=1)
    (tmp_path / "a.npz").unlink()
    np.savez(tmp_path / "b.npz", logits=logits[0], labels=labels)
    trace = pool.read_trace(tmp_path / "b.npz")
    assert trace.val_labels.size == trace.test_labels.size == 400
    order = np.random.default_rng(42).permutation(800)
    np.testing.assert_array_equal(trace.test_labels, labels[order[400:]])


def images_like_fashion(folder):
    """The four files of Fashion-MNIST, with ten kinds of stripes for clothes."""
    rng = np.random.default_rng(0)
    folder.mkdir()
    for split, n in (("train", 4000), ("t10k", 1000)):
        labels = rng.integers(0, 10, n).astype(np.uint8)
        images = rng.integers(0, 120, (n, 28, 28), dtype=np.uint8)
        images[np.arange(n), 2 + 2 * labels] += 100
        for kind, header, values in (("images-idx3", 16, images), ("labels-idx1", 8, labels)):
            with gzip.open(folder / f"{split}-{kind}-ubyte.gz", "wb", compresslevel=1) as stream:
                stream.write(bytes(header) + values.tobytes())


def test_a_small_pool_is_trained_and_kept(tmp_path, monkeypatch, capfd):
    """Four runs of a perceptron on few images; a second call trains nothing."""
    torch = need("torch")
    spec = importlib.util.spec_from_file_location("train_pool", ROOT / "examples/train_pool.py")
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    monkeypatch.setattr(program, "VALIDATION_ROWS", 500)
    images_like_fashion(tmp_path / "images")
    monkeypatch.setattr(sys, "argv", [
        "train_pool.py", "--out", str(tmp_path / "pool"), "--data", str(tmp_path / "images"),
        "--epochs", "1", "--table", str(tmp_path / "table.csv"),
    ])  # fmt: skip
    threads = torch.get_num_threads()
    try:
        program.main()
        assert "kept" not in capfd.readouterr().err
        columns = pool.read_table(tmp_path / "table.csv")
        assert len(columns["trace"]) == 4 and max(columns["classification_error"]) <= 0.95
        program.main()
        assert capfd.readouterr().err.count("kept") == 4
    finally:
        torch.set_num_threads(threads)


# --- table 1 on CIFAR-100 ---


def images_like_cifar(folder):
    """A few images that tell their class by a bright row and colour."""
    rng = np.random.default_rng(0)
    arrays = {}
    for name, n in (("train", 300), ("test", 80)):
        labels = rng.integers(0, 12, n)
        images = rng.integers(0, 60, (n, 32, 32, 3), dtype=np.uint8)
        images[np.arange(n), 2 * labels + 4, :, labels % 3] = 250
        arrays |= {f"{name}_images": images, f"{name}_labels": labels}
    folder.mkdir()
    np.savez(folder / "cifar100.npz", **arrays)


def test_a_cifar_pool_is_trained_and_measured(tmp_path, monkeypatch, capfd):
    """Short runs of the script: one trace, then the other, then nothing left to train."""
    need("torch")
    spec = importlib.util.spec_from_file_location("train_cifar", ROOT / "examples/train_cifar.py")
    program = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "train_cifar", program)  # dataclasses look for it
    spec.loader.exec_module(program)
    monkeypatch.setattr(program, "SPLIT_SEEDS", (42, 43))
    images_like_cifar(tmp_path / "images")
    table = tmp_path / "pool.csv.gz"
    command = [
        "train_cifar.py",
        "--images",
        str(tmp_path / "images"),
        "--out",
        str(tmp_path / "traces"),
        "--table",
        str(table),
    ]
    interval = sys.getswitchinterval()
    try:
        for more, trained in ((["--most", "1"], 1), ([], 1), ([], 0)):
            monkeypatch.setattr(sys, "argv", [*command, *more])
            program.main()
            assert capfd.readouterr().err.count("trained") == trained
    finally:
        sys.setswitchinterval(interval)
    columns = pool.read_table(table)
    assert set(columns["trace"]) == {"resnet9-16_0500", "resnet9-16_1000"}
    assert sorted(set(columns["half"])) == list(range(4))
    # Two splits of two epochs, both ways, and two halves of the second epoch with drawn labels.
    assert columns["labels"].count("real") == 2 * 2 * 4
    assert columns["labels"].count("drawn") == 2 * 2
    assert min(columns["conf_ece_5"]) >= 0 and max(columns["classification_error"]) <= 1
    with pytest.raises(cal.InputError, match="three checkpoints or more, of two traces"):
        reproduce("truthful", data=table, quick=True)


@cache
def kept_pool(name="cifar100_within"):
    path = Path(truthful.__file__).parent / "pools" / truthful.SHIPPED[name]
    return truthful_ranks.HalvedPool(pool.read_table(path))


@cache
def kept_table(name):
    return truthful_ranks.TableOne(kept_pool(name), int(name.endswith("cross")))


@pytest.mark.parametrize("name", ["cifar100_within", "cifar100_cross"])
def test_a_kept_pool_has_the_runs_epochs_and_halves_of_its_readme(name):
    readme = (Path(truthful.__file__).parent / "pools" / "README.md").read_text(encoding="utf-8")
    said = " ".join(readme.split(f"- `{truthful.SHIPPED[name]}`:")[1].split("\n- ")[0].split())
    columns = {key: np.asarray(values) for key, values in kept_pool(name).columns.items()}
    real = columns["labels"] == "real"
    runs, epochs = len(set(columns["trace"])), int(columns["epoch"].max())
    assert f"{runs} runs of" in said and f"{epochs} epochs each" in said
    assert f"{runs * epochs:,} checkpoints" in said
    # Every run, epoch and half is there once; labels are drawn for one split of every second epoch.
    for rows, halves, of_each in ((real, range(8), 1), (~real, (0, 1), 2)):
        keys = (columns[key][rows].tolist() for key in ("trace", "epoch", "half"))
        there = list(zip(*keys, strict=True))
        traces, times = sorted(set(columns["trace"].tolist())), range(of_each, epochs + 1, of_each)
        assert sorted(there) == [(t, e, h) for t in traces for e in times for h in halves]
    assert "eight halves" in readme and "four random splits" in readme
    n_networks = {"cifar100_within": 1, "cifar100_cross": 10}[name]
    assert len(set(columns["architecture"])) == n_networks
    assert kept_table(name).networks in ("1 network", "10 networks")
    # No cell is missing, and the errors are those of 5,000 images of 100 classes.
    assert set(columns["n_test"]) == {5000} and set(columns["n_classes"]) == {100}
    assert np.isfinite(kept_pool(name).table).all()


@pytest.mark.parametrize(
    ("name", "recorded"),
    [
        ("cifar100_within", {
            "conf_ece": ("-0.07 [-0.35, 0.22]", "-0.17 [-0.49, 0.19]", "-0.17 [-0.47, 0.17]"),
            "conf_ce": ("-0.19 [-0.37, 0.02]", "-0.20 [-0.45, 0.08]", "-0.11 [-0.40, 0.21]"),
            "conf_ce_corrected":
                ("0.36 [-0.14, 0.71]", "0.23 [-0.17, 0.57]", "0.07 [-0.29, 0.41]"),
            "classwise_ce": ("0.75 [0.61, 0.84]", "0.55 [0.44, 0.64]", "0.84 [0.75, 0.90]"),
        }),
        ("cifar100_cross", {
            "conf_ece": ("-0.01 [-0.34, 0.32]", "0.00 [-0.50, 0.51]", "0.14 [-0.10, 0.37]"),
            "conf_ce": ("-0.02 [-0.32, 0.28]", "0.25 [-0.21, 0.62]", "0.15 [-0.20, 0.46]"),
            "conf_ce_corrected": ("0.71 [0.42, 0.87]", "0.70 [0.28, 0.90]", "0.42 [0.12, 0.65]"),
            "classwise_ce": ("0.63 [0.53, 0.71]", "0.52 [0.45, 0.59]", "0.71 [0.61, 0.79]"),
        }),
    ],
)  # fmt: skip
def test_table_1_of_a_kept_pool_is_what_was_recorded(name, recorded):
    """Printed values, intervals and nulls between 2,000 and 5 bins, as the page has them."""
    table = kept_table(name)
    docs = (ROOT / "docs/research/papers.md").read_text(encoding="utf-8")
    for error, intervals in recorded.items():
        cell = truthful_ranks.WIDEST[error]
        assert tuple(str(real.interval(cell)) for real in table.real.values()) == intervals
        nulls = [null.value[cell.at] for null in table.null.values()]
        row = (f"{table.printed(cell):.3f}", *intervals, f"{min(nulls):.2f} to {max(nulls):.2f}")
        assert " | ".join(row) in docs
    assert table.real["all epochs"].n == {"cifar100_within": 4000, "cifar100_cross": 1000}[name]


def test_sentences_of_the_documentation_about_table_1_follow_the_numbers():
    """What it calls confirmed, undecided and not confirmed, recomputed from the intervals."""
    one, ten = kept_table("cifar100_within"), kept_table("cifar100_cross")
    docs = " ".join((ROOT / "docs/research/papers.md").read_text(encoding="utf-8").split())
    widest = truthful_ranks.WIDEST
    for real in one.real.values():
        assert real.interval(widest["classwise_ce"]).sign() == 1
        assert real.contrast(widest["classwise_ce"], widest["conf_ece"]).sign() == 1
        assert real.contrast(widest["conf_ce_corrected"], widest["conf_ce"]).sign() == 1
        for error in ("conf_ece", "conf_ce", "conf_ce_corrected"):
            assert real.interval(widest[error]).sign() == 0
        for m in ("20", "5"):
            cell = truthful_ranks.Cell("classwise_ce", "loss", m)
            assert real.interval(cell).high < one.printed(cell)
    moved = max(
        (2 * real.over_images[widest[e].at]) ** 0.5
        for real in one.real.values()
        for e in ("conf_ece", "conf_ce", "conf_ce_corrected")
    )
    assert f"by up to {moved:.2f} (one standard deviation)" in docs
    assert "7 times as wide" in one._margins_sentence() and "seven times as wide" in docs
    inside, of_corrected = [], []
    for real in ten.real.values():
        for error in ("conf_ce_corrected", "classwise_ce"):
            assert real.interval(widest[error]).sign() == 1
        assert real.interval(widest["classwise_ce"]).high < ten.printed(widest["classwise_ce"])
        held = [
            cell
            for cell in truthful_ranks.CELLS
            if real.interval(cell).low <= ten.printed(cell) <= real.interval(cell).high
        ]
        inside.append(len(held))
        of_corrected.append(sum(cell.error == "conf_ce_corrected" for cell in held))
    assert of_corrected == [6, 6, 0]
    assert "contain the paper's value in {}, {} and {}".format(*inside) in docs
    assert f"({ten.real['error below 50 %'].n} checkpoints)" in docs
    at = truthful_ranks.Cell("conf_ece", "loss", "2000").at
    found, null = (side["all epochs"].value[at] for side in (ten.real, ten.null))
    assert f"({found:.2f}, paper 0.974)" in docs and f"the same ({null:.2f})" in docs


def test_runs_or_networks_left_out_give_nearly_the_same_intervals():
    """Runs of one network are not independent of each other: whole networks are left out here."""
    by_network = truthful_ranks.HalvedPool(kept_pool("cifar100_cross").columns)
    by_network.trace = np.asarray(by_network.columns["architecture"])
    clustered = truthful_ranks.TableOne(by_network, 1)
    for part, real in kept_table("cifar100_cross").real.items():
        assert len(clustered.real[part].left_out) <= 10 < len(real.left_out) <= 50
        for cell in truthful_ranks.WIDEST.values():
            by_run, by_net = real.interval(cell), clustered.real[part].interval(cell)
            assert by_net == pytest.approx(by_run, abs=0.04)


def test_null_cells_are_correlations_of_checkpoints_with_drawn_labels():
    """One null cell by scipy, and that bias is gone from all."""
    from scipy import stats

    columns = {key: np.asarray(v) for key, v in kept_pool("cifar100_cross").columns.items()}
    drawn, cell = columns["labels"] == "drawn", truthful_ranks.Cell("conf_ece", "2000", "5")
    halves = []
    for half in (0, 1):
        own = drawn & (columns["half"] == half)
        halves.append(stats.spearmanr(columns["conf_ece_2000"][own], columns["conf_ece_5"][own])[0])
    null = kept_table("cifar100_cross").null["all epochs"]
    np.testing.assert_allclose(null.halves[(..., *cell.at)], halves, rtol=1e-12)
    # The same checkpoints have larger errors with their real labels: they are not calibrated.
    same = (columns["labels"] == "real") & (columns["half"] < 2) & (columns["epoch"] % 2 == 0)
    assert columns["conf_ece_5"][drawn].mean() < 0.8 * columns["conf_ece_5"][same].mean()
    assert abs(columns["temperature"][drawn] - 1).mean() < 0.02


def test_ranks_of_halves_are_those_of_scipy():
    """One cell of the kept pool by hand: correlations, jackknife, and the variance over images."""
    from scipy import stats

    found = kept_pool()
    part, cell = truthful_ranks.PARTS[1], truthful_ranks.Cell("conf_ce", "loss", "20")
    ranks = found.ranks(part, "real")
    columns = {name: np.asarray(values) for name, values in found.columns.items()}
    late = (columns["labels"] == "real") & (columns["epoch"] > 60)
    x, y = columns["classification_error"], columns["conf_ce_20"]
    halves, without = [], []
    for half in range(8):
        own = late & (columns["half"] == half)
        halves.append(stats.spearmanr(x[own], y[own]).statistic)
        traces = sorted(set(columns["trace"]))
        without.append(
            [
                stats.spearmanr(x[kept], y[kept]).statistic
                for kept in (own & (columns["trace"] != trace) for trace in traces)
            ]
        )
    over_traces = 39 / 40 * sum((v - np.mean(without)) ** 2 for v in np.mean(without, axis=0))
    # Complementary halves share no image: half of their squared difference is one half's variance,
    # and the mean over all halves has half of that; the rest is between the means of splits.
    pairs = np.reshape(halves, (4, 2))
    of_a_half = ((pairs[:, 0] - pairs[:, 1]) ** 2 / 2).mean()
    assert float(ranks.value[cell.at]) == pytest.approx(np.mean(halves), rel=1e-12)
    assert float(ranks.over_traces[cell.at]) == pytest.approx(over_traces, rel=1e-9)
    between = pairs.mean(axis=1).var()
    assert float(ranks.over_images[cell.at]) == pytest.approx(of_a_half / 2 + between, rel=1e-9)
    variance = over_traces + float(ranks.over_images[cell.at])
    df = variance**2 / (over_traces**2 / 39 + float(ranks.over_images[cell.at]) ** 2 / 4)
    rho = np.mean(halves)
    reach = stats.t.ppf(0.975, df) * variance**0.5 / (1 - rho**2)
    assert ranks.interval(cell).low == pytest.approx(np.tanh(np.arctanh(rho) - reach), rel=1e-9)


def test_losses_of_a_halved_pool_are_compared_on_one_half_with_real_labels():
    columns = {key: np.asarray(v) for key, v in kept_pool("cifar100_cross").columns.items()}
    own = (columns["labels"] == "real") & (columns["half"] == 0)
    found = truthful_claims.straight_lines(kept_pool("cifar100_cross").columns)
    pairs = zip(found["loss"], found["over"], found["R^2"], strict=True)
    for first, second, square in pairs:
        rho = np.corrcoef(columns[first][own], columns[second][own])[0, 1]
        assert square == pytest.approx(rho**2, rel=1e-9) and square > 0.93


def test_sentences_about_table_1_follow_the_numbers():
    """Turned over, the same pool says the opposite."""
    table = kept_table("cifar100_within")
    assert (
        "in every part it holds that classwise LinCE keeps the order" in table._verdicts_sentence()
    )
    columns = dict(kept_pool().columns)
    columns["classwise_ce_5"] = [-value for value in columns["classwise_ce_5"]]
    turned = truthful_ranks.TableOne(truthful_ranks.HalvedPool(columns), 0)
    assert (
        "in no part does it hold that classwise LinCE keeps the order"
        in turned._verdicts_sentence()
    )
    assert turned.claims()["all epochs"][3].startswith("does not hold: -0.75")


@pytest.mark.parametrize("name", ["cifar100_within", "cifar100_cross"])
def test_the_page_has_table_1_with_its_null(name):
    section = truthful._halved_section(name, kept_pool(name).columns)
    tables = {table.name: table for table in section.tables}
    table = tables[f"{name}_table_1"].columns
    assert len(table["error"]) == 24 and {"paper", "all epochs", "null, all epochs"} <= set(table)
    assert f"({name.partition('_')[2]}-model)" in tables[f"{name}_table_1"].caption
    printed = [f"{values[name.endswith('cross')][0]:.2f}" for values in TABLE_1.values()]
    assert table["paper"] == printed
    cells = tables[f"{name}_cells"].columns
    assert len(cells["part"]) == 72 and not np.isnan(cells["null"]).any()
    along = tables[f"{name}_dominance"].columns
    assert along["2000 bins"][2] > 0.99  # corrected ConfCE along the dominance set
    # On the page an interval stays on one line with its value.
    texts = tables[f"{name}_claims"].page_rows()[0].texts
    assert re.search(r"undecided: \S+\xa0\[\S+,\xa0\S+\]$", texts[2])
    need("matplotlib")
    figures = {figure.name: figure for figure in section.figures}
    assert figures[f"{name}_cells"].svg.startswith(b"<?xml")
