"""Logs of lm-evaluation-harness and of Inspect AI, as they lie on disk."""

import gzip
import json
import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from cli.command import run
from limits import SetLimits

# Written by Inspect AI 0.3.285, samples in zstd; what is not read was taken out.
REAL = Path(__file__).parent / "inspect-0.3.285.eval"
NAME = "samples_{}_2026-01-02T03-04-05.678901.jsonl"


def document(i: int, k: int, gold: Any, logs: list[float], **more: Any) -> dict[str, Any]:
    choices = [f" choice {j} of {i}" for j in range(k)]
    return {
        "doc_id": i,
        "doc": {"question": "?"},
        "target": str(gold),
        "arguments": {f"gen_args_{j}": {"arg_0": "Q", "arg_1": choices[j]} for j in range(k)},
        "resps": [[[str(log), "False"]] for log in logs],
        "filtered_resps": [[str(log), "False"] for log in logs],
        "filter": "none",
        "metrics": ["acc"],
        "acc": more.pop("acc", 1.0 if gold == int(np.argmax(logs)) else 0.0),
        **more,
    }


def lm_log(folder: Path, task: str, ks: list[int], **more: Any) -> tuple[Path, Any, Any]:
    rng = np.random.default_rng(len(task))
    logs = [(-20 + 3 * rng.normal(size=k)).tolist() for k in ks]
    golds = [int(rng.integers(0, k)) for k in ks]
    file = folder / NAME.format(task)
    rows = [
        document(i, k, g, x, **more)
        for i, (k, g, x) in enumerate(zip(ks, golds, logs, strict=True))
    ]
    file.write_text("\n".join(map(json.dumps, rows)) + "\n")
    return file, golds, logs


def softmax(logs: list[float]) -> np.ndarray:
    p = np.exp(np.array(logs) - max(logs))
    return p / p.sum()


def test_multiple_choice(tmp_path: Path) -> None:
    file, golds, logs = lm_log(tmp_path, "arc", [4] * 40)
    rows = cal.read_file(file, columns=["task", "id"])
    assert rows.y_true.tolist() == golds
    np.testing.assert_allclose(rows.y_proba, [softmax(x) for x in logs], rtol=1e-12)
    assert rows.columns["task"].tolist() == ["arc"] * 40 and rows.columns["id"][7] == "arc/7"
    found = cal.evaluate_file(file, measures=["ece", "brier"])
    assert any("lm-evaluation-harness sample log" in line for line in found.inferred)
    assert any("targets are indices of the choices" in line for line in found.inferred)
    assert math.isclose(found["brier"], cal.brier_score(golds, rows.y_proba), rel_tol=1e-12)


def test_texts_as_targets_and_numbers_as_leaves(tmp_path: Path) -> None:
    file, golds, _ = lm_log(tmp_path, "arc", [3] * 20)
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    for i, (row, gold) in enumerate(zip(rows, golds, strict=True)):
        row["target"] = f"choice {gold} of {i}"
        row["filtered_resps"] = [[float(log), True] for log, _ in row["filtered_resps"]]
    file.write_text("\n".join(map(json.dumps, rows)))
    read = cal.read_file(file)
    assert read.y_true.tolist() == golds
    assert any("texts of the choices" in line for line in read.inferred)


def test_numbers_among_the_choices_are_told_from_indices_by_acc(tmp_path: Path) -> None:
    """The choices "1" and "0": target "1" is the text of the first and the index of the second."""
    file = tmp_path / NAME.format("numbers")
    rows = []
    for i, logs in enumerate([[-1.0, -2.0], [-2.0, -1.0]]):
        row = document(i, 2, 1, logs, acc=1.0 if i == 0 else 0.0)
        row["arguments"] = {
            "gen_args_0": {"arg_0": "", "arg_1": "1"},
            "gen_args_1": {"arg_0": "", "arg_1": "0"},
        }
        rows.append(row)
    file.write_text("\n".join(map(json.dumps, rows)))
    assert cal.read_file(file).y_true.tolist() == [0, 0]
    for row in rows:
        del row["acc"]
    file.write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(cal.InputError, match="could be indices or texts"):
        cal.read_file(file)


def test_different_numbers_of_choices_are_judged_by_the_likeliest(tmp_path: Path) -> None:
    file, golds, logs = lm_log(tmp_path, "arc", [3, 4, 5] * 10)
    other, more_golds, more_logs = lm_log(tmp_path, "boolq", [2] * 10)
    rows = cal.read_file([file, other])
    right = [
        int(np.argmax(x)) == g for x, g in zip(logs + more_logs, golds + more_golds, strict=True)
    ]
    assert rows.y_true.tolist() == right
    np.testing.assert_allclose(rows.y_proba, [softmax(x).max() for x in logs + more_logs])
    assert any("2 to 5 choices" in line for line in rows.inferred)
    with pytest.raises(cal.InputError, match="a list of 4, but other rows have 3"):
        cal.read_file(file, y_true="target", y_proba="probs")


def test_targets_that_name_no_choice_are_judged_by_acc(tmp_path: Path) -> None:
    file = tmp_path / NAME.format("winogrande")
    rows = [document(i, 2, "the end", [-1.0, -3.0 - i], acc=float(i % 2)) for i in range(4)]
    file.write_text("\n".join(map(json.dumps, rows)))
    read = cal.read_file(file)
    assert read.y_true.tolist() == [0, 1, 0, 1] and read.y_proba.ndim == 1
    assert "line 1: target 'the end' is no choice" in read.inferred
    for row in rows:
        del row["acc"]
    file.write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(cal.InputError, match="line 1: target is 'the end', which is neither"):
        cal.read_file(file)


def test_one_target_that_is_no_choice_is_named(tmp_path: Path) -> None:
    file, golds, logs = lm_log(tmp_path, "arc", [4] * 6)
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    for row, gold, log in zip(rows, golds, logs, strict=True):
        row["acc"] = float(int(np.argmax(log)) == gold)
    rows[3]["target"] = "9"
    file.write_text("\n".join(map(json.dumps, rows)))
    assert "line 4: target '9' is no choice" in cal.read_file(file).inferred


def test_filters_are_kept_apart(tmp_path: Path) -> None:
    file, golds, _ = lm_log(tmp_path, "arc", [4] * 6)
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    both = [{**row, "filter": name} for name in ("strict", "loose") for row in rows]
    file.write_text("\n".join(map(json.dumps, both)))
    with pytest.raises(cal.InputError, match=r"filters 'strict', 'loose'.*filter='strict'"):
        cal.evaluate_file(file)
    assert cal.read_file(file, filter="loose").y_true.tolist() == golds
    with pytest.raises(cal.InputError, match="no filter 'lose': did you mean 'loose'"):
        cal.read_file(file, filter="lose")
    told = run("report", file)
    assert told.returncode == 3 and "--filter strict" in told.stderr
    assert run("report", file, "--filter", "loose", "--measures", "ece").returncode == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"filtered_resps": ["the answer is 3"]}, "line 2: filtered_resps holds text"),
        ({"filtered_resps": [["-1.0", "True"]]}, "line 2: filtered_resps holds one log-likelihood"),
        ({"filtered_resps": [["x", "True"], ["-1", "True"]]}, r"filtered_resps\[0\] is 'x'"),
        ({"filtered_resps": [["nan", ""], ["-1", ""]]}, "which is not a log-likelihood"),
        ({"filtered_resps": []}, "line 2 has no filtered_resps"),
        ({"filtered_resps": [["-inf", ""], ["-inf", ""]]}, "every choice has the log-likelihood"),
        ({"acc": 1.0, "target": "0", "filtered_resps": [["-9", ""], ["-1", ""]]}, None),
    ],
)
def test_odd_records(tmp_path: Path, change: dict[str, Any], words: str | None) -> None:
    file = tmp_path / NAME.format("odd")
    rows = [document(i, 2, 0, [-1.0, -2.0]) for i in range(3)]
    rows[1] |= change
    file.write_text("\n".join(map(json.dumps, rows)))
    if words is None:  # acc says otherwise than the target: the harness is believed
        assert cal.read_file(file).y_true.tolist() == [1, 1, 1]
        return
    with pytest.raises(cal.InputError, match=words):
        cal.read_file(file)


def test_logs_may_be_packed_and_read_as_records(tmp_path: Path) -> None:
    file, golds, _ = lm_log(tmp_path, "arc", [4] * 6)
    packed = tmp_path / (NAME.format("arc") + ".gz")
    packed.write_bytes(gzip.compress(file.read_bytes()))
    assert cal.read_file(packed, columns="task").columns["task"].tolist() == ["arc"] * 6
    with pytest.raises(cal.InputError, match="y_proba is not given"):
        cal.read_file(file, format="jsonl")
    assert cal.read_file(packed, format="lm-eval").y_true.tolist() == golds
    with pytest.raises(cal.InputError, match="filter is for logs"):
        cal.read_file(REAL, filter="none")


def test_report_slices_by_task(tmp_path: Path) -> None:
    for task in ("law", "math"):
        lm_log(tmp_path, task, [4] * 30)
    done = run("report", tmp_path / "samples_*.jsonl", "--json", "--measures", "ece")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["slices"]["by"] == "task" and "slices by 'task'" in " ".join(found["inferred"])


def test_a_log_that_is_read_again_is_described_to_its_reader(tmp_path: Path) -> None:
    path = lm_log(tmp_path, "quiz", [4] * 30)[0]
    assert any("format='jsonl' reads" in line for line in cal.evaluate_file(path).inferred)
    assert "--format jsonl reads" in run("report", path, "--measures", "ece").stdout
    assert any("format='jsonl' reads" in line for line in cal.evaluate_file(path).inferred)


def test_runs_of_one_evaluation_are_not_more_rows(tmp_path: Path) -> None:
    file, *_ = lm_log(tmp_path, "law", [4] * 40)
    lm_log(tmp_path, "math", [4] * 40)
    assert cal.read_file(tmp_path).y_proba.shape == (80, 4)  # other documents of the same number
    text = file.read_text()
    again = tmp_path / "samples_law_2026-02-03T03-04-05.678901.jsonl"
    again.write_text(text)
    for read in (cal.read_file, cal.evaluate_file):
        with pytest.raises(
            cal.InputError, match=rf"'law/0' is in .*{file.name} and in .*{again.name}"
        ):
            read(tmp_path)
    done = run("check", tmp_path, "--max", "ece=0.9")
    assert done.returncode == 3 and "choose the files of one run" in done.stderr
    file.write_text(text + text)
    with pytest.raises(cal.InputError, match=r"'law/0' is in .* twice, at line 1 and line 41"):
        cal.read_file(file)


def test_runs_of_inspect_are_not_more_rows(tmp_path: Path) -> None:
    samples = [sample(i, confidence=0.6) for i in range(40)]
    plain_eval(tmp_path / "a.eval", samples)
    plain_eval(tmp_path / "b.eval", samples)
    with pytest.raises(cal.InputError, match=r"'t/0/1' is in .*a\.eval and in .*b\.eval"):
        cal.read_file(tmp_path)
    plain_eval(tmp_path / "b.eval", [sample(i, 2, confidence=0.7) for i in range(40)])
    assert cal.read_file(tmp_path).y_true.size == 80
    plain_eval(tmp_path / "b.eval", samples, model="other")
    done = run("check", tmp_path, "--max", "brier=0.9", "--json")
    assert "clusters are 'sample'" in " ".join(json.loads(done.stdout)["inferred"])


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_samples_of_one_name_are_rows_or_told(tmp_path: Path) -> None:
    """A resumed evaluation writes a sample again, under its name; other samples are other rows."""
    file = tmp_path / "log.eval"
    samples = [sample(i, value="CI"[i % 2], confidence=0.6 + i / 10) for i in range(3)]
    with zipfile.ZipFile(file, "w") as log:
        for each in [sample(0, value="I", confidence=0.1), *samples]:
            log.writestr("samples/x.json", json.dumps(each))
        log.writestr("header.json", json.dumps({"eval": {"task": "t", "model": "m"}}))
    rows = cal.read_file(file)
    assert rows.y_true.tolist() == [1, 0, 1]
    assert rows.y_proba.tolist() == pytest.approx([0.6, 0.7, 0.8])
    assert "1 sample logged more than once: the last entry counts" in rows.inferred
    assert not any("again" in line for line in cal.read_file(REAL).inferred)


def plain_eval(
    file: Path, samples: list[dict[str, Any]], header: bool = True, model: str = "m"
) -> Path:
    with zipfile.ZipFile(file, "w") as log:
        for sample in samples:
            name = f"samples/{sample['id']}_epoch_{sample['epoch']}.json"
            log.writestr(name, json.dumps(sample))
        if header:
            log.writestr("header.json", json.dumps({"eval": {"task": "t", "model": model}}))
    return file


def sample(i: int, epoch: int = 1, value: Any = "C", **metadata: Any) -> dict[str, Any]:
    return {"id": i, "epoch": epoch, "scores": {"judge": {"value": value, "metadata": metadata}}}


def test_a_real_inspect_log() -> None:
    rows = cal.read_file(REAL, columns=["sample", "epoch", "model"])
    assert rows.y_true.tolist() == [1, 0, 0.5, 1, 1, 1, 0, 0]
    assert rows.y_proba.tolist() == [0.9, 0.7, 0.55, 0.95] * 2
    assert rows.columns["sample"].tolist() == [f"tiny/{i}" for i in (1, 2, 3, 4)] * 2
    assert rows.columns["epoch"].tolist() == [1] * 4 + [2] * 4
    assert any("Inspect AI log" in line for line in rows.inferred)
    assert any("y_proba is 'judged.metadata.confidence'" in line for line in rows.inferred)


def test_epochs_are_clusters() -> None:
    done = run("report", REAL, "--json", "--measures", "brier")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["recipe"]["grouped"] and "epochs of a sample" in " ".join(found["inferred"])
    done = run("check", REAL, "--max", "brier=0.9", "--json")
    assert "epochs of a sample" in " ".join(json.loads(done.stdout)["inferred"])


def test_json_logs_say_the_same(tmp_path: Path) -> None:
    samples = [
        sample(i, e, "C" if (i + e) % 2 else "I", confidence=0.6) for e in (1, 2) for i in (1, 2)
    ]
    log = {"version": 2, "status": "success", "eval": {"task": "t"}, "samples": samples}
    for indent in (None, 2):
        file = tmp_path / f"log{indent}.json"
        file.write_text(json.dumps(log, indent=indent))
        zipped = plain_eval(tmp_path / f"log{indent}.eval", samples)
        both = [cal.read_file(each) for each in (file, zipped)]
        assert both[0].y_true.tolist() == both[1].y_true.tolist() == [0, 1, 1, 0]


@pytest.mark.parametrize(
    ("value", "correct"),
    [("C", 1), ("I", 0), ("P", 0.5), ("N", 0), (True, 1), (0.25, 0.25), ("yes", 1), ("False", 0),
     ("0.75", 0.75), ({"score": "C", "confidence": 3}, 1)],
)  # fmt: skip
def test_values_become_numbers_as_inspect_has_it(
    tmp_path: Path, value: Any, correct: float
) -> None:
    file = plain_eval(
        tmp_path / "log.eval",
        [sample(1, value=value, confidence=0.5), sample(2, value="I", confidence=0.1)],
    )
    read = cal.read_file(file, y_proba="judge.metadata.confidence")
    assert read.y_true.tolist() == [correct, 0]


def test_inspect_errors(tmp_path: Path) -> None:
    def refused(samples: list[dict[str, Any]], words: str, **options: Any) -> None:
        file = plain_eval(tmp_path / "log.eval", samples)
        with pytest.raises(cal.InputError, match=words):
            cal.evaluate_file(file, **options)

    fine = sample(1, confidence=0.5)
    refused([fine, sample(2, confidence=80)], r"sample 2, epoch 1: y_proba\[1\] is 80")
    refused([fine, sample(2, value="odd", confidence=0.5)], "sample 2, epoch 1: y_true is 'odd'")
    refused([fine, sample(2)], "sample 2, epoch 1: y_proba is missing")
    refused([fine, {"id": 2, "epoch": 1, "error": {}}], "sample 2, epoch 1: y_")
    refused([sample(1, surety=0.5)], "no score has a confidence.*'judge.metadata.surety'")
    refused([sample(1, confidence=0.5, prob=0.4)], "several confidences: choose one with y_true=")
    assert cal.read_file(
        plain_eval(tmp_path / "log.eval", [sample(1, surety=50)]),
        y_proba="judge.metadata.surety",
        percent=True,
    ).y_true.tolist() == [1]
    with pytest.raises(cal.InputError, match=r"neither header\.json nor samples"):
        cal.read_file(plain_eval(tmp_path / "other.eval", [fine], header=False))
    (tmp_path / "bad.eval").write_bytes(b"PK not a zip")
    with pytest.raises(cal.InputError, match=r"bad\.eval"):
        cal.read_file(tmp_path / "bad.eval")
    whole = REAL.read_bytes()
    (tmp_path / "cut.eval").write_bytes(whole.replace(whole[100:110], bytes(10), 1))
    with pytest.raises(cal.InputError, match=r"cut\.eval"):
        cal.read_file(tmp_path / "cut.eval")
    header = {"version": 2, "status": "success", "eval": {}}
    (tmp_path / "head.json").write_text(json.dumps(header, indent=1))
    with pytest.raises(cal.InputError, match="Inspect log without samples"):
        cal.read_file(tmp_path / "head.json")


@pytest.mark.parametrize("mass", [0.4137, 0.5, 1.2, float("nan")])
def test_a_probability_is_no_correctness(tmp_path: Path, mass: float) -> None:
    """In truthfulqa_mc2 several choices are right, and acc is the probability of all of them."""
    file = tmp_path / NAME.format("truthfulqa_mc2")
    rows = [document(i, 4, 0, [-1.0, -2.0, -3.0, -4.0], acc=1.0) for i in range(3)]
    rows.append(document(3, 4, 0, [-1.0, -2.0, -3.0, -4.0], acc=mass))
    file.write_text("\n".join(map(json.dumps, rows)) + "\n")
    with pytest.raises(cal.InputError, match=r"line 4: acc is .*truthfulqa_mc2"):
        cal.read_file(file)
    done = run("report", file)
    assert done.returncode == 3 and "this log has no correctness" in done.stderr


def test_scores_that_are_shares_are_told(tmp_path: Path) -> None:
    rows = [sample(i, value=value, confidence=0.6) for i, value in enumerate([1, 0, 0.37, 1])]
    found = cal.read_file(plain_eval(tmp_path / "log.eval", rows)).inferred
    assert any("judge has scores between 0 and 1, such as 0.37" in line for line in found)
    rows = [sample(i, value=value, confidence=0.6) for i, value in enumerate("CIPC")]
    found = cal.read_file(plain_eval(tmp_path / "log.eval", rows)).inferred
    assert not any("between 0 and 1" in line for line in found)


HUGE = 10**400


def read_or_refused(file: Path, **options: Any) -> str:
    """How many rows were read, or what the error says; any other error is one of ours."""
    try:
        return f"{cal.evaluate_file(file, **options).recipe['n']} rows"
    except cal.InputError as error:
        return str(error)


@pytest.mark.parametrize(
    "odd",
    [{"arguments": 5}, {"arguments": "text"}, {"arguments": None}, {"arguments": [5]},
     {"arguments": {"gen_args_0": 5}}, {"acc": HUGE}, {"acc": -HUGE}, {"metrics": 5},
     {"metrics": [5, None, {}]}, {"doc_id": {"a": 1}}, {"doc_id": HUGE}, {"target": HUGE},
     {"target": [1]}, {"target": {"a": 1}}, {"filter": 5}, {"filter": ["a"]},
     {"filtered_resps": [[HUGE, ""], [-1, ""]]}, {"filtered_resps": [[-HUGE, ""], [-1, ""]]},
     {"filtered_resps": [["1" * 400, ""], ["-1", ""]]}, {"filtered_resps": [[None], [True]]},
     {"filtered_resps": {"a": 1}}, {"filtered_resps": 5}],
    ids=lambda odd: json.dumps(odd)[:40],
)  # fmt: skip
@pytest.mark.parametrize("more", [{}, {"by": "task"}])
def test_odd_documents_are_rows_or_errors(
    tmp_path: Path, odd: dict[str, Any], more: dict[str, Any]
) -> None:
    file = tmp_path / NAME.format("odd")
    rows = [document(i, 2, i % 2, [-1.0, -2.0]) for i in range(4)]
    rows[2] |= odd
    file.write_text("\n".join(map(json.dumps, rows)) + "\n")
    said = read_or_refused(file, **more)
    assert said == "4 rows" or "line 3" in said or "filter" in said
    assert len(said) < 1000


@pytest.mark.parametrize("name", ["id", "sample", "epoch", "task", "model", "metadata"])
def test_scorers_with_names_of_our_columns(tmp_path: Path, name: str) -> None:
    samples = [sample(i, value="CI"[i % 2], confidence=0.6) for i in range(4)]
    for each in samples:
        each["scores"] = {name: each["scores"]["judge"]}
    file = plain_eval(tmp_path / "log.eval", samples)
    rows = cal.read_file(file, columns=["id", "task", "model"])
    assert rows.y_true.tolist() == [1, 0, 1, 0] and rows.y_proba.tolist() == [0.6] * 4
    assert rows.columns["id"].tolist() == [f"t/{i}/1" for i in range(4)]
    assert any(f"y_true is '{name}_scorer.correct'" in line for line in rows.inferred)


@pytest.mark.parametrize("name", ["openai/gpt-4.1", "v1.2.3", "judge.correct"])
@pytest.mark.parametrize("kind", ["eval", "json"])
def test_scorers_with_dots_in_their_names(tmp_path: Path, name: str, kind: str) -> None:
    samples = [sample(i, value="CI"[i % 2], confidence=0.6, **{"p.no": 0.3}) for i in range(4)]
    for each in samples:
        each["scores"] = {name: each["scores"]["judge"]}
    file = tmp_path / f"log.{kind}"
    if kind == "eval":
        plain_eval(file, samples)
    else:
        log = {"version": 2, "status": "success", "eval": {"task": "t"}, "samples": samples}
        file.write_text(json.dumps(log))
    rows = cal.read_file(file)
    assert rows.y_true.tolist() == [1, 0, 1, 0] and rows.y_proba.tolist() == [0.6] * 4
    other = cal.read_file(file, y_proba=f"{name}.metadata.p.no")
    assert other.y_true.tolist() == [1, 0, 1, 0] and other.y_proba.tolist() == [0.3] * 4


@pytest.mark.parametrize(
    "odd",
    [{"id": HUGE}, {"id": [1]}, {"id": {"a": 1}}, {"id": None}, {"epoch": HUGE}, {"epoch": [1]},
     {"epoch": {"a": 1}}, {"epoch": "2"}, {"metadata": 5}, {"metadata": {"confidence": HUGE}},
     {"scores": 5}, {"scores": {"judge": 5}}, {"scores": {"judge": {"value": HUGE}}},
     {"scores": {"judge": {"value": int("1" * 700), "metadata": {"confidence": 0.5}}}},
     {"scores": {"judge": {"value": "C", "metadata": {"confidence": HUGE}}}},
     {"scores": {"judge": {"value": {"score": [1]}, "metadata": {"confidence": {"a": 1}}}}},
     {"scores": {"judge": {"value": "C", "metadata": 5}}}],
    ids=lambda odd: str(odd)[:40],
)  # fmt: skip
@pytest.mark.parametrize("model", ["m", ["m"], {"name": "m"}, 5])
def test_odd_samples_are_rows_or_errors(tmp_path: Path, odd: Any, model: Any) -> None:
    samples = [sample(i, value="CI"[i % 2], confidence=0.6) for i in range(4)]
    samples[2] |= odd
    file = tmp_path / "log.eval"
    with zipfile.ZipFile(file, "w") as log:
        for i, each in enumerate(samples):
            log.writestr(f"samples/{i}_epoch_1.json", json.dumps(each))
        log.writestr("header.json", json.dumps({"eval": {"task": "t", "model": model}}))
    said = read_or_refused(file, missing="drop")
    assert said in ("3 rows", "4 rows") or "sample" in said
    assert len(said) < 1500


def test_transcripts_are_read_one_at_a_time(tmp_path: Path) -> None:
    """All together would be some 50 MB in memory, from a file of 200 kB."""
    import tracemalloc

    file = tmp_path / "log.eval"
    words = ["word"] * 30_000
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as log:
        for i in range(12):
            each = sample(i, value="CI"[i % 2], confidence=0.6, words=words)
            each |= {"messages": words, "metadata": {"transcript": "x" * 300_000}}
            each["scores"]["judge"]["answer"] = "y" * 300_000
            log.writestr(f"samples/{i}_epoch_1.json", json.dumps(each))
        log.writestr("header.json", json.dumps({"eval": {"task": "t", "model": "m"}}))
    assert file.stat().st_size < 200_000
    tracemalloc.start()
    rows = cal.read_file(file, columns=["judge.answer"])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(rows.y_true) == 12 and peak < 20e6
    assert rows.columns["judge.answer"][0].startswith("yyyy")
    assert len(rows.columns["judge.answer"][0]) < 300


def test_a_sample_without_bounds(tmp_path: Path, set_limits: SetLimits) -> None:
    set_limits(largest_log_sample=1 << 20)
    file = plain_eval(tmp_path / "log.eval", [sample(1, confidence=0.5, text="x" * (3 << 20))])
    with pytest.raises(cal.InputError, match=r"_epoch_1\.json has 3 MiB when decompressed"):
        cal.read_file(file)


def texts_log(folder: Path, task: str, n: int = 40, **more: Any) -> tuple[Path, list[Any]]:
    """A log with texts of several lengths; the harness's acc_norm is by characters."""
    rng = np.random.default_rng(len(task))
    kinds, rows = ["no", "a long answer", "n\N{LATIN SMALL LETTER E WITH ACUTE} oui"], []
    for _ in range(n):
        texts = [f"{kinds[c]}{j}" for j, c in enumerate(rng.integers(0, 3, 3))]
        logs, gold = (-rng.random(3) * 9 - 1).tolist(), int(rng.integers(0, 3))
        norm = [log / len(text) for log, text in zip(logs, texts, strict=True)]
        rows.append((gold, logs, texts, float(norm.index(max(norm)) == gold)))
    records = [
        {
            **document(i, 3, gold, logs),
            "arguments": [["Q", f" {text}"] for text in texts],
            "metrics": ["acc", "acc_norm"],
            "acc": float(logs.index(max(logs)) == gold),
            "acc_norm": right,
            **more,
        }
        for i, (gold, logs, texts, right) in enumerate(rows)
    ]
    file = folder / f"samples_{task}_2026-01-02T03-04-05.678901.jsonl"
    file.write_text("\n".join(map(json.dumps, records)))
    return file, rows


@pytest.mark.parametrize("unit", ["characters", "bytes"])
def test_log_likelihoods_divided_by_lengths(tmp_path: Path, unit: str) -> None:
    file, rows = texts_log(tmp_path, "arc")
    found = cal.read_file(file, acc_norm=unit)
    assert any("flatter than the model's own" in text for text in found.inferred)
    assert not any("above 0" in text for text in found.inferred)
    for (gold, logs, texts, right), y, p in zip(rows, found.y_true, found.y_proba, strict=True):
        sizes = [len(t) if unit == "characters" else len(t.encode()) for t in texts]
        np.testing.assert_allclose(p, softmax([a / b for a, b in zip(logs, sizes, strict=True)]))
        assert y == gold
        if unit == "characters":
            assert float(p.argmax() == gold) == right
    assert any(f"divided by its length in {unit}" in line for line in found.inferred)
    assert not np.allclose(found.y_proba, cal.read_file(file).y_proba)


def test_lengths_that_cannot_be_used(tmp_path: Path) -> None:
    file, _ = texts_log(tmp_path, "arc", acc_norm=1.0)
    with pytest.raises(
        cal.InputError, match=r"line .*: acc_norm is 1, but by log-likelihoods divid"
    ):
        cal.read_file(file, acc_norm="characters")
    file, _ = texts_log(tmp_path, "bare", arguments=[])
    with pytest.raises(cal.InputError, match="needs the texts of the choices"):
        cal.read_file(file, acc_norm="bytes")
    with pytest.raises(cal.InputError, match="acc_norm"):
        cal.read_file(file, acc_norm="words")


def test_tasks_without_a_confidence_are_skipped_by_name(tmp_path: Path) -> None:
    texts_log(tmp_path, "arc", 40)
    texts_log(tmp_path, "piqa", 50)
    generated = {"doc_id": 0, "target": "4", "filter": "none", "filtered_resps": ["4"]}
    (tmp_path / "samples_aime_2026-01-02T03-04-05.678901.jsonl").write_text(json.dumps(generated))
    line = "the task aime is skipped: its answers are generated, without log-likelihoods"
    rows = cal.read_file(tmp_path, columns="task")
    assert rows.y_true.size == 90 and line in rows.inferred
    assert cal.read_file(tmp_path, task="arc").y_true.size == 40
    assert cal.evaluate_file(tmp_path, skip=["piqa", "aime"]).recipe["n"] == 40
    result = run("report", tmp_path, "--skip", "piqa", "--measures", "ece")
    assert result.returncode == 0 and line in result.stdout and ": 40 rows" in result.stdout
    with pytest.raises(cal.InputError, match="filtered_resps holds text"):
        cal.read_file(tmp_path, task="aime")
    with pytest.raises(cal.InputError, match="filtered_resps holds text"):
        cal.read_file(tmp_path, skip=["arc", "piqa"])
    with pytest.raises(cal.InputError, match=r"no log has the task 'arq': did you mean 'arc'\?"):
        cal.read_file(tmp_path, skip="arq")
    with pytest.raises(cal.InputError, match="skip leaves out all of them"):
        cal.read_file(tmp_path, skip=["arc", "piqa", "aime"])
    file = tmp_path / "samples_piqa_2026-01-02T03-04-05.678901.jsonl"
    file.write_text(file.read_text()[:-9])  # damaged, and no task that has no confidence
    with pytest.raises(cal.InputError, match="is not JSON"):
        cal.read_file(tmp_path)


def test_answers_of_several_models_are_not_taken_for_one(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    rows = [
        {"model": m, "id": i, "correct": i % 2, "confidence": 0.5} for m in "ab" for i in range(9)
    ]
    file.write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(cal.InputError, match="holds answers of 2 models, by the column 'model'"):
        cal.evaluate_file(file)
    with pytest.raises(cal.InputError, match="columns='model' of read_file"):
        cal.read_file(file)
    assert cal.evaluate_file(file, by="model").recipe["n"] == 18
    assert cal.read_file(file, columns="model").y_true.size == 18
    assert "--model-column model --id ID" in run("report", file).stderr
    compared = run("compare", file, "--model-column", "model", "--id", "id", "--measures", "ece")
    assert compared.returncode == 0
    file.write_text("\n".join(json.dumps({**row, "model": "a"}) for row in rows))
    assert cal.evaluate_file(file).recipe["n"] == 18
    with pytest.raises(cal.InputError, match="task is for logs of evaluations"):
        cal.read_file(file, task="arc")
    with pytest.raises(cal.InputError, match="acc_norm is for logs of lm-evaluation-harness"):
        cal.read_file(file, acc_norm="bytes")
