"""Refusing the wrong kind of thing, or saying what is missing, in a full sentence."""

from importlib import import_module
from typing import Any


def expect(value: Any, kind: type | tuple[type, ...], name: str, hint: str) -> None:
    """Raise a TypeError that says what was got, what was expected and what to do, unless `value` is of that kind."""
    if isinstance(value, kind):
        return
    kinds = kind if isinstance(kind, tuple) else (kind,)
    wanted = " or ".join(k.__name__ for k in kinds)
    got = f"the class {value.__name__} itself" if isinstance(value, type) else type(value).__name__
    raise TypeError(f"{name} must be a {wanted}; got {got}. {hint}")


def extra(module: str, what: str, name: str) -> Any:
    """The module, which an optional extra of droculo installs; an ImportError that says which where it is missing."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f'{what} need {module.split(".")[0]}: pip install "droculo[{name}]"') from error
