"""What the tutorials show of their own commands: tutorials.py COMMAND. Some minutes; by `make figures`.

Runs the first commands of docs/tutorials/statistician.md and the blocks of physicist.md as they stand there, in a folder of their own, and keeps
ncsids.txt and ncsids.png (summary and map), report.png (needs Chromium), pendulum.txt and pendulum.png beside this script. The package must be
installed in the interpreter that runs this.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "docs" / "tests"))
from browser import Browser  # noqa: E402
from run_blocks import blocks  # noqa: E402

#: Commands of the first tutorial up to its pictures.
WANTED = re.compile(r"towline (fit model\.toml --out|summary ncsids|map ncsids|report ncsids)")


def statistician(command, folder):
    """The map of risk."""
    shutil.copytree(ROOT / "examples", folder / "examples")
    for block in blocks(ROOT / "docs/tutorials/statistician.md"):
        if block.said.get("file"):
            (folder / block.said["file"]).write_text(block.text, encoding="utf-8")
        for line in block.text.splitlines() if block.language == "sh" else []:
            if not WANTED.match(line):
                continue
            words = line.split()[1:]
            done = subprocess.run([command, *words], cwd=folder, check=True, capture_output=True, text=True)
            if words[0] == "summary":
                (HERE / "ncsids.txt").write_text(done.stdout.rstrip() + "\n", encoding="utf-8")
    shutil.copy(folder / "ncsids" / "map.png", HERE / "ncsids.png")
    with Browser() as browser:
        browser.size(1000, 1735)
        browser.open((folder / "ncsids" / "report.html").as_uri())
        browser.value("new Promise((done) => setTimeout(done, 500))")
        browser.picture(HERE / "report.png")


def physicist(folder):
    """The pendulum: its blocks in a process of their own, up to the picture."""
    script = "\n".join(block.text for block in blocks(ROOT / "docs/tutorials/physicist.md") if block.language == "python")
    script = script[: script.index("path = run.report")]
    (folder / "pendulum.py").write_text(script, encoding="utf-8")
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    done = subprocess.run([sys.executable, "pendulum.py"], cwd=folder, check=True, capture_output=True, text=True, env=environment)
    (HERE / "pendulum.txt").write_text(done.stdout.strip("\n") + "\n", encoding="utf-8")
    shutil.copy(folder / "pendulum.png", HERE / "pendulum.png")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        statistician(Path(sys.argv[1]).resolve(), Path(made))
        physicist(Path(made))
