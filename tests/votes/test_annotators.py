"""A table of annotators: agreement with the rest, and a predictor's calibration for each."""

from __future__ import annotations

import io
import json
import math

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError
from needs import need
from shell_lines import run_main


def table(item, label, who, classes=(0, 1, 2)):
    long = {"item": item, "label": label, "who": who}
    return cal.count_votes(long, item="item", label="label", annotator="who", classes=list(classes))


def simulated(n_items=80, n_people=5, seed=0, odd=None):
    """Votes from a distribution for each item; `odd` votes at random."""
    rng = np.random.default_rng(seed)
    q = rng.dirichlet([0.5] * 3, n_items)
    item, who = np.divmod(np.arange(n_items * n_people), n_people)
    label = (q.cumsum(axis=1)[item][:, :2] < rng.random((len(item), 1))).sum(axis=1)
    if odd is not None:
        label = np.where(who == odd, rng.integers(0, 3, len(item)), label)
    return table(item, label, who), q


def test_agreement_is_the_mean_share_of_other_votes() -> None:
    item = [1, 1, 1, 2, 2, 2, 3, 3, 4]
    label = [0, 0, 1, 1, 2, 1, 2, 2, 0]
    who = ["a", "b", "c", "a", "b", "c", "a", "b", "c"]
    found = cal.annotators(table(item, label, who))
    assert {row.name: row.agreement for row in found} == pytest.approx(
        {"a": (0.5 + 0.5 + 1) / 3, "b": (0.5 + 0 + 1) / 3, "c": (0 + 0.5) / 2}
    )
    assert found["c"].n == 3 and found["c"].n_shared == 2  # nobody else saw item 4
    # Any two votes of the items that c shares: 1 of 3 pairs agree, in both.
    assert found["c"].expected == pytest.approx(1 / 3)


def test_p_values_of_people_who_vote_alike_are_not_small() -> None:
    small = [
        row.p_agreement < 0.05
        for seed in range(30)
        for row in cal.annotators(simulated(40, seed=seed)[0])
    ]
    assert np.mean(small) < 0.09


def test_who_votes_at_random_stands_out_and_few_votes_do_not() -> None:
    votes, q = simulated(odd=3)
    found = cal.annotators(votes, q, bins=5)
    first = found.rows[0]
    assert first.name == "3" and first.verdict == "agrees less than others, miscalibrated"
    assert first.high < first.expected and first.value > first.noise_95
    assert first.p_agreement_corrected == pytest.approx(min(1, 5 * first.p_agreement))
    assert all("miscalibrated" not in row.verdict for row in found.rows[1:])
    few, q = simulated(3, seed=5)
    assert cal.annotators(few, q).standing_out == ()


def test_calibration_is_that_of_the_annotators_own_votes() -> None:
    votes, q = simulated()
    found = cal.annotators(votes, q, measure="brier")
    mine = votes.annotator == 2
    expected = cal.brier_score(votes.class_index[mine], q[votes.item_index[mine]])
    assert found["2"].value == pytest.approx(expected, rel=1e-12)
    logits = cal.annotators(votes, np.log(q + 1e-12), measure="brier", from_logits=True)
    assert logits["2"].value == pytest.approx(expected, rel=1e-6)


def test_groups_of_annotators() -> None:
    votes, q = simulated(odd=4)
    found = cal.annotators(votes, q, groups={0: "crowd", 1: "crowd", 2: "crowd", 3: "x", 4: "y"})
    assert found.by == "group" and {row.name: row.n for row in found} == {
        "crowd": 240,
        "x": 80,
        "y": 80,
    }
    assert found.rows[0].name == "y" or found["y"].verdict.startswith("agrees less")


def test_the_table_can_be_read_and_saved() -> None:
    votes, q = simulated(20)
    found = cal.annotators(votes, q)
    assert str(found).startswith("5 annotators on 20 items, ")
    assert "Holm" in str(found) and "<table" in found._repr_html_()
    assert found.to_frame("pandas").shape == (5, 14)
    assert found.to_markdown().startswith("| annotator | n | agreement |")
    again = json.loads(found.to_json())
    assert again["measure"] == "ece" and len(again["annotators"]["annotator"]) == 5
    assert "ece" not in cal.annotators(votes).columns()
    with pytest.raises(InputError, match="no annotator 'zoe'"):
        found["zoe"]


def test_votes_that_nobody_shares_have_no_agreement() -> None:
    found = cal.annotators(table([1, 2, 3, 3], [0, 1, 2, 2], ["a", "b", "c", "d"]))
    assert math.isnan(found["a"].agreement) and math.isnan(found["a"].p_agreement_corrected)
    assert found["c"].agreement == 1 and found["c"].p_agreement == 1
    assert any(note.startswith("2 voted only on items that nobody else") for note in found.notes)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"votes": [[1, 2]]}, "count_votes"),
        ({"y_proba": [[0.5, 0.5]]}, "a row for each of the 20 items"),
        ({"groups": {0: "a"}}, "no group for annotator 1"),
        ({"groups": ["a"]}, "must map annotators"),
        ({"measure": "eceee", "y_proba": np.full((20, 3), 1 / 3)}, "ece"),
    ],
)
def test_what_cannot_be_read(change, message) -> None:
    votes, _ = simulated(20)
    with pytest.raises(InputError, match=message):
        cal.annotators(**{"votes": votes, **change})


def test_votes_need_names_and_company() -> None:
    long = {"item": [1, 1], "label": [0, 1], "who": ["a", "b"]}
    nameless = cal.count_votes(long, item="item", label="label")
    with pytest.raises(InputError, match="do not name their annotators"):
        cal.annotators(nameless)
    with pytest.raises(InputError, match="agreement needs two or more"):
        cal.annotators(table([1, 2], [0, 1], ["a", "a"]))


def test_the_page_and_the_command_have_the_annotators(tmp_path) -> None:
    votes, p = simulated(40)
    people = cal.annotators(votes, p, n_resamples=50)
    found = cal.report(
        votes.counts, p, measures=["ece"], annotators=people, recalibrate="temperature"
    )
    page = found.to_html()
    assert 'id="annotator-table"' in page and people.title in page
    assert found.to_dict()["annotators"]["by"] == "annotator"
    with pytest.raises(InputError, match=r"the table that cal\.annotators"):
        cal.report(votes.counts, p, annotators=votes)
    names = [f"p_{j}" for j in range(3)]
    rows = ["item,who,vote," + ",".join(names)]
    for i, who, label in zip(votes.item_index, votes.annotator, votes.class_index, strict=True):
        rows.append(f"{i},{who},{label}," + ",".join(map(str, p[i])))
    (tmp_path / "long.csv").write_text("\n".join(rows))
    line = f"report long.csv --item item --annotator who --label vote --proba {','.join(names)}"
    out, err = io.StringIO(), io.StringIO()
    assert run_main([*line.split(), "--measures", "ece"], tmp_path, out, err) == 0, err.getvalue()
    assert "5 annotators on 40 items" in out.getvalue()
    out = io.StringIO()
    assert run_main([*line.split(), "--measures", "ece", "--json"], tmp_path, out, err) == 0
    assert len(json.loads(out.getvalue())["annotators"]["annotators"]["agreement"]) == 5


def test_the_agreement_is_drawn() -> None:
    need("matplotlib")
    votes, _ = simulated(30)
    people = cal.annotators(votes)
    drawn = people.plot(cap=4)
    assert len(drawn.dots_.get_offsets()) == 4
    assert drawn.dots_.get_offsets()[0][0] == pytest.approx(people.rows[0].agreement)
    assert drawn.expected_.get_offsets()[0][0] == pytest.approx(people.rows[0].expected)


def test_one_vote_tells_little_of_an_agreement():
    """Who voted once had an agreement of 1 (1 to 1), or 0 (0 to 0)."""
    votes = table([0, 0, 0, 1, 1], [0, 0, 0, 1, 0], ["p", "q", "r", "p", "q"])
    once = cal.annotators(votes)["r"]
    assert once.n == 1 and once.agreement == once.high == 1.0
    assert once.low < 0.05
