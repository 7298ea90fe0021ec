"""JSON Schemas of results, made from the annotations of their classes."""

from __future__ import annotations

import pkgutil
import sys
import types
import typing
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import import_module
from typing import Any, Literal

# Raised where a key goes, or what it holds becomes something else. A new key leaves it as it is.
VERSION = "1"
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_PLAIN: dict[Any, dict[str, Any]] = {
    Any: {},
    type(None): {"type": "null"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": ["number", "null"]},  # NaN and infinity are null
    str: {"type": "string"},
}
COLUMNS = dict[str, list[Any]]


def schema_id(cls: type) -> str:
    """The name of the schema of a result, which its JSON has as `$schema`."""
    return f"urn:calibrant:{VERSION}:{cls.__name__}"


def json_schema(cls: type) -> dict[str, Any]:
    """The schema of the JSON of a result; what it holds of other results is in `$defs`."""
    defs: dict[str, Any] = {}
    own = _schema_of(cls, defs)
    header = {"$schema": {"const": schema_id(cls)}, "version": {"const": VERSION}}
    out = {
        "$schema": _DIALECT,
        "$id": schema_id(cls),
        "title": cls.__name__,
        "description": (cls.__doc__ or "").strip().partition("\n")[0],
        **own,
        "properties": {**header, **own["properties"]},
        "required": [*header, *own["required"]],
    }
    return {**out, "$defs": dict(sorted(defs.items()))} if defs else out


def all_schemas() -> dict[str, dict[str, Any]]:
    """The schema of every class of results by its name."""
    classes = {each for each in _names().values() if hasattr(each, "json_schema")}
    named = {each.__name__: each for each in classes if each.__name__[0] != "_"}
    for base in ("Record", "Result", "TableOfRows"):
        del named[base]
    return {name: json_schema(named[name]) for name in sorted(named)}


def _schema_of(cls: Any, defs: dict[str, Any]) -> dict[str, Any]:
    """An object with the keys of a class; `defs` gets the classes that it holds."""
    if hasattr(cls, "_json_attributes"):  # a result
        attributes, optional = cls._json_attributes(), cls._json_optional.split()
    else:
        attributes, optional = {each.name: each.name for each in fields(cls)}, []
    properties = {
        key: _schema(_type_of(cls, key, attribute), defs) for key, attribute in attributes.items()
    }
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required}


def _type_of(cls: Any, key: str, attribute: str) -> Any:
    """The type of a key: as the class says, or the annotation of the attribute or property."""
    given_types = getattr(cls, "_json_types", {})
    if key in given_types:
        return given_types[key]
    if attribute == getattr(cls, "_table_key", None):
        return COLUMNS
    if isinstance(given := getattr(cls, attribute, None), property):
        return _hints(given.fget)["return"]
    return _hints(cls)[attribute]


def _hints(of: Any) -> dict[str, Any]:
    """Annotations, with names that modules of results import for type checkers alone."""
    return typing.get_type_hints(of, localns={**_names(), **vars(sys.modules[of.__module__])})


@cache
def _names() -> dict[str, Any]:
    """All names of the modules of results, without what is `Any` there: aliases of classes that
    lie above a module.
    """
    folder = import_module("calibrant.results")
    names: dict[str, Any] = {}
    for module in pkgutil.iter_modules(folder.__path__):
        if not module.ispkg:
            own = vars(import_module(f"calibrant.results.{module.name}"))
            names |= {name: value for name, value in own.items() if value is not Any}
    return names


def _schema(kind: Any, defs: dict[str, Any]) -> dict[str, Any]:
    """The schema of a type."""
    if kind in _PLAIN:
        return _PLAIN[kind]
    origin, of = typing.get_origin(kind), typing.get_args(kind)
    if origin is Literal:
        return {"enum": list(of)}
    if origin in (typing.Union, types.UnionType):
        return {"anyOf": [_schema(each, defs) for each in of]}
    if origin is tuple and of[-1] is not ...:
        return {"type": "array", "prefixItems": [_schema(each, defs) for each in of]}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _schema(of[1], defs)}
    if origin in (tuple, list):
        return {"type": "array", "items": _schema(of[0], defs)}
    if origin is not None:  # an array of NumPy
        return {"type": "array"}
    if is_dataclass(kind) or hasattr(kind, "_json_keys"):
        name = kind.__name__
        if name not in defs:
            defs[name] = {}
            defs[name] = _schema_of(kind, defs)
        return {"$ref": f"#/$defs/{name}"}
    if hasattr(kind, "isoformat"):
        return {"type": "string", "format": "date-time"}
    raise TypeError(f"no JSON Schema for {kind!r}")
