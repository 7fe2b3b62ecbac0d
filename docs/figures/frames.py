"""Keeps what the docs show of `towline paper --frames --json FILE`: frames.py FILE writes frames.csv beside this script."""

import csv
import json
import sys
from pathlib import Path

HEADER = ["test", "method", "n", "act", "act_se", "slow_per_draw", "fast_per_slow"]


def line(row):
    """The figures of a row, with as many digits as they are good for."""
    slow = row["slow_evals"] / row["iterations"]
    se = row["act_se"]
    digits = lambda value: f"{float(f'{value:.3g}'):g}"
    return [
        row["test"], row["method"], row["n"] if row["n"] is not None else "",
        f"{row['act']:.4g}" if se else "", digits(float(f'{se:.1g}')) if se else "",
        digits(row["act"] * slow) if se else "", digits(row["fast_evals"] / row["slow_evals"]),
    ]  # fmt: skip


def main(path):
    rows = json.loads(Path(path).read_text())["rows"]
    with Path(__file__).with_name("frames.csv").open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([HEADER, *map(line, rows)])


if __name__ == "__main__":
    main(sys.argv[1])
