"""Draws what a drag does, and what a frame saves it: drag.py PICTURE. The report's first test; needs only NumPy."""

import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

START, END, N = (-0.55, -0.50), 0.75, 40


def log_density(x, y):
    return -(x**2) - 50.0 * (1.0 + x**2) ** 2 * (y - np.sin(x)) ** 2


def drag(generator):
    """The path of y from x to x*, by Metropolis moves under the distributions in between."""
    x, y = START
    path = [(x, y)]
    for i in range(1, N):
        at = lambda y: ((N - i) * log_density(x, y) + i * log_density(END, y)) / N
        proposed = y + 0.2 * generator.normal()
        if np.log(generator.random()) < at(proposed) - at(y):
            y = proposed
        path.append((x + (END - x) * i / N, y))
    return np.array(path)


def main(picture):
    path = drag(np.random.default_rng(3))
    x, y = np.meshgrid(np.linspace(-1.6, 1.6, 321), np.linspace(-1.5, 1.5, 301))
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    left.contourf(x, y, np.exp(log_density(x, y)), 12, cmap="Blues")
    left.plot(*path.T, "-o", color="#b2182b", markersize=3, linewidth=1)
    left.plot(*START, "o", color="black")
    left.plot([START[0], END], [START[1]] * 2, ":", color="black")
    left.plot(END, START[1], "x", color="black")
    left.annotate("y held still: refused", (END, START[1]), (END - 0.35, START[1] - 0.3), fontsize=9)
    left.annotate("(x, y)", START, (START[0] - 0.42, START[1] - 0.05), fontsize=9)
    left.annotate("dragged: (x*, y*)", tuple(path[-1]), (END - 0.75, path[-1][1] + 0.28), fontsize=9)
    left.set(title=f"A drag of n = {N}", xlabel="x (slow)", ylabel="y (fast)")
    # In the frame m(x) = sin x, L(x) = 0.1 / (1 + x²): z hardly depends on x.
    x, z = np.meshgrid(np.linspace(-1.6, 1.6, 321), np.linspace(-3.5, 3.5, 301))
    width = 0.1 / (1.0 + x**2)
    right.contourf(x, z, np.exp(log_density(x, np.sin(x) + width * z) + np.log(10 * width)), 12, cmap="Blues")
    begin = (START[1] - np.sin(START[0])) / (0.1 / (1.0 + START[0] ** 2))
    right.annotate("", (END, begin), (START[0], begin), arrowprops={"arrowstyle": "->", "color": "#b2182b"})
    right.plot(START[0], begin, "o", color="black")
    right.annotate("one slow move, z held still", (START[0] + 0.15, begin + 0.2), fontsize=9)
    right.set(title="The same target in its frame: y = m(x) + L(x) z", xlabel="x (slow)", ylabel="z")
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])
