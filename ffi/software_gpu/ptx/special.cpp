#include "special.h"

#include <unordered_map>

namespace sgpu::ptx {

namespace {

std::unordered_map<std::string, Type> makeTypes() {
  std::unordered_map<std::string, Type> types;
  for (const char* name :
       {"%tid.x", "%tid.y", "%tid.z", "%ntid.x", "%ntid.y", "%ntid.z", "%ctaid.x", "%ctaid.y",
        "%ctaid.z", "%nctaid.x", "%nctaid.y", "%nctaid.z", "%laneid", "%warpid", "%nwarpid",
        "%smid", "%nsmid", "%clusterid.x", "%clusterid.y", "%clusterid.z", "%nclusterid.x",
        "%nclusterid.y", "%nclusterid.z", "%cluster_ctaid.x", "%cluster_ctaid.y",
        "%cluster_ctaid.z", "%cluster_nctaid.x", "%cluster_nctaid.y", "%cluster_nctaid.z",
        "%cluster_ctarank", "%cluster_nctarank", "%lanemask_eq", "%lanemask_le", "%lanemask_lt",
        "%lanemask_ge", "%lanemask_gt", "%clock", "%clock_hi", "%globaltimer_lo",
        "%globaltimer_hi", "%total_smem_size", "%aggr_smem_size", "%dynamic_smem_size",
        "%reserved_smem_offset_begin", "%reserved_smem_offset_end",
        "%reserved_smem_offset_cap", "%reserved_smem_offset_0", "%reserved_smem_offset_1"}) {
    types[name] = Type::U32;
  }
  for (const char* name : {"%gridid", "%clock64", "%globaltimer", "%current_graph_exec"}) {
    types[name] = Type::U64;
  }
  for (int i = 0; i < 32; i++) types["%envreg" + std::to_string(i)] = Type::B32;
  types["%is_explicit_cluster"] = Type::Pred;
  return types;
}

}  // namespace

Type specialType(std::string_view name) {
  static const std::unordered_map<std::string, Type> types = makeTypes();
  auto found = types.find(std::string(name));
  return found == types.end() ? Type::None : found->second;
}

}  // namespace sgpu::ptx
