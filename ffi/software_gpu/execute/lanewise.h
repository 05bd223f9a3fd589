/// Instructions that do the same in every lane with nothing but its registers: a loop of 32 that
/// the compiler vectorises. For fewer lanes the whole is computed and the others' results put back.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "warp.h"

namespace sgpu {

/// 16-bit values lie in 32-bit slots, with anything above them.
template <class T>
using SlotOf = std::conditional_t<sizeof(T) == 2, uint32_t, T>;

template <class T>
inline T fromSlot(SlotOf<T> slot) {
  if constexpr (sizeof(T) == 2) {
    const auto low = static_cast<uint16_t>(slot);
    T value;
    std::memcpy(&value, &low, sizeof value);
    return value;
  } else {
    return slot;
  }
}

template <class T>
inline SlotOf<T> toSlot(T value) {
  if constexpr (sizeof(T) == 2) {
    uint16_t low;
    std::memcpy(&low, &value, sizeof low);
    return low;
  } else {
    return value;
  }
}

/// D = F::of(A...), operand by operand.
template <class F, class D, class A>
void unary(const Op& op, Warp& warp, uint32_t) {
  auto* d = lanes<SlotOf<D>>(op, warp, 0);
  const auto* a = lanes<SlotOf<A>>(op, warp, 1);
#pragma GCC ivdep
  for (unsigned i = 0; i < kWarpLanes; i++) d[i] = toSlot<D>(F::of(fromSlot<A>(a[i])));
}

template <class F, class D, class A, class B = A>
void binary(const Op& op, Warp& warp, uint32_t) {
  auto* d = lanes<SlotOf<D>>(op, warp, 0);
  const auto* a = lanes<SlotOf<A>>(op, warp, 1);
  const auto* b = lanes<SlotOf<B>>(op, warp, 2);
#pragma GCC ivdep
  for (unsigned i = 0; i < kWarpLanes; i++) {
    d[i] = toSlot<D>(F::of(fromSlot<A>(a[i]), fromSlot<B>(b[i])));
  }
}

template <class F, class D, class A, class B = A, class C = D>
void ternary(const Op& op, Warp& warp, uint32_t) {
  auto* d = lanes<SlotOf<D>>(op, warp, 0);
  const auto* a = lanes<SlotOf<A>>(op, warp, 1);
  const auto* b = lanes<SlotOf<B>>(op, warp, 2);
  const auto* c = lanes<SlotOf<C>>(op, warp, 3);
#pragma GCC ivdep
  for (unsigned i = 0; i < kWarpLanes; i++) {
    d[i] = toSlot<D>(F::of(fromSlot<A>(a[i]), fromSlot<B>(b[i]), fromSlot<C>(c[i])));
  }
}

/// `partial` of an instruction whose `full` writes slots[0] and cannot fault.
template <class Slot>
void blend(const Op& op, Warp& warp, uint32_t mask) {
  auto* d = lanes<Slot>(op, warp, 0);
  Slot before[kWarpLanes];
  std::memcpy(before, d, sizeof before);
  op.full(op, warp, kAllLanes);
  const int32_t* selected = warp.laneMask(mask);
#pragma GCC ivdep
  for (unsigned i = 0; i < kWarpLanes; i++) d[i] = selected[i] ? d[i] : before[i];
}

inline void setLanewise(Op& op, Handler full, unsigned resultBits) {
  op.full = full;
  op.partial = resultBits == 64 ? blend<uint64_t> : blend<uint32_t>;
}

/// One bit per lane of what a loop found.
template <class Flag>
inline uint32_t maskOf(const Flag (&flags)[kWarpLanes]) {
  uint32_t mask = 0;
  for (unsigned i = 0; i < kWarpLanes; i++) mask |= static_cast<uint32_t>(flags[i] != 0) << i;
  return mask;
}

inline void setPredicate(Warp& warp, uint32_t index, uint32_t value, uint32_t mask) {
  uint32_t& predicate = warp.predicates[index];
  predicate = (predicate & ~mask) | (value & mask);
}

}  // namespace sgpu
