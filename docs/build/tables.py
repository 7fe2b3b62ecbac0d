"""Writes the tables of measured figures into README and the pages, from the files that the benches write: tables.py [--check].

A page has `<!-- table: NAME -->` where the table NAME of this file stands, and `<!-- end of table -->` below it. So pages
cannot disagree; `make test-docs` compares with --check. Files: docs/figures/peers.csv (`make bench-peers`), cobaya.csv and
cmb.csv (`make bench-cobaya`), frames.csv (`make figures`).
"""

import csv
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FIGURES = ROOT / "docs" / "figures"
PAGES = [ROOT / "README.md", ROOT / "docs" / "index.md", ROOT / "docs" / "benchmarks.md", ROOT / "docs" / "benchmarks-cobaya.md", ROOT / "docs" / "comparison.md", ROOT / "docs" / "paper" / "paper.md", ROOT / "docs" / "howto" / "frames.md"]
PLACE = re.compile(r"(?s)(<!-- table: ([\w-]+) -->\n).*?(<!-- end of table -->)")

#: For each model: what it is, its slow and fast variables, and the footnotes that the page of benchmarks has for it.
MODELS = {
    "pima": ("Pima, GP classification", "8 + 200", ""),
    "loaloa": ("Loa loa, binomial geostatistics", "3 + 204", ""),
    "rongelap": ("Rongelap, Poisson geostatistics", "2 + 158", ""),
    "rongelap_nugget": ("the same with a nugget", "3 + 158", ""),
    "ncsids": ("North Carolina, 100 counties", "2 + 102", " ¹"),
    "epil": ("epil, Poisson mixed model", "2 + 301", ""),
    "toenail": ("toenail, Bernoulli mixed model", "1 + 298", ""),
    "salamander": ("salamanders, crossed effects", "2 + 124", ""),
    "contraception": ("contraception, 60 districts", "1 + 67", " ¹"),
    "rwm5yr": ("visits to the doctor, 6,127 persons", "1 + 6,134", " ³"),
}
#: Rows of the short table: those with both NUTS beside them.
SHORT = ("loaloa", "pima", "rongelap", "rwm5yr", "epil", "salamander")


def rows(name):
    """The lines of a file of figures."""
    with (FIGURES / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def shown(number):
    """A figure of a file as a page shows it: as measured, with commas in thousands."""
    return f"{int(number):,}" if number.isdigit() else number


def two_digits(ratio):
    """A ratio of rounded figures is known to no more."""
    return f"{float(f'{ratio:.2g}'):,g}"


def table(header, lines):
    """A table in Markdown."""
    every = [header, ["---"] * len(header), *lines]
    return "".join("| " + " | ".join(line) + " |\n" for line in every)


def peers():
    """For each model, what each program gave."""
    found = {}
    for row in rows("peers.csv"):
        found.setdefault(row["model"], {})[row["program"]] = row
    return found


def rate(of, program):
    return shown(of[program]["draws_per_cpu_second"]) if program in of else ""


def beside_nuts():
    """All models, with what nutpie's compiling took."""
    lines = []
    for name, of in peers().items():
        model, variables, notes = MODELS[name]
        nutpie = f"{rate(of, 'nutpie')} ({of['nutpie']['compiling_seconds']})" if "nutpie" in of else ""
        numpyro = rate(of, "NumPyro") + (" ²" if name == "rwm5yr" else "")
        lines.append([model + notes, variables, numpyro, nutpie, rate(of, "Towline"), of["Towline"]["ratio"]])
    return table(["model", "slow + fast", "NumPyro", "nutpie (compiling, s)", "Towline", "ratio"], lines)


def nuts():
    """What is given where samplers are compared: the same rows without footnotes."""
    lines = [
        [MODELS[name][0], MODELS[name][1], rate(of, "NumPyro"), rate(of, "nutpie"), rate(of, "Towline")]
        for name, of in peers().items()
    ]
    return table(["model", "slow + fast variables", "NumPyro", "nutpie", "Towline"], lines)


def gains():
    """The first screen: some models beside the faster NUTS, and the cosmological posterior beside Cobaya."""
    found, lines = peers(), []
    for name in SHORT:
        of = found[name]
        model, variables, _ = MODELS[name]
        fastest = max(("NumPyro", "nutpie"), key=lambda one: float(of[one]["draws_per_cpu_second"]))
        lines.append([f"{model} ({variables})", f"{rate(of, fastest)} ({fastest})", rate(of, "Towline"), f"**{of['Towline']['ratio']} ×**"])
    drag, towline = rows("cmb.csv")[0], rows("cmb.csv")[3]  # with what its warm-up spent
    gain = float(drag["slow_per_draw"]) / float(towline["slow_per_draw"])
    lines.append(
        [
            "CMB, SPT-3G, emulated (6 + 17): effective draws per 100 spectra",
            f"{100 / float(drag['slow_per_draw']):.1f} (Cobaya, dragged)",
            f"{100 / float(towline['slow_per_draw']):.0f}",
            f"**{two_digits(gain)} ×**",
        ]
    )
    return table(["posterior (slow + fast variables)", "other sampler", "Towline", "gain"], lines)


def paper():
    """The report's tests through Cobaya and around it; gains beside Cobaya with the exact covariance."""
    lines, base = [], {}
    for row in rows("cobaya.csv"):
        second, slow = row["draws_per_cpu_second"], row["draws_per_slow_evaluation"]
        base.setdefault(row["problem"], (float(second), float(slow)))
        per_second, per_slow = (float(now) / before for now, before in zip((second, slow), base[row["problem"]]))
        plain = row["sampler"] == "Towline, plain functions"
        cells = [shown(second), slow]
        if plain:
            cells = [f"**{cell}**" for cell in cells]
        if row["sampler"].startswith("Towline"):
            cells[0] += f" ({two_digits(per_second)} times)"
            cells[1] += f" ({two_digits(per_slow)} times)" if plain else ""
        lines.append([row["problem"].removeprefix("test "), f"**{row['sampler']}**" if plain else row["sampler"], *cells, row["fast_per_slow"]])
    return table(["test", "sampler", "ESS of x per CPU second", "ESS per slow evaluation", "fast evaluations per slow one"], lines)


def dragging():
    """The same in short, test by test."""
    found = {(row["problem"], row["sampler"]): row for row in rows("cobaya.csv")}
    names = ["Cobaya, exact covariance", "Cobaya, learned covariance", "Towline, plain functions", "Towline as Cobaya's sampler"]
    cells = lambda name, key: [found[f"test {test}", name][key] for test in (1, 2)]
    lines = [[name, *cells(name, "draws_per_slow_evaluation"), *cells(name, "fast_per_slow")] for name in names]
    return table(["effective draws of x per slow evaluation", "test 1", "test 2", "fast per slow, test 1", "test 2"], lines)


def cmb():
    """The emulated CMB posterior."""
    lines = []
    for row in rows("cmb.csv"):
        own = row["sampler"].startswith("Towline as")
        per = f"**{row['slow_per_draw']}**" if own else row["slow_per_draw"]
        lines.append([row["sampler"], shown(row["slow_evaluations"]), row["least_effective_draws"], per, row["fast_per_slow"]])
    return table(["sampler", "slow evaluations", "least ESS of the six", "slow evaluations per effective draw", "fast per slow"], lines)


def frames():
    """The report's drags, the framed ones, warm-up's choice and the ideal, by `towline paper --frames`."""
    found = {(row["test"], row["method"], row["n"]): row for row in rows("frames.csv")}
    kinds = [("drag", "20"), ("drag", "500"), ("drag-framed", "1"), ("auto", ""), ("marginal", "")]
    header = ["", "drag, n = 20", "n = 500", "Laplace frame, n = 1", "all chosen by warm-up", "marginal Metropolis"]
    cell = lambda row: row["slow_per_draw"] + (f"; {row['fast_per_slow']}" if row["method"] != "marginal" else "")
    return table(header, [[f"test {test}", *(cell(found[test, *kind]) for kind in kinds)] for test in "12"])


TABLES = {"frames": frames, "peers": beside_nuts, "nuts": nuts, "gains": gains, "paper": paper, "dragging": dragging, "cmb": cmb}


def filled(text):
    """A page with its tables as the files have them."""
    return PLACE.sub(lambda place: place[1] + TABLES[place[2]]() + place[3], text)


def main(arguments):
    other, named = [], set()
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        named.update(place[2] for place in PLACE.finditer(text))
        new = filled(text)
        if new != text:
            other.append(page)
            if "--check" not in arguments:
                page.write_text(new, encoding="utf-8")
    missing = sorted(set(TABLES) - named)
    if missing:
        print(f"no page shows the tables {', '.join(missing)}")
    if "--check" in arguments and other:
        print("not what the files of figures say (python3 docs/build/tables.py writes them anew): " + ", ".join(str(page.relative_to(ROOT)) for page in other))
        return 1
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
