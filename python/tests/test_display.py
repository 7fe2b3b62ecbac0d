"""Progress: bars in a terminal, text in a notebook, nothing elsewhere."""

import os
import pty
import subprocess
import sys
import types
from pathlib import Path

import pytest

from towline import _display

PROGRESS = {
    "draws": 200,
    "chains": [
        {"phase": "sampling", "stage": 0, "draws": 50, "draws_before": 0, "slow_evaluations": 90, "outer_acceptance": 0.25,
         "inner_acceptance": 0.5, "seconds": 2.0, "failures": 3},
        {"phase": "warm-up", "stage": 2, "draws": 0, "draws_before": 0, "slow_evaluations": 40, "outer_acceptance": float("nan"),
         "inner_acceptance": float("nan"), "seconds": 0.0, "failures": 0},
    ],
}  # fmt: skip


def test_a_line_for_each_chain_and_one_for_all():
    lines = _display._Terminal(Path("nowhere")).lines(PROGRESS)
    assert lines[0] == " chain 0 ━━━━━───────────────      50/200  accepted: outer 25 % inner 50 %"
    assert lines[1].endswith("0/200  warm-up, stage 2")
    assert "slow evals/s" in lines[2] and "3 failed evaluations" in lines[2] and "14 s left" in lines[2]


def test_bars_in_a_terminal(tmp_path):
    script = f"""
import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})
import models, towline
towline.sample(models.line(), chains=2, draws=3000, warmup=150, cost_ratio=50, parallel="processes")
"""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", script], stderr=theirs, stdin=subprocess.DEVNULL)
    os.close(theirs)
    seen = b""
    try:
        while chunk := os.read(ours, 65536):
            seen += chunk
    except OSError:
        pass  # how a terminal says that nobody is there any more
    assert process.wait(60) == 0
    text = seen.decode()
    assert "chain 1" in text and "/3000" in text and text.rstrip().endswith("\x1b[J"), text[-300:]


def test_text_in_a_notebook(monkeypatch):
    shown = []

    class Handle:
        def update(self, content, raw):
            shown.append(content["text/plain"])

    def display(content, raw, display_id):
        shown.append(content["text/plain"])
        return Handle()

    class ZMQInteractiveShell:
        pass

    ipython = types.ModuleType("IPython")
    ipython.get_ipython = ZMQInteractiveShell
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    inner = types.ModuleType("IPython.display")
    inner.display = display
    monkeypatch.setitem(sys.modules, "IPython.display", inner)
    with _display.watch(None, Path("nowhere")) as see:
        see(PROGRESS)
    assert "chain 0" in shown[0] and shown[-1] == ""


NOTEBOOK = [
    """import models, towline
run = towline.sample(models.line(), chains=1, draws=20, warmup=50, cost_ratio=50, parallel="serial")""",
    "run.plot()",
    "figure = run.plot()",
    "figure",
]


def test_a_notebook_shows_a_picture_once():
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    pytest.importorskip("matplotlib")
    import nbformat

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in NOTEBOOK])
    here = {"metadata": {"path": str(Path(__file__).parent)}}
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", resources=here).execute()
    pictures = [sum("image/png" in out.get("data", {}) for out in cell.outputs) for cell in notebook.cells]
    assert pictures == [0, 1, 1, 1]


def test_what_a_terminal_shows_of_ctrl_c_is_written_over(capsys):
    shown = _display._Terminal(Path("nowhere"))
    shown.write(["chain 0", "all"])
    shown.write(["chain 0", "all"])
    shown.finish()
    # Whatever stands on the cursor's line: back to its beginning, up, and all below what is written is taken away.
    lines = "\x1b[2Kchain 0\n\x1b[2Kall\n\x1b[J"
    assert capsys.readouterr().err == f"{lines}\r\x1b[2A{lines}\r\x1b[2A\x1b[J"


def test_sentences_broken_for_a_terminal_are_whole_again_in_a_notebook():
    first = "4 chains of 2,000 draws; 10,978 slow and 330,183 fast evaluations (of which"
    last = "checked: draws differ by at most 1.6 standard errors; the learned proposal has "
    text = f"{first}\nwarm-up 2,978 and 119,861)\nleast ESS 4,155\n{last[:-1]}\n100.0 % of the draws"
    assert _display._joined(text).split("\n") == [f"{first} warm-up 2,978 and 119,861)", "least ESS 4,155", f"{last}100.0 % of the draws"]


@pytest.mark.parametrize("progress", [None, False])
def test_nothing_where_nobody_looks(progress, capsys):
    with _display.watch(progress, Path("nowhere")) as see:
        assert see is None
    assert capsys.readouterr().err == ""
