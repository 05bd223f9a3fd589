// Copies from global to shared memory that go on while the thread does.
#pragma once

__device__ __forceinline__ unsigned sharedAddress(const void* pointer) {
  return (unsigned)__cvta_generic_to_shared(pointer);
}

// 16 bytes, of which the first `bytes` come from memory and the rest are zeros.
__device__ __forceinline__ void copyAsync16(void* to, const void* from, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :: "r"(sharedAddress(to)), "l"(from), "r"(bytes) : "memory");
}

// Ends a group: what was begun since the last group.
__device__ __forceinline__ void commitCopies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until at most `Pending` groups are under way.
template <int Pending>
__device__ __forceinline__ void waitForCopies() {
  asm volatile("cp.async.wait_group %0;" :: "n"(Pending) : "memory");
}
