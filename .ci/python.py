"""Say which interpreter to work with: this one, or the system's of the same version if faster.

pyenv and others compile Python without the profile-guided optimisation that the packages of systems
have: tests take a tenth longer. An interpreter that was chosen, by an environment or by `PYTHON=`,
is kept.
"""

import os
import subprocess
import sys
import sysconfig

SYSTEM = "/usr/bin/python3"


def is_optimised() -> bool:
    """Whether this interpreter was, as far as it tells."""
    told = sysconfig.get_config_var("CONFIG_ARGS") or ""
    return sys.executable == SYSTEM or "--enable-optimizations" in told


def can_stand_in(version: str) -> bool:
    """Whether it can make environments and compile for them, and is of the version asked for."""
    try:
        import ensurepip  # noqa: F401
    except ImportError:  # Debian has it in a package of its own
        return False
    header = os.path.join(sysconfig.get_path("include"), "Python.h")
    return os.path.exists(header) and version == sysconfig.get_python_version()


def main() -> None:
    chosen = sys.prefix != sys.base_prefix
    if not (chosen or is_optimised()) and os.path.exists(SYSTEM):
        asked = [SYSTEM, __file__, sysconfig.get_python_version()]
        if subprocess.run(asked, stderr=subprocess.DEVNULL, check=False).returncode == 0:
            print(SYSTEM)
            return
    print(sys.executable)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(not can_stand_in(sys.argv[1]))
    main()
