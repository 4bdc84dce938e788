"""A JSON object with attribute access: what every typed document is."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar


def flat(item: Any, *, lists: bool = False, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yields what nested objects hold by the paths of names with dots; with `lists` also what lists hold, by places."""
    for key, value in item.items() if isinstance(item, Mapping) else enumerate(item):
        if isinstance(value, Mapping) or (lists and isinstance(value, list)):
            yield from flat(value, lists=lists, prefix=f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


class Record(Mapping[str, Any]):
    """A JSON object whose keys are attributes too: `station.energy_j`, or `overhead["always-active"]`.

    A subclass declares its fields by annotations. A declared field that a document does not have is None; what a
    document has beyond the declared fields is there as well.
    """

    __slots__ = ("_data",)
    _parts: ClassVar[Mapping[str, type[Record]]] = {}
    """The classes of fields that are objects, or lists of them; `Record` otherwise."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = data

    def __getitem__(self, key: str) -> Any:
        return _wrap(self._data[key], self._parts.get(key, Record))

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_data":
            # Asked for by copy and pickle before there is any data.
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError:
            if any(name in kind.__annotations__ for kind in type(self).__mro__ if "__annotations__" in kind.__dict__):
                return None
            raise AttributeError(f"no field {name!r}; there are {', '.join(self._data)}") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._data]

    def __repr__(self) -> str:
        fields = ", ".join(f"{key}={_short(value)}" for key, value in self._data.items())
        return f"{type(self).__name__}({fields})"

    def to_dict(self) -> dict[str, Any]:
        """Gives the plain document, a copy."""
        copy: dict[str, Any] = json.loads(json.dumps(self._data))
        return copy

    @property
    def json(self) -> str:
        """The document as JSON text."""
        return json.dumps(self._data, allow_nan=False)


_LONG_TEXT = 60
"""A longer text is cut where a record is shown."""


def _short(value: Any) -> str:
    """A value in a line: numbers and texts as they are, of objects and lists how much is in them."""
    if isinstance(value, Mapping):
        return f"{{{len(value)} keys}}" if value else "{}"
    if isinstance(value, list):
        return f"[{len(value)} items]" if value else "[]"
    text = repr(value)
    return text if len(text) <= _LONG_TEXT else f"{text[: _LONG_TEXT - 4]}...{text[-1]}"


def _wrap(value: Any, kind: type[Record]) -> Any:
    if isinstance(value, Mapping):
        return kind(value)
    if isinstance(value, list):
        return [_wrap(item, kind) for item in value]
    return value
