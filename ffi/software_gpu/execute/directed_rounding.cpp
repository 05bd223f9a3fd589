#include "directed_rounding.h"

#include <cfenv>

namespace sgpu {
namespace {

void directed(const Op& op, Warp& warp, uint32_t) {
  static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
  std::fesetround(modes[op.variant]);
  reinterpret_cast<Handler>(op.immediate)(op, warp, kAllLanes);
  std::fesetround(FE_TONEAREST);
}

}  // namespace

void setRounded(Op& op, Handler handler, unsigned resultBits, int rounding) {
  if (rounding <= 0) return setLanewise(op, handler, resultBits);
  op.variant = static_cast<uint8_t>(rounding);
  op.immediate = reinterpret_cast<int64_t>(handler);
  setLanewise(op, directed, resultBits);
}

}  // namespace sgpu
