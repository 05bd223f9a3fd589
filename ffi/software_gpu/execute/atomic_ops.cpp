/// Atomic operations and fences. They are atomic on the host as well, since blocks of one launch may
/// run on several threads; every order that PTX asks for is the strongest one here.
#include <algorithm>
#include <atomic>
#include <iterator>
#include <mutex>

#include "../compile/decode.h"
#include "../memory/access.h"
#include "float_format.h"
#include "modifiers.h"
#include "operands.h"

namespace sgpu {
namespace {

using ptx::Instruction;
using ptx::Operand;
using ptx::Space;
using ptx::Type;

// Operands of an op: the address, then up to eight results, then up to eight values; of `cas` the
// second value is the new one.
constexpr unsigned kResult = 1, kValue = 9;

/// `Op::variant`: the space, whether the address has 64 bits, the number of elements.
Space spaceOf(const Op& op) { return static_cast<Space>(op.variant & 7); }
bool isWide(const Op& op) { return op.variant >> 3 & 1; }
unsigned elementsOf(const Op& op) { return 1u << (op.variant >> 4); }

/// A value of 128 bits.
struct Sixteen {
  uint64_t low, high;
};

template <class Raw> struct SlotOf { using Type = uint32_t; };
template <> struct SlotOf<uint64_t> { using Type = uint64_t; };
template <> struct SlotOf<Sixteen> { using Type = Sixteen; };

/// What memory holds afterwards, given what it held.
template <class Raw>
using Change = Raw (*)(Raw old, Raw value, Raw second);

template <class Raw>
Raw add(Raw old, Raw value, Raw) { return old + value; }
template <class Raw>
Raw bitAnd(Raw old, Raw value, Raw) { return old & value; }
template <class Raw>
Raw bitOr(Raw old, Raw value, Raw) { return old | value; }
template <class Raw>
Raw bitXor(Raw old, Raw value, Raw) { return old ^ value; }
template <class Raw>
Raw exchange(Raw, Raw value, Raw) { return value; }
template <class Raw>
Raw compareAndSwap(Raw old, Raw expected, Raw value) { return old == expected ? value : old; }
uint32_t increment(uint32_t old, uint32_t limit, uint32_t) { return old >= limit ? 0 : old + 1; }
uint32_t decrement(uint32_t old, uint32_t limit, uint32_t) {
  return old == 0 || old > limit ? limit : old - 1;
}
template <class Raw, class Value>
Raw minimum(Raw old, Raw value, Raw) {
  return static_cast<Raw>(std::min(static_cast<Value>(old), static_cast<Value>(value)));
}
template <class Raw, class Value>
Raw maximum(Raw old, Raw value, Raw) {
  return static_cast<Raw>(std::max(static_cast<Value>(old), static_cast<Value>(value)));
}

uint32_t addFloat(uint32_t old, uint32_t value, uint32_t) {
  return bitsAs<uint32_t>(bitsAs<float>(old) + bitsAs<float>(value));
}
uint64_t addDouble(uint64_t old, uint64_t value, uint64_t) {
  return bitsAs<uint64_t>(bitsAs<double>(old) + bitsAs<double>(value));
}

float plus(float a, float b) { return a + b; }
float smaller(float a, float b) { return a != a ? b : b != b ? a : std::min(a, b); }
float larger(float a, float b) { return a != a ? b : b != b ? a : std::max(a, b); }

template <class Format, float (*kApply)(float, float)>
uint16_t small(uint16_t old, uint16_t value, uint16_t) {
  return narrow<Format>(kApply(widen(Format{old}), widen(Format{value}))).bits;
}
template <Change<uint16_t> kHalf>
uint32_t both(uint32_t old, uint32_t value, uint32_t) {
  return kHalf(old, value, 0) | uint32_t(kHalf(old >> 16, value >> 16, 0)) << 16;
}
template <float (*kApply)(float, float)>
constexpr Change<uint16_t> half = small<Half, kApply>;
template <float (*kApply)(float, float)>
constexpr Change<uint16_t> bfloat = small<BFloat, kApply>;

template <class Raw, Change<Raw> kChange>
Raw applyAt(uint8_t* at, Raw value, Raw second) {
  Raw* memory = reinterpret_cast<Raw*>(at);
  Raw old = __atomic_load_n(memory, __ATOMIC_SEQ_CST);
  while (!__atomic_compare_exchange_n(memory, &old, kChange(old, value, second), false,
                                      __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
  }
  return old;
}

/// Not every host compares and swaps 16 bytes, so a lock stands in for it.
template <bool kCompare>
Sixteen swapSixteen(uint8_t* at, Sixteen value, Sixteen second) {
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  Sixteen* memory = reinterpret_cast<Sixteen*>(at);
  const Sixteen old = *memory;
  if (!kCompare) *memory = value;
  else if (old.low == value.low && old.high == value.high) *memory = second;
  return old;
}

template <class Raw, Raw (*kApplyAt)(uint8_t*, Raw, Raw)>
void run(const Op& op, Warp& warp, uint32_t mask) {
  using Slot = typename SlotOf<Raw>::Type;
  const unsigned elements = elementsOf(op);
  const uint32_t bytes = sizeof(Raw) * elements;
  const Space space = spaceOf(op);
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    const unsigned lane = __builtin_ctz(rest);
    uint8_t* at = access(op, warp, lane, space, laneAddress(op, warp, lane, 0, isWide(op)), bytes,
                         bytes, Access::Atomic);
    for (unsigned i = 0; i < elements; i++, at += sizeof(Raw)) {
      const Raw value = static_cast<Raw>(lanes<Slot>(op, warp, kValue + i)[lane]);
      const Raw second = op.slots[kValue + 1] == kNoSlot
                             ? Raw()
                             : static_cast<Raw>(lanes<Slot>(op, warp, kValue + 1)[lane]);
      const Raw old = kApplyAt(at, value, second);
      if (op.slots[kResult + i] != kNoSlot) {
        lanes<Slot>(op, warp, kResult + i)[lane] = static_cast<Slot>(old);
      }
    }
  }
  if (space != Space::Shared && space != Space::Local) {
    const uint64_t moved = uint64_t(bytes) * __builtin_popcount(mask);
    warp.bytesRead += moved;
    warp.bytesWritten += moved;
  }
}

template <class Raw, Change<Raw> kChange>
constexpr Handler by = run<Raw, applyAt<Raw, kChange>>;

struct Operation {
  const char* name;
  Type type;
  Handler run;
};

using U16 = uint16_t;
using U32 = uint32_t;
using U64 = uint64_t;

const Operation kOperations[] = {
    {"add", Type::U32, by<U32, add<U32>>},
    {"add", Type::S32, by<U32, add<U32>>},
    {"add", Type::U64, by<U64, add<U64>>},
    {"add", Type::S64, by<U64, add<U64>>},
    {"add", Type::F32, by<U32, addFloat>},
    {"add", Type::F64, by<U64, addDouble>},
    {"add", Type::F16, by<U16, half<plus>>},
    {"min", Type::F16, by<U16, half<smaller>>},
    {"max", Type::F16, by<U16, half<larger>>},
    {"add", Type::F16x2, by<U32, both<half<plus>>>},
    {"min", Type::F16x2, by<U32, both<half<smaller>>>},
    {"max", Type::F16x2, by<U32, both<half<larger>>>},
    {"add", Type::BF16, by<U16, bfloat<plus>>},
    {"min", Type::BF16, by<U16, bfloat<smaller>>},
    {"max", Type::BF16, by<U16, bfloat<larger>>},
    {"add", Type::BF16x2, by<U32, both<bfloat<plus>>>},
    {"min", Type::BF16x2, by<U32, both<bfloat<smaller>>>},
    {"max", Type::BF16x2, by<U32, both<bfloat<larger>>>},
    {"inc", Type::U32, by<U32, increment>},
    {"dec", Type::U32, by<U32, decrement>},
    {"min", Type::U32, by<U32, minimum<U32, uint32_t>>},
    {"min", Type::S32, by<U32, minimum<U32, int32_t>>},
    {"min", Type::U64, by<U64, minimum<U64, uint64_t>>},
    {"min", Type::S64, by<U64, minimum<U64, int64_t>>},
    {"max", Type::U32, by<U32, maximum<U32, uint32_t>>},
    {"max", Type::S32, by<U32, maximum<U32, int32_t>>},
    {"max", Type::U64, by<U64, maximum<U64, uint64_t>>},
    {"max", Type::S64, by<U64, maximum<U64, int64_t>>},
    {"and", Type::B32, by<U32, bitAnd<U32>>},
    {"and", Type::B64, by<U64, bitAnd<U64>>},
    {"or", Type::B32, by<U32, bitOr<U32>>},
    {"or", Type::B64, by<U64, bitOr<U64>>},
    {"xor", Type::B32, by<U32, bitXor<U32>>},
    {"xor", Type::B64, by<U64, bitXor<U64>>},
    {"exch", Type::B32, by<U32, exchange<U32>>},
    {"exch", Type::B64, by<U64, exchange<U64>>},
    {"exch", Type::B128, run<Sixteen, swapSixteen<false>>},
    {"cas", Type::B16, by<U16, compareAndSwap<U16>>},
    {"cas", Type::B32, by<U32, compareAndSwap<U32>>},
    {"cas", Type::B64, by<U64, compareAndSwap<U64>>},
    {"cas", Type::B128, run<Sixteen, swapSixteen<true>>},
};

Handler operationOf(const Instruction& instruction, Decoding& decoding) {
  const Operation* found =
      std::find_if(std::begin(kOperations), std::end(kOperations), [&](const Operation& operation) {
        return operation.type == instruction.type && instruction.has(operation.name);
      });
  if (found == std::end(kOperations)) decoding.refuse("no such atomic operation");
  return found->run;
}

void decode(const Instruction& instruction, Decoding& decoding, Op& op, bool hasResult) {
  allowOnly(instruction, decoding,
            {"add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas", "noftz",
             "relaxed", "acquire", "release", "acq_rel", "global", "shared", "shared::", "v2", "v4",
             "v8", "L2::"});
  const unsigned first = hasResult ? 1 : 0;
  const Address address =
      decodeAddress(instruction.operands[first], sgpu::spaceOf(instruction), decoding, op);
  if (address.space != Space::Shared && address.slot != kNoSlot && !address.wide) {
    decoding.refuse("its address needs 64 bits");
  }
  const unsigned bits = ptx::bitsOf(instruction.type);
  const unsigned width = bits <= 32 ? 32 : bits;
  const unsigned elements =
      decodeElements(instruction.operands[first + 1], width, decoding, op.slots + kValue, 8);
  if (elements & (elements - 1)) decoding.refuse("a vector of 2, 4 or 8 elements was expected");
  if (instruction.has("cas")) {
    op.slots[kValue + 1] = decoding.slot(instruction.operands[first + 2], width);
  }
  if (hasResult &&
      decodeElements(instruction.operands[0], width, decoding, op.slots + kResult, 8) != elements) {
    decoding.refuse("its result has another number of elements than its operand");
  }
  op.variant = static_cast<uint8_t>(static_cast<unsigned>(address.space) | address.wide << 3 |
                                    __builtin_ctz(elements) << 4);
  op.full = op.partial = operationOf(instruction, decoding);
}

void decodeAtom(const Instruction& instruction, Decoding& decoding, Op& op) {
  decode(instruction, decoding, op, true);
}

void decodeRed(const Instruction& instruction, Decoding& decoding, Op& op) {
  decode(instruction, decoding, op, false);
}

void fence(const Op&, Warp& warp, uint32_t) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  // What a fence and a flag order, the check of races takes for a barrier: it must not cry wolf.
  warp.block->epoch++;
}

void decodeFence(const Instruction&, Decoding&, Op& op) { op.full = op.partial = fence; }

}  // namespace

std::vector<OpcodeRow> atomicOpcodes() {
  return {
      {"atom", decodeAtom},
      {"red", decodeRed, Writes::Nothing},
      {"fence", decodeFence, Writes::Nothing},
      {"membar", decodeFence, Writes::Nothing},
  };
}

}  // namespace sgpu
