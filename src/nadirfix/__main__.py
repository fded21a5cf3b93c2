"""``python -m nadirfix``: the same door as the command ``nadirfix``."""

import sys

from nadirfix.cli import main

if __name__ == "__main__":
    sys.exit(main())
