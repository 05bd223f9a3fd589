"""Kernels as numba-cuda compiles them, libdevice included; needs no GPU.

Run in an environment with `pip install numba-cuda==0.30.4 nvidia-nvvm nvidia-cuda-nvrtc
nvidia-cuda-runtime`, with CUDA_HOME set to where these lie: writes ptx/numba_*.ptx.
"""

import math
import re
from types import SimpleNamespace

from numba import cuda, float32, float64, int32, int64
from numba.cuda import dispatcher

import neutral

# Functions that kernels call are compiled for the GPU at hand, and there is none.
dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=(8, 0))


@cuda.jit(device=True)
def collatz_steps(value):
    steps = 0
    while value != 1:
        value = value // 2 if value % 2 == 0 else 3 * value + 1
        steps += 1
    return steps


def steps(x, out):
    at = cuda.grid(1)
    if at < x.size:
        out[at] = collatz_steps(x[at])


def functions(x, out):
    at = cuda.grid(1)
    if at < x.size:
        value = x[at]
        out[at, 0] = math.sin(value)
        out[at, 1] = math.exp(value)
        out[at, 2] = math.log(abs(value) + 1.0)
        out[at, 3] = math.pow(abs(value), 1.5)
        out[at, 4] = math.tanh(value)
        out[at, 5] = math.erf(value)
        out[at, 6] = math.atan2(value, 2.0)
        out[at, 7] = math.fmod(value, 0.75)


def block_sums(x, out):
    shared = cuda.shared.array(128, float64)
    thread = cuda.threadIdx.x
    at = cuda.grid(1)
    shared[thread] = x[at] if at < x.size else 0.0
    cuda.syncthreads()
    half = 64
    while half > 0:
        if thread < half:
            shared[thread] += shared[thread + half]
        cuda.syncthreads()
        half //= 2
    if thread == 0:
        out[cuda.blockIdx.x] = shared[0]


def histogram(x, counts, extremes):
    at = cuda.grid(1)
    if at < x.size:
        cuda.atomic.add(counts, x[at] % counts.size, 1)
        cuda.atomic.max(extremes, 0, x[at])
        cuda.atomic.min(extremes, 1, x[at])


def smallest_three(x, out):
    """Keeps a list of its own in local memory."""
    best = cuda.local.array(3, int32)
    row = cuda.grid(1)
    if row >= x.shape[0]:
        return
    for i in range(3):
        best[i] = 2147483647
    for column in range(x.shape[1]):
        value = x[row, column]
        for i in range(3):
            if value < best[i]:
                value, best[i] = best[i], value
    for i in range(3):
        out[row, i] = best[i]


KERNELS = [
    (steps, (int64[::1], int32[::1]), {}),
    (functions, (float64[::1], float64[:, ::1]), {}),
    (functions, (float32[::1], float32[:, ::1]), {"name": "functions_f32", "fastmath": False}),
    (block_sums, (float64[::1], float64[::1]), {}),
    (histogram, (int32[::1], int32[::1], int32[::1]), {}),
    (smallest_three, (int32[:, ::1], int32[:, ::1]), {}),
    (block_sums, (float64[::1], float64[::1]), {"name": "block_sums_debug", "debug": True}),
]


def main() -> None:
    for kernel, types, options in KERNELS:
        name = options.pop("name", kernel.__name__)
        opt = not options.get("debug", False)
        ptx, _ = cuda.compile_ptx(kernel, types, cc=(8, 0), opt=opt, **options)
        mangled = re.search(r"\.entry (\w+)", ptx)[1]
        ptx = ptx.replace(mangled, name)
        neutral.write(f"numba_{name}.sm_80", ptx, __file__)


main()
