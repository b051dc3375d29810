"""Refusing the wrong kind of thing, in a full sentence."""

from __future__ import annotations

from typing import Any


def expect(value: Any, kind: type | tuple[type, ...], name: str, hint: str) -> None:
    """Raise a TypeError that says what was got, what was expected and what to do, unless `value` is of that kind."""
    if isinstance(value, kind):
        return
    kinds = kind if isinstance(kind, tuple) else (kind,)
    wanted = " or ".join(k.__name__ for k in kinds)
    got = f"the class {value.__name__} itself" if isinstance(value, type) else type(value).__name__
    raise TypeError(f"{name} must be a {wanted}; got {got}. {hint}")
