// Small matrix products of every type that tensor cores take, by warps. Block 32, grid 1.
//
// wmma_f16(const half* a, const half* b, const float* c, float* out)
//   16 x 16 x 16, a row-major, b column-major: out = a * b + c.
// wmma_bf16(const bfloat16* a, const bfloat16* b, float* out)
//   16 x 16 x 16, both row-major.
// wmma_tf32(const float* a, const float* b, float* out)
//   16 x 16 x 8, both row-major, operands rounded to tf32 first.
// wmma_s8(const signed char* a, const signed char* b, int* out)
//   32 x 8 x 16, both row-major.
// wmma_s8_bounded(const signed char* a, const signed char* b, const int* c, int* out)
//   The same plus c; sums beyond 32 bits become the largest or the smallest number.
// wmma_f64(const double* a, const double* b, double* out)
//   8 x 8 x 4, both row-major.
// mma_s8(const signed char* a, const signed char* b, int* out)
//   16 x 8 x 32 by mma.sync, a row-major, b column-major.
// half_sums(const half* a, const half* b, half* out)
//   16 x 16 x 16 with sums in fp16, both row-major.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

extern "C" __global__ void wmma_f16(const half* a, const half* b, const float* c, float* out) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> ofA;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> ofB;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::load_matrix_sync(ofA, a, 16);
  wmma::load_matrix_sync(ofB, b, 16);
  wmma::load_matrix_sync(sum, c, 16, wmma::mem_row_major);
  wmma::mma_sync(sum, ofA, ofB, sum);
  wmma::store_matrix_sync(out, sum, 16, wmma::mem_row_major);
}

extern "C" __global__ void
wmma_bf16(const __nv_bfloat16* a, const __nv_bfloat16* b, float* out) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> ofA;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::row_major> ofB;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::load_matrix_sync(ofA, a, 16);
  wmma::load_matrix_sync(ofB, b, 16);
  wmma::fill_fragment(sum, 0.0f);
  wmma::mma_sync(sum, ofA, ofB, sum);
  wmma::store_matrix_sync(out, sum, 16, wmma::mem_row_major);
}

extern "C" __global__ void wmma_tf32(const float* a, const float* b, float* out) {
  wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> ofA;
  wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> ofB;
  wmma::fragment<wmma::accumulator, 16, 16, 8, float> sum;
  wmma::load_matrix_sync(ofA, a, 8);
  wmma::load_matrix_sync(ofB, b, 16);
  for (int i = 0; i < ofA.num_elements; i++) ofA.x[i] = wmma::__float_to_tf32(ofA.x[i]);
  for (int i = 0; i < ofB.num_elements; i++) ofB.x[i] = wmma::__float_to_tf32(ofB.x[i]);
  wmma::fill_fragment(sum, 0.0f);
  wmma::mma_sync(sum, ofA, ofB, sum);
  wmma::store_matrix_sync(out, sum, 16, wmma::mem_row_major);
}

extern "C" __global__ void wmma_s8(const signed char* a, const signed char* b, int* out) {
  wmma::fragment<wmma::matrix_a, 32, 8, 16, signed char, wmma::row_major> ofA;
  wmma::fragment<wmma::matrix_b, 32, 8, 16, signed char, wmma::row_major> ofB;
  wmma::fragment<wmma::accumulator, 32, 8, 16, int> sum;
  wmma::load_matrix_sync(ofA, a, 16);
  wmma::load_matrix_sync(ofB, b, 8);
  wmma::fill_fragment(sum, 0);
  wmma::mma_sync(sum, ofA, ofB, sum);
  wmma::store_matrix_sync(out, sum, 8, wmma::mem_row_major);
}

extern "C" __global__ void
wmma_s8_bounded(const signed char* a, const signed char* b, const int* c, int* out) {
  wmma::fragment<wmma::matrix_a, 32, 8, 16, signed char, wmma::row_major> ofA;
  wmma::fragment<wmma::matrix_b, 32, 8, 16, signed char, wmma::row_major> ofB;
  wmma::fragment<wmma::accumulator, 32, 8, 16, int> sum;
  wmma::load_matrix_sync(ofA, a, 16);
  wmma::load_matrix_sync(ofB, b, 8);
  wmma::load_matrix_sync(sum, c, 8, wmma::mem_row_major);
  wmma::mma_sync(sum, ofA, ofB, sum, true);
  wmma::store_matrix_sync(out, sum, 8, wmma::mem_row_major);
}

extern "C" __global__ void wmma_f64(const double* a, const double* b, double* out) {
  wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::row_major> ofA;
  wmma::fragment<wmma::matrix_b, 8, 8, 4, double, wmma::row_major> ofB;
  wmma::fragment<wmma::accumulator, 8, 8, 4, double> sum;
  wmma::load_matrix_sync(ofA, a, 4);
  wmma::load_matrix_sync(ofB, b, 8);
  wmma::fill_fragment(sum, 0.0);
  wmma::mma_sync(sum, ofA, ofB, sum);
  wmma::store_matrix_sync(out, sum, 8, wmma::mem_row_major);
}

extern "C" __global__ void mma_s8(const signed char* a, const signed char* b, int* out) {
  const int lane = threadIdx.x, row = lane / 4, group = lane % 4 * 4;
  const auto four = [](const signed char* from) { return *reinterpret_cast<const int*>(from); };
  int sum[4] = {};
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, "
               "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
               : "r"(four(a + row * 32 + group)), "r"(four(a + (row + 8) * 32 + group)),
                 "r"(four(a + row * 32 + group + 16)), "r"(four(a + (row + 8) * 32 + group + 16)),
                 "r"(four(b + row * 32 + group)), "r"(four(b + row * 32 + group + 16)));
  for (int i = 0; i < 4; i++) out[(row + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = sum[i];
}

extern "C" __global__ void half_sums(const half* a, const half* b, half* out) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> ofA;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> ofB;
  wmma::fragment<wmma::accumulator, 16, 16, 16, half> sum;
  wmma::load_matrix_sync(ofA, a, 16);
  wmma::load_matrix_sync(ofB, b, 16);
  wmma::fill_fragment(sum, __float2half(0.0f));
  wmma::mma_sync(sum, ofA, ofB, sum);
  wmma::store_matrix_sync(out, sum, 16, wmma::mem_row_major);
}
