// Arithmetic as the hardware rounds it.
//
// rounding(const float* a, const float* b, float* out, int count)
//   out[0..11] per element: sums, products and quotients of a and b rounded to nearest, towards zero,
//   up and down.
// conversions(const float* x, int* out, int count)
//   out[0..9] per element: to int to nearest, towards zero, up and down; to unsigned towards zero; to
//   signed and unsigned 8 bits, which saturate; to half, to bfloat16, and the bits of half to nearest
//   towards zero.
// packed(const half2* a, const half2* b, half2* out, int count)
//   out[0..5] per pair: sum, product, a * b + a, minimum, maximum, and sum as bfloat16 of the same bits.
// wide_integers(const unsigned* a, const unsigned* b, unsigned* out, int count)
//   a and b are numbers of 128 bits; out[0..11] per element: their sum, their difference, the lower
//   128 bits of their product.
// approximate(const float* x, float* out, int count)
//   The fast forms: exp, log, sin, cos, reciprocal, reciprocal square root, tanh, division by 3.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace {

__device__ __forceinline__ int index() { return blockIdx.x * blockDim.x + threadIdx.x; }

__device__ __forceinline__ int toSigned8(float x) {
  int result;
  asm("{ .reg .s16 t; cvt.rni.sat.s8.f32 t, %1; cvt.s32.s16 %0, t; }" : "=r"(result) : "f"(x));
  return result;
}
__device__ __forceinline__ int toUnsigned8(float x) {
  int result;
  asm("{ .reg .u16 t; cvt.rni.sat.u8.f32 t, %1; cvt.u32.u16 %0, t; }" : "=r"(result) : "f"(x));
  return result;
}

}  // namespace

extern "C" __global__ void rounding(const float* a, const float* b, float* out, int count) {
  const int at = index();
  if (at >= count) return;
  const float x = a[at], y = b[at];
  out += at * 12;
  out[0] = __fadd_rn(x, y);
  out[1] = __fadd_rz(x, y);
  out[2] = __fadd_ru(x, y);
  out[3] = __fadd_rd(x, y);
  out[4] = __fmul_rn(x, y);
  out[5] = __fmul_rz(x, y);
  out[6] = __fmul_ru(x, y);
  out[7] = __fmul_rd(x, y);
  out[8] = __fdiv_rn(x, y);
  out[9] = __fdiv_rz(x, y);
  out[10] = __fdiv_ru(x, y);
  out[11] = __fdiv_rd(x, y);
}

extern "C" __global__ void conversions(const float* x, int* out, int count) {
  const int at = index();
  if (at >= count) return;
  const float value = x[at];
  out += at * 10;
  out[0] = __float2int_rn(value);
  out[1] = __float2int_rz(value);
  out[2] = __float2int_ru(value);
  out[3] = __float2int_rd(value);
  out[4] = __float2uint_rz(value);
  out[5] = toSigned8(value);
  out[6] = toUnsigned8(value);
  out[7] = __half_as_ushort(__float2half_rn(value));
  out[8] = __bfloat16_as_ushort(__float2bfloat16_rn(value));
  out[9] = __half_as_ushort(__float2half_rz(value));
}

extern "C" __global__ void packed(const half2* a, const half2* b, half2* out, int count) {
  const int at = index();
  if (at >= count) return;
  const half2 x = a[at], y = b[at];
  out += at * 6;
  out[0] = __hadd2(x, y);
  out[1] = __hmul2(x, y);
  out[2] = __hfma2(x, y, x);
  out[3] = __hmin2(x, y);
  out[4] = __hmax2(x, y);
  const __nv_bfloat162 sum = __hadd2(reinterpret_cast<const __nv_bfloat162&>(x),
                                     reinterpret_cast<const __nv_bfloat162&>(y));
  out[5] = reinterpret_cast<const half2&>(sum);
}

extern "C" __global__ void
wide_integers(const unsigned* a, const unsigned* b, unsigned* out, int count) {
  const int at = index();
  if (at >= count) return;
  using Wide = unsigned __int128;
  Wide x = 0, y = 0;
  for (int i = 3; i >= 0; i--) {
    x = x << 32 | a[at * 4 + i];
    y = y << 32 | b[at * 4 + i];
  }
  Wide results[3] = {x + y, x - y, x * y};
#pragma unroll
  for (int i = 0; i < 12; i++) out[at * 12 + i] = (unsigned)(results[i / 4] >> (i % 4 * 32));
}

extern "C" __global__ void approximate(const float* x, float* out, int count) {
  const int at = index();
  if (at >= count) return;
  const float value = x[at];
  out += at * 8;
  out[0] = __expf(value);
  out[1] = __logf(fabsf(value) + 0.25f);
  out[2] = __sinf(value);
  out[3] = __cosf(value);
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(out[4]) : "f"(value));
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(out[5]) : "f"(fabsf(value)));
  asm("tanh.approx.f32 %0, %1;" : "=f"(out[6]) : "f"(value));
  out[7] = __fdividef(value, 3.0f);
}
