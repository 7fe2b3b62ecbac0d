"""Runs every code block of README.md and of the docs' pages, in order: run_blocks.py TOWLINE [PAGE ...].

A page is run in a folder of its own with the examples beside it. Shell blocks get the command, Python blocks share one
namespace. Rust blocks are doctests (docs/tests/src/lib.rs must name the page); tables of data must parse. A comment in
front of a block says what is special about it:

    <!-- file: NAME -->          the block is also written to that file
    <!-- needs: MODULE -->       run where the Python module is there, else counted
    <!-- not run: REASON -->     counted, with the reason

Runs are cut short (`short.py`), so that a page may show what its reader should type. Lines that build or install are left out.
"""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from short import LEAST, shorten_the_package

ROOT = Path(__file__).resolve().parents[2]
#: What builds the project, installs it, or takes an MPI: other targets of the Makefile do that.
BUILDS = re.compile(r"\s*(cargo|make|pip|tar|git|mpirun|python3? -m (pip|venv))\b")
#: Pages at a time.
AT_A_TIME = 2
#: Seconds for a page: against what hangs, not what is slow on a busy machine.
PATIENCE = 900
FENCE = re.compile(r"^\s*(`{3,})\s*([\w+-]*)")
COMMENT = re.compile(r"<!--\s*(file|needs|not run):\s*(.*?)\s*-->")


class Block:
    """A fenced block: its language, text, line, and what its comment says."""

    def __init__(self, language, text, line, said):
        self.language, self.text, self.line, self.said = language, text, line, said


def blocks(page):
    """The fenced blocks of a page."""
    found, said, lines = [], {}, page.read_text(encoding="utf-8").splitlines()
    at = 0
    while at < len(lines):
        opened = FENCE.match(lines[at])
        comment = COMMENT.search(lines[at])
        if comment:
            said[comment[1]] = comment[2]
        elif opened:
            begin = at + 1
            at = next((k for k in range(begin, len(lines)) if lines[k].strip() == opened[1]), None)
            if at is None:
                raise SystemExit(f"{page}:{begin}: a block without an end")
            found.append(Block(opened[2], "\n".join(lines[begin:at]) + "\n", begin + 1, said))
            said = {}
        elif lines[at].strip():
            said = {}
        at += 1
    return found


def shorter(arguments):
    """A command line of `towline` with little to do."""
    if not arguments or arguments[0] not in ("fit", "run", "resume", "paper", "demo"):
        return arguments
    wanted = {"fit": ("draws", "warmup"), "run": ("draws", "warmup"), "resume": ("draws",), "paper": ("iterations",), "demo": ("draws",)}[arguments[0]]
    if "--help" in arguments or "--show" in arguments:
        return arguments
    for name in wanted:
        flag = f"--{name}"
        if flag in arguments:
            at = arguments.index(flag) + 1
            # A resume must ask for more than the run has: twice what was made.
            most = 2 * LEAST[name] if arguments[0] == "resume" else LEAST[name]
            arguments[at] = str(min(int(arguments[at]), most))
        elif arguments[0] != "resume":
            arguments += [flag, str(LEAST[name])]
    return arguments


def data_of(block):
    """Whether a block of data parses."""
    if block.language == "toml":
        tomllib.loads(block.text)
    elif block.language == "json":
        json.loads(block.text)
    elif importlib.util.find_spec("yaml"):
        import yaml

        yaml.safe_load(block.text)


def run_page(page, folder):
    """Runs a page's blocks in the present folder; returns how many of which kind."""
    counts, namespace, shortened = {}, {"__name__": "__main__"}, False

    def count(what):
        counts[what] = counts.get(what, 0) + 1

    doctests = (ROOT / "docs/tests/src/lib.rs").read_text(encoding="utf-8")
    for block in blocks(page):
        place = f"{page.relative_to(ROOT)}:{block.line}"
        if "file" in block.said:
            Path(block.said["file"]).write_text(block.text, encoding="utf-8")
        if "not run" in block.said:
            count(f"not run ({block.said['not run']})")
        elif "needs" in block.said and importlib.util.find_spec(block.said["needs"]) is None:
            count(f"not run (no {block.said['needs']} here)")
        elif block.language == "sh":
            lines = block.text.splitlines()
            kept = [line for line in lines if not BUILDS.match(line)]
            if not "".join(kept).strip():
                count("not run (builds or installs)")
                continue
            script = "set -eu\n" + "\n".join(kept)
            done = subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(f"{place}: status {done.returncode}\n{script}\n{done.stdout}{done.stderr}")
            count("shell")
        elif block.language == "python":
            if not shortened:
                shorten_the_package()
                shortened = True
            exec(compile("\n" * (block.line - 1) + block.text, str(page), "exec"), namespace)
            count("Python")
        elif block.language == "rust":
            if page != ROOT / "README.md" and f'"../../{page.relative_to(ROOT / "docs")}"' not in doctests:
                raise SystemExit(f"{place}: docs/tests/src/lib.rs does not name the page, so its Rust is not compiled")
            count("Rust (doctests)")
        elif block.language == "rs":
            # A file of the project, shown as it is and compiled there.
            if not re.fullmatch(r'--8<-- "([\w/.-]+)"\n', block.text):
                raise SystemExit(f"{place}: a block of rs shows a file of the project; say rust, so that it is compiled")
            count("Rust (files of the project)")
        elif block.language in ("toml", "yaml", "json"):
            data_of(block)
            count("data")
        elif block.language == "c":
            # A block of the shell compiles it; what nobody compiles is not tested.
            if "file" not in block.said:
                raise SystemExit(f"{place}: a block of C needs a file, so that a command of the page can compile it")
            count("C (compiled by its page)")
        elif block.language == "text":
            pass
        else:
            raise SystemExit(f"{place}: a block of {block.language or 'no language'}: say sh, python, rust, rs, c, toml, yaml, json or text")
    return counts


def in_a_process(page, command):
    """Runs a page in an interpreter and a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="towline-docs-") as folder:
        shutil.copytree(ROOT / "examples", Path(folder) / "examples")
        tools = Path(folder) / ".tools"
        tools.mkdir()
        (tools / "towline").write_text(f'#!/bin/sh\nexec "{sys.executable}" "{__file__}" --towline "{command}" "$@"\n')
        (tools / "towline").chmod(0o755)
        environment = {**os.environ, "PATH": f"{tools}:{Path(sys.executable).parent}:{os.environ['PATH']}", "MPLBACKEND": "Agg"}
        return subprocess.run(
            [sys.executable, __file__, "--page", page, folder],
            cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE,
        )  # fmt: skip


def main(arguments):
    if arguments[0] == "--towline":
        os.execv(arguments[1], ["towline", *shorter(arguments[2:])])
    if arguments[0] == "--page":
        print("\n" + json.dumps(run_page(Path(arguments[1]), arguments[2])))
        return 0
    command = Path(arguments[0]).resolve()
    pages = [Path(page).resolve() for page in arguments[1:]] or [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    total, failed = {}, 0
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        for page, done in zip(pages, pool.map(lambda page: in_a_process(page, command), pages)):
            if done.returncode:
                failed += 1
                print(f"FAILED {page.relative_to(ROOT)}\n{done.stdout}{done.stderr}")
                continue
            counts = json.loads(done.stdout.splitlines()[-1])
            for what, how_many in counts.items():
                total[what] = total.get(what, 0) + how_many
            print(f"{page.relative_to(ROOT)}: {', '.join(f'{n} {what}' for what, n in counts.items()) or 'no code'}")
    print("all pages: " + ", ".join(f"{n} {what}" for what, n in sorted(total.items())))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
