"""Kernels as OpenAI Triton compiles them; needs no GPU.

Run in an environment with `pip install triton==3.9.0`: writes ptx/triton_*.ptx, and how they are
launched to ptx/triton.json.
"""

import json

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import neutral


@triton.jit
def vector_add(x, y, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < count
    tl.store(out + at, tl.load(x + at, mask=mask) + tl.load(y + at, mask=mask), mask=mask)


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = at < columns
    values = tl.load(x + row * columns + at, mask=mask, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * columns + at, powers / tl.sum(powers, axis=0), mask=mask)


@triton.jit
def matmul(a, b, c, m, n, k, TILE: tl.constexpr, DEPTH: tl.constexpr):
    rows = tl.program_id(0) * TILE + tl.arange(0, TILE)
    columns = tl.program_id(1) * TILE + tl.arange(0, TILE)
    sums = tl.zeros((TILE, TILE), dtype=tl.float32)
    for k0 in range(0, k, DEPTH):
        depth = k0 + tl.arange(0, DEPTH)
        tile_a = tl.load(
            a + rows[:, None] * k + depth[None, :],
            mask=(rows[:, None] < m) & (depth[None, :] < k),
            other=0.0,
        )
        tile_b = tl.load(
            b + depth[:, None] * n + columns[None, :],
            mask=(depth[:, None] < k) & (columns[None, :] < n),
            other=0.0,
        )
        sums += tl.dot(tile_a, tile_b)
    mask = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(c + rows[:, None] * n + columns[None, :], sums, mask=mask)


@triton.jit
def prefix_sum(x, out, count, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    values = tl.load(x + at, mask=at < count, other=0)
    tl.store(out + at, tl.cumsum(values, axis=0), mask=at < count)


# Kernel, types of its parameters, constants, and attributes by position: pointers and sizes that are
# multiples of 16 let Triton use wide and asynchronous copies.
KERNELS = [
    (vector_add, {"x": "*fp32", "y": "*fp32", "out": "*fp32", "count": "i32"}, {"BLOCK": 512}, ()),
    (softmax, {"x": "*fp32", "out": "*fp32", "columns": "i32"}, {"BLOCK": 1024}, ()),
    (
        matmul,
        {"a": "*fp16", "b": "*fp16", "c": "*fp32", "m": "i32", "n": "i32", "k": "i32"},
        {"TILE": 32, "DEPTH": 32},
        (0, 1, 2, 4, 5),
    ),
    (prefix_sum, {"x": "*i32", "out": "*i32", "count": "i32"}, {"BLOCK": 256}, ()),
]


def main() -> None:
    launches = {}
    for kernel, types, constants, multiples in KERNELS:
        source = ASTSource(
            fn=kernel,
            signature={**types, **{name: "constexpr" for name in constants}},
            constexprs=constants,
            attrs={(index,): [["tt.divisibility", 16]] for index in multiples},
        )
        for target in (80, 90):
            compiled = triton.compile(source, target=GPUTarget("cuda", target, 32))
            name = f"triton_{kernel.__name__}.sm_{target}"
            neutral.write(name, compiled.asm["ptx"], __file__)
            launches[name] = {
                "threads": compiled.metadata.num_warps * 32,
                "sharedBytes": compiled.metadata.shared,
            }
    (neutral.OUTPUT / "triton.json").write_text(json.dumps(launches, indent=2) + "\n")


main()
