"""`.eval_results`: what is written is what the Hub's own package reads, and writes."""

from __future__ import annotations

import datetime

import pytest

import calibrant as cal
from calibrant.integrations.hugging_face import eval_results
from needs import need

FOUND = {"ece": 0.123456789012345, "brier": 1e-7}
TASKS = {"ece": "calibration", "brier": "brier_score"}
SAID = {
    "revision": "5503434ddd753f426f4b38109466949a1217c2bb",
    "date": datetime.date(2026, 11, 19),
    "source": "https://huggingface.co/datasets/org/logs",
    "source_name": 'Logs: "all" # of them',
    "user": "someone",
    "org": "org",
    "notes": "no-tools: ja, naïve",
}


@pytest.mark.parametrize("said", [{}, SAID, {"source": "https://x.org"}])
def test_the_hub_s_package_reads_it_and_writes_the_same(said):
    hub, yaml = need("huggingface_hub"), need("yaml")
    written = yaml.safe_load(eval_results(FOUND, dataset="org/data", tasks=TASKS, **said))
    entries = hub.parse_eval_result_entries(written)
    assert [(each.dataset_id, each.task_id, each.value) for each in entries] == [
        ("org/data", TASKS[name], value) for name, value in FOUND.items()
    ]
    date = said["date"].isoformat() if "date" in said else None
    for each in entries:
        assert each.date == date
        assert each.dataset_revision == said.get("revision")
        assert (each.source_url, each.source_name) == (said.get("source"), said.get("source_name"))
        assert (each.source_user, each.source_org) == (said.get("user"), said.get("org"))
        assert each.notes == said.get("notes")
    assert hub.eval_result_entries_to_yaml(entries) == written


def test_the_result_of_evaluate():
    found = cal.evaluate([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], measures=["ece", "brier"])
    text = eval_results(found, dataset="d", tasks={"brier": "b"})
    assert need("yaml").safe_load(text) == [
        {"dataset": {"id": "d", "task_id": "b"}, "value": found["brier"]}
    ]


def test_what_cannot_be_written():
    with pytest.raises(cal.InputError, match="tasks names 'mce', and the evaluation has None"):
        eval_results(FOUND, dataset="d", tasks={"mce": "m"})
    with pytest.raises(cal.InputError, match="has nan"):
        eval_results({"ece": float("nan")}, dataset="d", tasks={"ece": "m"})
    with pytest.raises(cal.InputError, match="give the address too"):
        eval_results(FOUND, dataset="d", tasks=TASKS, user="someone")
