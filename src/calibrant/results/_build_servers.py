"""A check as build servers read it: JUnit XML, and the summary and annotations of GitHub."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Protocol
from xml.etree import ElementTree

from calibrant.results._rendering import as_markdown


class CheckedLimit(Protocol):
    """What this module reads of a checked limit (a `LimitCheck`)."""

    @property
    def limit(self) -> object: ...
    @property
    def where(self) -> str | None: ...
    @property
    def verdict(self) -> str: ...
    @property
    def sentence(self) -> str: ...


class CheckedLimits(Protocol):
    """What this module reads of a check (a `Check`): `rows` are its limits."""

    @property
    def rows(self) -> Sequence[CheckedLimit]: ...
    @property
    def notes(self) -> tuple[str, ...]: ...
    @property
    def verdict(self) -> str: ...
    @property
    def undecided_slices(self) -> str: ...
    def display_columns(self) -> dict[str, list[Any]]: ...


_SIGNS = {"pass": "✅", "fail": "❌", "undecided": "⚠️"}
_COMMANDS = {"fail": "error", "undecided": "warning"}
# Characters that XML 1.0 cannot hold, not even escaped.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(check: CheckedLimits, name: str) -> str:
    """The check as JUnit XML, a test per limit: a fail is a failure, undecided an error."""
    broken = sum(row.verdict == "fail" for row in check.rows)
    # An undecided slice that only warns is a test that was skipped.
    warns = check.undecided_slices == "warn"
    undecided = [row for row in check.rows if row.verdict == "undecided"]
    skipped = sum(warns and row.where is not None for row in undecided)
    unclear = len(undecided) - skipped
    suites, suite = _test_suite(name, len(check.rows), broken, unclear, skipped)
    for row in check.rows:
        skips = warns and row.where is not None
        _add_test_case(suite, row, _xml_text(name), "skipped" if skips else "error")
    out = ElementTree.SubElement(suite, "system-out")
    out.text = _xml_text("\n".join((*check.notes, *(row.sentence for row in check.rows))))
    return _xml_document(suites)


def junit_error(name: str, message: str) -> str:
    """The JUnit XML of a check that raised an error: one test, which has the error."""
    suites, suite = _test_suite(name, 1, 0, 1)
    name, message = _xml_text(name), _xml_text(message)
    case = ElementTree.SubElement(suite, "testcase", {"classname": name, "name": "check"})
    ElementTree.SubElement(case, "error", {"message": message, "type": "not done"}).text = message
    return _xml_document(suites)


def _test_suite(
    name: str, tests: int, failures: int, errors: int, skipped: int = 0
) -> tuple[ElementTree.Element, ElementTree.Element]:
    """The root element of a JUnit file, and its one test suite, without tests yet.

    Both have the numbers of tests, failures and errors as attributes.
    """
    counts = {"tests": str(tests), "failures": str(failures), "errors": str(errors)}
    suites = ElementTree.Element("testsuites", counts)
    own = {"name": _xml_text(name), **counts, "skipped": str(skipped)}
    return suites, ElementTree.SubElement(suites, "testsuite", own)


def _xml_document(suites: ElementTree.Element) -> str:
    """The text of a JUnit file, indented, from its root element."""
    ElementTree.indent(suites)
    text = ElementTree.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _add_test_case(
    suite: ElementTree.Element, row: CheckedLimit, name: str, undecided: str
) -> None:
    """Add the test of one limit to a suite; `name` is that of the check.

    A limit that fails gets a failure, an undecided one what `undecided` says, and a limit that
    passes neither.
    """
    title = f"{row.limit}" + (f" ({row.where})" if row.where else "")
    case = ElementTree.SubElement(suite, "testcase", {"classname": name, "name": _xml_text(title)})
    if row.verdict == "pass":
        return
    kind = "failure" if row.verdict == "fail" else undecided
    message = _xml_text(row.sentence)
    ElementTree.SubElement(case, kind, {"message": message, "type": row.verdict}).text = message


def _xml_text(text: str) -> str:
    """Replace each character of a text that XML cannot hold by U+FFFD."""
    return _NOT_XML.sub("\ufffd", text)


def github_summary(check: CheckedLimits, name: str) -> str:
    """The check as Markdown, for the summary of a job on GitHub: table, notes and sentences."""
    heading = " ".join(name.split()).replace("<", "&lt;")
    table = as_markdown(check.display_columns())
    lines = _markdown_list((*check.notes, *(row.sentence for row in check.rows)))
    return f"### {_SIGNS[check.verdict]} {heading}: {check.verdict}\n\n{table}\n\n{lines}\n"


def _markdown_list(lines: Iterable[str]) -> str:
    """A Markdown list of lines, with whitespace collapsed and HTML escaped."""
    return "\n".join(f"- {' '.join(line.split()).replace('<', '&lt;')}" for line in lines)


def github_annotations(check: CheckedLimits, name: str) -> str:
    """GitHub's workflow commands that annotate a job, a line for each limit that does not pass.

    A limit that fails is an error, an undecided one a warning. The text is empty if all limits
    pass.
    """
    return "\n".join(
        f"::{_COMMANDS[row.verdict]} title={_escape_property(f'{name}: {row.verdict}')}"
        f"::{_escape_message(row.sentence)}"
        for row in check.rows
        if row.verdict != "pass"
    )


def _escape_message(text: str) -> str:
    """Escape the message of a GitHub workflow command, so that it stays within its line."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    """Escape a property (the title) of a workflow command, where colons and commas end it."""
    return _escape_message(text).replace(":", "%3A").replace(",", "%2C")
