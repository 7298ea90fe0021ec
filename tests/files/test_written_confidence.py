"""Confidence as people write it: log-probabilities, percentages, words, answers and gold, lists."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import calibrant as cal
from cli.command import run
from limits import SetLimits

WORDS = {"certain": 0.98, "very likely": 0.9, "likely": 0.7, "unlikely": 0.2}
RNG = np.random.default_rng(11)
SAID = RNG.choice(list(WORDS), 200).tolist()
P = np.array([WORDS[word] for word in SAID])
RIGHT = (RNG.random(200) < P).astype(int)
GOLD = RNG.choice(["A", "B", "42", "1.50"], 200).tolist()
ANSWER = [f" {g} " if r else "C" for g, r in zip(GOLD, RIGHT, strict=True)]
ROWS = np.column_stack([P, 1 - P])


def written(path: Path, kind: str, **columns: list[Any]) -> Path:
    file = path / f"rows.{kind}"
    records = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    if kind == "json":
        file.write_text(json.dumps(records, indent=1))
    elif kind == "jsonl":
        file.write_text("\n".join(map(json.dumps, records)))
    elif kind == "parquet":
        pl.DataFrame(columns).write_parquet(file)
    else:
        pl.DataFrame(columns).write_csv(file)
    return file


FILES = ("jsonl", "json", "csv", "parquet")


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize(
    ("column", "options"),
    [
        ([f"{100 * p:g}%" for p in P], {"percent": True}),
        ((100 * P).tolist(), {"percent": True}),
        ([word.title() for word in SAID], {"words": WORDS}),
        (np.log(P).tolist(), {"from_logprobs": True}),
    ],
    ids=["85%", "85", "words", "logs"],
)
def test_files_give_the_same(
    tmp_path: Path, kind: str, column: list[Any], options: dict[str, Any]
) -> None:
    file = written(tmp_path, kind, said=column, answer=ANSWER, gold=GOLD)
    rows = cal.read_file(file, y_proba="said", answer="answer", gold="gold", **options)
    assert rows.y_true.tolist() == RIGHT.tolist()
    np.testing.assert_allclose(rows.y_proba, P, rtol=1e-14)
    asked = {"y_proba": "said", "answer": "answer", "gold": "gold", "measures": ["brier"]}
    found = cal.evaluate_file(file, **asked, **options)
    assert math.isclose(found["brier"], cal.brier_score(RIGHT, P), rel_tol=1e-12)
    assert any("'answer' equals 'gold'" in line for line in found.inferred)
    assert any(word in line for line in found.inferred for word in ("percent", "words", "log-"))


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_lists_of_log_probabilities(tmp_path: Path, kind: str) -> None:
    logs = np.log(ROWS) - 3.0  # of some options only: they need not sum to 1
    file = written(tmp_path, kind, said=logs.tolist(), label=(1 - RIGHT).tolist())
    rows = cal.read_file(file, y_proba="said", from_logprobs=True)
    np.testing.assert_allclose(rows.y_proba, ROWS, rtol=1e-12)


@pytest.mark.parametrize(
    ("record", "options", "words"),
    [
        ({"p": "110%"}, {"percent": True}, "line 4: p is '110%': percentages lie between"),
        ({"p": "high"}, {"percent": True}, "line 4: p is 'high', which is not a percentage"),
        ({"p": "maybe"}, {"words": WORDS}, "line 4: p is 'maybe', which is not in words"),
        ({"p": 0.5}, {"words": WORDS}, "line 4: p is 0.5, which is not in words"),
        ({"p": 0.3}, {"from_logprobs": True}, "line 4: .*0.3: log-probabilities are at most 0"),
        ({"p": "likely"}, {}, "line 4: p is 'likely', which is not a number. If it is a word"),
        ({"p": None}, {"percent": True}, "line 4: y_proba is missing"),
    ],
)
def test_errors_name_the_line(
    tmp_path: Path, record: dict[str, Any], options: dict[str, Any], words: str
) -> None:
    fine: Any = "85%" if "percent" in options else "likely" if "words" in options else 0.0
    file = tmp_path / "rows.jsonl"
    rows = [{"p": fine, "y": 1}] * 3 + [{**record, "y": 0}]
    file.write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(cal.InputError, match=words):
        cal.evaluate_file(file, **options)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("option", ["y_proba", "sample_weight", "votes", "y_true"])
@pytest.mark.parametrize("text", ["85%", "likely"])
def test_options_are_named_where_they_apply(
    tmp_path: Path, kind: str, option: str, text: str
) -> None:
    columns: dict[str, list[Any]] = {"label": [0.0, 1.0], "p": [0.2, 0.7], "n": [1.0, 2.0]}
    name = {"y_proba": "p", "y_true": "label"}.get(option, "n")
    columns[name] = [columns[name][0], text] if kind == "jsonl" else [text, text]
    file = written(tmp_path, kind, **columns)
    # Soft labels are columns side by side: a single one may hold names.
    given: Any = [name] if option == "y_true" else name
    with pytest.raises(cal.InputError, match=f"{name} is '{text}', which is not a number") as told:
        cal.evaluate_file(file, **{option: given})
    meant = "percent=True" if text == "85%" else "words="
    assert (meant in str(told.value)) == (option == "y_proba")


def test_a_name_among_labels_that_are_numbers(tmp_path: Path, set_limits: SetLimits) -> None:
    set_limits(csv_blocks=(1 << 10, 1 << 24))
    file = tmp_path / "rows.csv"
    file.write_text("label,p\n1,0.5\n" + "0,0.4\n" * 3000 + "yes,0.4\n")
    with pytest.raises(
        cal.InputError, match=r"label is 'yes', .*: give numbers in all rows"
    ) as told:
        cal.evaluate_file(file)
    assert "words" not in str(told.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"percent": True, "from_logits": True}, "from_logits and percent contradict each other"),
        ({"from_logprobs": True, "from_logits": True}, "both True"),
        ({"from_logprobs": 1}, "from_logprobs must be True or False"),
        ({"words": {}}, "words must map"),
        ({"words": {"sure": 95}}, r"words\['sure'\] is 95"),
        ({"words": {"Sure": 0.9, "sure": 0.8}}, "twice"),
        ({"answer": "y"}, "answer is given without gold"),
        ({"answer": "y", "gold": "y"}, "both the column 'y'"),
        ({"answer": "y", "gold": "z"}, "gold names the column 'z'"),
        ({"answer": "y", "gold": "p", "y_true": "y"}, "y_true gives the labels too"),
    ],
)
def test_options_that_contradict(tmp_path: Path, options: dict[str, Any], words: str) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text('{"p": 0.5, "y": 1}')
    with pytest.raises(cal.InputError, match=words):
        cal.read_file(file, **options)


def test_shares_given_as_percentages_are_named(tmp_path: Path) -> None:
    file = written(tmp_path, "jsonl", p=P.tolist(), y=RIGHT.tolist())
    with pytest.raises(cal.InputError, match="leave out percent"):
        cal.read_file(file, percent=True)


def test_all_rows_decide_whether_they_are_percentages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, set_limits: SetLimits
) -> None:
    """The first block of a sorted file may be below 1 % from end to end."""
    monkeypatch.setenv("CALIBRANT_THREADS", "1")  # or another block may come first
    set_limits(chunk_rows=1000, parquet_piece_rows=1000)
    p = np.sort(np.random.default_rng(0).random(6000) * 3)
    y = (np.arange(p.size) % 50 == 0).astype(int)
    file = tmp_path / "sorted.parquet"
    pl.DataFrame({"y": y, "p": p}).write_parquet(file, row_group_size=1000)
    found = cal.evaluate_file(file, percent=True, measures=["ece"])
    assert found["ece"] == pytest.approx(cal.ece(y, p / 100))
    pl.DataFrame({"y": y, "p": p / 3}).write_parquet(file, row_group_size=1000)
    for read in (cal.evaluate_file, cal.read_file):
        with pytest.raises(cal.InputError, match="holds no y_proba above 1"):
            read(file, percent=True)


def test_a_share_among_percentages_is_named(tmp_path: Path) -> None:
    file = written(tmp_path, "csv", p=["97%", "97", "0.97"], y=[1, 1, 0])
    with pytest.raises(cal.InputError, match=r"line 4: p is '0.97' without a % sign"):
        cal.read_file(file, percent=True)
    file = written(tmp_path, "csv", p=["97%", "97", "0"], y=[1, 1, 0])
    assert cal.read_file(file, percent=True).y_proba.tolist() == [0.97, 0.97, 0.0]


@pytest.mark.parametrize(
    ("answer", "gold", "right"),
    [("12345678901234567891", "12345678901234567890", 0),
     (12345678901234567891, "12345678901234567890", 0),
     (12345678901234567891, "+12345678901234567891", 1),
     ("0.30000000000000000001", "0.3", 0),
     ("1.50", 1.5, 1), ("1e3", 1000, 1), ("1_000", 1000, 0), ("1e999", "2e999", 0),
     ("1e99999999999999999999", "2", 0),
     (True, "true", 1), (True, "True", 1), (False, " false", 1), ("false", False, 1),
     (True, "false", 0), (True, 1, 0)],
)  # fmt: skip
def test_answers_are_compared_to_the_last_digit(
    tmp_path: Path, answer: Any, gold: Any, right: int
) -> None:
    file = written(tmp_path, "jsonl", p=[0.5], a=[answer], g=[gold])
    assert cal.read_file(file, answer="a", gold="g").y_true.tolist() == [right]


def test_missing_answers_are_dropped_and_counted(tmp_path: Path) -> None:
    answers: list[Any] = ["A", None, "", "B"]
    file = written(tmp_path, "jsonl", p=["90%"] * 3 + [None], a=answers, g=["A"] * 4)
    rows = cal.read_file(file, answer="a", gold="g", percent=True, missing="drop")
    assert (rows.y_true.tolist(), rows.n_missing) == ([1], 3)


def test_numbers_are_compared_as_numbers(tmp_path: Path) -> None:
    file = written(
        tmp_path, "jsonl", p=[0.5] * 4, a=["42.0", 7, "b", "1e3"], g=["42", "7", "B", 1000]
    )
    assert cal.read_file(file, answer="a", gold="g").y_true.tolist() == [1, 1, 0, 1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[{"p": 0.5,\n "y": 1},\n 3]', "line 3: the list holds a number"),
        ('[{"p": 0.5, "y": 1},\n{"p": }]', "line 2 is not JSON"),
        ('[{"p": 0.5, "y": 1}\n{"p": 1}]', "line 2 is not JSON: Expecting ','"),
        ('[{"p": 0.5, "y": 1}]\n[]', "line 2 is not JSON: Extra data"),
        ('[{"p": 0.5, "y": 1},\n{"p": 7, "y": 1}]', r"line 2: y_proba\[1\] is 7.0"),
        ("[]", "holds no rows"),
        ('[{"p": 0.5', "line 1 is not JSON"),
    ],
)
def test_lists_of_records_have_lines(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "rows.json"
    file.write_text(text)
    with pytest.raises(cal.InputError, match=words):
        cal.evaluate_file(file)


def test_json_lines_in_a_json_file_stay(tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    file.write_text('{"p": 0.5, "y": 1}\n{"p": 0.6, "y": 0}')
    assert cal.read_file(file).y_proba.tolist() == [0.5, 0.6]


FUNCTIONS = (
    cal.ece, cal.soft_ece, cal.ace, cal.tace, cal.debiased_l2, cal.sweep_ece, cal.ks_error,
    cal.lin_ce, cal.brier_score, cal.log_loss, cal.spherical_loss, cal.classification_error,
    cal.confidence_loss, cal.ls_ece, cal.smooth_ece,
)  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_functions_take_log_probabilities(function: Any) -> None:
    got = function(RIGHT, np.log(P), from_logprobs=True)
    assert math.isclose(got, function(RIGHT, P), rel_tol=1e-9, abs_tol=1e-12)


def test_results_take_log_probabilities() -> None:
    with np.errstate(divide="ignore"):
        logs = np.log(np.where(RNG.random(200) < 0.1, 0.0, P))
    assert cal.evaluate(RIGHT, logs, from_logprobs=True)["ece"] == cal.ece(RIGHT, np.exp(logs))
    assert "from log-probabilities" in cal.evaluate(RIGHT, logs, from_logprobs=True).inferred
    of_rows = cal.evaluate(1 - RIGHT, np.log(ROWS) - 2.0, from_logprobs=True)
    assert math.isclose(of_rows["brier"], cal.brier_score(1 - RIGHT, ROWS), rel_tol=1e-12)
    frame = pl.DataFrame(
        {"y": RIGHT, "l": np.log(P), "a": np.log(ROWS[:, 0]), "b": np.log(ROWS[:, 1])}
    ).lazy()
    assert math.isclose(
        cal.ece("y", "l", data=frame, from_logprobs=True), cal.ece(RIGHT, P), rel_tol=1e-12
    )
    rows = cal.brier_score("y", ["b", "a"], data=frame, from_logprobs=True)
    assert math.isclose(rows, cal.brier_score(RIGHT, ROWS[:, ::-1]), rel_tol=1e-12)


def test_log_probabilities_are_named() -> None:
    with pytest.raises(cal.InputError, match=r"no y_proba is above 0.*pass from_logprobs=True"):
        cal.ece(RIGHT, np.log(P))
    with pytest.raises(cal.InputError, match="pass from_logprobs=True"):
        cal.ece(1 - RIGHT, np.log(ROWS))
    with pytest.warns(cal.CalibrantWarning, match="from_logprobs=True instead"):
        cal.ece(RIGHT, np.log(P), from_logits=True)
    with pytest.raises(cal.InputError, match=r"y_proba\[0\] is .*: log-probabilities are at most"):
        cal.ece(RIGHT, P, from_logprobs=True)
    with pytest.raises(cal.InputError, match="-inf in every column"):
        cal.ece([0], [[-math.inf, -math.inf]], from_logprobs=True)
    with pytest.raises(cal.InputError, match="these are probabilities, and a softmax"):
        cal.ece(1 - RIGHT, ROWS, from_logits=True)


def test_the_command_takes_them(tmp_path: Path) -> None:
    said = [f"{100 * p:g} %" for p in P]
    file = written(
        tmp_path, "csv", percent=said, word=SAID, answer=ANSWER, gold=GOLD, log=np.log(P).tolist()
    )
    pairs = tmp_path / "words.txt"
    pairs.write_text("\n".join(f"{word}={value}" for word, value in WORDS.items()))
    shared = ["report", str(file), "--answer", "answer", "--gold", "gold", "--json", "--measures"]
    want = cal.ece(RIGHT, P)
    for more in (
        ["--proba", "percent", "--percent"],
        ["--proba", "word", "--words", str(pairs)],
        ["--proba", "log", "--from-logprobs"],
        ["--proba", "log", "--from-logprobs", "--stream"],
    ):
        done = run(*shared, "ece", *more)
        assert done.returncode == 0, done.stderr
        assert math.isclose(json.loads(done.stdout)["measures"][0]["value"], want, rel_tol=1e-12)
    told = run("report", file, "--proba", "log", "--answer", "answer", "--gold", "gold")
    assert told.returncode == 3 and "pass --from-logprobs" in told.stderr
    told = run("report", file, "--proba", "word", "--words", "likely", "--label", "log")
    assert told.returncode == 3 and "neither pairs such as likely=0.7" in told.stderr


# A value, its probability (None: there is none) and the form that the result counts.
FORMS: list[tuple[Any, float | None, str]] = [
    ("85%", 0.85, "sign"), (" 85 % ", 0.85, "sign"), ("85 percent", 0.85, "sign"),
    ("1%", 0.01, "sign"), ("0.5%", 0.005, "sign"), ("100%", 1.0, "sign"),
    ("85 out of 100", 0.85, "share"), ("7/10", 0.7, "share"), ("3 of 3", 1.0, "share"),
    (0.85, 0.85, "number"), ("0.85", 0.85, "number"), (0, 0.0, "number"), ("1e-3", 0.001, "number"),
    (85, 0.85, "percent"), ("99.5", 0.995, "percent"), (100, 1.0, "percent"),
    ("Very  Likely", 0.9, "word"), ("no idea", None, "refusal"),
    (None, None, "empty"), ("", None, "empty"), ("None", None, "empty"), ("N/A", None, "empty"),
    ("Refused.", None, "refusal"), ("I\N{RIGHT SINGLE QUOTATION MARK}m sorry, I can't say",
     None, "refusal"), ("I don't know", None, "refusal"), ("I cannot answer.", None, "refusal"),
]  # fmt: skip
TABLE = {"very likely": 0.9, "no idea": None}


@pytest.mark.parametrize(("value", "number", "form"), FORMS)
def test_each_form_is_read_by_its_rule(value: Any, number: float | None, form: str) -> None:
    found = cal.read_confidences(None, [value], words=TABLE)
    assert found.forms == {form: 1}
    assert found.answered == (number is not None)
    assert np.array_equal(found.y_proba, [math.nan if number is None else number], equal_nan=True)


@pytest.mark.parametrize("kind", ["jsonl", "json", "csv", "parquet"])
def test_a_column_of_many_forms(tmp_path: Path, kind: str, set_limits: SetLimits) -> None:
    set_limits(chunk_rows=7)
    times = 30
    said = [value for value, _, _ in FORMS] * times
    right = (["yes", "N", "C", "false", "1"] * len(said))[: len(said)]
    ones = (np.array([1, 0, 1, 0, 1] * len(said))[: len(said)]).tolist()
    if kind in ("csv", "parquet"):  # columns of text
        said = [None if value is None else str(value) for value in said]
    file = written(tmp_path, kind, grade=right, confidence=said)
    rows = cal.read_file(
        file, y_true="grade", confidence="auto", words=TABLE, missing="drop", columns="grade"
    )
    kept = [i for i, (_, number, _) in enumerate(FORMS * times) if number is not None]
    assert rows.y_proba.tolist() == [(FORMS * times)[i][1] for i in kept]
    assert rows.y_true.tolist() == [ones[i] for i in kept]
    assert rows.n_missing == len(said) - len(kept)
    counts = {form: times * sum(f == form for _, _, f in FORMS) for _, _, form in FORMS}
    line = next(line for line in rows.inferred if line.startswith("confidences by form"))
    for form, named in (("sign", "(85%)"), ("share", "(85 out of 100)"), ("word", "words")):
        assert f"{named} {counts[form]}" in line
    result = cal.evaluate_file(
        file, y_true="grade", confidence="auto", words=TABLE, missing="drop", measures=["ks_error"]
    )
    assert line in result.inferred  # counted once, however often files are read
    assert not any("1/2" in name for name in result.values)
    assert any("right answers are yes" in note for note in result.inferred)


@pytest.mark.parametrize(
    ("said", "words", "options"),
    [([0.5, 1, "1", 1.0], "entry 1: y_proba is '1', which may be 1 % or certain, here and in entry "
      "2, entry 3: choose between words={'1': 1.0} and words={'1': 0.01}", {}),
     (["high", "low", "high"], "entry 0: y_proba is 'high', a word, here and in entry 2: give its "
      "probability with words={'high': ...}, or call it a refusal with words={'high': None}. Not "
      "read either: 'low'", {}),
     ([85, 0.5], "0.5', which may be a percentage or a probability", {"percent": True}),
     (["9/8"], "not a share", {}), (["110%"], "between 0 and 1", {}),
     ([-0.1], "between 0 and 1", {}),
     ([True], "which cannot be read", {}), (["<5%"], "which cannot be read", {}),
     (["sorry, 80 perhaps"], "which cannot be read", {}), (["80-90%"], "which cannot be read", {})],
)  # fmt: skip
def test_what_is_unclear_is_refused(said: list[Any], words: str, options: dict[str, Any]) -> None:
    with pytest.raises(cal.InputError) as told:
        cal.read_confidences(None, said, **options)
    assert words in str(told.value)


@pytest.mark.parametrize(
    "nothing", [[], {}, None, 0.5, np.array(0.5), [[0.5], [0.2]], [{}]], ids=repr
)
def test_what_is_no_sequence_of_values_is_refused(nothing: Any) -> None:
    for argument, values in (("y_proba", (None, nothing)), ("y_true", (nothing, [0.5]))):
        if values[0] is None and argument == "y_true":
            continue  # labels need not be given
        with pytest.raises(cal.InputError, match=f"{argument} must be a sequence"):
            cal.read_confidences(*values)


def test_what_decides_about_one() -> None:
    assert cal.read_confidences(None, [1, "1"], words={"1": 1}).y_proba.tolist() == [1.0, 1.0]
    assert cal.read_confidences(None, [1, 85], percent=True).y_proba.tolist() == [0.01, 0.85]


def test_correctness_in_words() -> None:
    said = ["Yes", "n", "C", "I", True, False, "correct", "WRONG", 1, 0, "1.0"]
    found = cal.read_confidences(said, [0.5] * len(said))
    assert found.y_true is not None
    assert found.y_true.tolist() == [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1]
    unsaid = cal.read_confidences(["yes", None, "no"], [0.5] * 3).y_true
    assert np.array_equal(unsaid, [1, math.nan, 0], equal_nan=True)
    with pytest.raises(cal.InputError, match="entry 1: y_true is 'P', which is neither"):
        cal.read_confidences(["C", "P"], [0.5, 0.5])
    with pytest.raises(cal.InputError, match="y_true has 1 entries, y_proba 2"):
        cal.read_confidences(["C"], [0.5, 0.5])


def test_percentages_and_words_together(tmp_path: Path) -> None:
    said = ["85%", "likely", 70, "no idea"]
    file = written(tmp_path, "jsonl", correct=["yes", "no", "yes", "no"], p=said)
    table = {"likely": 0.6, "no idea": None}
    rows = cal.read_file(file, percent=True, words=table, missing="drop")
    assert rows.y_proba.tolist() == [0.85, 0.6, 0.7]
    assert any("percent" in line for line in rows.inferred)


def test_confidences_on_the_command_line(tmp_path: Path) -> None:
    file = written(tmp_path, "json", correct=["yes", "no"] * 20, confidence=["85%", 1] * 20)
    result = run("report", file, "--confidence", "auto")
    assert result.returncode == 3
    assert "--words 1=1.0 and --words 1=0.01" in result.stderr
    result = run("report", file, "--confidence", "auto", "--words", "1=1", "--measures", "ece")
    assert "given (1) 20, with a percent sign (85%) 20" in " ".join(result.stdout.split())
    lists = written(tmp_path, "jsonl", label=[0, 1], probs=[[0.5, 0.5], [0.1, 0.9]])
    with pytest.raises(cal.InputError, match=r"one confidence a row.*has lists: leave it out"):
        cal.read_file(lists, confidence="auto")
    with pytest.raises(cal.InputError, match="confidence must be 'auto' or None; got 'number'"):
        cal.read_file(lists, confidence="number")


def test_refusals_are_offered_and_told_from_missing_confidences(tmp_path: Path) -> None:
    said = ["85%", None, "I cannot answer", "1.00"] * 10
    file = written(tmp_path, "jsonl", correct=[1, 0] * 20, confidence=said)
    call = ("report", file, "--confidence", "auto", "--words", "1=1", "--measures", "ece")
    stopped = run(*call)
    assert "--refusals excluded and --refusals wrong" in " ".join(stopped.stderr.split())
    text = " ".join(run(*call, "--refusals", "excluded").stdout.split())
    assert (
        "20 of 40 answers have a confidence; 20 without one (10 refusals and 10 missing): "
        "dropped (--refusals excluded)" in text
    )
    assert "--missing drop" not in text and "1e-12" not in text
    assert "numbers whose meaning was given (1) 10, empty 10, refusals 10" in text
    text = " ".join(run(*call, "--missing", "drop").stdout.split())
    assert "20 rows were dropped" in text and "--refusals" not in text
    page = tmp_path / "page.html"
    assert run(*call, "--refusals", "excluded", "-o", page).returncode == 0
    assert "numbers whose meaning was given (1) 10, empty 10, refusals 10" in page.read_text()


def test_an_iterator_is_read_as_a_list_is() -> None:
    right, said = ["yes", "N", "C"], ["85%", 0.9, None]
    known = cal.read_confidences(right, said)
    found = cal.read_confidences(iter(right), (each for each in said))
    assert found.y_true is not None and known.y_true is not None
    assert found.y_true.tolist() == known.y_true.tolist() == [1, 0, 1]
    np.testing.assert_array_equal(found.y_proba, known.y_proba)
    assert (found.forms, found.inferred) == (known.forms, known.inferred)
    with pytest.raises(cal.InputError, match="y_true has 2 entries, y_proba 3"):
        cal.read_confidences(iter(right[:2]), iter(said))
