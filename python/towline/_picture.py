"""A Matplotlib figure that a notebook shows once."""

from __future__ import annotations

import io

from matplotlib import pyplot
from matplotlib.figure import Figure


class Picture(Figure):
    """A figure as others are; but a notebook shows what a cell returns, and again what pyplot still holds at its end."""

    def _ipython_display_(self) -> None:
        if "inline" not in pyplot.get_backend():
            raise NotImplementedError  # by which IPython understands that it should show it as it does any figure
        from IPython.display import Image, display

        pyplot.close(self)
        drawn = io.BytesIO()
        self.savefig(drawn, format="png", dpi=self.dpi, bbox_inches="tight")
        display(Image(drawn.getvalue(), format="png"))
