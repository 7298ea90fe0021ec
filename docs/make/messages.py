"""List every text that the program can print: messages, help, captions, pages.

python docs/make/messages.py          # file:line  text
python docs/make/messages.py _data    # of the files whose path has this in it

Texts are read from the code. Values appear as `{name}`, choices between two texts as `[a | b]`.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "calibrant"

_WORD = re.compile(r"[(\"'`\[]*[A-Za-z][a-z'’]*(?:-[a-z]+)*[)\"'`\],.;:!?]*")
_SLOT = re.compile(r"\$?\{[^{}]*\}")
# Texts for machines: queries, style sheets, regular expressions, drawings, policies.
_CODE = re.compile(
    r"(?i:^select\b.*\bfrom\b)|^SELECT\b|\w\{[a-z-]+:|\(\?[:<!=]|</?(?:svg|path)|default-src|^M\{"
)
# Calls whose texts nobody reads.
_UNREAD = {"compile", "sub", "match", "fullmatch", "search", "cast", "getLogger", "import_module"}
_SCRIPT_TEXT = re.compile(
    # Comments and regular expressions come first: their quotes begin no text.
    r"/\*.*?\*/|//[^\n]*|(?:(?<=\()|(?<=[=,:n] ))/(?![*/])(?:\\.|[^\\/\n])+/"
    r'|("(?:[^"\\\n]|\\.)*"|`(?:[^`\\$]|\\.|\$(?!\{)|\$\{(?:[^{}]|\{[^{}]*\})*\})*`)(\s*\+\s*)?',
    re.DOTALL,
)
_ATTRIBUTE = re.compile(r'\b(?:title|aria-label|placeholder|alt|content|data-what)="([^"]*)"')
_INLINE = re.compile(r"</?(?:a|abbr|b|code|em|i|strong|sub|sup)\b[^>]*>")


class Message(NamedTuple):
    """A text with the place where it is written."""

    file: str
    line: int
    text: str


def messages() -> list[Message]:
    """Every text of the package, by file and line."""
    readers = {".py": texts_of_python, ".html": _of_page, ".js": _of_script}
    return [
        Message(path.relative_to(ROOT).as_posix(), line, " ".join(text.split()))
        for path in sorted(PACKAGE.rglob("*"))
        if path.suffix in readers
        for line, text in readers[path.suffix](path.read_text(encoding="utf-8"))
        if is_read(text)
    ]


def is_read(text: str) -> bool:
    """Whether it is words for a person: three of them, or two that end as a sentence."""
    bare = _SLOT.sub(" ", re.sub(r"<[^>]+>", " ", text))
    words = sum(1 for word in bare.split() if _WORD.fullmatch(word))
    return words >= 2 + (bare.rstrip()[-1:] not in ".?!") and not _CODE.search(text)


def texts_of_python(source: str) -> Iterator[tuple[int, str]]:
    waiting: list[ast.AST] = [ast.parse(source)]
    while waiting:
        node = waiting.pop(0)
        if _is_text(node):
            yield node.lineno, _written(node, waiting)
        elif not _is_unread(node):
            waiting[:0] = ast.iter_child_nodes(node)


def _is_unread(node: ast.AST) -> bool:
    match node:
        case ast.Expr(value=ast.Constant()):  # a docstring
            return True
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name in _UNREAD
    return False


def _is_text(node: ast.AST) -> bool:
    match node:
        case ast.Constant(value=str()) | ast.JoinedStr():
            return True
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return _is_text(left) or _is_text(right)
    return False


def _written(node: ast.AST, waiting: list[ast.AST]) -> str:
    """A text as it stands in the source; what it calls may have texts of its own: it is queued."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(_written(part, waiting) for part in parts)
        case ast.BinOp(left=left, right=right) if _is_text(node):
            return _written(left, waiting) + _written(right, waiting)
        case ast.FormattedValue(value=value):
            return _written(value, waiting)
        case ast.IfExp(body=body, orelse=other) if _is_text(body) or _is_text(other):
            return f"[{_written(body, waiting)} | {_written(other, waiting)}]"
    waiting.insert(0, node)
    return f"{{{_name(ast.unparse(node))}}}"


def _of_script(source: str) -> Iterator[tuple[int, str]]:
    """Texts of JavaScript; those joined by a plus sign are one."""
    text, first = "", 0
    for found in _SCRIPT_TEXT.finditer(source):
        if found[1]:
            first = first if text else found.start()
            text += re.sub(r"\$\{", "{", found[1][1:-1])
            if not found[2]:
                yield source.count("\n", 0, first) + 1, text
                text = ""


def _of_page(source: str) -> Iterator[tuple[int, str]]:
    """Texts of a template: what is between tags, readable attributes, texts in expressions."""
    kept = re.sub(r"\{#.*?#\}|<(script|style)\b.*?</\1>|<!--.*?-->", _lines, source, flags=re.S)
    for found in re.finditer(r"\{[{%].*?[%}]\}", kept, re.DOTALL):
        for text in re.findall(r'"([^"]*)"', found[0]):
            yield kept.count("\n", 0, found.start()) + 1, text
    kept = re.sub(r"\{\{\s*(.*?)\s*\}\}", lambda value: f"{{{_name(value[1])}}}", kept, flags=re.S)
    kept = _INLINE.sub("", re.sub(r"\{%.*?%\}", _lines, kept, flags=re.DOTALL))
    for found in _ATTRIBUTE.finditer(kept):
        yield kept.count("\n", 0, found.start()) + 1, found[1]
    for found in re.finditer(r"(?:^|>)([^<>]+)(?=<|\Z)", kept):
        yield kept.count("\n", 0, found.start()) + 1, found[1]


def _lines(found: re.Match[str]) -> str:
    """The line breaks of what is dropped: lines are counted."""
    return "\n" * found[0].count("\n")


def _name(value: str) -> str:
    """A value as it stands in the source, if that is short."""
    return value if re.fullmatch(r"[^{}<>]{1,40}", value) else "..."


if __name__ == "__main__":
    for message in messages():
        if not sys.argv[1:] or sys.argv[1] in message.file:
            print(f"{message.file}:{message.line}  {message.text}")
