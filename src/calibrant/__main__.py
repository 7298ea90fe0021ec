"""``python -m calibrant`` is the command line."""

import sys

from calibrant._cli import main

if __name__ == "__main__":
    sys.exit(main())
