"""Evaluation results for a model's repository on the Hugging Face Hub: `.eval_results/*.yaml`.

The format is described in https://huggingface.co/docs/hub/eval-results and specified in
https://github.com/huggingface/hub-docs/blob/main/eval_results.yaml. It takes the place of
`model-index` in a model card. No package is needed to write it.
"""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Mapping

from calibrant._core.errors import InputError
from calibrant._core.validation import public
from calibrant.results import Evaluation


@public
def eval_results(
    evaluation: Evaluation | Mapping[str, float],
    *,
    dataset: str,
    tasks: Mapping[str, str],
    revision: str | None = None,
    date: str | datetime.date | None = None,
    source: str | None = None,
    source_name: str | None = None,
    user: str | None = None,
    org: str | None = None,
    notes: str | None = None,
) -> str:
    """Write measures as the text of a file in `.eval_results`.

    An entry of the file has one value; the benchmark's task defines what it measures.

    Parameters
    ----------
    evaluation : Evaluation or mapping of str to float
        The result of `evaluate`, or values by name.
    dataset : str
        The benchmark's dataset on the Hub, "cais/hle".
    tasks : mapping of str to str
        For each measure to write, its task in the dataset's `eval.yaml`.
    revision : str, optional
        The commit of the dataset.
    date : str or date, optional
        When the model was evaluated, in ISO 8601; the Hub takes the commit's time by default.
    source : str, optional
        Address of the source of the values: logs, a paper.
    source_name : str, optional
        The name that the Hub shows for `source`.
    user : str, optional
        The Hub's user to whom `source` belongs.
    org : str, optional
        The Hub's organisation to which `source` belongs.
    notes : str, optional
        How the model was run, such as "no-tools".

    Returns
    -------
    str
        YAML, for a file such as `.eval_results/hle.yaml`.

    Raises
    ------
    InputError
        If a measure has no finite value, or the source has a name but no address.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.integrations.hugging_face import eval_results
    >>> found = cal.evaluate([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], measures=["ece"], bins=10)
    >>> print(eval_results(found, dataset="org/benchmark", tasks={"ece": "calibration"}))
    - dataset:
        id: "org/benchmark"
        task_id: "calibration"
      value: 0.25
    <BLANKLINE>
    """
    credit = {"url": source, "name": source_name, "user": user, "org": org}
    if source is None and any(credit.values()):
        raise InputError(
            "source is None, and source_name, user or org is given: give the address too"
        )
    values = evaluation.values if isinstance(evaluation, Evaluation) else evaluation
    lines: list[str] = []
    for name, task in tasks.items():
        value = values.get(name)
        if value is None or not math.isfinite(value):
            raise InputError(f"tasks names {name!r}, and the evaluation has {value} for it")
        lines += _block("- dataset", {"id": dataset, "task_id": task, "revision": revision})
        number = repr(float(value))
        # To YAML 1.1, 1e-07 is a text.
        number = number if "." in number else number.replace("e", ".0e")
        lines.append(f"  value: {number}")
        if date is not None:
            day = date if isinstance(date, str) else date.isoformat()
            lines.append(f"  date: {json.dumps(day)}")
        lines += _block("  source", credit) if source is not None else []
        lines += [f"  notes: {json.dumps(notes)}"] if notes is not None else []
    return "\n".join(lines) + "\n"


def _block(name: str, texts: Mapping[str, str | None]) -> list[str]:
    """A YAML mapping of texts; JSON's quotes are YAML's."""
    given = {key: text for key, text in texts.items() if text is not None}
    return [f"{name}:", *(f"    {key}: {json.dumps(text)}" for key, text in given.items())]
