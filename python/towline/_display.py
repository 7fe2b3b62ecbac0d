"""What is shown: progress, a line for each chain in a terminal or a notebook; and a summary as a notebook's table."""

from __future__ import annotations

import html
import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from . import _towline

#: Characters of a bar: with them a chain's line has room in eighty columns.
_WIDTH = 20


@contextmanager
def watch(progress: Any, folder: Path) -> Iterator[Any]:
    """A function to be shown progress, or None where nobody looks."""
    if callable(progress):
        yield progress
        return
    if progress not in (None, True, False):
        raise TypeError(f"progress must be True, False or a function, not {type(progress).__name__}")
    show = progress if progress is not None else (_in_notebook() or sys.stderr.isatty())
    if not show:
        yield None
        return
    display = (_Notebook if _in_notebook() else _Terminal)(folder)
    try:
        yield display.see
    finally:
        display.finish()


def _in_notebook() -> bool:
    if "IPython" not in sys.modules:
        return False
    shell = sys.modules["IPython"].get_ipython()
    return shell is not None and type(shell).__name__ == "ZMQInteractiveShell"


class _Display:
    """What is said; where it is said is the others' affair."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.begun = time.monotonic()
        self.drawn = 0.0
        self.thought = self.begun
        self.worst = (math.nan, math.nan)

    def see(self, progress: dict[str, Any]) -> None:
        now = time.monotonic()
        if now - self.drawn < 0.2:
            return
        self.drawn = now
        if now - self.thought > 2:
            self.thought = now
            try:
                self.worst = _towline.worst(self.folder)
            except _towline.Error:
                pass  # only for the eyes: it will be there next time
        self.write(self.lines(progress))

    def lines(self, progress: dict[str, Any]) -> list[str]:
        asked = progress["draws"]
        lines = []
        for k, chain in enumerate(progress["chains"]):
            done = round(_WIDTH * min(chain["draws"] / asked, 1))
            bar = "━" * done + "─" * (_WIDTH - done)
            lines.append(f"{f'chain {k}':>8} {bar} {chain['draws']:>7}/{asked}  {_state(chain)}")
        chains = progress["chains"]
        seconds = max(time.monotonic() - self.begun, 1e-3)
        rate = sum(chain["slow_evaluations"] for chain in chains) / seconds
        # What matters most comes first: a narrow terminal cuts the rest off.
        parts = []
        left = _left(progress)
        if left is not None:
            parts.append(f"{_seconds(left)} left")
        failures = sum(chain["failures"] for chain in chains)
        if failures:
            parts.append(f"{failures} failed evaluations")
        rhat, ess = self.worst
        if not math.isnan(rhat):
            parts.append(f"worst R-hat {rhat:.3f}")
        if not math.isnan(ess):
            parts.append(f"least ESS {ess:.0f}")
        parts.append(f"{rate:.3g} slow evals/s")
        return [*lines, f"{'all':>8} {'  '.join(parts)}"]

    def write(self, lines: list[str]) -> None:
        raise NotImplementedError

    def finish(self) -> None:
        raise NotImplementedError


class _Terminal(_Display):
    """Lines that are written over. The cursor waits at the beginning of the line below them: there a terminal shows Ctrl-C as ^C, and the
    next writing takes it away."""

    height = 0

    def write(self, lines: list[str]) -> None:
        import shutil

        width = shutil.get_terminal_size().columns - 1
        up = f"\r\x1b[{self.height}A" if self.height else ""
        text = "".join(f"\x1b[2K{line[:width]}\n" for line in lines)
        sys.stderr.write(f"{up}{text}\x1b[J")
        sys.stderr.flush()
        self.height = len(lines)

    def finish(self) -> None:
        if self.height:
            sys.stderr.write(f"\r\x1b[{self.height}A\x1b[J")
            sys.stderr.flush()


class _Notebook(_Display):
    """Text that is displayed again."""

    handle: Any = None

    def write(self, lines: list[str]) -> None:
        from IPython.display import display

        content = {"text/plain": "\n".join(lines)}
        if self.handle is None:
            self.handle = display(content, raw=True, display_id=True)
        else:
            self.handle.update(content, raw=True)

    def finish(self) -> None:
        if self.handle is not None:
            self.handle.update({"text/plain": ""}, raw=True)


def _state(chain: dict[str, Any]) -> str:
    if chain["phase"] == "waiting":
        return "waiting"
    if chain["phase"] == "warm-up":
        return f"warm-up, stage {chain['stage']}"
    shares = (("outer", chain["outer_acceptance"]), ("inner", chain["inner_acceptance"]))
    return "accepted: " + " ".join(f"{name} {100 * share:.0f} %" for name, share in shares if not math.isnan(share))


def _left(progress: dict[str, Any]) -> float | None:
    chains = progress["chains"]
    made = sum(chain["draws"] - chain["draws_before"] for chain in chains)
    missing = sum(max(progress["draws"] - chain["draws"], 0) for chain in chains)
    longest = max(chain["seconds"] for chain in chains)
    return longest * missing / made if made > 0 and longest > 0.5 else None


def _seconds(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


#: The columns of a summary in a notebook: key, heading, digits.
_SHOWN = (
    ("mean", "mean"),
    ("sd", "sd"),
    ("q5", "5 %"),
    ("median", "median"),
    ("q95", "95 %"),
    ("mcse_mean", "MCSE"),
    ("ess_bulk", "ESS bulk"),
    ("ess_tail", "ESS tail"),
    ("rhat", "R-hat"),
)


#: Columns to which the command breaks its sentences.
_COLUMNS = 80


def summary_html(summary: Any) -> str:
    """A summary as a table, with its warnings and its verdict."""
    head = "".join(f"<th style='text-align: right'>{title}</th>" for _, title in _SHOWN)
    rows = []
    for name, figures in summary.to_dict().items():
        cells = "".join(f"<td style='text-align: right'>{_figure(key, figures.get(key, math.nan))}</td>" for key, _ in _SHOWN)
        rows.append(f"<tr><th style='text-align: left'>{html.escape(name)}</th>{cells}</tr>")
    table = f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    # What the command says below its table: cost, warnings, and whether the draws may be used.
    said = [part for part in str(summary).split("\n\n")[1:] if part.strip()]
    return table + "".join(f"<p>{html.escape(_joined(part)).replace(chr(10), '<br>')}</p>" for part in said)


def _joined(text: str) -> str:
    """A text that was broken to fit eighty columns, as it was before: a line was broken where its next word had no room."""
    lines = text.split("\n")
    joined = lines[0]
    for before, line in zip(lines, lines[1:]):
        words = line.split(" ")
        # Neither is a number left alone at an end of a line whose per cent sign or error would follow.
        together = 3 if words[1:2] == ["±"] else 2 if words[1:2] and words[1].startswith("%") else 1
        broken = len(before) + 1 + len(" ".join(words[:together])) > _COLUMNS
        joined += (" " if broken else "\n") + line
    return joined


def _figure(key: str, value: float) -> str:
    if math.isnan(value):
        return "–"
    if key.startswith("ess"):
        return f"{value:.0f}"
    return f"{value:.3f}" if key == "rhat" else f"{value:.4g}"
