"""``python -m nadirfix``: the same as the command ``nadirfix``."""

import sys

from nadirfix.cli import main

if __name__ == "__main__":
    sys.exit(main())
