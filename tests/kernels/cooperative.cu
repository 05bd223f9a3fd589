// Cooperative groups.
//
// grid_rounds(const int* x, int* a, int* b, int count, int rounds)
//   In each round every element becomes the sum of its neighbours and itself, from one buffer into the
//   other: all blocks have to have ended a round before the next. Launched cooperatively, any block and
//   grid. The result is in a after an even number of rounds.
// tiles(const int* x, int* sums, int* ranks)
//   Sums over tiles of 8 lanes, in every lane; the lane's rank among those of its tile that hold a
//   number as even, or as odd, as its own. Any block of whole warps and grid that cover x.
// aggregated(const int* x, int* kept, int* number, int count)
//   Keeps the odd numbers, in any order: one atomic addition for all lanes that keep one.
// reduced(const int* x, int* out)
//   The sum and the maximum of a block by the library's own reductions. Block 96, grid any.

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

extern "C" __global__ void grid_rounds(const int* x, int* a, int* b, int count, int rounds) {
  cg::grid_group grid = cg::this_grid();
  for (int i = grid.thread_rank(); i < count; i += grid.size()) a[i] = x[i];
  grid.sync();
  for (int round = 0; round < rounds; round++) {
    for (int i = grid.thread_rank(); i < count; i += grid.size()) {
      b[i] = (i > 0 ? a[i - 1] : 0) + a[i] + (i + 1 < count ? a[i + 1] : 0);
    }
    grid.sync();
    int* const other = a;
    a = b;
    b = other;
  }
}

extern "C" __global__ void tiles(const int* x, int* sums, int* ranks) {
  cg::thread_block block = cg::this_thread_block();
  auto tile = cg::tiled_partition<8>(block);
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  const int value = x[at];
  int sum = value;
  for (int offset = tile.size() / 2; offset > 0; offset /= 2) sum += tile.shfl_xor(sum, offset);
  sums[at] = sum;
  auto warp = cg::tiled_partition<32>(block);
  auto alike = cg::labeled_partition(warp, tile.meta_group_rank() * 2 + value % 2);
  ranks[at] = alike.thread_rank();
}

extern "C" __global__ void aggregated(const int* x, int* kept, int* number, int count) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= count || x[at] % 2 == 0) return;
  auto group = cg::coalesced_threads();
  int first = 0;
  if (group.thread_rank() == 0) first = atomicAdd(number, group.size());
  kept[group.shfl(first, 0) + group.thread_rank()] = x[at];
}

extern "C" __global__ void __launch_bounds__(96) reduced(const int* x, int* out) {
  __shared__ int sums[3], highest[3];
  cg::thread_block block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  const int value = x[blockIdx.x * 96 + threadIdx.x];
  const int sum = cg::reduce(warp, value, cg::plus<int>());
  const int most = cg::reduce(warp, value, cg::greater<int>());
  if (warp.thread_rank() == 0) {
    sums[warp.meta_group_rank()] = sum;
    highest[warp.meta_group_rank()] = most;
  }
  block.sync();
  cg::invoke_one(block, [&] {
    out[blockIdx.x * 2] = sums[0] + sums[1] + sums[2];
    out[blockIdx.x * 2 + 1] = max(max(highest[0], highest[1]), highest[2]);
  });
}
