"""Run a notebook and keep its outputs: the quickstart, unless another is named.

    .venv/bin/python docs/make/notebook.py [NOTEBOOK]

Its sources are edited in the notebook itself. What differs from run to run is not kept, so that its
diff shows what has changed.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).parents[2] / "examples" / "quickstart.ipynb"


def run(path: Path, folder: str | Path) -> Any:
    """The notebook with the outputs of a fresh kernel, which works in a folder."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}})
    client.execute()
    return notebook


def main(path: Path = NOTEBOOK) -> None:
    import nbformat

    with tempfile.TemporaryDirectory() as folder:
        notebook = run(path, folder)
    # The kernel's name is enough for others to open it; its version is this machine's.
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook.metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    for number, cell in enumerate(notebook.cells):
        cell.metadata = {}
        cell.id = f"cell-{number}"
    nbformat.validate(notebook)
    nbformat.write(notebook, path)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
