"""The newest window as OpenMetrics text, read by a strict parser of the standard's grammar."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import calibrant as cal
from monitored import DAY, OUTCOMES, REPORTS, SECONDS
from needs import need

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"'
NUMBER = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|[+-]?(?:Inf|inf)(?:inity)?|NaN"
SAMPLE = re.compile(rf"({NAME})(?:\{{((?:{LABEL})(?:,{LABEL})*)\}})? ({NUMBER})")


def parse(text):
    """Families of OpenMetrics 1.0.0: metadata first and once, families not interleaved, samples of
    their own family, no label set twice, one end of file and nothing after it.
    """
    assert text.endswith("# EOF\n") and text.count("# EOF") == 1 and "\r" not in text
    families, current, begun = {}, None, False
    for line in text.removesuffix("# EOF\n").splitlines():
        assert line == line.strip() and line
        if line.startswith("#"):
            kind, name, rest = re.fullmatch(
                rf"# (TYPE|UNIT|HELP) ({NAME})(?: (.*))?", line
            ).groups()
            if name != current:
                assert name not in families and kind == "TYPE" and rest == "gauge"
                families[name], current, begun = {"samples": {}}, name, False
            assert kind not in families[name] and not begun
            assert kind != "UNIT" or name.endswith("_" + rest)
            assert kind != "HELP" or re.fullmatch(r'(?:[^\\"]|\\[\\"n])*', rest)
            families[name][kind] = rest
            continue
        match = SAMPLE.fullmatch(line)
        assert match, line
        name, labels = match[1], match[2] or ""
        assert name == current and {"TYPE", "HELP"} <= families[name].keys()
        pairs = re.findall(LABEL, labels)
        unescaped = {
            key: re.sub(r"\\(.)", lambda m: {"n": "\n"}.get(m[1], m[1]), value)
            for key, value in pairs
        }
        assert len(unescaped) == len(pairs)
        key = frozenset(unescaped.items())
        assert key not in families[name]["samples"]
        families[name]["samples"][key] = float(match[match.lastindex])
        begun = True
    assert all(family["samples"] for family in families.values())
    return families


def key(**labels):
    return frozenset(labels.items())


def test_the_newest_window_is_what_the_table_says():
    table = cal.Monitor().update(OUTCOMES, REPORTS, time=SECONDS).evaluate(baseline=2)
    families, latest = parse(table.to_openmetrics()), table.latest
    for name in ("mean_predicted", "mean_target", "noise_95", "e_value", "shift", "p_change"):
        assert families[f"calibrant_{name}"]["samples"] == {key(): getattr(latest, name)}
    assert "calibrant_e_change" not in families  # not known, beside windows that move
    measures = families["calibrant_measure"]["samples"]
    assert measures == {key(measure=name): value for name, value in latest.values.items()}
    start = families["calibrant_window_start_seconds"]
    assert start["samples"] == {key(): latest.start.timestamp()} and start["UNIT"] == "seconds"
    alarm = float(table.alarm is not None)
    assert families["calibrant_alarm"]["samples"] == {key(kind="calibration"): alarm}


@pytest.mark.parametrize("name", ['a "quoted" one', "back\\slash\\", "two\nlines", "", "ü\ud800"])
def test_labels_of_any_text(name):
    by = np.where(np.arange(3000) % 2, name, "plain")
    y = np.where(np.arange(3000) % 2, 1 - (REPORTS > 0.5), OUTCOMES)
    monitor = cal.Monitor(by="country").update(y, REPORTS, time=SECONDS, by=by)
    table = monitor.evaluate(baseline=(None, SECONDS.min() // DAY * DAY + DAY))
    families = parse(table.to_openmetrics(model=name))
    shown = name.replace("\ud800", "\ufffd")
    rows = families["calibrant_window_rows"]["samples"]
    names = {dict(each).get("slice") for each in rows}
    assert {shown if each == name else each for each in {row.name for row in table.slices}} == (
        names - {None}
    )
    assert {dict(each)["model"] for each in rows} == {shown}
    assert rows[key(model=shown, scope="all")] == table.latest.n
    alarms = families["calibrant_alarm"]["samples"]
    assert all(value in (0, 1) for value in alarms.values())
    assert key(model=shown, scope="all", kind="change") in alarms


def test_the_parser_of_prometheus_reads_the_same():
    parser = need("prometheus_client.openmetrics.parser")
    monitor = cal.Monitor(by="c").update(
        OUTCOMES, REPORTS, time=SECONDS, by=np.where(np.arange(3000) % 2, 'a "b"\\\n', "c")
    )
    text = monitor.evaluate().to_openmetrics(model="m")
    mine = parse(text)
    for family in parser.text_string_to_metric_families(text):
        theirs = {frozenset(each.labels.items()): each.value for each in family.samples}
        assert family.type == "gauge" and mine.pop(family.name)["samples"] == theirs
    assert not mine


def test_what_is_infinite_or_unknown():
    monitor = cal.Monitor(measures=["log_loss"]).update([0, 1], [1.0, 0.0], time=0)
    table = monitor.evaluate()
    families = parse(table.to_openmetrics())
    assert "calibrant_noise_95" not in families
    value = families["calibrant_measure"]["samples"][key(measure="log_loss")]
    assert value == table.latest.values["log_loss"] and not math.isnan(value)


def test_the_parser_of_these_tests_is_strict():
    for bad in (
        "",
        "# EOF",
        'a{b="c} 1\n# EOF\n',
        "a 1\n# EOF\n",
        "# EOF\n# EOF\n",
        "# TYPE a gauge\n# HELP a x\na one\n# EOF\n",
    ):
        with pytest.raises((AssertionError, AttributeError)):
            parse(bad)
