"""Writes the tables of measured figures into README and the pages, from the files that the benches write: tables.py [--check].

A page has `<!-- table: NAME -->` where the table NAME of this file stands, and `<!-- end of table -->` below it; a figure in a
sentence stands between `<!-- figure: NAME -->` and `<!-- -->`. So pages cannot disagree; `make test-docs` compares with --check.
Files in docs/figures: peers.csv (`make bench-peers`), cobaya.csv, frequencies.csv and cmb.csv (`make bench-cobaya`), frames.csv, ncsids.txt and
pendulum.txt (`make figures`), scaling.csv (`make bench-scaling`), skewed.csv (crates/towline-models/examples/frames.rs), laplace.csv (benches/peers/laplace.py),
gallery.csv (`make gallery-page`), sensitivity.csv (`make sensitivity`), workers.csv (`make bench-workers`), evidence.csv (`make bench-evidence`), check.csv (`make check-data`), mixed_peers.csv (see mixed.py). Minutes are CONTRIBUTING's.

A table of figures that is typed by hand is refused, unless `<!-- typed: WHY -->` stands above it; --check lists these.
"""

import csv
import math
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FIGURES = ROOT / "docs" / "figures"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PLACE = re.compile(r"(?s)(<!-- table: ([\w-]+) -->\n).*?(<!-- end of table -->)")
FIGURE = re.compile(r"(<!-- figure: ([\w-]+) -->).*?(<!-- -->)")
TYPED = re.compile(r"(?m)(?:^<!-- typed: (.+) -->\n)?((?:^\|.*\n)+)")
#: A cell that is a figure, and nothing else but units, signs or a second figure.
NUMBER = re.compile(r"[~<*]*[-−+]?\d[\d.,]*([%×*]|\b).{0,24}")

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
    "verbagg": ("verbal aggression, persons and items", "2 + 347", ""),
    "immunised": ("children of mothers of communities, binary, simulated", "2 + 1,804", ""),
    "months": ("monthly counts, random walk, simulated", "1 + 195", ""),
    "districts": ("districts and years with their product, simulated", "4 + 637", " ¹"),
    "nyc": ("New York's tracts, BYM2", "2 + 3,842", ""),
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
        cells = [model + notes, variables, numpyro, nutpie, rate(of, "Towline"), of["Towline"]["ratio"]]
        if "whitened" in of:
            gain = float(of["Towline"]["draws_per_cpu_second"]) / float(of["whitened"]["draws_per_cpu_second"])
            cells.append(f"{rate(of, 'whitened')} ({two_digits(gain)})")
        lines.append(cells)
    header = ["model", "slow + fast", "NumPyro", "nutpie (compiling, s)", "Towline", "ratio", "whitened NUTS (ratio)"]
    # No column for a peer that was not run.
    width = max(len(line) for line in lines)
    return table(header[:width], [line + [""] * (width - len(line)) for line in lines])


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


def measured():
    """The report's drag, the ideal, and what warm-up chooses, in short."""
    found = {(row["test"], row["method"], row["n"]): row for row in rows("frames.csv")}
    kinds = [("the report's drag, n = 500", ("drag", "500")), ("marginal Metropolis (the ideal it approaches)", ("marginal", "")), ("Towline, nothing set by hand", ("auto", ""))]
    cells = lambda kind: [found[test, *kind]["slow_per_draw"] for test in "12"] + [found[test, *kind]["fast_per_slow"] if kind[0] != "marginal" else "–" for test in "12"]
    header = ["the report's tests", "slow evaluations per effective draw of x: test 1", "test 2", "fast evaluations per slow one: test 1", "test 2"]
    return table(header, [[name, *cells(kind)] for name, kind in kinds])


def intervals():
    """What n does, in the report's first test."""
    found = {row["n"]: row for row in rows("frames.csv") if row["test"] == "1" and row["method"] == "drag"}
    ideal = next(row for row in rows("frames.csv") if row["test"] == "1" and row["method"] == "marginal")
    lines = [[n, f"{found[n]['act']} ± {found[n]['act_se']}", found[n]["fast_per_slow"]] for n in ("10", "20", "50", "100", "200", "500", "1000")]
    return table(["n", "autocorrelation time of x", "fast evaluations per slow one"], [*lines, ["marginal of x", f"{ideal['act']} ± {ideal['act_se']}", "–"]])


#: Rows of the short table of targets: those whose names are fixed.
KNOWN = ("skew4", "student4", "funnel", "steps", "banana", "twenty")


def known():
    """Some targets with a known marginal, as the gallery found them; nothing where its figures have not been kept."""
    if not (FIGURES / "gallery.csv").exists():
        return ""
    found = {row["name"]: row for row in rows("gallery.csv")}
    lines = []
    for name in KNOWN:
        row = found[name]
        with_warmup = two_digits(float(row["slow_per_effective_with_warmup"]))
        lines.append([f"`{name}`: {row['about']}", f"{row['slow']} + {row['fast']}", two_digits(float(row["slow_per_effective"])), with_warmup, two_digits(float(row["fast_per_slow"]))])
    said = f"Other targets whose marginals are known, nothing set either ({found[KNOWN[0]]['seeds']} seeds each):\n\n"
    return said + table(["target", "slow + fast", "slow evaluations per effective draw", "with warm-up", "fast per slow"], lines)


def same_posteriors():
    """What `make check-data` compared; what the page has, where it has not left its figures yet."""
    if not (FIGURES / "check.csv").exists():
        return None
    found = rows("check.csv")
    of = lambda kind: [abs(float(row["figure"])) for row in found if row["kind"] == kind]
    models = len({row["fit"] for row in found if row["kind"] == "mean"})
    passed = sum(row["outcome"] == "passed" for row in found)
    means, estimates = of("mean"), of("estimate")
    return (
        f"Of {len(found)} comparisons {passed} passed. Of the {len(means)} means of {models} models compared with NUTS' the largest difference was "
        f"{max(means):.1f} errors;\nthe {len(estimates)} estimates lie within {max(estimates):.2f} standard deviations of the posteriors' means.\n"
    )


#: What grows, and what is counted.
SIZES = {"dense": "N places (dense process)", "sparse": "N groups", "nngp": "N places (`nngp`)", "spde": "N nodes of the mesh (`spde`)"}


def scaling():
    """How cost grows, for each kind of model that was measured."""
    parts, found = [], rows("scaling.csv")
    for kind, what in SIZES.items():
        of = [row for row in found if row["kind"] == kind]
        if not of:
            continue
        figures = {
            "CPU ms per draw": [two_digits(1000 * float(row["seconds_per_draw"])) for row in of],
            "peak memory, MB": [f"{float(row['megabytes']):.0f}" for row in of],
            "autocorrelation time of the worst covariance parameter": [two_digits(float(row["autocorrelation_time"])) if row["autocorrelation_time"] else "" for row in of],
        }
        parts.append(table([what, *(f"{int(row['n']):,}" for row in of)], [[name, *cells] for name, cells in figures.items()]))
    return "\n".join(parts)


#: Standard deviations that both programs estimate, and how a page names them.
SPREADS = {("toenail", "sd_patientID"): "toenail, sd of patients", ("epil", "sd_subject"): "epil, sd of subjects", ("toenail", "Intercept"): "toenail, intercept"}


def approximations():
    """Maximum likelihood beside posteriors."""
    lines = []
    for (model, parameter), name in SPREADS.items():
        for row in rows("mixed_peers.csv"):
            if (row["model"], row["parameter"]) == (model, parameter):
                interval = f"{float(row['low']):.2f} to {float(row['high']):.2f}" if row["low"] else "none"
                program = {"glmer nAGQ = 20": "`glmer`, quadrature with 20 points", "glmer Laplace": "`glmer`, Laplace (its default)"}.get(row["program"], "NUTS, posterior")
                lines.append([name, program, f"{float(row['estimate']):.2f}", interval])
    return table(["", "program", "estimate, or median", "90 % interval"], lines)


#: The two commands of the first screen, and what they do.
COMMANDS = {
    "make demo": "builds the command, fits the map of this page to built-in data, writes demo/map.png and demo/report.html",
    "make test": "format, lints, docs and every test, as CI runs them",
}


def commands():
    """The two commands with what they take, by CONTRIBUTING's table, which is typed by whoever measures."""
    took = {}
    for line in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("| `"):
            name, first = line.strip("|").split("|")[:2]
            took[name.strip(" `")] = first.split()[0]
    return "```sh\n" + "".join(f"{name}    # {took[name]} minutes: {does}\n" for name, does in COMMANDS.items()) + "```\n"


def skewed():
    """Frames at the mean beside those at the mode, by what the latter miss."""
    found, lines = {}, []
    for row in rows("skewed.csv"):
        found.setdefault((row["model"], row["missing"]), {})[row["frame"]] = row
    for (model, missing), of in sorted(found.items(), key=lambda one: -float(one[0][1])):
        cells = [f"{of['mean'][key]} / {of['mode'][key]}" for key in ("draws_per_cpu_second", "milliseconds_per_slow_evaluation", "accepted", "time_of_scales")]
        lines.append([MODELS[model][0] if model in MODELS else model, missing, *cells])
    header = ["model", "missing", "effective draws per CPU second", "ms for a slow evaluation", "accepted", "autocorrelation time of the worst scale"]
    return table(header, lines)


def laplace():
    """Exact draws beside Laplace's approximation: seconds of either, and how many times as long."""
    found, lines = {}, []
    for row in rows("laplace.csv"):
        found.setdefault(row["model"], {})[row["program"]] = row
    for name, of in found.items():
        program = next(one for one in of if one != "Towline")
        theirs, own = of[program], of["Towline"]
        times = [two_digits(float(own[key]) / float(theirs[key])) for key in ("cpu_seconds", "clock_seconds")]
        seconds = [f"{one['cpu_seconds']} ({one['clock_seconds']})" for one in (theirs, own)]
        lines.append([MODELS[name][0], program, *seconds, shown(own["least_effective_draws"]), f"{times[0]} ({times[1]})"])
    header = ["model", "Laplace's fit by", "its CPU seconds (by the clock)", "Towline's", "least ESS", "times as long (by the clock)"]
    return table(header, lines)


#: The constants of judgement that scripts/sensitivity.py varies, in the order in which warm-up comes to them: what each decides.
CONSTANTS = {
    "DEVIATIONS": "how far out warm-up explores, in standard deviations of the log density",
    "FURTHER": "how much further than was seen a fit is followed while exploring",
    "BATCH_SHARE": "the size of a batch of slow evaluations, as a share of those made",
    "SMALL_ERROR": "when the fit is good enough to stop exploring, in log units",
    "SURPRISE": "how much more mass than expected a far probe must find to be followed, in log units",
    "POINTS_PER_COEFFICIENT": "how many points a polynomial needs for each of its coefficients",
    "TAIL_RATE": "how slowly the learned proposal's tails fall",
    "JUMP_SPREAD": "how much wider than its draws each part of a jump is",
    "LINEAR_MARGIN": "how much better a linear frame must be to be preferred to a moving one",
    "EXTRA_SHARE": "how much of a step's cost moves of the fast parameters alone may add",
}


def sensitivity():
    """What halving and doubling each constant did: the cost beside what it was, on average and on the target that lost most by it."""
    found = {}
    for row in rows("sensitivity.csv"):
        found.setdefault((row["constant"], float(row["factor"])), {})[row["target"]] = row
    own, lines = found["as it is", 1.0], []

    def cell(of):
        each = {name: float(of[name]["slow_per_effective"]) / float(own[name]["slow_per_effective"]) for name in own}
        mean = math.exp(sum(map(math.log, each.values())) / len(each))
        worst = max(each, key=each.get)
        said = "".join(f"; {name} {'warns' if int(of[name]['warned']) else 'is silent'} and is off" for name in own if of[name]["right"] != "True")
        warned = ", warned of" if int(of[worst]["warned"]) else ""
        shown = f"{each[worst]:.2f}" if each[worst] < 10 else f"{each[worst]:.0f}"
        return f"{mean:.2f} ({worst} {shown}{warned}){said}"

    for name, decides in CONSTANTS.items():
        value = float(next(iter(found[name, 2.0].values()))["value"]) / 2
        lines.append([f"`{name}`", decides, f"{value:g}", cell(found[name, 0.5]), cell(found[name, 2.0])])
    return table(["constant", "decides", "value", "half of it", "twice"], lines)


def workers():
    """What workers save."""
    header = ["workers", "seconds of a slow evaluation", "slow evaluations needed", "made", "seconds of the whole run", "times as fast as one after another"]
    return table(header, [list(row.values()) for row in rows("workers.csv")])


def frequencies():
    """The simulated three-frequency likelihood, seed by seed."""
    lines = []
    for row in rows("frequencies.csv"):
        slow, all_ = float(row["slow_per_draw"]), float(row["slow_per_draw_of_all"])
        total = all_ * (1 + int(row["warmup"]) / int(row["slow"]))
        lines.append([row["seed"], shown(row["slow"]), shown(row["warmup"]), f"{slow:.1f}", f"**{all_:.1f}**", f"{total:.1f}", f"{float(row['fast_per_slow']):.0f}", row["frame"]])
    header = ["seed", "slow evaluations", "of warm-up", "per effective draw of the worst slow parameter", "of the worst of all", "the same with warm-up", "fast per slow", "frame"]
    return table(header, lines)


def evidence():
    """ln Z of the emulated CMB posterior, by a nested sampler and by weights."""
    lines = [[row["sampler"], row["seed"], shown(row["spectra"]), f"{row['ln_z']} ± {row['se']}"] for row in rows("evidence.csv")]
    return table(["sampler", "seed", "spectra computed", "ln Z"], lines)


def text(name):
    """What a command printed."""
    return lambda: "```text\n" + (FIGURES / name).read_text(encoding="utf-8") + "```\n"


TABLES = {
    "frames": frames, "measured": measured, "commands": commands, "same-posteriors": same_posteriors, "intervals": intervals, "known": known, "scaling": scaling, "approximations": approximations,
    "skewed": skewed, "workers": workers, "frequencies": frequencies, "evidence": evidence, "laplace": laplace, "sensitivity": sensitivity, "peers": beside_nuts, "nuts": nuts, "gains": gains, "paper": paper, "dragging": dragging, "cmb": cmb,
    "summary-ncsids": text("ncsids.txt"), "summary-pendulum": text("pendulum.txt"),
}  # fmt: skip


def growth(kind, column):
    """How many times as much the largest size takes as the smallest."""
    of = [float(row[column]) for row in rows("scaling.csv") if row["kind"] == kind]
    return of[-1] / of[0]


def county(parameter, column):
    """A figure of the first tutorial's summary: by the beginning of a row, and the place after the name."""
    row = next(line for line in (FIGURES / "ncsids.txt").read_text(encoding="utf-8").splitlines() if line.startswith(parameter))
    return float(row.split()[1 + column])


def per_slow(test):
    """Effective draws per slow evaluation of the report's drag."""
    row = next(row for row in rows("frames.csv") if (row["test"], row["method"], row["n"]) == (test, "drag", "500"))
    return f"{1 / float(row['slow_per_draw']):.2f}"


def swing(pattern):
    """A figure of the second tutorial's summary."""
    return re.search(pattern, (FIGURES / "pendulum.txt").read_text(encoding="utf-8"))[1]


def peer(program, parameter, digits):
    """Another program's estimate of the toenail data, with a minus sign that is one."""
    row = next(row for row in rows("mixed_peers.csv") if (row["model"], row["parameter"], row["program"]) == ("toenail", parameter, program))
    return f"{float(row['estimate']):.{digits}f}".replace("-", "−")


def shape(name):
    """What an effective draw of a target of the gallery took, in slow evaluations."""
    return two_digits(float(next(row["slow_per_effective"] for row in rows("gallery.csv") if row["name"] == name)))


#: Other programs' estimates that sentences quote: by the beginning of the figure's name.
QUOTED = {"laplace": "glmer Laplace", "quadrature": "glmer nAGQ = 20", "nuts": "NUTS"}

#: Figures that stand in sentences.
SENTENCES = {
    **{f"{name}-intercept": lambda program=program: peer(program, "Intercept", 1) for name, program in QUOTED.items()},
    **{f"{name}-spread": lambda program=program: peer(program, "sd_patientID", 2) for name, program in QUOTED.items()},
    **{f"gallery-{name}": lambda name=name: shape(name) for name in ("box", "wedge", "simplex", "sinh8", "squiggle")},
    "pendulum-effective": lambda: swing(r"least ESS (\d[\d,]*\d)"),
    "pendulum-slow": lambda: f"{1 / float(swing('([0-9.]+) per slow')):.1f}",
    "pendulum-frame": lambda: swing(r"in the (\w+) frame"),
    "pendulum-inner": lambda: str(int(swing(r"n = (\d+)")) - 1),
    "ncsids-slope": lambda: f"{county('center', 0):.1f}",
    "ncsids-slope-sd": lambda: f"{county('center', 1):.1f}",
    "ncsids-spread": lambda: f"{100 * county('gp_sd', 0):.0f}",
    "ncsids-near": lambda: f"{county('gp_length', 2):.0f}",
    "ncsids-far": lambda: f"{county('gp_length', 3):.0f}",
    "report-test-1": lambda: per_slow("1"),
    "report-test-2": lambda: per_slow("2"),
    "report-fast": lambda: next(row["fast_per_slow"] for row in rows("frames.csv") if (row["method"], row["n"]) == ("drag", "500")),
    "cobaya-effective-draws-not-dragged": lambda: rows("cmb.csv")[1]["least_effective_draws"],
    "cobaya-effective-draws": lambda: rows("cmb.csv")[0]["least_effective_draws"],
    "cmb-least-slow": lambda: str(min(float(row["slow_per_draw"]) for row in rows("cmb.csv")[:2])),
    "cmb-most-slow": lambda: str(max(float(row["slow_per_draw"]) for row in rows("cmb.csv")[:2])),
    "sparse-sizes": lambda: two_digits(growth("sparse", "n")),
    "sparse-time": lambda: two_digits(growth("sparse", "seconds_per_draw")),
    "sparse-memory": lambda: two_digits(growth("sparse", "megabytes")),
    "dense-most-places": lambda: shown(max((row["n"] for row in rows("scaling.csv") if row["kind"] == "dense"), key=int)),
    "sparse-most-groups": lambda: shown(max((row["n"] for row in rows("scaling.csv") if row["kind"] == "sparse"), key=int)),
}


def filled(text):
    """A page with its tables and figures as the files have them."""
    text = FIGURE.sub(lambda place: place[1] + SENTENCES[place[2]]() + place[3], text)
    # Nothing: what stands there stays until a bench has left its file.
    return PLACE.sub(lambda place: place[0] if (new := TABLES[place[2]]()) is None else place[1] + new + place[3], text)


def typed(text):
    """Tables of figures that no file of figures stands behind: the first line of each, and why."""
    text = re.sub(r"(?ms)^(```+).*?^\1$", "", PLACE.sub("", text))
    for why, lines in TYPED.findall(text):
        cells = [cell.strip() for line in lines.splitlines()[2:] for cell in line.strip("|").split("|")[1:]]
        if cells and sum(bool(NUMBER.fullmatch(cell)) for cell in cells) > len(cells) / 2:
            yield lines.splitlines()[0], why


def main(arguments):
    other, named, hand, first = [], set(), [], []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        named.update(place[2] for way in (PLACE, FIGURE) for place in way.finditer(text))
        first += [f"{page.relative_to(ROOT)}:{number}" for number, line in enumerate(text.splitlines(), 1) if line.lstrip().startswith("<!-- figure")]
        hand += [(page.relative_to(ROOT), *one) for one in typed(text)]
        new = filled(text)
        if new != text:
            other.append(page)
            if "--check" not in arguments:
                page.write_text(new, encoding="utf-8")
    if first:
        print("a figure must not begin its line, or what follows there is shown as HTML: " + ", ".join(first))
    missing = sorted({*TABLES, *SENTENCES} - named)
    if missing:
        print(f"no page shows {', '.join(missing)}")
    for page, header, why in hand:
        print(f"{page}: typed by hand, {why}" if why else f"{page}: a table of figures typed by hand: {header}")
    if "--check" in arguments and other:
        print("not what the files of figures say (python3 docs/build/tables.py writes them anew): " + ", ".join(str(page.relative_to(ROOT)) for page in other))
        return 1
    return 1 if missing or first or any(not why for *_, why in hand) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
