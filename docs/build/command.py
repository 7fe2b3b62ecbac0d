"""Writes docs/api/command.md, the help of every subcommand: command.py TOWLINE, or --check TOWLINE to compare."""

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "api" / "command.md"


def shown(command, *arguments):
    """What the command says of itself."""
    text = subprocess.run([command, *arguments, "--help"], capture_output=True, text=True, check=True).stdout
    # Parquet is a feature: the page is the same with it and without.
    lines = [line.rstrip() for line in text.strip().splitlines() if "- parquet:" not in line]
    return "\n".join(lines)


def page(command):
    """The whole page."""
    top = shown(command)
    listed = top.split("Commands:")[1].split("\n\n")[0]
    parts = [
        "# The command",
        "",
        "What `towline` says of itself; a test compares this page with the command.",
        "",
        f"```text\n{top}\n```",
    ]
    for name in re.findall(r"^  (\w+) ", listed, re.MULTILINE):
        if name != "help":
            parts += ["", f"## towline {name}", "", f"```text\n{shown(command, name)}\n```"]
    return "\n".join(parts) + "\n"


def main(arguments):
    check = arguments[0] == "--check"
    text = page(arguments[-1])
    if not check:
        PAGE.write_text(text, encoding="utf-8")
    elif text != PAGE.read_text(encoding="utf-8"):
        print("docs/api/command.md is not what the command says: python3 docs/build/command.py TOWLINE writes it anew")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
