"""Objects that represent a table of a spec, and are validated by the rules of specs."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np


@dataclasses.dataclass(frozen=True, repr=False)
class Described:
    """A table of a spec: its kind, and one key for each field.

    The values are validated when the spec is read, so that the errors are those of the command
    line. A field whose name is a Python keyword ends in an underscore.
    """

    kind: ClassVar[str] = ""
    """The name of this kind in a spec; empty if there is only one kind."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            object.__setattr__(self, field.name, frozen(getattr(self, field.name)))

    def __repr__(self) -> str:
        ordered = sorted(dataclasses.fields(self), key=lambda field: bool(field.kw_only))
        fields = ((field, getattr(self, field.name)) for field in ordered)
        given = (f"{f.name}={value!r}" for f, value in fields if value != f.default)
        return f"{type(self).__name__}({', '.join(given)})"

    def _table(self) -> dict[str, Any]:
        fields = dataclasses.fields(self)
        keys = {field.name.rstrip("_"): getattr(self, field.name) for field in fields}
        return {"kind": self.kind, **keys} if self.kind else keys


def frozen(value: Any) -> Any:
    """The value with lists and arrays converted to tuples, so that it is immutable and
    comparable."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple)):
        return tuple(frozen(item) for item in value)
    return value


def toml(value: Any) -> str:
    """The value as TOML; None is omitted from tables."""
    value = frozen(value)
    if isinstance(value, Described):
        value = value._table()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, tuple):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, dict):
        items = ((key, item) for key, item in value.items() if item is not None)
        return f"{{ {', '.join(f'{toml(key)} = {toml(item)}' for key, item in items)} }}"
    raise TypeError(f"{value!r} is not a number, a text, a list or a table of them")


def spec_text(model: Any, derived: Mapping[str, str] | None) -> str:
    """The tables `[model]` and `[derived]` of a spec, as far as text can say them."""
    text = f"model = {toml(model)}\n" if isinstance(model, Described) else ""
    return f"{text}derived = {toml(dict(derived))}\n" if derived else text
