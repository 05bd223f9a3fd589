/// `mbarrier`: a barrier in 64 bits of shared memory, which counts arrivals and, for asynchronous
/// copies, bytes. Who waits polls for the end of a phase.
#include "mbarrier.h"
#include "modifiers.h"
#include "operands.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "../memory/access.h"

namespace sgpu {
namespace {

using ptx::Instruction;
using ptx::Space;

constexpr uint64_t kMostArrivals = (1 << 20) - 1;
constexpr int64_t kMostBytes = (1 << 20) - 1;

/// The object as the program sees it is opaque; this is how we lay it out. Neither zeros nor poison
/// are a barrier.
struct Mbarrier {
  uint64_t expected;  ///< arrivals of each phase
  uint64_t pending;   ///< arrivals that this phase still waits for
  int64_t bytes;      ///< that this phase still waits for
  uint64_t phase;     ///< its parity

  static constexpr uint64_t kMark = 1;

  static bool isOne(uint64_t bits) { return bits >> 62 == kMark; }
  explicit Mbarrier(uint64_t bits)
      : expected(bits & kMostArrivals),
        pending(bits >> 20 & kMostArrivals),
        bytes(static_cast<int64_t>(bits >> 40 & (2 * kMostBytes + 1)) - kMostBytes),
        phase(bits >> 61 & 1) {}
  uint64_t pack() const {
    return expected | pending << 20 | static_cast<uint64_t>(bytes + kMostBytes) << 40 |
           phase << 61 | kMark << 62;
  }
};

enum class Action : uint8_t {
  Initialise, Invalidate, Arrive, ArriveAndDrop, ArriveAndExpect, Expect, Complete, Test,
  TestParity,
};

// Slots: 0 the address, 1 the result (a state or a predicate), 2 the operand: a count, a number of
// bytes, a state or a parity. `Op::variant`: the action, and whether the address has 64 bits.
constexpr unsigned kResult = 1, kOperand = 2;
constexpr uint8_t kWide = 1 << 7;

uint64_t* placeOf(const Op& op, Warp& warp, unsigned lane, uint64_t address, Space space,
                  Access kind) {
  return reinterpret_cast<uint64_t*>(access(op, warp, lane, space, address, 8, 8, kind));
}

Mbarrier read(const Op& op, Warp& warp, unsigned lane, const uint64_t* place) {
  if (!Mbarrier::isOne(*place)) {
    fault(op, warp, kIllegalInstruction, "there is no mbarrier at this address",
          static_cast<uint64_t>(reinterpret_cast<const uint8_t*>(place) - warp.shared),
          static_cast<int>(lane));
  }
  return Mbarrier(*place);
}

void arrive(const Op& op, Warp& warp, unsigned lane, Mbarrier& barrier, uint64_t count) {
  if (count > barrier.pending) {
    fault(op, warp, kIllegalInstruction,
          std::to_string(count) + " arrivals at an mbarrier that waits for " +
              std::to_string(barrier.pending), 0, static_cast<int>(lane));
  }
  barrier.pending -= count;
}

void expect(const Op& op, Warp& warp, unsigned lane, Mbarrier& barrier, int64_t bytes) {
  barrier.bytes += bytes;
  if (barrier.bytes > kMostBytes || barrier.bytes < -kMostBytes) {
    fault(op, warp, kIllegalInstruction,
          "an mbarrier cannot wait for " + std::to_string(barrier.bytes) + " bytes", 0,
          static_cast<int>(lane));
  }
}

/// Writes the barrier back; a phase that waits for nothing more has ended.
void settle(Warp& warp, Mbarrier& barrier, uint64_t* place) {
  if (barrier.pending == 0 && barrier.bytes == 0) {
    barrier.phase ^= 1;
    barrier.pending = barrier.expected;
    warp.block->epoch++;
  }
  *place = barrier.pack();
}

uint64_t operandOf(const Op& op, Warp& warp, unsigned lane, Action action) {
  if (op.slots[kOperand] == kNoSlot) return 1;
  if (action == Action::Test) return lanes<uint64_t>(op, warp, kOperand)[lane];
  return lanes<uint32_t>(op, warp, kOperand)[lane];
}

void initialise(const Op& op, Warp& warp, unsigned lane, uint64_t* place, uint64_t count) {
  if (count == 0 || count > kMostArrivals) {
    fault(op, warp, kIllegalInstruction,
          "an mbarrier for " + std::to_string(count) + " arrivals; 1 to " +
              std::to_string(kMostArrivals) + " are allowed", 0, static_cast<int>(lane));
  }
  Mbarrier barrier(0);
  barrier.expected = barrier.pending = count;
  barrier.bytes = 0;
  *place = barrier.pack();
}

template <Action kAction>
void run(const Op& op, Warp& warp, uint32_t mask) {
  constexpr bool kTests = kAction == Action::Test || kAction == Action::TestParity;
  constexpr Access kKind = kTests                            ? Access::StrongRead
                           : kAction == Action::Initialise ? Access::StrongWrite
                                                           : Access::Atomic;
  uint32_t ended = 0;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    const unsigned lane = __builtin_ctz(rest);
    const Space space = op.variant & ~kWide ? Space::Generic : Space::Shared;
    uint64_t* place = placeOf(op, warp, lane, laneAddress(op, warp, lane, 0, op.variant & kWide),
                              space, kKind);
    const uint64_t operand = operandOf(op, warp, lane, kAction);
    if (kAction == Action::Initialise) {
      initialise(op, warp, lane, place, operand);
      continue;
    }
    Mbarrier barrier = read(op, warp, lane, place);
    const uint64_t before = *place;
    if (kTests) {
      const uint64_t phase = kAction == Action::Test ? Mbarrier(operand).phase : operand & 1;
      ended |= static_cast<uint32_t>(barrier.phase != phase) << lane;
      continue;
    }
    if (kAction == Action::Invalidate) {
      *place = 0;
      continue;
    }
    if (kAction == Action::Expect || kAction == Action::ArriveAndExpect) {
      expect(op, warp, lane, barrier, static_cast<int64_t>(operand));
    }
    if (kAction == Action::Complete) {
      expect(op, warp, lane, barrier, -static_cast<int64_t>(operand));
    }
    if (kAction == Action::ArriveAndDrop) barrier.expected -= std::min(operand, barrier.expected);
    if (kAction == Action::Arrive || kAction == Action::ArriveAndDrop) {
      arrive(op, warp, lane, barrier, operand);
    }
    if (kAction == Action::ArriveAndExpect) arrive(op, warp, lane, barrier, 1);
    settle(warp, barrier, place);
    if (op.slots[kResult] != kNoSlot) lanes<uint64_t>(op, warp, kResult)[lane] = before;
  }
  if (kTests) {
    uint32_t& to = warp.predicates[op.slots[kResult]];
    to = (to & ~mask) | ended;
  }
}

void pendingCount(const Op& op, Warp& warp, uint32_t mask) {
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    const unsigned lane = __builtin_ctz(rest);
    lanes<uint32_t>(op, warp, kResult)[lane] =
        static_cast<uint32_t>(Mbarrier(lanes<uint64_t>(op, warp, kOperand)[lane]).pending);
  }
}

struct Form {
  const char* first;   ///< the word behind `mbarrier`
  const char* second;  ///< a word that must be there as well, or nullptr
  Action action;
  Handler run;
};

const Form kForms[] = {
    {"init", nullptr, Action::Initialise, run<Action::Initialise>},
    {"inval", nullptr, Action::Invalidate, run<Action::Invalidate>},
    {"arrive", "expect_tx", Action::ArriveAndExpect, run<Action::ArriveAndExpect>},
    {"arrive", nullptr, Action::Arrive, run<Action::Arrive>},
    {"arrive_drop", nullptr, Action::ArriveAndDrop, run<Action::ArriveAndDrop>},
    {"expect_tx", nullptr, Action::Expect, run<Action::Expect>},
    {"complete_tx", nullptr, Action::Complete, run<Action::Complete>},
    {"test_wait", "parity", Action::TestParity, run<Action::TestParity>},
    {"test_wait", nullptr, Action::Test, run<Action::Test>},
    {"try_wait", "parity", Action::TestParity, run<Action::TestParity>},
    {"try_wait", nullptr, Action::Test, run<Action::Test>},
};

bool hasResult(Action action) {
  return action == Action::Arrive || action == Action::ArriveAndDrop ||
         action == Action::ArriveAndExpect || action == Action::Test ||
         action == Action::TestParity;
}

}  // namespace

void decodeMbarrier(const Instruction& instruction, Decoding& decoding, Op& op) {
  allowOnly(instruction, decoding,
            {"init", "inval", "arrive", "arrive_drop", "expect_tx", "complete_tx", "test_wait",
             "try_wait", "parity", "pending_count", "noComplete", "shared", "shared::", "acquire",
             "release", "relaxed"});
  if (instruction.has("pending_count")) {
    op.slots[kResult] = decoding.slot(instruction.operands[0], 32);
    op.slots[kOperand] = decoding.slot(instruction.operands[1], 64);
    op.full = op.partial = pendingCount;
    return;
  }
  const Form* form = std::find_if(std::begin(kForms), std::end(kForms), [&](const Form& each) {
    return instruction.modifiers[0] == each.first &&
           (each.second == nullptr || instruction.has(each.second));
  });
  if (form == std::end(kForms)) decoding.refuse("no such operation on an mbarrier");
  const Action action = form->action;
  const bool tests = action == Action::Test || action == Action::TestParity;
  const size_t first = hasResult(action) ? 1 : 0;
  if (tests) op.slots[kResult] = decoding.predicate(instruction.operands[0]);
  else if (first == 1) op.slots[kResult] = decoding.slot(instruction.operands[0], 64);
  const Address address =
      decodeAddress(instruction.operands[first], spaceOf(instruction), decoding, op);
  if (instruction.operands.size() > first + 1) {
    op.slots[kOperand] =
        decoding.slot(instruction.operands[first + 1], action == Action::Test ? 64 : 32);
  }
  op.variant = (address.wide ? kWide : 0) | (address.space == Space::Generic);
  op.full = op.partial = form->run;
}

void arriveAtMbarrier(const Op& op, Warp& warp, unsigned lane, uint64_t address, bool raise) {
  uint64_t* place = placeOf(op, warp, lane, address, Space::Shared, Access::Atomic);
  Mbarrier barrier = read(op, warp, lane, place);
  if (raise) barrier.pending++;
  arrive(op, warp, lane, barrier, 1);
  settle(warp, barrier, place);
}

}  // namespace sgpu
