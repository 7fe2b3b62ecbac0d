#!/usr/bin/env python3
"""Runs a stage of `make test` unless it has passed with the same files before: stage.py NAME [PATH…] -- COMMAND…

    python3 scripts/stage.py exports crates tests/python -- .venv/bin/python tests/python/exports.py target/debug/towline

What counts is what is in the files below PATH (those that git tracks or would), the command, and the compiler and interpreter it runs with. `AGAIN=1` in
the environment, or a fresh clone, runs everything. A stage that fails leaves no mark.
"""
import hashlib, os, subprocess, sys, time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Every stage is built by these.
ALWAYS = ["Makefile", "Cargo.toml", "Cargo.lock", "scripts/stage.py", "tests/python/requirements.lock"]


def said(*command):
    """What a program prints, or nothing where it is not there."""
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True).stdout
    except OSError:
        return b""


def fingerprint(paths, command):
    """Changes whenever anything does that the stage may depend on."""
    names = said("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *ALWAYS, *paths)
    if not names:
        return None
    digest = hashlib.sha256(repr(command).encode())
    # An MPI, a browser or other packages may be there today and not tomorrow: tests are left out without them.
    for program in (["rustc", "-vV"], ["python3", "-VV"], ["mpirun", "--version"], ["chromium", "--version"]):
        digest.update(said(*program))
    for name in sorted(set(names.split(b"\0")) - {b""}):
        path = ROOT / os.fsdecode(name)
        if path.is_file():
            digest.update(name + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    # Data that may not be committed, which some tests read.
    for path in sorted((ROOT / "../shared/data").rglob("*")):
        digest.update(f"{path.name} {path.stat().st_size}".encode())
    return digest.hexdigest()


def main():
    split = sys.argv.index("--")
    (name, *paths), command = sys.argv[1:split], sys.argv[split + 1:]
    mark = ROOT / "target/passed" / name
    now = fingerprint(paths, command)
    if now and not os.environ.get("AGAIN") and mark.is_file() and mark.read_text() == now:
        print(f"{name}: passed before with the same files (AGAIN=1 runs it again)", flush=True)
        return 0
    begun = time.monotonic()
    code = subprocess.run(command, cwd=ROOT).returncode
    print(f"{name}: {'passed' if code == 0 else 'FAILED'} in {time.monotonic() - begun:.0f} s", flush=True)
    # Files that changed while it ran were perhaps not what it saw.
    if code == 0 and now and fingerprint(paths, command) == now:
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.write_text(now)
    return code


sys.exit(main())
