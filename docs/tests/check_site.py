"""Looks at the built site: check_site.py SITE. Nothing is loaded from a network, every local link leads somewhere."""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: What a browser fetches by itself; a link (a) it does not.
LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "use": "href"}
#: Kinds of <link> that are only said, not fetched.
SAID = {"canonical", "prev", "next", "alternate", "author"}


class Links(HTMLParser):
    """All that a page loads and all that it links to."""

    def __init__(self):
        super().__init__()
        self.loaded, self.linked = [], []

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "a" and attributes.get("href"):
            self.linked.append(attributes["href"])
        elif tag in LOADED and attributes.get(LOADED[tag]) and attributes.get("rel") not in SAID:
            self.loaded.append(attributes[LOADED[tag]])


def wrong_with(site, page):
    """What is wrong with a page."""
    links = Links()
    links.feed(page.read_text(encoding="utf-8"))
    for address in links.loaded:
        if urlsplit(address).netloc:
            yield f"loads {address}"
    for address in links.loaded + links.linked:
        parts = urlsplit(address)
        if parts.scheme or parts.netloc or not parts.path:
            continue
        if not (page.parent / unquote(parts.path)).exists():
            yield f"leads to {address}, which is not there"


def main(site):
    site = Path(site)
    # The crates' pages are rustdoc's own, which checks its links itself.
    pages = [page for page in site.rglob("*.html") if site / "rust" not in page.parents and page.name != "404.html"]
    wrong = [f"{page.relative_to(site)} {what}" for page in pages for what in wrong_with(site, page)]
    for sheet in site.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        wrong += [f"{sheet.relative_to(site)} loads from a network" for way in ("url(http", "url(//", "@import url(h") if way in text]
    print("\n".join(wrong) or f"{len(pages)} pages, nothing from a network, no dead links")
    return 1 if wrong or not pages else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
