"""Models with labels of their own, such as whether their own answers were right."""

import numpy as np
import pandas as pd
import pytest

import calibrant as cal
from calibrant._cli import main
from calibrant._core.errors import InputError

rng = np.random.default_rng(1)
N = 200
CONFIDENCE = {name: rng.random(N).round(3) for name in ("gpt", "qwen")}
CORRECT = {name: (rng.random(N) < p).astype(int) for name, p in CONFIDENCE.items()}
FRAME = pd.DataFrame(
    {f"correct_{name}": CORRECT[name] for name in CORRECT}
    | {f"conf_{name}": CONFIDENCE[name] for name in CORRECT}
    | {"id": np.arange(N), "label": CORRECT["gpt"]}
)


def test_a_column_that_is_one_model_s_own_is_refused(tmp_path, capsys):
    path = tmp_path / "both.csv"
    FRAME.to_csv(path, index=False)
    for label, other in (("correct_gpt", "correct_qwen"), ("correct_qwen", "correct_gpt")):
        told = ("--label", label, "--models", "a=conf_gpt", "b=conf_qwen")
        assert main(["compare", str(path), *told]) == 3
        said = capsys.readouterr().err
        assert f"--label names the column '{label}'" in said and f"'{other}'" in said
        assert "evaluate each model by itself" in said
        with pytest.raises(InputError, match=f"{label}.*{other}.*evaluate each model by itself"):
            cal.compare(label, {"a": "conf_gpt", "b": "conf_qwen"}, data=FRAME)
    # Labels of the rows are everyone's.
    found = cal.compare("label", {"a": "conf_gpt", "b": "conf_qwen"}, data=FRAME)
    assert found.names == ("a", "b")


def test_labels_by_model_are_refused_with_the_way_to_go():
    with pytest.raises(InputError, match=r"y_true maps names .* evaluate each model by itself"):
        cal.compare(CORRECT, CONFIDENCE)


@pytest.mark.parametrize("column", ["correct", "grade.correct", "label"])
@pytest.mark.parametrize("more", [(), ("--id", "id")])
def test_files_with_correctness_of_their_own(tmp_path, capsys, column, more):
    paths = []
    for name, p in CONFIDENCE.items():
        paths.append(str(tmp_path / f"{name}.csv"))
        frame = pd.DataFrame({column: CORRECT[name], "confidence": p, "id": np.arange(N)})
        frame.to_csv(paths[-1], index=False)
    assert main(["compare", *paths, *more]) == 3
    said = capsys.readouterr().err
    assert "have different labels in" in said
    assert "evaluate each file by itself with calibrant report" in said
    # What a hint tells must not lead one model's confidence to another's labels.
    assert ("give the same labels" in said) == (column == "label")
