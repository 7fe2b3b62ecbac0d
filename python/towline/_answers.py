"""What is made of a fit: predictions, maps, checks, effects and comparisons, as frames, words and pictures."""

from __future__ import annotations

import base64
import html
import json
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from . import _towline
from ._fit import framed, place


class _Answer:
    """Something to read, with a picture where it has one."""

    def __init__(self, text: str, picture: tuple[str, bytes] | None) -> None:
        self._text = text
        self._svg, self._png = picture if picture is not None else (None, None)

    def __repr__(self) -> str:
        return self._text

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the picture, as SVG or PNG by the file's ending, and returns its path."""
        path = Path(path)
        if self._svg is None or self._png is None:
            raise ValueError("there is no picture of this")
        if path.suffix not in (".svg", ".png"):
            raise ValueError(f"{path.name}: a picture is saved as .svg or .png")
        path.write_bytes(self._png if path.suffix == ".png" else self._svg.encode())
        return path

    def _picture_html(self) -> str:
        if self._png is None:
            return ""
        wide = int.from_bytes(self._png[16:20], "big") // 2  # twice as fine as it is shown
        image = base64.b64encode(self._png).decode()
        return f'<img width="{wide}" style="max-width: 100%" alt="{html.escape(_first_line(self._text))}" src="data:image/png;base64,{image}">'

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self._text)}</pre>{self._picture_html()}"


class Map(_Answer):
    """A fitted surface: `data` has its places with mean and sd; it shows itself in a notebook, and `save` writes the picture."""

    def __init__(self, found: dict[str, Any], title: str, about: str, picture: tuple[str, bytes], like: Any) -> None:
        super().__init__(f"{title}\n{about}", picture)
        #: The inputs of the process, mean, sd, and probability_above where it was asked for.
        self.data = framed(found, like)

    def _repr_html_(self) -> str:
        return self._picture_html()


class Check(_Answer):
    """How well a fit predicts its own data, and whether data that it makes look like them."""

    def __init__(self, numbers: str, text: str, picture: tuple[str, bytes]) -> None:
        super().__init__(text, picture)
        self._numbers = json.loads(numbers)

    def to_dict(self) -> dict[str, Any]:
        """All figures by name: elpd_loo, se_loo, p_loo, elpd_waic, …, draws; of a check of priors only `draws`."""
        return {name: value for name, value in self._numbers.items() if not isinstance(value, list)}

    def _array(self, name: str) -> np.ndarray:
        if name not in self._numbers:
            raise ValueError("a check of the priors alone leaves no observation out")
        # JSON has no infinity: null stands for it.
        return np.array([np.inf if value is None else value for value in self._numbers[name]])

    @property
    def pointwise(self) -> np.ndarray:
        """The expected log predictive density of every observation, left out in its turn."""
        return self._array("loo_i")

    @property
    def pareto_k(self) -> np.ndarray:
        """The shape of the tail of every observation's weights: above `good_k` its estimate is not reliable."""
        return self._array("pareto_k")

    @property
    def replicated(self) -> Any:
        """Figures of the observed data beside those of data that the model makes, in a frame."""
        rows = self._numbers["replicated"]
        return framed({key: np.array([row[key] for row in rows]) for key in rows[0]})


class Effects(_Answer):
    """Effects with their intervals: `data` has them in a frame."""

    def __init__(self, found: dict[str, Any], text: str, picture: tuple[str, bytes] | None) -> None:
        super().__init__(text, picture)
        #: The names, means, standard deviations and quantiles.
        self.data = framed(found)


class Comparison(_Answer):
    """Fits of the same observations, the best first: `data` has them in a frame."""

    def __init__(self, numbers: str, text: str) -> None:
        super().__init__(text, None)
        rows = json.loads(numbers)
        #: elpd_loo, its standard error, and the difference from the best with its standard error.
        self.data = framed({key: np.array([row[key] for row in rows]) for key in rows[0]})


def predict(folder: Path, data: Any, level: float, draws: int) -> Any:
    """Predictions at new rows, in a frame where `data` is one or a file, else in a dictionary of arrays."""
    found, notes, _ = _towline.predict(folder, place(data), float(level), int(draws))
    for note in notes:
        warnings.warn(note, stacklevel=3)
    return framed(found, data)


def predict_draws(folder: Path, data: Any, draws: int) -> dict[str, np.ndarray]:
    """Joint draws at new rows."""
    latent, response, count, classes = _towline.predict_draws(folder, place(data), int(draws))
    response = response.reshape(count, -1)
    if classes and latent.size > response.size:
        return {
            "latent": latent.reshape(count, len(classes), -1).transpose(0, 2, 1),
            "response": np.array(classes)[response.astype(int)],
        }
    return {"latent": latent.reshape(count, -1), "response": response}


def mapped(
    folder: Path,
    with_intercept: bool,
    response: bool,
    above: float | None,
    cells: int,
    at: Any,
    inside: Any,
    draws: int,
) -> Map:
    """The map of a fit's process."""
    if not 2 <= cells <= 500:
        raise ValueError(f"cells = {cells}: it must be from 2 to 500")
    where = None if at is None else place(at)
    polygon = None if inside is None else place(inside)
    found, title, about, picture = _towline.map(
        folder, bool(with_intercept), bool(response), above, int(cells), where, polygon, int(draws)
    )
    return Map(found, title, about, picture, at)


def compare(*runs: Any, draws: int = 1000) -> Comparison:
    """Which of several fits of the same observations would predict new ones better: the difference in elpd with its standard error.

    Runs are those of `towline.gp`, `towline.glmm` and `towline fit`, or their directories; a list of them is as good.
    """
    if len(runs) == 1 and isinstance(runs[0], (list, tuple)):
        runs = tuple(runs[0])
    folders = [getattr(run, "path", run) for run in runs]
    return Comparison(*_towline.compare(folders, int(draws)))


def inference(folder: Path, groups: list[str]) -> dict[str, Any]:
    """The groups of a run as xarray's datasets, by name."""
    from xarray import Dataset

    out = {}
    for name, steps, arrays in _towline.inference(folder, groups):
        own = [] if steps is None else ["chain", "draw"]
        coordinates: dict[str, Any] = {}
        variables: dict[str, Any] = {}
        for variable, shape, values, dimensions in arrays:
            for dimension, labels in dimensions:
                numbered = labels == [str(k) for k in range(len(labels))]
                coordinates[dimension] = np.arange(len(labels)) if numbered else np.array(labels)
            if steps is not None:
                coordinates.setdefault("chain", np.arange(shape[0]))
                coordinates.setdefault("draw", np.array(steps))
            variables[variable] = ([*own, *(dimension for dimension, _ in dimensions)], values.reshape(shape))
        out[name] = Dataset(variables, coords=coordinates, attrs={"inference_library": "towline"})
    return out


def _first_line(text: str) -> str:
    return text.partition("\n")[0]
