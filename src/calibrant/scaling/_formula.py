"""Fitted maps of few parameters as Python and SQL text, for places where Calibrant does not run.

A formula is a graph of a few operations, made once by each kind of map and written in either
language. Numbers are written so that they come back to the last bit, and Python does the steps of
`transform` in their order. SQL has no variables in an expression: there a part that others use
several times is written several times, so that it has shorter forms where there are any.
"""

from __future__ import annotations

import keyword
import math
import operator
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

from calibrant._core.errors import InputError
from calibrant._data.links import LOG_FLOOR, OVERSHOOT, ROW_SUM_TOLERANCE
from calibrant._data.logprobs import LOGPROBS, Given
from calibrant.scaling._predictions import LARGEST_LOGIT

# Exponents beyond this overflow in some databases; there a probability is 0 or 1 anyway.
FURTHEST = 700.0
# The largest number, and one that every database reads.
_FINITE, _LARGE = sys.float_info.max, 1e300
# The largest absolute value of a logit or logarithm of a probability, which is at least LOG_FLOOR.
LARGEST = -math.log(LOG_FLOOR)


@dataclass(frozen=True, eq=False)
class Node:
    """A node of a formula's graph: an operation on other nodes, its `parts`. `value` holds the
    numbers of the operation: a constant, the bounds of a clip, the position of an input or of an
    output of softmax.
    """

    operation: str
    parts: tuple[Node, ...] = ()
    value: tuple[float, ...] = ()

    def __add__(self, other: Node | float) -> Node:
        """The node of this one plus another, or plus a number."""
        return Node("add", (self, node(other)))

    def __radd__(self, other: float) -> Node:
        """The node of a number plus this node."""
        return Node("add", (node(other), self))

    def __sub__(self, other: Node | float) -> Node:
        """The node of this one less another, or less a number."""
        return Node("subtract", (self, node(other)))

    def __rsub__(self, other: float) -> Node:
        """The node of a number less this node."""
        return Node("subtract", (node(other), self))

    def __mul__(self, other: Node | float) -> Node:
        """The node of this one times another, or times a number."""
        return Node("multiply", (self, node(other)))

    def __rmul__(self, other: float) -> Node:
        """The node of a number times this node."""
        return Node("multiply", (node(other), self))

    def __truediv__(self, other: Node | float) -> Node:
        """The node of this one divided by another, or by a number."""
        return Node("divide", (self, node(other)))

    def __rtruediv__(self, other: float) -> Node:
        """The node of a number divided by this node."""
        return Node("divide", (node(other), self))

    def __neg__(self) -> Node:
        """The node of this one with the opposite sign."""
        return Node("negate", (self,))

    def ln(self) -> Node:
        """The node of the natural logarithm of this one."""
        return Node("ln", (self,))

    def ln_of_rest(self) -> Node:
        """The node ln(1 - x), where x is this node."""
        return either(Node("log1p", (-self,)), (1.0 - self).ln())

    def exp(self, largest: float = math.inf) -> Node:
        """The node of the exponential of this one, without overflow. `largest` bounds the absolute
        value of the exponent; if it is above FURTHEST, the exponent is clipped.
        """
        return Node("exp", (self if largest <= FURTHEST else self.clip(-FURTHEST, FURTHEST),))

    def clip(self, low: float, high: float) -> Node:
        """The node limited to [low, high]; an infinite limit is none."""
        return Node("clip", (self,), (float(low), float(high)))

    def sigmoid(self, largest: float = math.inf) -> Node:
        """The node 1 / (1 + exp(-x)), where x is this node; `largest` bounds the absolute value of
        x.
        """
        return either(Node("sigmoid", (self,)), 1.0 / (1.0 + (-self).exp(largest)))

    def softplus(self) -> Node:
        """The node ln(1 + exp(x)), where x is this node."""
        size = Node("abs", (self,))
        sql = self.clip(0.0, math.inf) + (1.0 + (-size).exp()).ln()
        return either(Node("softplus", (self,)), sql)


def node(value: Node | float) -> Node:
    """The value as a node: a number becomes a constant, a node stays unchanged."""
    return value if isinstance(value, Node) else Node("number", (), (float(value),))


def either(python: Node, sql: Node) -> Node:
    """A node that is written as `python` in Python and as `sql` in SQL; both have the
    same value.
    """
    return Node("either", (python, sql))


def total(nodes: Iterable[Node]) -> Node:
    """The node of the sum of nodes."""
    return reduce(lambda a, b: a + b, nodes)


def softmax_nodes(scores: Sequence[Node], largest: float = math.inf) -> list[Node]:
    """The softmax of scores, a node for each of them. In SQL it is 1 / sum_i exp(s_i - s_j), which
    requires no maximum. `largest` bounds the difference of two scores.
    """
    whole = Node("softmax", tuple(scores))
    out = []
    for j, own in enumerate(scores):
        others = total((s - own).exp(largest) for s in scores if s is not own)
        out.append(either(Node("item", (whole,), (float(j),)), 1.0 / (1.0 + others)))
    return out


@dataclass(frozen=True)
class Inputs:
    """The predictions of one row as nodes, in the forms that maps read.

    `given` says what the predictions are: False for probabilities, True for logits, LOGPROBS for
    log-probabilities. `columns` is the number of classes, or None if the input is the prediction of
    class 1 alone.
    """

    given: Given
    columns: int | None

    @cached_property
    def raw(self) -> list[Node]:
        """The predictions as they come in, a node for each column; one node if `columns` is
        None.
        """
        return [Node("input", (), (float(j),)) for j in range(self.columns or 1)]

    @cached_property
    def probabilities(self) -> list[Node]:
        """The node of each class's probability; that of class 1 alone if `columns` is None."""
        if self.given is False:
            return [either(x, x.clip(0.0, 1.0)) for x in self.raw]
        if self.given == LOGPROBS:
            if self.columns:  # not clipped at 0: that would triple the SQL, for a rounding error
                return softmax_nodes(self.raw)
            return [either(self.raw[0].exp(), self.raw[0].exp().clip(0.0, 1.0))]
        return softmax_nodes(self.raw) if self.columns else [self.raw[0].sigmoid()]

    @cached_property
    def scores(self) -> list[Node]:
        """The node of a score for each class (two if `columns` is None): logits as they come in, or
        logarithms of probabilities.
        """
        if self.given is True:
            return self.raw if self.columns else [-self.raw[0] / 2.0, self.raw[0] / 2.0]
        p = self.raw if self.given is False else self.probabilities
        both = p if self.columns else [1.0 - p[0], p[0]]
        lifted = [either(u.clip(LOG_FLOOR, math.inf), u.clip(LOG_FLOOR, 1.0)) for u in both]
        return [each.ln() for each in lifted]

    @cached_property
    def log_odds(self) -> list[Node]:
        """The node of each class's logit against the rest; that of class 1 alone if `columns` is
        None.
        """
        if self.given is True:
            if not self.columns:
                return self.raw
            others = [[s for s in self.raw if s is not own] for own in self.raw]
            pairs = zip(self.raw, others, strict=True)
            return [-total((s - own).exp() for s in rest).ln() for own, rest in pairs]
        u = self.raw if self.given is False else self.probabilities
        clipped = [each.clip(LOG_FLOOR, 1.0 - LOG_FLOOR) for each in u]
        return [each.ln() - each.ln_of_rest() for each in clipped]

    @property
    def largest(self) -> float:
        """The largest possible absolute value of a logit, or difference of two scores; infinite if
        the inputs are logits.
        """
        return math.inf if self.given is True else LARGEST

    def of_classes(self, both: list[Node]) -> list[Node]:
        """The outputs for a row of this shape, from the nodes of all classes: all of them, or that
        of class 1 alone if `columns` is None.
        """
        return both if self.columns else both[1:]

    def one_against_rest(self, maps: Sequence[Callable[[Node], Node]]) -> list[Node]:
        """The outputs of one-vs-rest maps, as nodes. Each map is a function from the node of its
        class's logit to that of a probability; the probabilities are divided by their sum. For two
        classes there is one map, that of class 1.
        """
        if len(maps) == 1:
            one = maps[0](self.log_odds[-1])
            return [1.0 - one, one] if self.columns else [one]
        mapped = [each(h) for each, h in zip(maps, self.log_odds, strict=True)]
        whole = total(mapped)
        return [each / whole for each in mapped]


# --- Python ------------------------------------------------------------------------------------

_PYTHON = {
    "add": "({} + {})",
    "subtract": "({} - {})",
    "multiply": "({} * {})",
    "divide": "({} / {})",
    "negate": "-{}",
    "ln": "log({})",
    "log1p": "log1p({})",
    "exp": "exp({})",
    "sigmoid": "sigmoid({})",
    "softplus": "softplus({})",
}
# Operations that are written with parentheses of their own.
_CALLS = ("ln", "log1p", "exp", "abs", "sigmoid", "softplus")
_HELPERS = {
    "sigmoid": (
        "def sigmoid(h):\n"
        "    small = exp(-abs(h))\n"
        "    return (1.0 if h >= 0.0 else small) / (1.0 + small)\n"
    ),
    "softplus": ("def softplus(h):\n    return max(h, 0.0) + log1p(exp(-abs(h)))\n"),
    "softmax": (
        "def softmax(scores):\n"
        "    top, total = max(scores), 0.0\n"
        "    powers = [exp(score - top) for score in scores]\n"
        "    for power in powers:\n"
        "        total += power\n"
        "    return [power / total for power in powers]\n"
    ),
}


def to_python(outputs: Sequence[Node], inputs: Inputs, name: str, about: str) -> str:
    """The source of a module with a function `name` that computes the outputs; it needs the
    standard library alone. `about` becomes the docstring of the module.
    """
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
        raise InputError(f"name must be that of a Python function; got {name!r}")
    if name in (*_HELPERS, "exp", "log", "log1p"):
        raise InputError(
            f"name {name!r} is that of a function which the source uses: choose another"
        )
    done: dict[int, Node] = {}
    chosen = [_choose_language(each, 0, done) for each in outputs]
    uses = _count_uses(chosen)
    lines: list[str] = []
    written: dict[int, str] = {}

    def text(each: Node) -> str:
        """The Python text of a node. A node that is used several times becomes a variable, whose
        line is written first.
        """
        if id(each) in written:
            return written[id(each)]
        out = _python_of(each, [text(part) for part in each.parts])
        if (uses[id(each)] > 1 and each.parts) or each.operation == "softmax":
            variable = f"t{len(lines)}"
            lines.append(f"{variable} = {_without_parentheses(out)}")
            out = variable
        written[id(each)] = out
        return out

    results = [_without_parentheses(text(each)) for each in chosen]
    shown = f"[{', '.join(results)}]" if inputs.columns else results[0]
    body = "".join(f"    {line}\n" for line in (*_check_lines(inputs), *lines, f"return {shown}"))
    argument = "row" if inputs.columns else "x0"
    used = [source for helper, source in _HELPERS.items() if f"{helper}(" in body]
    functions = "\n\n".join((*used, f"def {name}({argument}):\n{body}"))
    math_names = [each for each in ("exp", "log", "log1p") if re.search(rf"\b{each}\(", functions)]
    imports = f"from math import {', '.join(math_names)}\n\n\n" if math_names else "\n"
    return f'"""{about}"""\n\n{imports}{functions}'


def _choose_language(each: Node, language: int, done: dict[int, Node]) -> Node:
    """The graph of a node with each `either` replaced by its form for one language: 0 is Python, 1
    is SQL. `done` caches the nodes replaced so far, by the id of the original.
    """
    if id(each) not in done:
        if each.operation == "either":
            done[id(each)] = _choose_language(each.parts[language], language, done)
        else:
            parts = tuple(_choose_language(part, language, done) for part in each.parts)
            done[id(each)] = Node(each.operation, parts, each.value)
    return done[id(each)]


def _count_uses(outputs: Sequence[Node]) -> Counter[int]:
    """How often each node is an output or a part of another node, by its id."""
    uses: Counter[int] = Counter()
    pending = list(outputs)
    while pending:
        each = pending.pop()
        uses[id(each)] += 1
        if uses[id(each)] == 1:
            pending.extend(each.parts)
    return uses


def _python_of(each: Node, parts: Sequence[str]) -> str:
    """The Python text of a node, from the texts of its parts."""
    if each.operation == "number":
        return repr(each.value[0]) if each.value[0] >= 0 else f"({each.value[0]!r})"
    if each.operation == "input":
        return f"x{each.value[0]:.0f}"
    if each.operation == "softmax":
        return f"softmax([{', '.join(map(_without_parentheses, parts))}])"
    if each.operation == "item":
        return f"{parts[0]}[{each.value[0]:.0f}]"
    if each.operation == "clip":
        low, high = each.value
        out = _without_parentheses(parts[0])
        if low > -math.inf:
            out = f"max({out}, {low!r})"
        return out if high == math.inf else f"min({out}, {high!r})"
    return _format(_PYTHON[each.operation], each, parts)


def _format(form: str, each: Node, parts: Sequence[str]) -> str:
    """The text of a node from its template `form` and the texts of its parts; as arguments of a
    call, parts lose the parentheses that enclose them.
    """
    return form.format(*(map(_without_parentheses, parts) if each.operation in _CALLS else parts))


def _without_parentheses(text: str) -> str:
    """The text without a pair of parentheses that encloses all of it; other texts are returned
    unchanged.
    """
    if not text.startswith("("):
        return text
    depth = 0
    for i, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return text[1:-1] if i == len(text) - 1 else text
    return text


def _raise_lines(fits: str, what: str, said: str) -> list[str]:
    """Two lines of Python that raise a ValueError, "<value of the expression `what`> <said>",
    unless the condition `fits` is true.
    """
    return [f"if not {fits}:", f'    raise ValueError(f"{{{what}!r}} {said}")']


def _check_lines(inputs: Inputs) -> list[str]:
    """The first lines of the Python function: they unpack the row, raise a ValueError for inputs
    that `transform` refuses, and clip values that rounding has carried beyond 0 or 1.
    """
    x = "x" if inputs.columns else "x0"
    if inputs.given is True:
        fits, inner, need = f"abs({x}) <= {_FINITE!r}", f"max({x}, {-LARGEST_LOGIT!r})", "logit"
        inner = f"min({inner}, {LARGEST_LOGIT!r})"
    elif inputs.given == LOGPROBS:
        fits, inner, need = f"{x} <= {OVERSHOOT!r}", f"min({x}, 0.0)", "log-probability"
    else:
        fits, need = f"{-OVERSHOOT!r} <= {x} <= {1 + OVERSHOOT!r}", "probability"
        inner = f"min(max({x}, 0.0), 1.0)"
    lines = _raise_lines(fits, x, f"is not a {need}")
    if not inputs.columns:
        return [*lines, f"x0 = {inner}"]
    names = [f"x{j}" for j in range(inputs.columns)]
    whole: list[str] = []
    if inputs.given is False:
        total = f"abs({' + '.join(names)} - 1.0)"
        whole = _raise_lines(f"{total} <= {ROW_SUM_TOLERANCE!r}", "row", "does not sum to 1")
    elif inputs.given == LOGPROBS:
        whole = _raise_lines(f"max(row) >= {-_FINITE!r}", "row", "has no class with a probability")
    return [
        "for x in row:",
        *(f"    {line}" for line in lines),
        f"{', '.join(names)} = [{inner} for x in row]",
        *whole,
    ]


# --- SQL ---------------------------------------------------------------------------------------

_SQL = {
    "add": "({} + {})",
    "subtract": "({} - {})",
    "multiply": "({} * {})",
    "divide": "({} / {})",
    "negate": "(-{})",
    "ln": "LN({})",
    "exp": "EXP({})",
    "abs": "ABS({})",
}
_PLAIN_COLUMN = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")


def to_sql(outputs: Sequence[Node], inputs: Inputs, columns: Sequence[str]) -> list[str]:
    """An expression for each output, in standard SQL with the functions LN, EXP and ABS; `columns`
    are the names of the inputs in SQL.

    An expression cannot raise an error: a row that `transform` refuses, for example
    with NaN, becomes NULL.
    """
    names = [c if _PLAIN_COLUMN.fullmatch(c) else f"({c})" for c in columns]
    written: dict[int, str] = {}

    def text(each: Node) -> str:
        """The SQL text of a node, computed once and used again."""
        if id(each) not in written:
            written[id(each)] = _sql_of(each, [text(part) for part in each.parts], names)
        return written[id(each)]

    done: dict[int, Node] = {}
    chosen = [_choose_language(each, 1, done) for each in outputs]
    fits = _sql_check(inputs, names)
    return [f"(CASE WHEN {fits} THEN {_without_parentheses(text(each))} END)" for each in chosen]


def _sql_check(inputs: Inputs, names: Sequence[str]) -> str:
    """An SQL condition that is true if the columns of a row are valid predictions. Some databases
    order NaN above all numbers, in others it equals no number: an upper limit refuses it in both.
    """
    low, high = (-OVERSHOOT, 1 + OVERSHOOT) if inputs.given is False else (-_LARGE, _LARGE)
    if inputs.given == LOGPROBS:
        low, high = -math.inf, OVERSHOOT
    checks = [
        f"{name} {sign} {_sql_number(bound)}"
        for name in names
        for sign, bound in ((">=", low), ("<=", high))
        if math.isfinite(bound)
    ]
    if inputs.columns and inputs.given is False:
        off = f"ABS({' + '.join(names)} - {_sql_number(1.0)})"
        checks.append(f"{off} <= {_sql_number(ROW_SUM_TOLERANCE)}")
    if inputs.columns and inputs.given == LOGPROBS:
        some = " OR ".join(f"{name} >= {_sql_number(-_LARGE)}" for name in names)
        checks.append(f"({some})")
    return " AND ".join(checks)


def _sql_of(each: Node, parts: Sequence[str], names: Sequence[str]) -> str:
    """The SQL text of a node, from the texts of its parts and the names of the columns."""
    if each.operation == "number":
        return _sql_number(each.value[0])
    if each.operation == "input":
        return names[int(each.value[0])]
    if each.operation == "clip":
        low, high = each.value
        return _sql_cases(parts[0], low, _sql_number(low), high, _sql_number(high), parts[0])
    if each.operation == "pieces":
        below, above, inside = (_without_parentheses(part) for part in parts[1:])
        return _sql_cases(parts[0], each.value[0], below, each.value[1], above, inside)
    return _format(_SQL[each.operation], each, parts)


def _sql_cases(x: str, low: float, below: str, high: float, above: str, inside: str) -> str:
    """An SQL expression that is `below` where x < low, `above` where x > high, and else `inside`,
    also where x is NULL. An infinite limit has no case.
    """
    cases = "".join(
        f"WHEN {x} {sign} {_sql_number(bound)} THEN {value} "
        for sign, bound, value in (("<", low, below), (">", high, above))
        if math.isfinite(bound)
    )
    return f"(CASE {cases}ELSE {inside} END)"


def _sql_number(value: float) -> str:
    """The SQL text of a number, with an exponent, because some databases read a number without one
    as an exact decimal.
    """
    text = repr(value)
    text = text if "e" in text else f"{text}e0"
    return text if value >= 0 else f"({text})"


# --- columns of a frame --------------------------------------------------------------------------


def to_columns(outputs: Sequence[Node], frame: Any) -> tuple[Any, list[Any]]:
    """An expression of narwhals for each output, and the lazy frame with the columns that they
    need; inputs are the columns `p0`, `p1`, ... A part that others use several times is a column.
    """
    import narwhals as nw

    done: dict[int, Node] = {}
    chosen = [_choose_language(each, 1, done) for each in outputs]
    uses, written = _count_uses(chosen), dict[int, Any]()
    layers: list[tuple[str, Any]] = []

    def cases(x: Any, low: float, below: Any, high: float, above: Any, inside: Any) -> Any:
        """`below` where x < low, `above` where x > high, else `inside`."""
        for limit, beyond, value in ((high, x > high, above), (low, x < low, below)):
            if math.isfinite(limit):
                inside = nw.when(beyond).then(value).otherwise(inside)
        return inside

    def expression(each: Node) -> Any:
        """The expression of a node, made once."""
        if id(each) in written:
            return written[id(each)]
        parts = [expression(part) for part in each.parts]
        if each.operation in ("number", "input"):
            value = each.value[0]
            out = nw.lit(value) if each.operation == "number" else nw.col(f"p{value:.0f}")
        elif each.operation == "clip":
            low, high = each.value
            out = cases(parts[0], low, nw.lit(low), high, nw.lit(high), parts[0])
        elif each.operation == "pieces":
            out = cases(parts[0], each.value[0], parts[1], each.value[1], *parts[2:])
        else:
            out = _EXPRESSIONS[each.operation](*parts)
        if uses[id(each)] > 1 and each.parts:
            layers.append((f"t{len(layers)}", out))
            out = nw.col(layers[-1][0])
        written[id(each)] = out
        return out

    results = [expression(each) for each in chosen]
    for name, each in layers:
        frame = frame.with_columns(**{name: each})
    return frame, results


_EXPRESSIONS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "negate": lambda x: 0.0 - x,
    "ln": lambda x: x.log(),
    "exp": lambda x: x.exp(),
    "abs": lambda x: x.abs(),
}
