"""Links of the Markdown files that are read in the repository itself (README, CONTRIBUTING, examples, …) lead somewhere: links.py.

The site's pages are checked where the site is built (check_site.py). A heading's anchor is made as the usual hosts of repositories make it.
What a page names as a file of the project (`docs/…`, `crates/…`, `examples/…`, …, in back quotes) must be there too, in the docs as well."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
#: Folders of the project; what else stands in back quotes may be a file of the reader's.
NAMED = re.compile(r"`((?:\.ci|benches|crates|docs|examples|gallery|python|scripts|tests)/[\w./-]*\w)(?:/)?`")


def tracked():
    """All files that are under version control, and their folders; all that are there, where there is no version control."""
    done = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True) if (ROOT / ".git").exists() else None
    if done and done.returncode == 0:
        files = {Path(line) for line in done.stdout.splitlines()}
    else:
        made = ("target", ".venv", ".venv-peers")
        files = {path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file() and path.relative_to(ROOT).parts[0] not in made}
    return files | {folder for file in files for folder in file.parents}


def prose(text):
    """Without blocks of code."""
    return re.sub(r"(?ms)^(```+).*?^\1$", "", text)


def anchors(text):
    """The anchors of a page's headings."""
    found = set()
    for heading in re.findall(r"(?m)^#+ (.+)$", prose(text)):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        found.add(re.sub(r"[^\w\- ]", "", plain).replace(" ", "-"))
    return found


def wrong_with(page, there):
    """What does not lead anywhere."""
    text = prose((ROOT / page).read_text(encoding="utf-8"))
    for name in NAMED.findall(text):
        if Path(name) not in there:
            yield f"names {name}, which is not there"
    if page.parts[0] == "docs":
        return
    for address in LINK.findall(text):
        if re.match(r"\w+:", address):
            continue
        path, _, anchor = address.partition("#")
        goal = (ROOT / page.parent / path).resolve() if path else ROOT / page
        if not goal.exists() or goal.relative_to(ROOT) not in there:
            yield f"leads to {address}, which is not there"
        elif anchor and anchor not in anchors(goal.read_text(encoding="utf-8")):
            yield f"leads to {address}, which has no such heading"


def main():
    there = tracked()
    pages = sorted(path for path in there if path.suffix == ".md" and (ROOT / path).is_file())
    wrong = [f"{page} {what}" for page in pages for what in wrong_with(page, there)]
    print("\n".join(wrong) or f"{len(pages)} pages: no dead links outside of the site, no files named that are not there")
    return 1 if wrong or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
