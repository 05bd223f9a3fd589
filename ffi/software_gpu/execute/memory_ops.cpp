/// Loads and stores. An instruction's handler finds the places of its lanes, which depends on the
/// space; what then moves between them and the registers depends on the types alone.
#include <algorithm>
#include <atomic>
#include <iterator>

#ifdef __SSE2__
#include <immintrin.h>
#endif

#include "../compile/decode.h"
#include "../memory/places.h"
#include "modifiers.h"
#include "operands.h"

namespace sgpu {
namespace {

using ptx::Instruction;
using ptx::Operand;
using ptx::Space;
using Shape = Places::Shape;

/// The two halves of a `.b128` register.
struct Sixteen {
  uint64_t low, high;
};

/// `Op::variant`: which move, and how many elements each lane has.
constexpr unsigned kMoveBits = 5;
unsigned moveOf(const Op& op) { return op.variant & ((1u << kMoveBits) - 1); }
unsigned elementsOf(const Op& op) { return 1u << (op.variant >> kMoveBits); }

template <class Slot>
Slot* data(const Op& op, Warp& warp, unsigned element) {
  return lanes<Slot>(op, warp, 1 + element);
}

template <class To, class From>
To widen(From from) {
  return static_cast<To>(from);  // sign-extends when `From` is signed
}

/// As one access, which is what volatile and ordered accesses promise.
template <class T>
T readOnce(const uint8_t* from) {
  T value;
  __atomic_load(reinterpret_cast<const T*>(from), &value, __ATOMIC_RELAXED);
  return value;
}
template <>
Sixteen readOnce(const uint8_t* from) {
  return *reinterpret_cast<const Sixteen*>(from);
}
template <class T>
void writeOnce(uint8_t* to, T value) {
  __atomic_store(reinterpret_cast<T*>(to), &value, __ATOMIC_RELAXED);
}
template <>
void writeOnce(uint8_t* to, Sixteen value) {
  *reinterpret_cast<Sixteen*>(to) = value;
}

#ifdef __SSE2__
/// Vectors of four words each, from memory to registers or back, four lanes at a time; eight where
/// registers are wide enough.
template <bool kLoad>
void moveQuads(const Op& op, Warp& warp, const Places& places) {
  float* registers[4];
  for (unsigned i = 0; i < 4; i++) registers[i] = data<float>(op, warp, i);
  const auto memory = [&](unsigned lane) {
    return reinterpret_cast<float*>(places.of(lane, 16));
  };
#ifdef __AVX__
  for (unsigned lane = 0; lane < kWarpLanes; lane += 8) {
    __m256 row[4];
    for (unsigned i = 0; i < 4; i++) {
      row[i] = kLoad ? _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_load_ps(memory(lane + i))),
                                            _mm_load_ps(memory(lane + 4 + i)), 1)
                     : _mm256_load_ps(registers[i] + lane);
    }
    const __m256 low01 = _mm256_unpacklo_ps(row[0], row[1]);
    const __m256 low23 = _mm256_unpacklo_ps(row[2], row[3]);
    const __m256 high01 = _mm256_unpackhi_ps(row[0], row[1]);
    const __m256 high23 = _mm256_unpackhi_ps(row[2], row[3]);
    row[0] = _mm256_shuffle_ps(low01, low23, 0x44);
    row[1] = _mm256_shuffle_ps(low01, low23, 0xee);
    row[2] = _mm256_shuffle_ps(high01, high23, 0x44);
    row[3] = _mm256_shuffle_ps(high01, high23, 0xee);
    for (unsigned i = 0; i < 4; i++) {
      if (kLoad) {
        _mm256_store_ps(registers[i] + lane, row[i]);
      } else {
        _mm_store_ps(memory(lane + i), _mm256_castps256_ps128(row[i]));
        _mm_store_ps(memory(lane + 4 + i), _mm256_extractf128_ps(row[i], 1));
      }
    }
  }
#else
  for (unsigned lane = 0; lane < kWarpLanes; lane += 4) {
    __m128 row[4];
    for (unsigned i = 0; i < 4; i++) {
      row[i] = _mm_load_ps(kLoad ? memory(lane + i) : registers[i] + lane);
    }
    _MM_TRANSPOSE4_PS(row[0], row[1], row[2], row[3]);
    for (unsigned i = 0; i < 4; i++) {
      _mm_store_ps(kLoad ? registers[i] + lane : memory(lane + i), row[i]);
    }
  }
#endif
}
#endif

template <class Element, class Slot>
void load(const Op& op, Warp& warp, uint32_t mask, const Places& places) {
  const unsigned count = elementsOf(op);
  const uint32_t bytes = sizeof(Element) * count;
  if (places.shape == Shape::Broadcast) {
    for (unsigned i = 0; i < count; i++) {
      const Slot value = widen<Slot>(reinterpret_cast<const Element*>(places.first)[i]);
      std::fill_n(data<Slot>(op, warp, i), kWarpLanes, value);
    }
    return;
  }
  if (places.shape == Shape::Contiguous && count == 1) {
    const Element* from = reinterpret_cast<const Element*>(places.first);
    Slot* to = data<Slot>(op, warp, 0);
#pragma GCC ivdep
    for (unsigned lane = 0; lane < kWarpLanes; lane++) to[lane] = widen<Slot>(from[lane]);
    return;
  }
#ifdef __SSE2__
  if (sizeof(Element) == 4 && sizeof(Slot) == 4 && count == 4 && mask == kAllLanes) {
    return moveQuads<true>(op, warp, places);
  }
#endif
  for (unsigned i = 0; i < count; i++) {
    Slot* to = data<Slot>(op, warp, i);
    if (mask == kAllLanes && places.shape == Shape::Scattered) {
      for (unsigned lane = 0; lane < kWarpLanes; lane++) {
        to[lane] = widen<Slot>(reinterpret_cast<const Element*>(places.at[lane])[i]);
      }
      continue;
    }
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
      const unsigned lane = __builtin_ctz(rest);
      to[lane] = widen<Slot>(reinterpret_cast<const Element*>(places.of(lane, bytes))[i]);
    }
  }
}

template <class Element, class Slot>
void store(const Op& op, Warp& warp, uint32_t mask, const Places& places) {
  const unsigned count = elementsOf(op);
  const uint32_t bytes = sizeof(Element) * count;
  if (places.shape == Shape::Contiguous && count == 1) {
    Element* to = reinterpret_cast<Element*>(places.first);
    const Slot* from = data<Slot>(op, warp, 0);
#pragma GCC ivdep
    for (unsigned lane = 0; lane < kWarpLanes; lane++) to[lane] = widen<Element>(from[lane]);
    return;
  }
#ifdef __SSE2__
  if (sizeof(Element) == 4 && sizeof(Slot) == 4 && count == 4 && mask == kAllLanes) {
    return moveQuads<false>(op, warp, places);
  }
#endif
  for (unsigned i = 0; i < count; i++) {
    const Slot* from = data<Slot>(op, warp, i);
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
      const unsigned lane = __builtin_ctz(rest);
      reinterpret_cast<Element*>(places.of(lane, bytes))[i] = widen<Element>(from[lane]);
    }
  }
}

template <class Element, class Slot>
void strongLoad(const Op& op, Warp& warp, uint32_t mask, const Places& places) {
  const unsigned count = elementsOf(op);
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    const unsigned lane = __builtin_ctz(rest);
    const uint8_t* from = places.of(lane, sizeof(Element) * count);
    for (unsigned i = 0; i < count; i++, from += sizeof(Element)) {
      data<Slot>(op, warp, i)[lane] = widen<Slot>(readOnce<Element>(from));
    }
  }
}

template <class Element, class Slot>
void strongStore(const Op& op, Warp& warp, uint32_t mask, const Places& places) {
  const unsigned count = elementsOf(op);
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    const unsigned lane = __builtin_ctz(rest);
    uint8_t* to = places.of(lane, sizeof(Element) * count);
    for (unsigned i = 0; i < count; i++, to += sizeof(Element)) {
      writeOnce(to, widen<Element>(data<Slot>(op, warp, i)[lane]));
    }
  }
}

struct Move {
  unsigned bits;        ///< of an element
  unsigned slotBits;    ///< of its register
  bool isSigned;
  bool isStore;
  using Run = void (*)(const Op&, Warp&, uint32_t mask, const Places&);
  Run run;
  Run strong;
};

template <class Element, class Slot>
constexpr Move loads() {
  return {8 * sizeof(Element), 8 * sizeof(Slot), Element(-1) < Element(0), false,
          load<Element, Slot>, strongLoad<Element, Slot>};
}
template <class Element, class Slot>
constexpr Move stores() {
  return {8 * sizeof(Element), 8 * sizeof(Slot), false, true, store<Element, Slot>,
          strongStore<Element, Slot>};
}

const Move kMoves[] = {
    loads<uint8_t, uint32_t>(),  loads<uint8_t, uint64_t>(),  loads<int8_t, uint32_t>(),
    loads<int8_t, uint64_t>(),   loads<uint16_t, uint32_t>(), loads<uint16_t, uint64_t>(),
    loads<int16_t, uint32_t>(),  loads<int16_t, uint64_t>(),  loads<uint32_t, uint32_t>(),
    loads<uint32_t, uint64_t>(), loads<int32_t, uint64_t>(),  loads<uint64_t, uint64_t>(),
    {128, 128, false, false, load<Sixteen, Sixteen>, strongLoad<Sixteen, Sixteen>},
    stores<uint8_t, uint32_t>(), stores<uint8_t, uint64_t>(), stores<uint16_t, uint32_t>(),
    stores<uint16_t, uint64_t>(), stores<uint32_t, uint32_t>(), stores<uint32_t, uint64_t>(),
    stores<uint64_t, uint64_t>(),
    {128, 128, false, true, store<Sixteen, Sixteen>, strongStore<Sixteen, Sixteen>},
};

template <FindPlaces kFind, bool kStrong>
void run(const Op& op, Warp& warp, uint32_t mask) {
  const Move& move = kMoves[moveOf(op)];
  const uint32_t bytes = move.bits / 8 * elementsOf(op);
  const Access kind = move.isStore ? (kStrong ? Access::StrongWrite : Access::Write)
                                   : (kStrong ? Access::StrongRead : Access::Read);
  const Request request{op.slots[0], op.immediate, bytes, kind};
  Places places;
  kFind(op, warp, mask, request, places);
  inspectPlaces(op, warp, mask, request, places);
  if (!kStrong) return move.run(op, warp, mask, places);
  // Stronger than any order that PTX asks for; the host's own model may be weaker.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  move.strong(op, warp, mask, places);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

template <FindPlaces kFind>
void setHandler(Op& op, bool strong) {
  op.full = op.partial = strong ? run<kFind, true> : run<kFind, false>;
}

void setHandler(Op& op, const Address& address, bool strong, Decoding& decoding) {
  switch (address.space) {
    case Space::Shared:
      return address.wide ? setHandler<findSharedWide>(op, strong)
                          : setHandler<findShared>(op, strong);
    case Space::Local:
      return address.wide ? setHandler<findLocalWide>(op, strong)
                          : setHandler<findLocal>(op, strong);
    case Space::Param:
      return address.wide ? setHandler<findParamWide>(op, strong)
                          : setHandler<findParam>(op, strong);
    case Space::Global:
    case Space::Const:
    case Space::Generic: break;
  }
  if (address.slot != kNoSlot && !address.wide) decoding.refuse("its address needs 64 bits");
  address.space == Space::Generic ? setHandler<findGeneric>(op, strong)
                                  : setHandler<findGlobal>(op, strong);
}

bool isStrong(const Instruction& instruction) {
  for (const char* word : {"volatile", "relaxed", "acquire", "release", "mmio"}) {
    if (instruction.has(word)) return true;
  }
  return false;
}

/// Width of the registers that an operand names: that of a vector's first register.
unsigned slotBits(const Operand& operand, unsigned bits, Decoding& decoding) {
  if (operand.kind == Operand::Kind::Register) {
    bits = std::max(bits, decoding.registerBits(operand));
  }
  for (const Operand& element : operand.elements) {
    if (element.kind != Operand::Kind::Register) continue;
    bits = std::max(bits, decoding.registerBits(element));
    break;
  }
  return bits <= 32 ? 32 : bits <= 64 ? 64 : 128;
}

void decodeMove(const Instruction& instruction, Decoding& decoding, Op& op, bool isStore) {
  const unsigned bits = ptx::bitsOf(instruction.type);
  if (bits < 8) decoding.refuse("a load or store needs a type of 8 bits or more");
  const Operand& memory = instruction.operands[isStore ? 0 : 1];
  const Operand& value = instruction.operands[isStore ? 1 : 0];
  const unsigned width = slotBits(value, bits, decoding);
  const unsigned count = decodeElements(value, width, decoding, op.slots + 1, 8);
  const unsigned stated = instruction.has("v2")   ? 2
                          : instruction.has("v4") ? 4
                          : instruction.has("v8") ? 8
                                                  : 1;
  if (count != stated) decoding.refuse("its vector has another number of elements than it says");
  if (bits * count > 256) decoding.refuse("more than 32 bytes at once");
  const bool isSigned = !isStore && ptx::isSigned(instruction.type) && bits < width;
  unsigned index = 0;
  for (const Move& move : kMoves) {
    if (move.bits == bits && move.slotBits == width && move.isSigned == isSigned &&
        move.isStore == isStore) {
      break;
    }
    index++;
  }
  if (index == std::size(kMoves)) decoding.refuse("its type does not fit its registers");
  op.variant = static_cast<uint8_t>(index | __builtin_ctz(count) << kMoveBits);
  const Address address = decodeAddress(memory, spaceOf(instruction), decoding, op);
  setHandler(op, address, isStrong(instruction), decoding);
}

/// Words that name spaces, vectors, orders and hints: hints have no effect here.
constexpr std::initializer_list<const char*> kWords = {
    "global",   "local",   "const",   "param",   "shared", "shared::", "param::", "v2", "v4", "v8",
    "weak",     "volatile", "relaxed", "acquire", "release", "mmio",    "ca",      "cg", "cs", "lu",
    "cv",       "wb",       "wt",      "nc",      "unified", "L1::",    "L2::"};

void decodeLoad(const Instruction& instruction, Decoding& decoding, Op& op) {
  allowOnly(instruction, decoding, kWords);
  decodeMove(instruction, decoding, op, false);
}

void decodeStore(const Instruction& instruction, Decoding& decoding, Op& op) {
  allowOnly(instruction, decoding, kWords);
  const Space space = spaceOf(instruction);
  if (space == Space::Const) decoding.refuse("constant memory cannot be stored to");
  const Address to = decoding.address(instruction.operands[0], space);
  if (to.space == Space::Param) decoding.refuse("a kernel's parameters cannot be stored to");
  decodeMove(instruction, decoding, op, true);
}

void nothing(const Op&, Warp&, uint32_t) {}

/// A prefetch cannot be observed: not even a wrong address faults.
void decodeHint(const Instruction&, Decoding&, Op& op) { op.full = op.partial = nothing; }

}  // namespace

std::vector<OpcodeRow> memoryOpcodes() {
  return {
      {"ld", decodeLoad},
      {"ldu", decodeLoad},
      {"st", decodeStore, Writes::Nothing},
      {"prefetch", decodeHint, Writes::Nothing},
      {"prefetchu", decodeHint, Writes::Nothing},
      {"applypriority", decodeHint, Writes::Nothing},
      {"discard", decodeHint, Writes::Nothing},
  };
}

}  // namespace sgpu
