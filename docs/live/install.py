#!/usr/bin/env python3
"""Puts into the site what the live pages need beside themselves: `install.py FOLDER ENGINE.wasm`.

The engine twice, where that is not too much: as it is, for pages from a server; and packed into a script, since a page that was opened as a
file may not read other files. Where it is not there, the pages say so. And a table to try, from examples/."""
import base64
import gzip
import json
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: All that a visitor may have to load.
MOST = 3_000_000



def size(folder):
    """All that is in a folder, in bytes."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


folder, engine = Path(sys.argv[1]), Path(sys.argv[2])
folder.mkdir(parents=True, exist_ok=True)
example = ROOT / "examples" / "glmm_epil"
model = tomllib.loads((example / "model.toml").read_text(encoding="utf-8"))
table = example / model["data"]["file"]
shown = {"name": table.name, "csv": table.read_text(encoding="utf-8"), "formula": model["formula"], "family": model["family"]}
(folder / "example.js").write_text(f"window.exampleTable = {json.dumps(shown)};\n", encoding="utf-8")
if engine.exists():
    content = engine.read_bytes()
    (folder / "towline.wasm").write_bytes(content)
    print(f"live pages: the engine has {len(content) / 1e6:.2f} MB")
    packed = f'window.packedTowline = "{base64.b64encode(gzip.compress(content, 9, mtime=0)).decode()}";\n'
    (folder / "packed.js").unlink(missing_ok=True)
    if size(folder) + len(packed) < MOST:
        (folder / "packed.js").write_text(packed)
    else:
        print("live pages: too much to have it twice: they must come from a server (python3 -m http.server in the site's folder)")
print(f"live pages: {size(folder) / 1e6:.2f} MB in all")
if size(folder) >= MOST:
    print(f"live pages: over the {MOST / 1e6:.0f} MB that they may take", file=sys.stderr)
