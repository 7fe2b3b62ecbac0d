#!/usr/bin/env python3
"""Checks all crates that Towline is built of by the rules of deny.toml, without a network: licences, sources, crates that are banned.

What cargo-deny checks, where it is installed (`make deny`), and what `make test` checks where it is not."""
import json
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def fits(licence, allowed):
    """Whether an expression of licences (in SPDX's words, or cargo's old ones) is met by those that are allowed."""
    words = licence.replace("/", " OR ").replace("(", " ( ").replace(")", " ) ").split()
    place = 0

    def either():
        nonlocal place
        value = both()
        while place < len(words) and words[place] == "OR":
            place += 1
            value = both() or value
        return value

    def both():
        nonlocal place
        value = one()
        while place < len(words) and words[place] == "AND":
            place += 1
            value = one() and value
        return value

    def one():
        nonlocal place
        if words[place] == "(":
            place += 1
            value = either()
            place += 1
            return value
        name = words[place]
        place += 1
        if place < len(words) and words[place] == "WITH":
            name = " ".join((name, *words[place : place + 2]))
            place += 2
        return name in allowed

    return either()


def main():
    rules = tomllib.loads((ROOT / "deny.toml").read_text(encoding="utf-8"))
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--all-features"]
    packages = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)["packages"]
    packages = [package for package in packages if package["source"]]
    allowed, wrong = set(rules["licenses"]["allow"]), []
    for package in packages:
        name = f"{package['name']} {package['version']}"
        if not (package["license"] and fits(package["license"], allowed)):
            wrong.append(f"{name}: its licence is {package['license']}")
        if package["name"] in rules["bans"]["deny"]:
            wrong.append(f"{name} is banned")
        if not package["source"].startswith("registry+"):
            wrong.append(f"{name} comes from {package['source']}")
    print("\n".join(wrong) if wrong else f"{len(packages)} crates, as deny.toml allows")
    return bool(wrong)


if __name__ == "__main__":
    assert fits("(MIT OR X) AND Y", {"MIT", "Y"}) and not fits("MIT AND Y", {"MIT"}) and fits("A WITH B OR C", {"A WITH B"})
    sys.exit(main())
