"""All comparisons with Cobaya one after another, as JSON lines: `make bench-cobaya`."""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
RUNS = [
    *(["cobaya_paper.py", test, which, "6000"] for test in "12" for which in ("exact", "learned")),
    *(["towline_paper.py", test, which, "20000", "1", ratio] for test in "12" for which in ("plain", "cobaya") for ratio in ("1000", "3")),
]
CMB = [["drag", "700"], ["plain", "9000"], ["towline", "400"]]


def main():
    runs = list(RUNS)
    data = os.environ.get("TOWLINE_CMB_DATA")
    if data:
        runs += [["cobaya_cmb.py", which, data, samples] for which, samples in CMB]
    else:
        print("TOWLINE_CMB_DATA is not set: the CMB posterior is left out", file=sys.stderr)
    for arguments in runs:
        done = subprocess.run([sys.executable, *arguments], cwd=HERE, capture_output=True, text=True)
        lines = [line.removeprefix("RESULT ") for line in done.stdout.splitlines() if line.startswith("RESULT ")]
        print(*(lines or [f"{arguments} failed: {done.stderr[-500:]}"]), sep="\n", flush=True)


if __name__ == "__main__":
    main()
