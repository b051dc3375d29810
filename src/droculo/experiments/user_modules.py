"""User modules, named `module:object` in a spec: found beside it, always loaded in their present state, identified by their text."""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any

#: module -> digest of its text when it was loaded
_LOADED: dict[str, str] = {}


@contextmanager
def importing(folder: Path) -> Iterator[None]:
    """Make modules beside the spec and in the current folder importable."""
    places = [str(folder), str(Path.cwd())]
    sys.path[:0] = places
    try:
        yield
    finally:
        for place in places:
            sys.path.remove(place)


def named(name: str, folder: Path) -> Any:
    """The object that `module:object` names; an ImportError says why there is none."""
    module, _, inside = name.partition(":")
    try:
        found: Any = _module(module, folder)
        for part in inside.split("."):
            found = getattr(found, part)
    except ImportError as error:
        raise ImportError(f"{name!r} cannot be imported from the spec's folder or the current one: {error}.") from None
    except AttributeError:
        raise ImportError(f"the module {module!r} has no {inside!r}.") from None
    except Exception as error:  # whatever a user's module does when it is imported
        raise ImportError(f"importing {module!r} failed: {type(error).__name__}: {error}.") from None
    return found


def digest(name: str, folder: Path) -> str:
    """Of the text of the module, and of those beside it that it imports; of an installed module, of its one file."""
    top = name.partition(":")[0].split(".")[0]
    files = [file for each in _texts(top, folder).values() for file in each]
    if not files:
        file = _module(name.partition(":")[0], folder).__file__
        files = [] if file is None else [Path(file)]
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in sorted(files))).hexdigest()[:16]


def _module(name: str, folder: Path) -> ModuleType:
    """The module in its present state; it is loaded again if its text or its folder has changed."""
    top = name.split(".")[0]
    texts = _texts(top, folder)
    now = digest(name, folder) if texts else ""
    with importing(folder):
        if texts and _LOADED.get(top) != f"{now} {texts[top][0]}":
            for loaded in [m for m in sys.modules if m.split(".")[0] in texts]:
                del sys.modules[loaded]
            for file in (file for each in texts.values() for file in each):
                # Python compares times, in seconds, and lengths, and would miss a quick edit.
                with suppress(OSError):
                    Path(importlib.util.cache_from_source(str(file))).unlink(missing_ok=True)
            importlib.invalidate_caches()
        found = importlib.import_module(name)
    if texts:
        _LOADED[top] = f"{now} {texts[top][0]}"
    return found


def _texts(top: str, folder: Path) -> dict[str, list[Path]]:
    """Module -> its files, for this one and all beside it that it imports; empty if it does not lie beside the spec."""
    home = next((place for place in (folder, Path.cwd()) if _files(place, top)), None)
    found: dict[str, list[Path]] = {}
    waiting = [] if home is None else [top]
    while waiting:
        name = waiting.pop()
        found[name] = _files(home, name) if home is not None else []
        for file in found[name]:
            waiting += [other for other in _imports(file) if other not in found and home and _files(home, other)]
    return found


def _files(home: Path, name: str) -> list[Path]:
    alone = home / f"{name}.py"
    return [alone] if alone.is_file() else sorted((home / name).rglob("*.py"))


def _imports(file: Path) -> Iterator[str]:
    """The first parts of the names that a file imports; none if it is not Python, which importing it will report."""
    try:
        tree = ast.parse(file.read_bytes())
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]
