"""Simulated data sets for the comparison with other samplers: the same numbers on every machine.

usage: simulate.py NAME FOLDER [SEED]    with NAME one of the keys of SETS; writes FOLDER/NAME.csv and FOLDER/model.toml

Where a data set that a comparison wants is not free, one that is like it is made here with Python's own generator.
"""
import csv
import math
import pathlib
import random
import sys


def immunised(rng):
    """Like guImmun (children of mothers of communities, immunised or not), which may not be part of this repository: 2,500 rows of
    zeros and ones, 1,640 mothers with one to four children in 160 communities, standard deviations 2 and 1."""
    mothers, communities, rows = 1640, 160, 2500
    home = [rng.randrange(communities) for _ in range(mothers)]
    own = [rng.gauss(0.0, 2.0) for _ in range(mothers)]
    place = [rng.gauss(0.0, 1.0) for _ in range(communities)]
    schooled = [int(rng.random() < 0.4) for _ in range(mothers)]
    # Every mother has a child; the others have up to three more.
    children = list(range(mothers)) + [rng.randrange(mothers) for _ in range(rows - mothers)]
    found = []
    for mother in sorted(children):
        old = int(rng.random() < 0.5)
        share = round(rng.random(), 3)
        eta = -0.3 + 1.0 * old + 0.4 * schooled[mother] - 0.8 * share + own[mother] + place[home[mother]]
        y = int(rng.random() < 1.0 / (1.0 + math.exp(-eta)))
        found.append({"y": y, "old": old, "schooled": schooled[mother], "share": share, "mother": f"m{mother}", "community": f"c{home[mother]}"})
    return found


IMMUNISED = """# Simulated: children of mothers of communities, immunised or not (benches/peers/simulate.py).
family = "bernoulli"
formula = "y ~ old + schooled + share + (1 | community) + (1 | mother)"

[data]
file = "immunised.csv"

[priors]
beta = "normal(0, 5)"
sd_community = "log_normal(0, 1)"
sd_mother = "log_normal(0, 1)"
"""


def months(rng):
    """Like the United Kingdom's car drivers killed or injured (monthly counts of sixteen years, a law from the fifteenth on), which
    belong to R: a slow walk, a year's wave and a step."""
    found, level = [], 0.0
    for t in range(192):
        level += rng.gauss(0.0, 0.06)
        law, c, s = int(t >= 169), math.cos(math.tau * t / 12), math.sin(math.tau * t / 12)
        mean = math.exp(3.0 + level + 0.15 * c - 0.1 * s - 0.25 * law)
        found.append({"y": poisson(rng, mean), "t": t, "law": law, "c": round(c, 9), "s": round(s, 9)})
    return found


MONTHS = """# Simulated: monthly counts with a random walk (benches/peers/simulate.py).
family = "poisson"
formula = "y ~ law + c + s + rw1(t)"

[data]
file = "months.csv"

[priors]
beta = "normal(0, 5)"
sd_rw1_t = "log_normal(-1, 1)"
"""

SIDE, YEARS = 7, 12


def neighbours():
    """Pairs of districts of a square grid that share an edge."""
    cells = range(SIDE * SIDE)
    return [(k, k + step) for k in cells for step in (1, SIDE) if (k + step in cells) and not (step == 1 and k % SIDE == SIDE - 1)]


def poisson(rng, mean):
    """Knuth's way to a Poisson number: a product of uniform numbers."""
    y, product, least = 0, rng.random(), math.exp(-mean)
    while product > least:
        y, product = y + 1, product * rng.random()
    return y


def districts(rng):
    """Counts of 49 districts in twelve years: a slope across the map, a course that all share, and one of each district's own that its
    neighbours have in part (random walks, each the mean of its own and its neighbours' steps)."""
    near = {k: [k] for k in range(SIDE * SIDE)}
    for a, b in neighbours():
        near[a].append(b)
        near[b].append(a)
    course, own, found = 0.0, [0.0] * len(near), []
    for year in range(YEARS):
        course += rng.gauss(0.0, 0.1)
        steps = [rng.gauss(0.0, 0.25) for _ in near]
        for k, around in near.items():
            own[k] += sum(steps[j] for j in around) / len(around)
            expected = round(rng.uniform(3.0, 12.0), 2)
            eta = 0.08 * (k // SIDE - k % SIDE / 2) + course + own[k]
            found.append({"y": poisson(rng, expected * math.exp(eta)), "expected": expected, "district": f"d{k}", "year": 2000 + year})
    return found


DISTRICTS = """# Simulated: counts of districts and years, each with effects, and their product (benches/peers/simulate.py).
family = "poisson"
formula = 'y ~ areal(district, graph = "edges.csv") + rw1(year) + areal(district, graph = "edges.csv"):rw1(year)'

[data]
file = "districts.csv"
exposure = "expected"

[priors]
beta = "normal(0, 5)"
sd = "log_normal(-1, 1)"
mix = "uniform(0, 1)"
"""

SETS = {"immunised": (immunised, IMMUNISED), "months": (months, MONTHS), "districts": (districts, DISTRICTS)}
#: Files beside the data.
BESIDE = {"districts": {"edges.csv": "district,neighbour\n" + "".join(f"d{a},d{b}\n" for a, b in neighbours())}}


def write(name, folder, seed=1):
    """Writes a data set and its model file, and returns the latter's path."""
    make, text = SETS[name]
    rows = make(random.Random(seed))
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    for other, content in BESIDE.get(name, {}).items():
        (folder / other).write_text(content)
    (folder / "model.toml").write_text(text)
    return folder / "model.toml"


if __name__ == "__main__":
    write(sys.argv[1], sys.argv[2], int((sys.argv[3:] or ["1"])[0]))
