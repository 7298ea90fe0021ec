"""``python -m calibrant`` is the command line."""

import sys

from calibrant_command import main

sys.exit(main())
