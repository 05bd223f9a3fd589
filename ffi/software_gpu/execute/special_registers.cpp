#include "special_registers.h"

#include <chrono>
#include <unordered_map>

#include "warp.h"

namespace sgpu {
namespace {

using Changes = SpecialRegister::Changes;

uint32_t thread(const Warp& warp, unsigned lane) { return warp.index * kWarpLanes + lane; }
const Launch& launchOf(const Warp& warp) { return *warp.block->launch; }

template <unsigned axis>
uint64_t threadIndex(const Warp& warp, unsigned lane) {
  const uint32_t* block = launchOf(warp).block;
  const uint32_t flat = thread(warp, lane);
  if (axis == 0) return flat % block[0];
  if (axis == 1) return flat / block[0] % block[1];
  return flat / block[0] / block[1];
}

template <unsigned axis>
uint64_t blockThreads(const Warp& warp, unsigned) { return launchOf(warp).block[axis]; }
template <unsigned axis>
uint64_t blockIndex(const Warp& warp, unsigned) { return warp.block->index[axis]; }
template <unsigned axis>
uint64_t gridBlocks(const Warp& warp, unsigned) { return launchOf(warp).grid[axis]; }
template <uint64_t value>
uint64_t always(const Warp&, unsigned) { return value; }

uint64_t below(unsigned lane) { return (uint64_t{1} << lane) - 1; }

/// One instruction of a warp is one tick: a kernel that waits for time to pass sees it pass.
uint64_t clock(const Warp& warp, unsigned) { return warp.instructions; }
uint64_t nanoseconds(const Warp&, unsigned) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch()).count();
}

// A grid without clusters is one of clusters of one block.
const std::unordered_map<std::string, SpecialRegister>& specials() {
  static const std::unordered_map<std::string, SpecialRegister> table = {
      {"%tid.x", {threadIndex<0>}}, {"%tid.y", {threadIndex<1>}}, {"%tid.z", {threadIndex<2>}},
      {"%tid.w", {always<0>}},
      {"%ntid.x", {blockThreads<0>}}, {"%ntid.y", {blockThreads<1>}},
      {"%ntid.z", {blockThreads<2>}}, {"%ntid.w", {always<1>}},
      {"%ctaid.x", {blockIndex<0>, Changes::ByBlock}},
      {"%ctaid.y", {blockIndex<1>, Changes::ByBlock}},
      {"%ctaid.z", {blockIndex<2>, Changes::ByBlock}}, {"%ctaid.w", {always<0>}},
      {"%nctaid.x", {gridBlocks<0>}}, {"%nctaid.y", {gridBlocks<1>}},
      {"%nctaid.z", {gridBlocks<2>}}, {"%nctaid.w", {always<1>}},
      {"%clusterid.x", {blockIndex<0>, Changes::ByBlock}},
      {"%clusterid.y", {blockIndex<1>, Changes::ByBlock}},
      {"%clusterid.z", {blockIndex<2>, Changes::ByBlock}},
      {"%nclusterid.x", {gridBlocks<0>}}, {"%nclusterid.y", {gridBlocks<1>}},
      {"%nclusterid.z", {gridBlocks<2>}},
      {"%cluster_ctaid.x", {always<0>}}, {"%cluster_ctaid.y", {always<0>}},
      {"%cluster_ctaid.z", {always<0>}},
      {"%cluster_nctaid.x", {always<1>}}, {"%cluster_nctaid.y", {always<1>}},
      {"%cluster_nctaid.z", {always<1>}},
      {"%cluster_ctarank", {always<0>}}, {"%cluster_nctarank", {always<1>}},
      {"%is_explicit_cluster", {always<0>}},
      {"%laneid", {[](const Warp&, unsigned lane) -> uint64_t { return lane; }}},
      {"%warpid", {[](const Warp& warp, unsigned) -> uint64_t { return warp.index; }}},
      {"%nwarpid", {[](const Warp& warp, unsigned) -> uint64_t {
        return (launchOf(warp).threads() + kWarpLanes - 1) / kWarpLanes;
      }}},
      {"%lanemask_eq", {[](const Warp&, unsigned lane) { return uint64_t{1} << lane; }}},
      {"%lanemask_lt", {[](const Warp&, unsigned lane) { return below(lane); }}},
      {"%lanemask_le", {[](const Warp&, unsigned lane) { return below(lane + 1); }}},
      {"%lanemask_gt", {[](const Warp&, unsigned lane) { return below(32) & ~below(lane + 1); }}},
      {"%lanemask_ge", {[](const Warp&, unsigned lane) { return below(32) & ~below(lane); }}},
      {"%smid", {always<0>}}, {"%nsmid", {always<1>}},
      {"%gridid", {[](const Warp& warp, unsigned) -> uint64_t { return launchOf(warp).serial; }}},
      {"%dynamic_smem_size",
       {[](const Warp& warp, unsigned) -> uint64_t { return launchOf(warp).dynamicShared; }}},
      {"%total_smem_size",
       {[](const Warp& warp, unsigned) -> uint64_t { return warp.block->sharedBytes; }}},
      {"%aggr_smem_size",
       {[](const Warp& warp, unsigned) -> uint64_t { return warp.block->sharedBytes; }}},
      {"%current_graph_exec", {always<0>}},
      // Where the vendor's driver puts the address through which cooperative groups join a grid.
      {"%envreg1",
       {[](const Warp& warp, unsigned) -> uint64_t { return launchOf(warp).workspace >> 32; }}},
      {"%envreg2",
       {[](const Warp& warp, unsigned) -> uint64_t { return uint32_t(launchOf(warp).workspace); }}},
      {"%clock", {clock, Changes::Always}}, {"%clock64", {clock, Changes::Always}},
      {"%clock_hi", {[](const Warp& warp, unsigned lane) { return clock(warp, lane) >> 32; },
                     Changes::Always}},
      {"%globaltimer", {nanoseconds, Changes::Always}},
      {"%globaltimer_lo", {nanoseconds, Changes::Always}},
      {"%globaltimer_hi", {[](const Warp& warp, unsigned lane) {
        return nanoseconds(warp, lane) >> 32;
      }, Changes::Always}},
  };
  return table;
}

}  // namespace

const SpecialRegister* specialRegister(const std::string& name) {
  const auto found = specials().find(name);
  if (found != specials().end()) return &found->second;
  // Nobody sets the environment's other registers or counts performance events here.
  static const SpecialRegister zero = {always<0>};
  return name.rfind("%envreg", 0) == 0 || name.rfind("%pm", 0) == 0 ? &zero : nullptr;
}

}  // namespace sgpu
