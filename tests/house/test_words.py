"""How pages are written, as far as a machine can hold it: words, widths, lengths and links.

python tests/house/test_words.py    # every page with its length, and what is wrong with it
"""

from __future__ import annotations

import posixpath
import re
import runpy
import sys
from collections import Counter
from pathlib import Path

import pytest

import calibrant as cal
from needs import need

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FOLDERS = ("start", "howto", "concepts", "reference", "research", "measures")
FILES = {
    "README.md": ROOT / "README.md",
    "CHANGELOG.md": ROOT / "CHANGELOG.md",
    "docs/index.md": DOCS / "index.md",
    **{
        path.relative_to(ROOT).as_posix(): path
        for folder in FOLDERS
        for path in sorted((DOCS / folder).rglob("*.md"))
    },
}
PAGES = {name: path.read_text(encoding="utf-8") for name, path in FILES.items()}

# What is said otherwise, and how. One name for one thing: the field's.
WORDS = {
    r"\btold by\b|\b(?:is|are) told\b|\bwould tell\b": "say who states it: the result, a note",
    r"\bvotes without end\b": "infinitely many votes",
    r"\bbehind (?:the )?votes\b": "the label distribution",
    r"\b(?:keep|keeps|keeping|kept) (?:the |its |their |all )(?:limits?|tolerances?)\b"
    r"|\bkept limits?\b": "is within the limit, passes the threshold",
    r"\ba sure (?:one|pass|fail|miss)\b": "say what is certain, and why",
    r"\brows do not (?:show|tell)\b": "there is not enough data",
    r"\bas they (?:are|lie|stand)\b": "unchanged, directly",
    r"\bdealt\b": "split at random",
    r"\bmoved there\b": "clipped",
    r"\bsuch that\b|\bof such\b|(?<!\bno )\bsuch (?!as\b|an?\b)\w+": "name the thing",
    r"\bconfidence limits?\b|\blimits (?:of|hold|contain|allow)\b": "confidence interval",
    r"\bBCa limits?\b|\binterval'?s? limits?\b": "confidence interval",
    r"(?:^|[.!?:] |\| )Of (?!course\b)[a-z]": "start with the subject",
    r"(?:^|[.!?:] )(?:For that|Who wants|Whoever)\b": "start with the subject",
    r"\bmends?\b|\bmended\b": "fix",
    r"\bthrow of dice\b|\ba closer look\b|\bworlds through the data\b": "the field's name",
}
# Of pages alone: in a message these are names that the reader has typed, or a short pronoun.
WORDS_OF_PAGES = {
    r"\bof it\b": "name the thing",
    r"^[^|].*(?<![\w/_=.-])(?:ece|smece)(?![\w/_=.(-])": "ECE, SMECE in sentences",
    r"^[^|].*\bBrier(?! score| skill| loss| decomp|['’]s|s\b|,? \(|,? [A-Z]| et al)": "Brier score",
}
# Words of a page at most, code not counted; the rest of a folder has its folder's.
MOST = {"howto": 500, "concepts": 900, "start": 600, "research": 1400}
PAGE_MOST = {
    "README.md": 900, "CHANGELOG.md": 600, "docs/index.md": 350, "docs/start/install.md": 350,
    "docs/start/five-minutes.md": 500, "docs/start/notebook.md": 200, "docs/start/browser.md": 350,
    "docs/howto/diagrams.md": 900, "docs/howto/integrations.md": 700,
    "docs/howto/coming-from.md": 700, "docs/howto/questions.md": 600, "docs/howto/frames.md": 600,
    "docs/howto/r.md": 150, "docs/reference/releasing.md": 350, "docs/research/papers.md": 2400,
    "docs/research/literature.md": 1600, "docs/research/coverage.md": 1050,
    "docs/research/votes.md": 1000, "docs/research/certificates.md": 1000,
    "docs/research/maps.md": 620, "docs/research/scale.md": 1000, "docs/research/speed.md": 400,
    "docs/research/layout.md": 500,
}  # fmt: skip
ALL_MOST = 30_000  # the reference, which is looked up and not read, is not counted
WIDEST = 88

_FENCE = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^ {4,}(?:python|calibrant|pip|\.venv|--)[^\n]*$", re.MULTILINE)
_LINK = re.compile(r"\]\((?![a-z]+:|#)([^)#\s]+)")
_COUNTED = re.compile(r"[^\W_]")


def prose(text: str) -> str:
    """A page without its front matter, code blocks, indented commands and comments."""
    text = _COMMAND.sub("", text)
    text = re.sub(r"\A---\n.*?^---\n", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"<!--.*?-->", "", _FENCE.sub("", text), flags=re.DOTALL)


def sentences(text: str) -> str:
    """The prose without what is written as code, where links lead, and titles of works."""
    text = re.sub(r"(`+)(?:(?!\n\n).)+?\1", "code", prose(text), flags=re.DOTALL)
    return re.sub(r"\]\([^)]*\)", "]", text)


def length(text: str) -> int:
    return sum(1 for word in sentences(text).split() if _COUNTED.search(word))


def most(name: str) -> int | None:
    folder = name.split("/")[1] if name.count("/") > 1 else ""
    return PAGE_MOST.get(name, MOST.get(folder))


def words_not_to_use(text: str) -> list[str]:
    lines = sentences(text).splitlines()
    return [
        f"{line.strip()[:90]!r}: {found[0]!r}; rather: {instead}"
        for pattern, instead in {**WORDS, **WORDS_OF_PAGES}.items()
        for line in lines
        for found in re.finditer(pattern, line.strip())
    ]


def too_wide(text: str) -> list[str]:
    blocks = ((indent, kind, code) for indent, kind, code in _FENCE.findall(text) if kind != "math")
    lines = (line.removeprefix(indent) for indent, _, code in blocks for line in code.splitlines())
    return [line for line in lines if len(line) > WIDEST]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_uses_the_field_s_words(name):
    assert words_not_to_use(PAGES[name]) == []


@pytest.mark.parametrize("name", PAGES)
def test_code_fits_beside_the_navigation(name):
    assert too_wide(PAGES[name]) == []


@pytest.mark.parametrize("name", [name for name in PAGES if most(name)])
def test_a_page_is_no_longer_than_its_kind(name):
    assert length(PAGES[name]) <= most(name)


def test_all_pages_are_read_in_an_afternoon():
    read = [name for name in PAGES if "/reference/" not in name]
    assert sum(length(PAGES[name]) for name in read) <= ALL_MOST


@pytest.mark.parametrize("name", PAGES)
def test_a_page_does_not_mix_two_names_of_one_spelling(name):
    """SMECE is the error of soft labels; smECE, the smooth one, is called smooth ECE beside it."""
    text = sentences(PAGES[name])
    assert not ("SMECE" in text and "smECE" in text and "smooth" not in text.lower())


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_installed_from_where_it_is_not(name):
    """Until it is published, an extra is installed from a copy of the repository."""
    assert re.findall(r"pip install ['\"]?calibrant\[", PAGES[name]) == []


def made() -> set[str]:
    """Pages and files that the build makes, by their path in docs."""
    sys.path.insert(0, str(DOCS / "make"))
    try:
        reference = runpy.run_path(str(DOCS / "make" / "reference.py"))
    finally:
        sys.path.remove(str(DOCS / "make"))
    listed = {path for entry in reference["nav"]() for path in entry.values()}
    measures = {f"measures/{measure.name}.md" for measure in cal.catalogue()}
    fixed = {"reference/index.md", "measures/index.md", "assets/measure.html"}
    hooks = (DOCS / "make" / "hooks.py").read_text(encoding="utf-8")
    return listed | measures | fixed | set(re.findall(r'^    "(re\w+/\w+\.md)"', hooks, re.M))


@pytest.fixture(scope="module")
def built() -> set[str]:
    return made()


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_to_files(name, built):
    folder = posixpath.dirname(name)
    lost = []
    for link in _LINK.findall(prose(PAGES[name])):
        target = posixpath.normpath(posixpath.join(folder, link))
        there = (ROOT / target).exists() or target.removeprefix("docs/") in built
        if not there and not target.startswith("docs/schema/"):
            lost.append(link)
    assert lost == []


def navigation() -> list[str]:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    return re.findall(r"[\w/-]+\.md", text)


def test_every_page_is_in_the_navigation_and_every_entry_is_a_page(built):
    listed = navigation()
    assert len(listed) == len(set(listed))
    written = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    assert written - set(listed) == set()
    assert set(listed) - written - built == set()


def test_old_addresses_lead_to_pages(built):
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    block = re.search(r"redirect_maps:\n((?: {8}.+\n)+)", text)[1]
    leads = dict(line.strip().split(": ") for line in block.splitlines())
    assert len(leads) > 40
    assert set(leads.values()) <= set(navigation())
    assert not [old for old in leads if (DOCS / old).exists()]


@pytest.fixture(scope="module")
def texts():
    """The script that lists every text of the program."""
    sys.modules.pop("messages", None)
    sys.path.insert(0, str(DOCS / "make"))
    try:
        return need("messages")
    finally:
        sys.path.remove(str(DOCS / "make"))


def test_texts_that_the_program_prints_use_the_field_s_words(texts):
    wrong = [
        f"{message.file}:{message.line}: {message.text[:80]!r}: {found[0]!r}; rather: {instead}"
        for message in texts.messages()
        for pattern, instead in WORDS.items()
        for found in [re.search(pattern, message.text)]
        if found
    ]
    assert wrong == []


def test_texts_are_found_in_every_kind_of_file(texts):
    found = Counter(Path(each.file).suffix for each in texts.messages())
    assert found[".py"] > 2000 and found[".html"] > 50 and found[".js"] > 10


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ('raise E(f"{a:.3f} is " "not one" f" of {b!r}")', ["{a} is not one of {b}"]),
        ('say("it is " + ("small" if a else "too large"))', ["it is [small | too large]"]),
        (
            "say(f\"use {hint('one of these names')} here now\")",
            ["use {hint('one of these names')} here now", "one of these names"],
        ),
        ('def f():\n    """A docstring of many words."""', []),
        ('re.compile("no text for a reader"); x["a key"] = "select * from rows"', []),
    ],
)
def test_texts_are_read_from_syntax_trees(texts, code, expected):
    texts_of_code = [text for _, text in texts.texts_of_python(code) if texts.is_read(text)]
    assert texts_of_code == expected


if __name__ == "__main__":
    total = 0
    for name, text in PAGES.items():
        total += length(text) * ("/reference/" not in name)
        print(f"{length(text):6} of {most(name) or '-':>5}  {name}")
        for problem in [*words_not_to_use(text), *too_wide(text)]:
            print(f"        {problem}")
    print(f"{total:6} of {ALL_MOST:>5}  all, the reference apart")
