"""Looks for words that this project once used and its field does not: words.py. README, the docs, the package and the command's help."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: What is looked for, and what to write instead.
WORDS = {
    r"\b(\w+`?|it) answer(s|ed) (the|an?|what|how|where|at|one|columns|`|-?inf|−)": "returns, gives",
    r"\b(gone|goes|going|go|went) on with\b": "continued, continues",
    r"\bmend(s|ed|ing)?\b": "fixes, corrects",
    r"\bwhat (they|it) says?\b": "what it contains",
    r"\bof \*{0,2}two speeds\b": "with slow and fast parameters",
}
#: Files; of those in Rust what clap shows is looked at through docs/api/command.md, which a test compares with the command.
FILES = ["README.md", "CONTRIBUTING.md", "VISION.md", "pyproject.toml", "mkdocs.yml", "docs/**/*.md", "crates/*/src/lib.rs", "crates/*/examples/*.rs", "examples/**/README.md", "python/towline/*.py", "python/towline/cobaya/*.yaml"]


def main():
    found = 0
    for pattern in FILES:
        for path in sorted(ROOT.glob(pattern)):
            name = path.relative_to(ROOT)
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                for words, better in WORDS.items():
                    if re.search(words, line, re.IGNORECASE):
                        found += 1
                        print(f"{name}:{number}: {line.strip()[:100]} (better: {better})")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
