"""`python -m droculo` is the command `droculo`."""

import sys

from droculo.cli import main

if __name__ == "__main__":
    sys.exit(main())
