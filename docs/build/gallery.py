"""The docs' page of the gallery, with a picture of every target: gallery.py GALLERY.json DRAWS.json DOCS.

Also docs/figures/gallery.csv, from which tables.py takes what README shows."""

import csv
import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

COLUMNS = 8


def picture(draws, path):
    """A panel of dots for each target."""
    rows = -(-len(draws) // COLUMNS)
    figure, axes = plt.subplots(rows, COLUMNS, figsize=(1.5 * COLUMNS, 1.5 * rows), dpi=110)
    for axis in axes.flat:
        axis.axis("off")
    for axis, (name, dots) in zip(axes.flat, draws.items()):
        xs, ys = zip(*dots)
        # The middle 98 per cent: one draw of a heavy tail would shrink the rest to a dot.
        axis.scatter(xs, ys, s=1.5, alpha=0.5, linewidths=0, color="#2a6f97")
        for values, limit in ((xs, axis.set_xlim), (ys, axis.set_ylim)):
            ordered = sorted(values)
            a, b = ordered[len(ordered) // 100], ordered[-1 - len(ordered) // 100]
            pad = 0.15 * (b - a) or 1.0
            limit(a - pad, b + pad)
        axis.set_title(name, fontsize=7, pad=2)
    figure.tight_layout(pad=0.4)
    figure.savefig(path)
    plt.close(figure)


def page(targets):
    """The table, in Markdown."""
    right = sum(t["right"] for t in targets)
    silent = [t["name"] for t in targets if not (t["right"] or t["announced"])]
    lines = [
        "# The gallery: is it right in practice?",
        "",
        "Every kernel of Towline is exact in the limit; users do not live in the limit. These targets have known marginals (independent draws",
        "of them can be made). Each is sampled through the public interface with nothing set but the cost ratio, four chains of 2,000 draws,",
        f"with {targets[0]['seeds']} seeds. A target is *right* where the z-scores over seeds of mean, square, fourth power and the 1 % and 0.1 % tail masses of every",
        "judged variable are at most four; where it is not, the summary must have said so (*announced*).",
        "",
        f"Measured by `make gallery`: {right} of {len(targets)} right; wrong in silence: {', '.join(silent) if silent else 'none'}.",
        "",
        "![Independent draws of the first two variables of every target](figures/gallery.png)",
        "",
        "<!-- typed: by docs/build/gallery.py, from what `make gallery` left -->",
        "| target | what it is | slow + fast | | worst z | slow evaluations per effective draw (with warm-up) | warm-up | fast per slow |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for t in targets:
        verdict = "right" if t["right"] else "announced" if t["announced"] else "**wrong**"
        if t["right"] and t["warned"]:
            verdict += f", {t['warned']} of {t['seeds']} warned"
        lines.append(
            f"| `{t['name']}` | {t['about']} | {t['slow']} + {t['fast']} | {verdict} | {t['worst_z']:.1f} ({t['worst']}) "
            f"| {t['slow_per_effective']:.2f} ({t['slow_per_effective_with_warmup']:.2f}) | {t['warmup_slow']:.0f} | {t['fast_per_slow']:.0f} |"
        )
    lines += [
        "",
        "Slow evaluations are counted for the slow variable that mixes worst (or its square); those of warm-up are of all chains together.",
        "",
    ]
    return "\n".join(lines)


#: What is kept of a target, for other pages.
KEPT = ["name", "about", "slow", "fast", "seeds", "right", "announced", "warned", "worst_z", "slow_per_effective", "slow_per_effective_with_warmup", "warmup_slow", "fast_per_slow"]


def main():
    """Writes the page, its picture and the figures."""
    gallery, draws, docs = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    targets = json.loads(Path(gallery).read_text(encoding="utf-8"))["targets"]
    (docs / "gallery.md").write_text(page(targets), encoding="utf-8")
    picture(json.loads(Path(draws).read_text(encoding="utf-8")), docs / "figures/gallery.png")
    with (docs / "figures/gallery.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        shown = lambda value: f"{value:.4g}" if isinstance(value, float) else value
        writer.writerows([KEPT, *([shown(target[name]) for name in KEPT] for target in targets)])


main()
