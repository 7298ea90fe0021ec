"""Install packages into this environment as `pip install` does, but sooner.

Of two hundred packages pip reads pages that list every file ever published, and one after the
other; uv does not, but knows nothing of how pip is set up. It is told here; where it fails, pip is
asked. (What tests need, with kernels compiled: 68 s by `make .venv/.test`, and 95 s with pip.)
"""

import os
import subprocess
import sys
import sysconfig
from ast import literal_eval

# Where packages come from, and how: pip's settings, and the variables that tell uv the same.
SETTINGS = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "cert": "SSL_CERT_FILE",
    "timeout": "UV_HTTP_TIMEOUT",
    "default-timeout": "UV_HTTP_TIMEOUT",
}
PIP = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile"]
# Spark comes as source, half a gigabyte of archives that need not be compressed to be installed.
UNCOMPRESSED = "--build-option=--compression=stored"


def as_uv_has_it(listed: str) -> dict[str, str]:
    """pip's settings, as `pip config list` shows them, in uv's variables: of a setting that a file
    and the environment both have, the environment's, which is listed first.
    """
    found: dict[str, str] = {}
    for line in listed.splitlines():
        name, _, value = line.partition("=")
        variable = SETTINGS.get(name.rpartition(".")[2])
        if variable is not None:
            between = "," if variable == "UV_FIND_LINKS" else " "
            found.setdefault(variable, between.join(literal_eval(value).split()))
    return found


def main(arguments: list[str]) -> int:
    uv = os.path.join(sysconfig.get_path("scripts"), "uv")
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False
    )
    # All indexes count alike, and the newest version of any of them is taken.
    told = {"UV_INDEX_STRATEGY": "unsafe-best-match", **as_uv_has_it(listed.stdout), **os.environ}
    command = [uv, "pip", "install", "--quiet", "--python", sys.executable]
    command += ["--config-settings-package", f"pyspark:{UNCOMPRESSED}"]
    try:
        if subprocess.run([*command, *arguments], env=told, check=False).returncode == 0:
            return 0
    except OSError as error:
        print(f"uv cannot be run ({error}):", end=" ", file=sys.stderr)
    print("pip installs instead, which takes longer", file=sys.stderr)
    if any("[test]" in argument for argument in arguments):
        subprocess.run([*PIP, f"--config-settings={UNCOMPRESSED}", "pyspark"], check=True)
    return subprocess.run([*PIP, *arguments], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
