"""The suite as it would run on an older processor: results must not depend on the instruction set.

    python -m tests.another_processor [ARGUMENTS OF PYTEST]    # `make test-isa`

NumPy, the linear algebra that comes with it, and XLA are held to SSE 4.2; all three choose otherwise what the processor can do.
What a compiler makes of the C source of an oracle is left alone. Only on x86.
"""

import os
import platform
import sys

#: processes, browsers and the site have no arithmetic of their own
LEFT_OUT = ("tests/runtime", "tests/docs", "tests/report", "tests/gallery")


def settings():
    """The environment variables that hold libraries to the older instructions."""
    from numpy._core import _multiarray_umath as built

    newer = [name for name in built.__cpu_dispatch__ if built.__cpu_features__.get(name)]
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_max_isa=SSE4_2".strip()
    return {"NPY_DISABLE_CPU_FEATURES": " ".join(newer), "OPENBLAS_CORETYPE": "Nehalem", "XLA_FLAGS": flags}


def main():
    if platform.machine() not in ("x86_64", "AMD64"):
        raise SystemExit(f"this is for x86 processors; got {platform.machine()}.")
    os.environ.update(settings())
    chosen = sys.argv[1:] or ["tests", *(f"--ignore={folder}" for folder in LEFT_OUT)]
    os.execv(sys.executable, [sys.executable, "-m", "pytest", *chosen])


if __name__ == "__main__":
    main()
