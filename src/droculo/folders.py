"""Where droculo keeps files of its own."""

import os
from pathlib import Path

import jax


def cache_folder() -> Path:
    """The folder for compiled code: `$DROCULO_CACHE`, else the one that JAX uses, else `droculo` in the user's cache folder."""
    of_jax = jax.config.jax_compilation_cache_dir or ""  # type: ignore[attr-defined]
    chosen = os.environ.get("DROCULO_CACHE") or ("" if "://" in of_jax else of_jax)  # JAX also accepts a URL
    chosen = chosen or os.path.join(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "droculo")
    return Path(chosen).expanduser().absolute()
