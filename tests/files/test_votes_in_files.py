"""Votes in files: counts in columns, numbers of votes beside shares, and rows that are one vote."""

from __future__ import annotations

import json

import numpy as np
import pytest

import calibrant as cal
from cli.command import main, run
from needs import need

RNG = np.random.default_rng(17)
N, NAMES = 120, ("cat", "dog", "hen")
P = RNG.multinomial(40, [0.5, 0.3, 0.2], N) / 40
VOTES = RNG.integers(1, 7, N)
COUNTS = np.array([RNG.multinomial(m, p) for m, p in zip(VOTES, P, strict=True)])
COLUMNS = {f"proba_{name}": P[:, r] for r, name in enumerate(NAMES)}
COLUMNS |= {f"n_{name}": COUNTS[:, r] for r, name in enumerate(NAMES)}
COLUMNS |= {f"share_{name}": COUNTS[:, r] / VOTES for r, name in enumerate(NAMES)}
COLUMNS |= {
    "m": VOTES,
    "first": P[:, 0],
    "positive": COUNTS[:, 0],
    "negative": VOTES - COUNTS[:, 0],
}
N_COLUMNS, SHARE_COLUMNS = ([f"{stem}_{name}" for name in NAMES] for stem in ("n", "share"))


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """The counts in a CSV file."""
    return written(tmp_path_factory.mktemp("votes") / "wide.csv", COLUMNS)


@pytest.fixture(scope="module")
def long(tmp_path_factory):
    """The same votes, one a row, in any order."""
    rows = []
    for i in range(N):
        labels = np.repeat(NAMES, COUNTS[i])
        for annotator, label in enumerate(labels):
            row = [f"item {i}", f"ann {annotator}", label, *P[i]]
            rows.append(row)
    order = RNG.permutation(len(rows))
    names = ["item", "annotator", "label", *(f"proba_{name}" for name in NAMES)]
    columns = {name: [rows[i][j] for i in order] for j, name in enumerate(names)}
    return written(tmp_path_factory.mktemp("votes") / "long.csv", columns)


def written(path, columns):
    lines = [",".join(columns)]
    lines += [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return path


def close(found, expected):
    for name, value in expected.values.items():
        assert found[name] == pytest.approx(value, rel=1e-12, abs=1e-16), name


def test_counts_and_shares_beside_votes(wide, tmp_path):
    expected = cal.evaluate(COUNTS, P)
    ways = ({"counts": N_COLUMNS}, {"y_true": N_COLUMNS}, {"y_true": SHARE_COLUMNS, "votes": "m"})
    for way in ways:
        close(cal.evaluate_file(wide, **way), expected)
        rows = cal.read_file(wide, **way)
        np.testing.assert_array_equal(rows.votes, VOTES)
        assert f"votes per row: {VOTES.min()} to {VOTES.max()}" in rows.inferred
    path = tmp_path / "rows.jsonl"
    records = zip(COUNTS.tolist(), P.tolist(), strict=True)
    path.write_text("".join(json.dumps({"votes": c, "p": p}) + "\n" for c, p in records))
    close(cal.evaluate_file(path, counts="votes"), expected)
    np.testing.assert_array_equal(cal.read_file(path, counts="votes").y_true, COUNTS)
    need("pyarrow.parquet").write_table(need("pyarrow").table(COLUMNS), tmp_path / "rows.parquet")
    close(cal.evaluate_file(tmp_path / "rows.parquet", counts=N_COLUMNS), expected)


def test_counts_of_a_binary_problem(wide):
    expected = cal.evaluate(COUNTS[:, 0] / VOTES, P[:, 0])
    for way in ({"counts": ["negative", "positive"]}, {"y_true": "positive", "votes": "m"}):
        close(cal.evaluate_file(wide, y_proba="first", **way), expected)
        rows = cal.read_file(wide, y_proba="first", **way)
        np.testing.assert_array_equal(
            rows.y_true, np.column_stack([VOTES, COUNTS[:, 0]]) @ [[1, 0], [-1, 1]]
        )
        close(cal.evaluate(rows.y_true, rows.y_proba), expected)


def test_which_count_is_of_class_1_is_told(wide, tmp_path, capsys):
    told = "votes for class 0 are 'negative', votes for class 1 are 'positive', by their order"
    for read in (cal.evaluate_file, cal.read_file):
        assert told in read(wide, y_proba="first", counts=["negative", "positive"]).inferred
    options = ("--proba", "first", "--counts", "negative,positive", "--measures", "brier")
    for more in ((), ("--stream",)):
        code, out, _ = said(capsys, "report", wide, *options, *more)
        assert code == 0 and told in out
    path = tmp_path / "rows.jsonl"
    path.write_text('{"n": [1, 2], "p": 0.7}\n{"n": [3, 0], "p": 0.2}\n')
    assert any("class 1 are 'n[1]'" in line for line in cal.read_file(path, counts="n").inferred)


def test_rows_that_are_one_vote(long):
    rows = cal.read_file(long, item="item", annotator="annotator", columns=["item"])
    order = [int(name.split()[1]) for name in rows.columns["item"]]
    np.testing.assert_array_equal(rows.y_true, COUNTS[order])
    np.testing.assert_array_equal(rows.y_proba, P[order])
    np.testing.assert_array_equal(rows.votes, VOTES[order])
    assert rows.vote_table.annotator.size == VOTES.sum()
    assert f"each row is a vote: {VOTES.sum()} on {N} items" in " ".join(rows.inferred)


def test_rows_of_one_item_must_agree(long, tmp_path):
    lines = long.read_text().splitlines()
    item = lines[9].split(",")[0]
    other = ",".join([item, "someone", "cat", "0.25", "0.25", "0.5"])
    path = tmp_path / "odd.csv"
    path.write_text("\n".join([*lines, other]) + "\n")
    with pytest.raises(
        cal.InputError, match=f"y_proba differs between the rows of the .* '{item}'"
    ):
        cal.read_file(path, item="item", annotator="annotator")
    path.write_text("\n".join([*lines, lines[9]]) + "\n")
    with pytest.raises(cal.InputError, match=f"'ann .' votes twice on the item '{item}'"):
        cal.read_file(path, item="item", annotator="annotator")
    assert cal.read_file(path, item="item").votes.sum() == VOTES.sum() + 1


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("n_cat", -3, r"line 6: y_true\[4, 0\] is -3.*not be negative"),
        ("n_cat", "", "line 6: y_true is missing"),
        ("m", 0, r"line 6: votes\[4\] is 0.*whole numbers from 1"),
        ("m", 2.5, r"line 6: votes\[4\] is 2.5.*whole"),
        ("m", 99, r"line 6: votes\[4\] is 99, but the counts in y_true\[4\] sum to"),
    ],
)
def test_bad_votes_are_named_with_their_line(column, value, message, tmp_path):
    changed = list(COLUMNS[column])
    changed[4] = value
    path = written(tmp_path / "bad.csv", COLUMNS | {column: changed})
    options = {"y_true": N_COLUMNS, "votes": "m"}
    with pytest.raises(cal.InputError, match=message):
        cal.evaluate_file(path, **options)
    assert main(["report", str(path), "--label", ",".join(N_COLUMNS), "--votes", "m"]) == 3


def test_a_row_without_votes_is_named_with_its_line(tmp_path):
    none = {name: [0 if i == 4 else x for i, x in enumerate(COLUMNS[name])] for name in N_COLUMNS}
    path = written(tmp_path / "none.csv", COLUMNS | none)
    with pytest.raises(cal.InputError, match=r"line 6: y_true\[4\] has no votes"):
        cal.evaluate_file(path, counts=N_COLUMNS)


def test_columns_that_contradict_each_other(wide, long):
    with pytest.raises(cal.InputError, match="counts and votes both give the labels"):
        cal.read_file(wide, counts=N_COLUMNS, votes="m")
    with pytest.raises(cal.InputError, match="annotator is given without item"):
        cal.read_file(long, annotator="annotator")
    with pytest.raises(cal.InputError, match="in the order of the classes"):
        cal.read_file(wide, counts=N_COLUMNS[::-1])
    with pytest.raises(cal.InputError, match="must be whole numbers of votes"):
        cal.read_file(wide, counts=SHARE_COLUMNS)
    with pytest.raises(cal.InputError, match="did you mean 'm'"):
        cal.read_file(wide, y_true=SHARE_COLUMNS, votes="mm")


# --- the command line ----------------------------------------------------------------------------


def said(capsys, *arguments):
    code = main(list(map(str, arguments)))
    found = capsys.readouterr()
    return code, found.out, found.err


def test_every_verb_takes_votes(wide, long, capsys, tmp_path, set_limits):
    counts, labels = ",".join(N_COLUMNS), ",".join(SHARE_COLUMNS)
    ways = {
        "counts": (wide, "--counts", counts),
        "votes": (wide, "--label", labels, "--votes", "m"),
        "long": (long, "--item", "item", "--annotator", "annotator"),
    }
    floors = set()
    for way in ways.values():
        code, out, _ = said(capsys, "report", *way, "--measures", "dist_ce", "--json")
        (row,) = json.loads(out)["measures"]
        assert code == 0 and row["noise_floor"]["upper"] > 0
        floors.add(round(row["value"], 12))
    assert len(floors) == 1
    code, out, _ = said(capsys, "check", *ways["long"], "--max", "dist_ce=0.9")
    assert code == 0 and "each row is a vote" in out
    code, out, _ = said(
        capsys, "compare", f"a={wide}", f"b={wide}", *ways["counts"][1:], "--measures", "dist_ce"
    )
    assert code == 0 and "vote counts" in out
    code, out, _ = said(capsys, "scale", "--fit", *ways["counts"], "--method", "temperature")
    assert code == 0 and "votes per row: 1 to 6" in out
    # Limits, which take most of the time, were in the table above.
    set_limits(compared_predictions=10)
    both = ("--fit", wide, "--apply", wide, "--counts", counts, "--method", "temperature")
    code, _, _ = said(capsys, "scale", *both, "-o", tmp_path / "mapped.csv")
    assert code == 0 and "y_true_0,y_true_1" in (tmp_path / "mapped.csv").read_text()
    code, out, _ = said(capsys, "report", *ways["counts"], "--stream", "--measures", "dist_ce")
    assert code == 0 and "vote counts" in out


def test_the_command_line_speaks_of_its_own_options(wide, long, capsys):
    _, _, err = said(capsys, "report", wide, "--label", "positive", "--proba", "first")
    assert "the number of votes with --votes COLUMN" in err and "--counts A,B" in err
    _, _, err = said(capsys, "report", long, "--annotator", "annotator")
    assert "--annotator is given without --item" in err
    _, _, err = said(capsys, "report", long, "--item", "item", "--stream")
    assert "leave out --stream" in err
    _, _, err = said(capsys, "report", wide, "--counts", "n_cat", "--votes", "m")
    assert "--counts and --votes both give the labels" in err and "leave out --votes" in err


def test_sure_predictions_may_be_held_against_votes(tmp_path):
    sure = (P[:, 0] > 0.5).astype(float)
    columns = {"share": COUNTS[:, 0] / VOTES, "m": VOTES, "sure": sure}
    path = written(tmp_path / "sure.csv", columns)
    found = cal.evaluate_file(path, y_true="share", y_proba="sure", votes="m", measures=["ece"])
    expected = cal.ece(columns["share"], sure, votes=VOTES)
    assert found["ece"] == pytest.approx(expected, rel=1e-12)
    with pytest.raises(cal.InputError, match=r"swapped.*name the column of vote counts as votes"):
        cal.evaluate_file(path, y_true="share", y_proba="sure", measures=["ece"])


def test_distances_of_files_whose_first_blocks_are_hard(tmp_path, set_limits):
    """Whether labels are soft is not known before the last block."""
    set_limits(chunk_rows=90)
    unanimous = np.sort(COUNTS, axis=1)[:, 1] == 0
    order = np.argsort(~unanimous, kind="stable")
    assert 30 < unanimous.sum() < N
    file = written(
        tmp_path / "sorted.csv", {name: column[order] for name, column in COLUMNS.items()}
    )
    proba = [f"proba_{name}" for name in NAMES]
    names = ["dist_ce", "ent_ce", "rank_cs", "jsd", "kl"]
    expected = cal.evaluate(COUNTS / VOTES[:, None], P, measures=names).values
    for options in ({}, {"measures": names}, {"measures": names, "exact": False}):
        found = cal.evaluate_file(file, y_true=SHARE_COLUMNS, y_proba=proba, **options)
        assert {name: found[name] for name in names} == pytest.approx(expected)
    once = cal.evaluate_file(file, y_true=SHARE_COLUMNS, y_proba=proba, exact=False)
    assert "jsd" not in once and any("many rows in succession" in note for note in once.notes)


def test_distances_of_hard_labels_are_those_of_arrays(tmp_path):
    top = COUNTS.argmax(axis=1)
    columns = {"y": top, **{name: COLUMNS[name] for name in COLUMNS if name.startswith("proba")}}
    file = written(tmp_path / "hard.csv", columns)
    proba = [f"proba_{name}" for name in NAMES]
    found = cal.evaluate_file(file, y_true="y", y_proba=proba, measures=["jsd", "rank_cs"])
    expected = cal.evaluate(top, P, measures=["jsd", "rank_cs"]).values
    assert found.values == pytest.approx(expected)
    assert "jsd" not in cal.evaluate_file(file, y_true="y", y_proba=proba)


def test_columns_called_votes_are_pointed_out(tmp_path):
    file = tmp_path / "votes.csv"
    file.write_text("votes_for,votes_total,prediction\n2,5,0.3\n4,5,0.7\n")
    done = run("report", file)
    assert done.returncode == 3
    assert "--label VOTES_FOR_CLASS_1 --votes ALL_VOTES" in " ".join(done.stderr.split())
