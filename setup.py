"""The compiled kernels. They are optional: where they cannot be built, NumPy stands in."""

import glob
import os

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext


class BuildWherePossible(build_ext):
    """`optional=True` forgives a compiler that fails, but not one that is not there."""

    def build_extension(self, ext: Extension) -> None:
        try:
            super().build_extension(ext)
        except Exception as error:  # whatever keeps a kernel from being built, NumPy does its work
            self.warn(f"{ext.name} was not built, NumPy will stand in: {error}")


def extensions() -> list[Extension]:
    if os.environ.get("CALIBRANT_NO_NATIVE") == "1":
        return []
    from Cython.Build import cythonize

    modules = [
        Extension(
            source.removeprefix("src/").removesuffix(".pyx").replace("/", "."),
            [source],
            depends=glob.glob(f"{os.path.dirname(source)}/*.h"),
            # Without contraction x * x + s is the same bits on every processor, in every loop.
            extra_compile_args=[] if os.name == "nt" else ["-O3", "-ffp-contract=off"],
        )
        for source in sorted(glob.glob("src/calibrant/**/*.pyx", recursive=True))
    ]
    built = cythonize(modules, language_level=3)
    for extension in built:
        extension.optional = True  # said here, because it gets lost on the way through Cython
    return built


setup(ext_modules=extensions(), cmdclass={"build_ext": BuildWherePossible})
