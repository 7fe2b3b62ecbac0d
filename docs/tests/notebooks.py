"""Runs the docs' notebooks from end to end: notebooks.py [--write] [NOTEBOOK ...].

As a test with few draws (`short.py`); with --write they make all their draws, and keep what they showed.
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"
#: Notebooks at a time, and seconds for a cell.
AT_A_TIME, PATIENCE = 2, 240


def run(path):
    """Runs a notebook; returns what went wrong, or nothing."""
    notebook = nbformat.read(path, as_version=4)
    if not WRITE:
        notebook.cells.insert(0, nbformat.v4.new_code_cell(SHORT))
    client = NotebookClient(notebook, timeout=PATIENCE, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}})
    try:
        client.execute()
    except Exception as error:
        return str(error)
    if WRITE:
        # Without times and the versions of one machine: only what changed shows in a comparison.
        for cell in notebook.cells:
            cell.metadata.pop("execution", None)
        notebook.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
        nbformat.write(notebook, path)
    return ""


WRITE = "--write" in sys.argv[1:]
#: The cell that goes before the others in a test.
SHORT = f"import sys\nsys.path.insert(0, {str(Path(__file__).resolve().parent)!r})\nimport short\nshort.shorten_the_package()"


def main(arguments):
    chosen = [Path(one) for one in arguments if not one.startswith("--")] or sorted(FOLDER.glob("*.ipynb"))
    failed = 0
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        for path, wrong in zip(chosen, pool.map(run, chosen)):
            failed += bool(wrong)
            print(f"{path.name}: {wrong or 'ran'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
