"""Puts the Python package into an environment as it stands in this folder: develop.py FOLDER, run by that environment's Python.

What `maturin develop` does, with the library that cargo has built in FOLDER already: building it through maturin compiles everything
again, since cargo then chooses other features of shared dependencies. Names, versions and entry points are maturin's.
"""

import base64
import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


def record(name, content):
    """A line of a wheel's RECORD."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}\n"


def wheel(folder):
    """A wheel that holds nothing but the way to the sources."""
    maturin = [sys.executable, "-m", "maturin", "pep517", "write-dist-info", "--metadata-directory", folder]
    subprocess.run(maturin, cwd=FOLDER.parent, check=True, stdout=subprocess.DEVNULL)
    [information] = Path(folder).glob("*.dist-info")
    files = {"towline.pth": f"{FOLDER}\n".encode()}
    for path in sorted(information.rglob("*")):
        if path.is_file() and path.name not in ("RECORD", "WHEEL"):
            files[f"{information.name}/{path.relative_to(information)}"] = path.read_bytes()
    files[f"{information.name}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: towline\nRoot-Is-Purelib: false\nTag: py3-none-any\n"
    lines = "".join(record(name, content) for name, content in files.items())
    files[f"{information.name}/RECORD"] = (lines + f"{information.name}/RECORD,,\n").encode()
    made = Path(folder) / f"{information.name.removesuffix('.dist-info')}-py3-none-any.whl"
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return made


def main(folder):
    built = [path for path in (folder / "lib_towline.so", folder / "lib_towline.dylib") if path.exists()]
    if not built:
        raise SystemExit(f"there is no module in {folder}: `make compiled` builds it")
    target = FOLDER / "towline" / "_towline.abi3.so"
    # Under a new name first: a library that is in use must not change under its user.
    fresh = target.with_name("_towline.fresh")
    shutil.copy2(built[0], fresh)
    fresh.replace(target)
    with tempfile.TemporaryDirectory() as work:
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--force-reinstall"]
        subprocess.run([*install, str(wheel(work))], check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
