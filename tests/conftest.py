"""What must be settled before any test imports anything."""

import os
from pathlib import Path

# Without a GPU, Triton's kernels are run by its interpreter. It reads this when it is imported,
# which importing torch does.
if not Path("/dev/nvidiactl").exists():
    os.environ.setdefault("TRITON_INTERPRET", "1")
