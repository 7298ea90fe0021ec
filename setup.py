"""The compiled kernels. They are optional: where they cannot be built, NumPy stands in."""

import glob
import os
import re
import shutil
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

# What Cython needs for its memoryviews: compiled once here, not once in every kernel.
SHARED = "calibrant._core._cyutility"
# Without contraction x * x + s is the same bits on every processor, in every loop. Debugging
# symbols would be a fifth of the compiler's time and most of the wheel.
FLAGS = [] if os.name == "nt" else ["-O3", "-ffp-contract=off", "-g0"]
# Names of functions inside: a tenth of a kernel.
LINK_FLAGS = ["-Wl,-s"] if sys.platform == "linux" else []
# Kernels keep no state between calls, so that a free-threaded Python need not bring its lock back.
DIRECTIVES = {"freethreading_compatible": True}


class BuildWherePossible(build_ext):
    """`optional=True` forgives a compiler that fails, but not one that is not there."""

    def finalize_options(self) -> None:
        super().finalize_options()
        if self.parallel is None:
            self.parallel = True  # as many compilers at a time as there are processors

    def build_extensions(self) -> None:
        compiler = getattr(self.compiler, "compiler", None)  # of Windows there is no command
        if compiler and shutil.which(compiler[0]) is None:
            self.warn(f"no kernel is built, NumPy stands in: there is no {compiler[0]!r}")
            return
        # Not sooner: a source package and a package's metadata need no C.
        from Cython.Build import cythonize

        made = cythonize(
            self.extensions,
            language_level=3,
            shared_utility_qualified_name=SHARED,
            compiler_directives=DIRECTIVES,
        )
        sources = {extension.name: extension.sources for extension in made}
        for extension in self.extensions:
            extension.sources = sources[extension.name]
        super().build_extensions()

    def build_extension(self, ext: Extension) -> None:
        try:
            super().build_extension(ext)
        except Exception as error:  # whatever keeps a kernel from being built, NumPy does its work
            self.warn(f"{ext.name} was not built, NumPy will stand in: {error}")


def headers_of(source: str) -> list[str]:
    """The headers that a source names, and those that they name: nothing else is built again."""
    with open(source, encoding="utf-8") as file:
        text = file.read()
    named = re.findall(r'"(\w+\.h)"', text)
    named += [f"{name}.pxd" for name in re.findall(r"(\w+) cimport ", text)]
    paths = [os.path.join(os.path.dirname(source), name) for name in named]
    ours = [path for path in paths if os.path.exists(path)]
    return sorted({*ours, *(more for path in ours for more in headers_of(path))})


def extensions() -> list[Extension]:
    if os.environ.get("CALIBRANT_NO_NATIVE") == "1":
        return []
    kernels = [
        Extension(
            source.removeprefix("src/").removesuffix(".pyx").replace("/", "."),
            [source],
            depends=headers_of(source),
            extra_compile_args=FLAGS,
            extra_link_args=LINK_FLAGS,
            optional=True,
        )
        for source in sorted(glob.glob("src/calibrant/**/*.pyx", recursive=True))
    ]
    shared = f"src/{SHARED.replace('.', '/')}.c"
    return [
        *kernels,
        Extension(
            SHARED,
            [shared],
            extra_compile_args=FLAGS,
            extra_link_args=LINK_FLAGS,
            optional=True,
        ),
    ]


setup(ext_modules=extensions(), cmdclass={"build_ext": BuildWherePossible})
