/// `cp.async`: copies from global to shared memory that nobody may look at before having waited.
/// Normally they happen at once. Adversarial mode, and the launch's checks, hold them back: until
/// the wait the destination is poisoned, or counts as never written.
#include <algorithm>
#include <cstring>

#include "../memory/places.h"
#include "mbarrier.h"
#include "modifiers.h"
#include "operands.h"

namespace sgpu {
namespace {

using ptx::Instruction;
using ptx::Operand;
using ptx::Space;

// Slots of a copy: destination, source, size of the source (or kNoSlot); the predicate that says to
// ignore it. `Op::variant` is the number of bytes, `Op::more` the displacement of the source.
constexpr unsigned kTo = 0, kFrom = 1, kSourceBytes = 2, kIgnore = 3;

void arrive(const PendingCopy& copy) {
  if (copy.bytes > 0) std::memcpy(copy.to, copy.from, copy.bytes);
  if (copy.zeros > 0) std::memset(copy.to + copy.bytes, 0, copy.zeros);
}

/// Whether the copies of all lanes take all of their bytes from their sources.
bool takesAll(const Op& op, Warp& warp, uint32_t mask) {
  if (op.slots[kIgnore] != kNoSlot && warp.predicates[op.slots[kIgnore]] & mask) return false;
  if (op.slots[kSourceBytes] == kNoSlot) return true;
  const uint32_t* bytes = lanes<uint32_t>(op, warp, kSourceBytes);
  const int32_t* active = warp.laneMask(mask);
  uint32_t differences = 0;
#pragma GCC ivdep
  for (unsigned lane = 0; lane < kWarpLanes; lane++) {
    differences |= (bytes[lane] ^ op.variant) & static_cast<uint32_t>(active[lane]);
  }
  return differences == 0;
}

/// Copies that arrive at once, as nearly all do.
template <class Bytes>
void copyNow(uint32_t mask, const Places& destinations, const Places& sources) {
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    const unsigned lane = __builtin_ctz(rest);
    std::memcpy(destinations.of(lane, sizeof(Bytes)), sources.of(lane, sizeof(Bytes)),
                sizeof(Bytes));
  }
}

/// Bytes that a lane's copy takes from its source; the rest becomes zero.
uint32_t sourceBytes(const Op& op, Warp& warp, unsigned lane) {
  if (op.slots[kIgnore] != kNoSlot && warp.predicates[op.slots[kIgnore]] >> lane & 1) return 0;
  if (op.slots[kSourceBytes] == kNoSlot) return op.variant;
  const uint32_t bytes = lanes<uint32_t>(op, warp, kSourceBytes)[lane];
  if (bytes > op.variant) {
    fault(op, warp, kIllegalInstruction,
          "a copy of " + std::to_string(op.variant) + " bytes from a source of " +
              std::to_string(bytes), 0, static_cast<int>(lane));
  }
  return bytes;
}

/// The sources of a copy whose lanes may take less than all of it, or nothing.
void findShortSources(const Op& op, Warp& warp, uint32_t mask, const Request& request,
                      const uint32_t* bytes, Places& places) {
  places.shape = Places::Shape::Scattered;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    const unsigned lane = __builtin_ctz(rest);
    places.at[lane] = nullptr;
    if (bytes[lane] == 0) continue;
    const uint64_t base =
        request.slot == kNoSlot
            ? 0
            : reinterpret_cast<const uint64_t*>(warp.registers + request.slot)[lane];
    const uint64_t address = base + request.offset;
    places.at[lane] = access(op, warp, lane, Space::Global, address, bytes[lane], request.bytes,
                             Access::Read);
    warp.bytesRead += bytes[lane];
  }
}

template <FindPlaces kFindShared>
void copy(const Op& op, Warp& warp, uint32_t mask) {
  int64_t displacement;
  std::memcpy(&displacement, op.more, sizeof displacement);
  const Request to{op.slots[kTo], op.immediate, op.variant, Access::Write};
  const Request from{op.slots[kFrom], displacement, op.variant, Access::Read};
  Places destinations, sources;
  uint32_t bytes[kWarpLanes];
  kFindShared(op, warp, mask, to, destinations);
  Block& block = *warp.block;
  const bool isAdversarial = block.random != 0, isChecked = asksForChecks(warp);
  if (takesAll(op, warp, mask)) {
    findGlobal(op, warp, mask, from, sources);
    if (!isAdversarial && !isChecked) {
      return op.variant == 16  ? copyNow<uint64_t[2]>(mask, destinations, sources)
             : op.variant == 8 ? copyNow<uint64_t>(mask, destinations, sources)
                               : copyNow<uint32_t>(mask, destinations, sources);
    }
    inspectPlaces(op, warp, mask, from, sources);
    std::fill_n(bytes, kWarpLanes, op.variant);
  } else {
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
      const unsigned lane = __builtin_ctz(rest);
      bytes[lane] = sourceBytes(op, warp, lane);
    }
    findShortSources(op, warp, mask, from, bytes, sources);
  }
  const bool isEarly = isAdversarial && nextRandom(block.random) % 4 == 0;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    const unsigned lane = __builtin_ctz(rest);
    const PendingCopy copy{&op, destinations.of(lane, op.variant), sources.of(lane, op.variant),
                           bytes[lane], op.variant - bytes[lane], lane, warp.copyGroup[lane]};
    if (isChecked) inspectCopyBegin(op, warp, lane, copy.to, op.variant);
    if (isAdversarial && !isEarly) std::memset(copy.to, 0xff, op.variant);
    else arrive(copy);
    if (isAdversarial || isChecked) warp.pending.push_back(copy);
  }
}

/// Lets the copies of the lanes in `mask` arrive, but for those of the `keep` groups that each lane
/// committed last. (Those that no group has taken yet count as the newest.)
void completeCopies(Warp& warp, uint32_t mask, uint32_t keep) {
  const auto isDue = [&](const PendingCopy& copy) {
    return mask >> copy.lane & 1 && copy.group + keep < warp.copyGroup[copy.lane];
  };
  for (const PendingCopy& copy : warp.pending) {
    if (!isDue(copy)) continue;
    arrive(copy);
    if (asksForChecks(warp)) {
      inspect(*copy.op, warp, copy.lane, copy.to, copy.bytes + copy.zeros, Access::Write);
    }
  }
  warp.pending.erase(std::remove_if(warp.pending.begin(), warp.pending.end(), isDue),
                     warp.pending.end());
}

void commitGroup(const Op&, Warp& warp, uint32_t mask) {
  for (uint32_t rest = mask; rest; rest &= rest - 1) warp.copyGroup[__builtin_ctz(rest)]++;
}

void waitGroup(const Op& op, Warp& warp, uint32_t mask) {
  completeCopies(warp, mask, static_cast<uint32_t>(op.immediate));
}

void waitAll(const Op& op, Warp& warp, uint32_t mask) {
  commitGroup(op, warp, mask);
  completeCopies(warp, mask, 0);
}

/// The barrier's arrival is as late as the copies before it, which is now.
void arriveAfterCopies(const Op& op, Warp& warp, uint32_t mask) {
  waitAll(op, warp, mask);
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    const unsigned lane = __builtin_ctz(rest);
    arriveAtMbarrier(op, warp, lane, laneAddress(op, warp, lane, 0, op.variant & 1),
                     op.variant & 2);
  }
}

void decodeCopy(const Instruction& instruction, Decoding& decoding, Op& op) {
  allowOnly(instruction, decoding,
            {"async", "ca", "cg", "shared", "shared::", "global", "L2::"});
  const Address to = decodeAddress(instruction.operands[0], Space::Shared, decoding, op, kTo);
  const Address from = decoding.address(instruction.operands[1], Space::Global);
  if (from.slot != kNoSlot && !from.wide) decoding.refuse("its source needs an address of 64 bits");
  op.slots[kFrom] = from.slot;
  op.more = decoding.more({static_cast<uint32_t>(from.offset),
                           static_cast<uint32_t>(static_cast<uint64_t>(from.offset) >> 32)});
  const uint64_t bytes = instruction.operands[2].bits;
  if (bytes != 16 && (instruction.has("cg") || (bytes != 4 && bytes != 8))) {
    decoding.refuse("copies of 16 bytes, or with .ca of 4 or 8, were expected");
  }
  op.variant = static_cast<uint8_t>(bytes);
  const size_t operands = instruction.operands.size() - instruction.has("L2::cache_hint");
  if (operands > 3) {
    const Operand& last = instruction.operands[3];
    const bool isPredicate =
        last.kind == Operand::Kind::Register && decoding.registerBits(last) == 1;
    if (isPredicate) op.slots[kIgnore] = decoding.predicate(last);
    else op.slots[kSourceBytes] = decoding.slot(last, 32);
  }
  op.full = op.partial = to.wide ? copy<findSharedWide> : copy<findShared>;
}

void decodeAsync(const Instruction& instruction, Decoding& decoding, Op& op) {
  if (instruction.has("bulk") || instruction.has("tensor")) {
    decoding.refuse("bulk copies (TMA) are not part of this device; PTX for sm_80 has none");
  }
  if (instruction.has("commit_group")) {
    op.full = op.partial = commitGroup;
  } else if (instruction.has("wait_group")) {
    op.immediate = static_cast<int64_t>(instruction.operands[0].bits);
    op.full = op.partial = waitGroup;
  } else if (instruction.has("wait_all")) {
    op.full = op.partial = waitAll;
  } else if (instruction.has("mbarrier")) {
    const Address address = decodeAddress(instruction.operands[0], Space::Shared, decoding, op);
    op.variant = static_cast<uint8_t>(address.wide | !instruction.has("noinc") << 1);
    op.full = op.partial = arriveAfterCopies;
  } else {
    decodeCopy(instruction, decoding, op);
  }
}

}  // namespace

std::vector<OpcodeRow> asyncOpcodes() {
  return {
      {"cp", decodeAsync, Writes::Nothing},
      {"mbarrier", decodeMbarrier},
  };
}

}  // namespace sgpu
