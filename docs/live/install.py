#!/usr/bin/env python3
"""Puts into the site what the live pages need beside themselves: `install.py FOLDER ENGINE.wasm`.

The engine twice: as it is, for pages from a server; and packed into a script, since a page that was opened as a file may not read other
files. Where it was not built, the pages say so. And a table to try, from examples/."""
import base64
import gzip
import json
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: All that a visitor may have to load.
MOST = 3_000_000

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
    packed = base64.b64encode(gzip.compress(content, 9, mtime=0)).decode()
    (folder / "packed.js").write_text(f'window.packedTowline = "{packed}";\n')
    print(f"live pages: the engine has {len(content) / 1e6:.2f} MB")
size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
print(f"live pages: {size / 1e6:.2f} MB in all")
if size >= MOST:
    sys.exit(f"the live pages may take {MOST / 1e6:.0f} MB")
