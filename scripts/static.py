#!/usr/bin/env python3
"""Makes the command as one static binary for any Linux, with manual pages and licences, in target/static: `make static`.

Linked against musl instead of this machine's C library, so that it needs nothing of the system where it runs, however old or small; Rust brings musl
along (`rustup target add`), and all crates are Rust, so that no other compiler is needed. What was made is run here, in an empty environment, before it is
packed."""
import platform
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "target" / "static"
#: The program header that names a dynamic loader; a static program has none.
PT_INTERP = 3


def run(*command, **options):
    """Runs a program, which must succeed."""
    return subprocess.run([str(word) for word in command], check=True, cwd=ROOT, **options)


def loader(path):
    """Whether an ELF file of 64 bits asks for a dynamic loader."""
    data = path.read_bytes()
    if data[:5] != b"\x7fELF\x02":
        sys.exit(f"{path} is not an ELF file of 64 bits")
    number = lambda at, size: int.from_bytes(data[at : at + size], "little")
    begin, size, count = number(32, 8), number(54, 2), number(56, 2)
    return any(number(begin + k * size, 4) == PT_INTERP for k in range(count))


def main():
    if sys.platform != "linux":
        sys.exit("static binaries are for Linux; elsewhere `cargo install --path crates/towline-cli`")
    machine = platform.machine()
    target = f"{machine}-unknown-linux-musl"
    added = subprocess.run(["rustup", "target", "add", target], cwd=ROOT)
    if added.returncode:
        sys.exit(f"Rust's library for {target} cannot be had: `rustup target add {target}` must work")
    run("cargo", "build", "--release", "--locked", "--package", "towline-cli", "--target", target)
    built = ROOT / "target" / target / "release" / "towline"
    if loader(built):
        sys.exit(f"{built} is not static: it asks for a dynamic loader")
    OUT.mkdir(parents=True, exist_ok=True)
    # An empty environment: no library path, no locale, no terminal.
    version = run(built, "--version", env={}, capture_output=True, text=True).stdout.split()[1]
    run(built, "doctor", env={}, stdout=subprocess.DEVNULL)
    run(built, "man", "--out", OUT / "man1", stdout=subprocess.DEVNULL)
    name = f"towline-{version}-{machine}-linux"
    made = OUT / f"{name}.tar.gz"
    with tarfile.open(made, "w:gz") as file:
        file.add(built, f"{name}/towline")
        file.add(OUT / "man1", f"{name}/man1")
        for text in ("LICENSE-MIT", "LICENSE-APACHE", "CHANGELOG.md"):
            file.add(ROOT / text, f"{name}/{text}")
    print(f"{made.relative_to(ROOT)} ({made.stat().st_size / 1e6:.1f} MB), runs on any {machine} Linux")
    print(f"next: tar xzf {made.relative_to(ROOT)}, and put {name}/towline on the PATH")


if __name__ == "__main__":
    main()
