"""Convolution by Fourier transforms."""

from __future__ import annotations

from calibrant._core.typing import Array


def valid_convolution(values: Array, kernel: Array) -> Array:
    """Where a kernel lies within the values as a whole; it is not the longer of the two.

    The same steps as ``scipy.signal.fftconvolve(values, kernel, mode="valid")``, whose package
    takes longer to load than all else on a page.
    """
    from scipy import fft

    size = values.size + kernel.size - 1
    n = [fft.next_fast_len(size, real=True)]
    product = fft.rfftn(values, n) * fft.rfftn(kernel, n)
    return fft.irfftn(product, n)[kernel.size - 1 : values.size]
