"""Compiled programs kept on disk, for the next start."""

import os
import warnings
from pathlib import Path

import jax
from jax.experimental.compilation_cache.compilation_cache import reset_cache

from droculo.folders import cache_folder


def keep_compiled(folder: str | os.PathLike[str] | None = None) -> Path | None:
    """Keep compiled programs in `folder`: the next process that needs one loads it instead of compiling it.

    Without a folder it is `$DROCULO_CACHE`, else the one that JAX already uses, else `droculo` in your folder for caches
    (`$XDG_CACHE_HOME` or `~/.cache`). The environment variable also switches this on by itself, when droculo is imported.
    Returns the folder, or None, with a warning, where it cannot be written.

    This is JAX's own persistent cache: it also keeps other programs of the process. They change no result. Programs that call
    Python back (sets with a solver on the host) cannot be kept and are compiled at every start. JAX runs what it finds in
    the folder, so it should be one that only you can write to; delete it whenever you like.
    """
    path = Path(folder).expanduser().absolute() if folder else cache_folder()
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        writable = os.access(path, os.W_OK | os.X_OK)
    except OSError:
        writable = False
    if not writable:
        warnings.warn(
            f"compiled programs are not kept: {path} is not a folder that can be written. Pass another folder.",
            stacklevel=2,
        )
        return None
    jax.config.update("jax_compilation_cache_dir", str(path))  # type: ignore[no-untyped-call]
    # All programs: a start compiles dozens of small ones, and their seconds add up.
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)  # type: ignore[no-untyped-call]
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)  # type: ignore[no-untyped-call]
    reset_cache()  # else JAX would go on in a folder that it has used before
    return path
