"""The live pages in headless Chromium: live.py COMMAND SITE [PICTURES].

From a server of files on this machine, as any site is: their draws are the command's for the same seed, keys and buttons work, nothing is
asked of a network and nothing is wrong in the console, in light, dark and narrow windows."""

import csv
import functools
import http.server
import json
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from browser import Browser

ROOT = Path(__file__).resolve().parents[2]
COMMAND, SITE = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
PICTURES = Path(sys.argv[3]).resolve() if len(sys.argv) > 3 else None
#: A browser's sine, exponential and sums differ from this machine's in the last bits. What warm-up learns differs by as little, and so do draws,
#: unless a decision falls the other way: then they are others altogether.
TOLERANCE = 1e-6
#: Frames to time, and the middle one of the times between them while the animation plays.
FRAMES = 180
BETWEEN = f"""new Promise((done) => {{
  const times = [];
  const frame = (now) => {{
    times.push(now);
    if (times.length <= {FRAMES}) requestAnimationFrame(frame);
    else done(times.slice(1).map((time, k) => time - times[k]).sort((a, b) => a - b)[{FRAMES} / 2]);
  }};
  requestAnimationFrame(frame);
}})"""
wrong = []


def check(what, holds, figure=""):
    print(("ok     " if holds else "WRONG  ") + what + (f": {figure}" if figure != "" else ""))
    if not holds:
        wrong.append(what)


def command_draws(folder, *arguments):
    """The draws of a run of the command: a list for each chain, of rows of columns."""
    run = folder / "run"
    subprocess.run([COMMAND, *arguments, "--out", run, "--quiet"], check=True, stdout=subprocess.DEVNULL)
    manifest = json.loads((run / "manifest.json").read_text())
    subprocess.run([COMMAND, "export", run, "--to", "csv", "--out", folder / "draws.csv"], check=True, stdout=subprocess.DEVNULL)
    names = [column["name"] for column in manifest["columns"]]
    chains = [[] for _ in range(manifest["chains"])]
    with open(folder / "draws.csv", newline="") as file:
        for row in csv.DictReader(file):
            chains[int(row["chain"])].append([float(row[name]) for name in names])
    return names, chains


def farthest(browser_columns, chains, names):
    """The largest difference in units of each column's spread, over all draws."""
    most = 0.0
    for k in range(len(names)):
        values = [row[k] for chain in chains for row in chain]
        spread = max(values) - min(values) or 1.0
        for chain, mine in zip(chains, browser_columns[k]):
            if len(chain) != len(mine):
                return float("inf")
            most = max(most, max(abs(a[k] - b) for a, b in zip(chain, mine)) / spread)
    return most


def same_draws(page, folder):
    """The same draws, of the report's example and of a fit."""
    with Browser() as browser:
        browser.open(page("index.html"))
        (folder / "a").mkdir()
        names, chains = command_draws(folder / "a", "run", "neal1", "--seed", "3", "--chains", "2", "--draws", "200", "--cost-ratio", "1000")
        done = browser.value("towline.chains({ chains: 2, draws: 200, seed: 3, ratio: 1000 }).then((r) => r.columns)")
        apart = farthest(done, chains, names)
        check("the page draws what `towline run neal1` draws", apart < TOLERANCE, f"apart by {apart:.1e} of the spread")
        (folder / "b").mkdir()
        flags = ("--data", ROOT / "examples/glmm_epil/epil.csv", "--family", "poisson", "--formula", "y ~ trt + lbase + (1 | subject)")
        names, chains = command_draws(folder / "b", "fit", *flags, "--seed", "2", "--chains", "2", "--draws", "50", "--cost-ratio", "100")
        model = 'family = "poisson"\nformula = "y ~ trt + lbase + (1 | subject)"\n[data]\nfile = "epil.csv"\n'
        text = (ROOT / "examples/glmm_epil/epil.csv").read_text()
        request = {"model": model, "csv": text, "chains": 2, "draws": 50, "seed": 2, "ratio": 100}
        done = browser.value(f"towline.chains({json.dumps(request)}).then((r) => r.columns)")
        apart = farthest(done, chains, names)
        check("the page fits what `towline fit` fits", apart < TOLERANCE, f"apart by {apart:.1e} of the spread")


def dragging(page):
    """The first page, by its keys."""
    with Browser() as browser:
        browser.size(1280, 900)
        browser.open(page("index.html"))
        browser.value("new Promise((done) => { const look = () => window.towlineFrames && towlineFrames.painted > 40 ? done() : setTimeout(look, 50); look(); })")
        best = browser.value("towlineFrames.best")
        # At best, since this machine may have other things to do.
        check("sixty frames fit into a second", best < 1000 / 60, f"{best:.1f} ms each")
        between = browser.value(BETWEEN)
        check("and come as often as the screen takes them", between < 1.1 * 1000 / 60, f"every {between:.1f} ms, the middle one of {FRAMES}")
        browser.key("p")
        browser.key("d")
        draws = browser.value("document.getElementById('f-draws').textContent")
        check("the keys P and D stop it and make a thousand draws", int(draws.replace(",", "")) > 1000, draws)
        browser.key("w")
        said = browser.value("document.getElementById('said').textContent")
        check("the key W lets warm-up choose", "Warm-up chose n" in said, said)
        browser.key("d")
        time = browser.value("document.getElementById('f-time').textContent")
        check("and draws cost little then", float(time.split()[0].replace("about", "9")) < 4, time)
        browser.value("document.querySelector('input[value=laplace]').focus()")
        browser.key(" ", "Space")
        check("a frame is chosen by the keyboard", browser.value("document.getElementById('fast-value').textContent") == "2.4")
        browser.key("m")
        rows = "document.querySelectorAll('#table tbody tr').length"
        browser.value(f"new Promise((done) => {{ const look = () => ({rows}) === 6 ? done() : setTimeout(look, 50); look(); }})")
        check("six methods stand side by side", browser.value(rows) == 6)
        check("nothing is wrong there", not browser.trouble(), browser.trouble())
        pictures(browser, "dragging", page("index.html"), lambda: (browser.key("p"), browser.key("d")))


def fitting(page):
    """The second page: the example's table, from the first click to the last draw."""
    with Browser() as browser:
        browser.size(1280, 900)
        browser.open(page("fit.html"))
        browser.value("new Promise((done) => setTimeout(done, 500))")
        browser.value("document.getElementById('example').focus()")
        browser.key("Enter")
        browser.value("document.getElementById('formula').value = 'y ~ trt + lbase + (1 | subject)'; document.getElementById('draws').value = 200; 0")
        browser.value("document.getElementById('formula').focus()")
        browser.key("Enter")
        waits = "new Promise((done) => { const look = () => window.towlineDone || document.querySelector('.said.wrong') ? done() : setTimeout(look, 100); look(); })"
        browser.value(waits)
        said = browser.value("document.getElementById('said').textContent")
        check("a table is fitted in the page", "Done after" in said, said)
        names = browser.value("[...document.querySelectorAll('#table tbody tr')].map((r) => r.cells[0].textContent)")
        check("and summarised", "sd_subject" in names, names)
        if PICTURES:
            browser.value("document.getElementById('live').scrollIntoView()")
            browser.picture(PICTURES / "fitted.png")
        wrong_formula = "document.getElementById('formula').value = 'y ~ nothing'; document.getElementById('go').click(); document.getElementById('said').textContent"
        check("a wrong formula is refused in words", "nothing" in browser.value(wrong_formula), browser.value(wrong_formula))
        check("nothing is wrong there", not browser.trouble(), browser.trouble())
        pictures(browser, "fitting", page("fit.html"), lambda: browser.value("document.getElementById('example').click()"))


def pictures(browser, name, address, work):
    """In every window it fits: nothing sticks out at the side. And to look at, where a folder was named."""
    for kind, width, dark in (("light", 1280, False), ("dark", 1280, True), ("narrow", 400, False)):
        browser.size(width, 1000, dark)
        # As a first visit: the site remembers a scheme, and a page that is still there would write it down again.
        browser.open("about:blank")
        browser.call("Storage.clearDataForOrigin", origin="/".join(address.split("/")[:3]), storageTypes="local_storage")
        browser.open(address)
        browser.value("new Promise((done) => { const look = () => document.getElementById('said').textContent.includes('loaded') ? setTimeout(look, 50) : done(); look(); })")
        work()
        browser.value("document.getElementById('live').scrollIntoView(); new Promise((done) => setTimeout(done, 300))")
        wide = browser.value("document.documentElement.scrollWidth")
        check(f"{name} fits a {kind} window", wide <= width, wide)
        scheme = browser.value("document.body.dataset.mdColorScheme")
        check(f"{name} has the scheme of a {kind} window", scheme == ("slate" if dark else "default"), scheme)
        if PICTURES:
            PICTURES.mkdir(parents=True, exist_ok=True)
            browser.picture(PICTURES / f"{name}-{kind}.png")


class Files(http.server.SimpleHTTPRequestHandler):
    """A server of files that says nothing."""

    def log_message(self, *_):
        pass


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Files, directory=SITE))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    page = lambda name: f"http://127.0.0.1:{server.server_port}/live/{name}"
    size = sum(path.stat().st_size for path in (SITE / "live").rglob("*") if path.is_file())
    check("the pages and the engine have less than 3 MB", size < 3e6, f"{size / 1e6:.2f} MB")
    with tempfile.TemporaryDirectory() as folder:
        same_draws(page, Path(folder))
    dragging(page)
    fitting(page)
    server.shutdown()
    sys.exit(bool(wrong))


main()
