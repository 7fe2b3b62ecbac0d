"""Fast functions in machine code: called without the interpreter, with the same draws."""

import ctypes
import math
import shutil
import subprocess

import numpy as np
import pytest

import models
import towline

SETTINGS = {"chains": 2, "draws": 150, "warmup": 150, "cost_ratio": 50, "seed": 5}
SOURCE = r"""
#include <stddef.h>
double density1(const double *cache, size_t n_cache, const double *y, size_t n_y, void *data) {
    if (n_cache != 2 || n_y != 1) return 0.0 / 0.0;
    double x = cache[0], away = y[0] - cache[1], wide = 1.0 + x * x;
    ++*(long *)data;
    return -x * x - 50.0 * (wide * wide) * (away * away);
}
"""


def prepare(x):
    return np.array([x[0], math.sin(x[0])])


def density(cache, y):
    x, away = cache[0], y[0] - cache[1]
    wide = 1.0 + x * x
    return -x * x - 50.0 * (wide * wide) * (away * away)


def in_python(**more):
    return towline.sample_density(prepare, density, [0.5], [0.0], parallel="serial", **SETTINGS, **more)


def test_a_c_function_gives_the_same_draws_in_threads(tmp_path):
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    (tmp_path / "d.c").write_text(SOURCE)
    # Without contraction, so that the arithmetic is Python's.
    flags = ["-shared", "-fPIC", "-O1", "-ffp-contract=off"]
    subprocess.run(["cc", *flags, "-o", tmp_path / "d.so", tmp_path / "d.c"], check=True)
    library = ctypes.CDLL(str(tmp_path / "d.so"))
    count = ctypes.c_long(0)
    function = towline.CFunction(library.density1, ctypes.addressof(count))
    run = towline.sample_density(prepare, function, [0.5], [0.0], **SETTINGS)
    assert count.value > 1000
    same = in_python()
    for name in run.names:
        np.testing.assert_array_equal(run[name], same[name])
    with pytest.raises(ValueError, match="use parallel='threads'"):
        towline.sample_density(prepare, function, [0.5], [0.0], parallel="processes", **SETTINGS)


def test_a_ctypes_callback_is_a_pointer_too():
    pointer = ctypes.POINTER(ctypes.c_double)
    signature = ctypes.CFUNCTYPE(ctypes.c_double, pointer, ctypes.c_size_t, pointer, ctypes.c_size_t, ctypes.c_void_p)
    function = signature(lambda cache, n_cache, y, n_y, data: density(cache, y))
    model = towline.Density(prepare, function, [0.5], [0.0])
    run = towline.sample(model, **{**SETTINGS, "draws": 20})
    same = towline.sample_density(prepare, density, [0.5], [0.0], parallel="serial", **{**SETTINGS, "draws": 20})
    np.testing.assert_array_equal(run["x0"], same["x0"])


def test_what_is_no_pointer_is_refused():
    with pytest.raises(ValueError, match="the address of the C function is zero"):
        towline.CFunction(0)
    with pytest.raises(TypeError, match="an address, a ctypes function or a numba cfunc is needed, not str"):
        towline.CFunction("f")
    signature = ctypes.CFUNCTYPE(ctypes.c_double)
    function = signature(lambda: 0.0)
    with pytest.raises(towline.ModelError, match="prepare returned dict: with a C function for log_density, an array of float64"):
        towline.sample_density(lambda x: {"a": 1}, function, [0.5], [0.0], **SETTINGS)


def test_a_numba_cfunc_is_a_pointer():
    numba = pytest.importorskip("numba")
    from numba import types

    numbers = types.CPointer(types.float64)

    @numba.cfunc(types.float64(numbers, types.intp, numbers, types.intp, types.voidptr))
    def function(cache, n_cache, y, n_y, data):
        x, away = cache[0], y[0] - cache[1]
        wide = 1.0 + x * x
        return -x * x - 50.0 * (wide * wide) * (away * away)

    run = towline.sample_density(prepare, function, [0.5], [0.0], **SETTINGS)
    np.testing.assert_array_equal(run["x0"], in_python()["x0"])


def test_models_with_priors_take_pointers():
    pointer = ctypes.POINTER(ctypes.c_double)
    signature = ctypes.CFUNCTYPE(ctypes.c_double, pointer, ctypes.c_size_t, pointer, ctypes.c_size_t, ctypes.c_void_p)

    def log_likelihood(cache, n_cache, y, n_y, data):
        assert (n_cache, n_y) == (3, 1)
        return models.line_log_likelihood(cache[:3], y)

    model = models.line(log_likelihood=signature(log_likelihood))
    run = towline.sample(model, **{**SETTINGS, "draws": 20})
    same = towline.sample(models.line(), parallel="serial", **{**SETTINGS, "draws": 20})
    np.testing.assert_array_equal(run["slope"], same["slope"])
