"""``python -m calibrant`` is the command line."""

import sys

from calibrant.cli import main

sys.exit(main())
