#!/usr/bin/env python3
"""Makes the package's wheel and source distribution in target/wheels: `make wheels`, `python3 scripts/wheels.py [--here]`.

The wheel is abi3 (one for every CPython from 3.11 on) and includes the command `towline`. On Linux it is linked against an old glibc by
zig, which comes as a Python package, so that it installs on other distributions (manylinux); where zig cannot be had, or with --here, it is
linked against this machine's, carries the tag linux, and this program says so. The source distribution holds all crates that it is
built of (`vendor/`), and builds without a network."""
import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "target" / "wheels"
TOOLS = ROOT / "target" / "wheel-tools"
#: As old as the Rust standard library itself allows for this target.
GLIBC = "2.17"

VENDORED = """# All crates are in vendor/: no network is needed.
[source.crates-io]
replace-with = "vendored-sources"

[source.vendored-sources]
directory = "vendor"
"""


def run(*command, **options):
    """Runs a program, which must succeed."""
    return subprocess.run([str(word) for word in command], check=True, cwd=ROOT, **options)


def tools(*packages):
    """The interpreter of an environment with these packages, made when needed; None where they cannot be had."""
    python = TOOLS / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        run(sys.executable, "-m", "venv", TOOLS)
    done = subprocess.run([str(python), "-m", "pip", "install", "--quiet", *packages], cwd=ROOT)
    return python if done.returncode == 0 else None


def wheel(here):
    """The wheel; says which kind it is."""
    python = tools("maturin>=1.9,<2")
    if python is None:
        sys.exit("maturin cannot be installed: see that pip reaches a package index, or put maturin into target/wheel-tools")
    if sys.platform == "linux" and not here:
        if tools("maturin>=1.9,<2", "ziglang"):
            done = subprocess.run(
                [str(python), "-m", "maturin", "build", "--release", "--out", str(OUT), "--zig", "--compatibility", f"manylinux_{GLIBC.replace('.', '_')}"],
                cwd=ROOT,
                # It looks for zig with the first Python of the path.
                env=dict(os.environ, PATH=f"{python.parent}{os.pathsep}{os.environ.get('PATH', '')}"),
            )
            if done.returncode == 0:
                return "manylinux: it installs on any Linux of the last ten years"
            print("the build with zig failed (above)", file=sys.stderr)
        print("no manylinux wheel: this one is for this machine's glibc and later ones; to publish one, run this where zig works", file=sys.stderr)
    run(python, "-m", "maturin", "build", "--release", "--out", OUT, "--compatibility", "linux" if sys.platform == "linux" else "off")
    return "for this system"


def source():
    """The source distribution with its crates: maturin's, and `cargo vendor` beside it."""
    python = tools("maturin>=1.9,<2")
    with tempfile.TemporaryDirectory(dir=ROOT / "target") as folder:
        folder = Path(folder)
        run(python, "-m", "maturin", "sdist", "--out", folder)
        (archive,) = folder.glob("*.tar.gz")
        with tarfile.open(archive) as file:
            file.extractall(folder, filter="data")
        top = folder / archive.name.removesuffix(".tar.gz")
        # The lock file is the workspace's, and cargo leaves out of it what the package is not built of; versions stay.
        subprocess.run(["cargo", "vendor", "--versioned-dirs", "--quiet", "vendor"], cwd=top, check=True)
        (top / ".cargo").mkdir(exist_ok=True)
        (top / ".cargo" / "config.toml").write_text(VENDORED)
        made = OUT / archive.name
        with tarfile.open(made, "w:gz") as file:
            file.add(top, arcname=top.name)
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--here", action="store_true", help="for this machine's glibc: no zig")
    parser.add_argument("--no-source", action="store_true", help="the wheel alone")
    options = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    for old in [*OUT.glob("towline-*.whl"), *OUT.glob("towline-*.tar.gz")]:
        old.unlink()
    kind = wheel(options.here)
    made = sorted(OUT.glob("towline-*.whl"))
    print(f"{made[0].relative_to(ROOT)} ({made[0].stat().st_size / 1e6:.1f} MB), {kind}")
    if not options.no_source:
        archive = source()
        print(f"{archive.relative_to(ROOT)} ({archive.stat().st_size / 1e6:.1f} MB), builds without a network")
    print(f"next: pip install {made[0].relative_to(ROOT)}")


if __name__ == "__main__":
    main()
