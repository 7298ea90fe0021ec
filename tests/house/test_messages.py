"""No module looks into the text of messages: errors and notes carry what programs need.

python tests/house/test_messages.py   # every place that does, and their number
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "calibrant"
# What messages are called.
MESSAGES = re.compile(
    r"(^|_)(note|notes|message|messages|inferred|caution|cautions|reason|sentence|sentences"
    r"|warning|told|said|fault|error|errors|why)$"
)
# Methods that look into a text, or make another one of it.
LOOKING = {
    "startswith", "endswith", "replace", "removeprefix", "removesuffix", "partition", "rpartition",
    "split", "rsplit", "find", "rfind", "index", "translate", "format",
}  # fmt: skip
PATTERNS = {"sub", "search", "match", "fullmatch", "findall", "finditer", "split"}


def places(source: Path = SOURCE) -> Iterator[str]:
    """Every place that looks into the text of a message, or makes another one of it."""
    for path in sorted(source.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if _looks_into_a_message(node):
                yield f"{path.relative_to(source)}:{node.lineno}: {ast.unparse(node)}"


def _looks_into_a_message(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=attr), args=args):
            return attr in PATTERNS and any(map(_is_message, args))
        case ast.Call(func=ast.Attribute(value=value, attr=attr)):
            return attr in LOOKING and _is_message(value)
        case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()], comparators=[right]):
            return _is_message(right) and _is_text(left)
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq()], comparators=[right]):
            # A note that is not there is empty: that much may be asked of it.
            return _is_message(left) and _is_text(right) and ast.unparse(right) != "''"
    return False


def _is_message(node: ast.AST) -> bool:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return MESSAGES.search(name) is not None
        case ast.Call(func=ast.Name(id="str"), args=[value]):
            return _is_message(value)
        case ast.Subscript(value=value):
            return _is_message(value)
    return False


def _is_text(node: ast.AST) -> bool:
    """Whether it is a text that stands in the source, or a constant, which may be one."""
    match node:
        case ast.Constant(value=str()) | ast.JoinedStr():
            return True
        case ast.Name(id=name):
            return name.isupper()
    return False


def test_nothing_looks_into_messages():
    assert list(places()) == []


def test_places_are_found(tmp_path):
    lines = (
        'note.startswith("multiclass")',
        'self.inferred[0].startswith("a")',
        '"x" in note',
        "ANSWERS in result.inferred",
        'str(error).replace("a", "b")',
        "re.sub(p, q, message)",
        'interval.note.partition(";")',
        "labels.note == COUNTED",
        '"x" not in str(error)',
    )
    for line in lines:
        (tmp_path / "module.py").write_text(line)
        assert len(list(places(tmp_path))) == 1, line
    for line in ("note.upper()", 'note != ""', "name in notes", "note in seen", "error is None"):
        (tmp_path / "module.py").write_text(line)
        assert not list(places(tmp_path)), line


if __name__ == "__main__":
    found = list(places())
    print(*found, f"{len(found)} places", sep="\n")
