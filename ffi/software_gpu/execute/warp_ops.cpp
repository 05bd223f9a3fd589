/// What the lanes of a warp tell each other: shuffles, votes, matches, reductions.
#include <algorithm>
#include <cmath>

#include "../compile/decode.h"
#include "float_format.h"
#include "modifiers.h"
#include "warp.h"

namespace sgpu {
namespace {

using ptx::Instruction;
using ptx::Type;

/// Calls `apply(group, first)` for each set of lanes that named the same members; the halves of a
/// warp may name their own in one instruction.
template <class Apply>
void forEachGroup(const Op& op, Warp& warp, uint32_t mask, Apply apply) {
  if (op.slots[kMembers] == kNoSlot) return apply(mask, __builtin_ctz(mask));
  const uint32_t* members = lanes<uint32_t>(op, warp, kMembers);
  for (uint32_t rest = mask; rest;) {
    const unsigned first = __builtin_ctz(rest);
    uint32_t group = 0;
    for (uint32_t others = rest; others; others &= others - 1) {
      const unsigned lane = __builtin_ctz(others);
      if (members[lane] == members[first]) group |= 1u << lane;
    }
    if (const uint32_t strangers = group & ~members[first]) {
      fault(op, warp, kIllegalInstruction, "the lane is not in the member mask it gives", 0,
            __builtin_ctz(strangers));
    }
    apply(group, first);
    rest &= ~group;
  }
}

/// Result for all lanes of a group. `to` is kNoSlot where the instruction has no such result.
template <class T>
void give(const Op& op, Warp& warp, unsigned operand, uint32_t group, T value) {
  if (op.slots[operand] == kNoSlot) return;
  T* to = lanes<T>(op, warp, operand);
  for (uint32_t rest = group; rest; rest &= rest - 1) to[__builtin_ctz(rest)] = value;
}

void givePredicate(const Op& op, Warp& warp, unsigned operand, uint32_t group, uint32_t value) {
  if (op.slots[operand] == kNoSlot) return;
  uint32_t& to = warp.predicates[op.slots[operand]];
  to = (to & ~group) | (value & group);
}

void decodeMembers(const Instruction& instruction, Decoding& decoding, Op& op, size_t operand) {
  if (!instruction.has("sync")) return;
  op.slots[kMembers] = decoding.slot(instruction.operands[operand], 32);
  op.flow = Flow::Meet;
}

// shfl: slots are d, a, b, c, and the predicate p.

enum class Shuffle : uint8_t { Butterfly, Down, Up, Index };

/// The lane that each lane reads from, and whether it lies in the lane's segment.
template <Shuffle kMode>
void shuffle(const Op& op, Warp& warp, uint32_t mask) {
  const uint32_t* value = lanes<uint32_t>(op, warp, 1);
  const uint32_t* distance = lanes<uint32_t>(op, warp, 2);
  const uint32_t* control = lanes<uint32_t>(op, warp, 3);
  alignas(64) uint32_t source[kWarpLanes], inside[kWarpLanes], result[kWarpLanes];
#pragma GCC ivdep
  for (uint32_t lane = 0; lane < kWarpLanes; lane++) {
    const uint32_t by = distance[lane] & 31, clamp = control[lane] & 31;
    const uint32_t segment = control[lane] >> 8 & 31;
    const uint32_t last = (lane & segment) | (clamp & ~segment);
    const int32_t from = kMode == Shuffle::Butterfly ? lane ^ by
                         : kMode == Shuffle::Down    ? lane + by
                         : kMode == Shuffle::Up      ? lane - by
                                                     : (lane & segment) | (by & ~segment);
    const int32_t limit = static_cast<int32_t>(last);
    inside[lane] = kMode == Shuffle::Up ? from >= limit : from <= limit;
    source[lane] = inside[lane] ? from : lane;
  }
  for (unsigned lane = 0; lane < kWarpLanes; lane++) result[lane] = value[source[lane] & 31];
  if (mask != kAllLanes && warp.block->launch->options.adversarialSeed != 0) {
    // What a lane that takes no part would give is not defined.
    for (unsigned lane = 0; lane < kWarpLanes; lane++) {
      if (!(mask >> source[lane] & 1)) result[lane] = ~0u;
    }
  }
  uint32_t* to = lanes<uint32_t>(op, warp, 0);
  if (mask == kAllLanes) {
    std::copy_n(result, kWarpLanes, to);
  } else {
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
      to[__builtin_ctz(rest)] = result[__builtin_ctz(rest)];
    }
  }
  if (op.slots[4] == kNoSlot) return;
  uint32_t predicate = 0;
  for (unsigned lane = 0; lane < kWarpLanes; lane++) predicate |= inside[lane] << lane;
  givePredicate(op, warp, 4, mask, predicate);
}

template <Shuffle kMode>
void shuffleGroups(const Op& op, Warp& warp, uint32_t mask) {
  forEachGroup(op, warp, mask,
               [&](uint32_t group, unsigned) { shuffle<kMode>(op, warp, group); });
}

void decodeShuffle(const Instruction& instruction, Decoding& decoding, Op& op) {
  allowOnly(instruction, decoding, {"sync", "bfly", "down", "up", "idx"});
  for (unsigned i = 0; i < 4; i++) op.slots[i] = decoding.slot(instruction.operands[i], 32);
  op.slots[4] = decoding.secondPredicate(instruction.operands[0]);
  decodeMembers(instruction, decoding, op, 4);
  op.full = op.partial = instruction.has("bfly")   ? shuffleGroups<Shuffle::Butterfly>
                         : instruction.has("down") ? shuffleGroups<Shuffle::Down>
                         : instruction.has("up")   ? shuffleGroups<Shuffle::Up>
                                                   : shuffleGroups<Shuffle::Index>;
}

// vote: slot 0 is the result, 1 the source predicate, which `immediate` 1 negates.

enum class Vote : uint8_t { All, Any, Uniform, Ballot };

template <Vote kVote>
void vote(const Op& op, Warp& warp, uint32_t mask) {
  const uint32_t source = warp.predicates[op.slots[1]] ^ (op.immediate ? ~0u : 0);
  forEachGroup(op, warp, mask, [&](uint32_t group, unsigned) {
    const uint32_t votes = source & group;
    if (kVote == Vote::Ballot) return give(op, warp, 0, group, votes);
    const bool all = votes == group, any = votes != 0;
    const bool result = kVote == Vote::All ? all : kVote == Vote::Any ? any : all || !any;
    givePredicate(op, warp, 0, group, result ? ~0u : 0);
  });
}

void decodeVote(const Instruction& instruction, Decoding& decoding, Op& op) {
  allowOnly(instruction, decoding, {"sync", "all", "any", "uni", "ballot"});
  const bool isBallot = instruction.has("ballot");
  op.slots[0] = isBallot ? decoding.slot(instruction.operands[0], 32)
                         : decoding.predicate(instruction.operands[0]);
  op.slots[1] = decoding.predicate(instruction.operands[1]);
  op.immediate = instruction.operands[1].negated;
  decodeMembers(instruction, decoding, op, 2);
  op.full = op.partial = isBallot                 ? vote<Vote::Ballot>
                         : instruction.has("all") ? vote<Vote::All>
                         : instruction.has("any") ? vote<Vote::Any>
                                                  : vote<Vote::Uniform>;
}

// match: slots are d, a, and the predicate p of `.all`.

template <class T, bool kAll>
void match(const Op& op, Warp& warp, uint32_t mask) {
  const T* value = lanes<T>(op, warp, 1);
  uint32_t equal[kWarpLanes] = {};
  forEachGroup(op, warp, mask, [&](uint32_t group, unsigned first) {
    for (uint32_t rest = group; rest; rest &= rest - 1) {
      const unsigned lane = __builtin_ctz(rest);
      for (uint32_t others = group; others; others &= others - 1) {
        const unsigned other = __builtin_ctz(others);
        equal[lane] |= static_cast<uint32_t>(value[other] == value[lane]) << other;
      }
    }
    if (kAll) {
      const bool all = equal[first] == group;
      give(op, warp, 0, group, all ? group : 0);
      givePredicate(op, warp, 2, group, all ? ~0u : 0);
      return;
    }
    for (uint32_t rest = group; rest; rest &= rest - 1) {
      const unsigned lane = __builtin_ctz(rest);
      lanes<uint32_t>(op, warp, 0)[lane] = equal[lane];
    }
  });
}

void decodeMatch(const Instruction& instruction, Decoding& decoding, Op& op) {
  allowOnly(instruction, decoding, {"sync", "any", "all"});
  const unsigned bits = ptx::bitsOf(instruction.type);
  op.slots[0] = decoding.slot(instruction.operands[0], 32);
  op.slots[1] = decoding.slot(instruction.operands[1], bits);
  op.slots[2] = decoding.secondPredicate(instruction.operands[0]);
  decodeMembers(instruction, decoding, op, 2);
  const bool all = instruction.has("all");
  op.full = op.partial = bits == 64 ? (all ? match<uint64_t, true> : match<uint64_t, false>)
                                    : (all ? match<uint32_t, true> : match<uint32_t, false>);
}

// redux: slots are d and a.

using Combine = uint32_t (*)(uint32_t, uint32_t);

template <Combine kCombine>
void reduce(const Op& op, Warp& warp, uint32_t mask) {
  const uint32_t* value = lanes<uint32_t>(op, warp, 1);
  forEachGroup(op, warp, mask, [&](uint32_t group, unsigned first) {
    uint32_t sum = value[first];
    for (uint32_t rest = group & (group - 1); rest; rest &= rest - 1) {
      sum = kCombine(sum, value[__builtin_ctz(rest)]);
    }
    give(op, warp, 0, group, sum);
  });
}

template <class T>
uint32_t smaller(uint32_t a, uint32_t b) {
  return static_cast<uint32_t>(std::min(static_cast<T>(a), static_cast<T>(b)));
}
template <class T>
uint32_t larger(uint32_t a, uint32_t b) {
  return static_cast<uint32_t>(std::max(static_cast<T>(a), static_cast<T>(b)));
}
template <bool kSmaller, bool kAbsolute, bool kNaN>
uint32_t extreme(uint32_t left, uint32_t right) {
  float a = bitsAs<float>(left), b = bitsAs<float>(right);
  if (kAbsolute) a = std::fabs(a), b = std::fabs(b);
  if (a != a || b != b) return kNaN ? 0x7fffffff : bitsAs<uint32_t>(a != a ? b : a);
  return bitsAs<uint32_t>(kSmaller ? std::min(a, b) : std::max(a, b));
}
uint32_t sum(uint32_t a, uint32_t b) { return a + b; }
uint32_t conjunction(uint32_t a, uint32_t b) { return a & b; }
uint32_t disjunction(uint32_t a, uint32_t b) { return a | b; }
uint32_t difference(uint32_t a, uint32_t b) { return a ^ b; }

struct Reduction {
  const char* name;
  Type type;
  bool absolute, propagatesNaN;
  Handler run;
};

const Reduction kReductions[] = {
    {"add", Type::U32, false, false, reduce<sum>},
    {"add", Type::S32, false, false, reduce<sum>},
    {"min", Type::U32, false, false, reduce<smaller<uint32_t>>},
    {"min", Type::S32, false, false, reduce<smaller<int32_t>>},
    {"max", Type::U32, false, false, reduce<larger<uint32_t>>},
    {"max", Type::S32, false, false, reduce<larger<int32_t>>},
    {"and", Type::B32, false, false, reduce<conjunction>},
    {"or", Type::B32, false, false, reduce<disjunction>},
    {"xor", Type::B32, false, false, reduce<difference>},
    {"min", Type::F32, false, false, reduce<extreme<true, false, false>>},
    {"min", Type::F32, false, true, reduce<extreme<true, false, true>>},
    {"min", Type::F32, true, false, reduce<extreme<true, true, false>>},
    {"min", Type::F32, true, true, reduce<extreme<true, true, true>>},
    {"max", Type::F32, false, false, reduce<extreme<false, false, false>>},
    {"max", Type::F32, false, true, reduce<extreme<false, false, true>>},
    {"max", Type::F32, true, false, reduce<extreme<false, true, false>>},
    {"max", Type::F32, true, true, reduce<extreme<false, true, true>>},
};

void decodeReduce(const Instruction& instruction, Decoding& decoding, Op& op) {
  allowOnly(instruction, decoding,
            {"sync", "add", "min", "max", "and", "or", "xor", "abs", "NaN"});
  op.slots[0] = decoding.slot(instruction.operands[0], 32);
  op.slots[1] = decoding.slot(instruction.operands[1], 32);
  decodeMembers(instruction, decoding, op, 2);
  for (const Reduction& reduction : kReductions) {
    if (reduction.type == instruction.type && instruction.has(reduction.name) &&
        instruction.has("abs") == reduction.absolute &&
        instruction.has("NaN") == reduction.propagatesNaN) {
      op.full = op.partial = reduction.run;
    }
  }
  if (op.full == nullptr) decoding.refuse("no such reduction");
}

void activeMask(const Op& op, Warp& warp, uint32_t mask) { give(op, warp, 0, mask, mask); }

void decodeActiveMask(const Instruction& instruction, Decoding& decoding, Op& op) {
  op.slots[0] = decoding.slot(instruction.operands[0], 32);
  op.full = op.partial = activeMask;
}

/// The lowest lane of a group is its leader: any choice is right that stays the same.
void elect(const Op& op, Warp& warp, uint32_t mask) {
  forEachGroup(op, warp, mask, [&](uint32_t group, unsigned first) {
    give(op, warp, 0, group, first);
    givePredicate(op, warp, 1, group, 1u << first);
  });
}

void decodeElect(const Instruction& instruction, Decoding& decoding, Op& op) {
  op.slots[0] = decoding.slot(instruction.operands[0], 32);
  op.slots[1] = decoding.secondPredicate(instruction.operands[0]);
  decodeMembers(instruction, decoding, op, 1);
  op.full = op.partial = elect;
}

}  // namespace

std::vector<OpcodeRow> warpOpcodes() {
  return {
      {"shfl", decodeShuffle},
      {"vote", decodeVote},
      {"match", decodeMatch},
      {"redux", decodeReduce},
      {"activemask", decodeActiveMask},
      {"elect", decodeElect},
  };
}

}  // namespace sgpu
