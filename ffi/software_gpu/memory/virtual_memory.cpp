#include "virtual_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "address_space.h"
#include "retired.h"

namespace sgpu {
namespace {

bool isMultiple(uint64_t value) { return value % kGranularity == 0; }

void* pointer(uint64_t address) { return reinterpret_cast<void*>(address); }

/// Addresses without a chunk stay accessible to this process: a kernel that still runs there is
/// refused at its next access by the address space, and must not crash before.
void mapNothing(uint64_t begin, uint64_t bytes) {
  void* mapped = mmap(pointer(begin), bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  require(mapped != MAP_FAILED, kOperatingSystem);
}

}  // namespace

VirtualMemory& virtualMemory() {
  static VirtualMemory& memory = *new VirtualMemory;
  return memory;
}

uint64_t VirtualMemory::reserve(uint64_t bytes, uint64_t alignment, uint64_t wanted) {
  require(bytes != 0 && isMultiple(bytes));
  require((alignment & (alignment - 1)) == 0);
  require(bytes < uint64_t(1) << 46 && alignment < uint64_t(1) << 46, kOutOfMemory);
  alignment = std::max(alignment, kGranularity);
  // More than asked for, of which the aligned part is kept.
  void* hint = wanted % alignment == 0 ? pointer(wanted) : nullptr;
  void* mapped = mmap(hint, bytes + alignment, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  require(mapped != MAP_FAILED, kOutOfMemory);
  const uint64_t all = reinterpret_cast<uint64_t>(mapped);
  const uint64_t begin = (all + alignment - 1) / alignment * alignment;
  if (begin > all) munmap(mapped, begin - all);
  const uint64_t behind = all + alignment - begin;
  if (behind) munmap(pointer(begin + bytes), behind);
  addressSpace().addReservation(begin, begin + bytes);
  std::lock_guard lock(mutex_);
  reservations_[begin] = {bytes, addressSpace().newSerial()};
  return begin;
}

void VirtualMemory::unreserve(uint64_t begin, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  auto reservation = reservations_.find(begin);
  require(reservation != reservations_.end() && reservation->second.bytes == bytes);
  auto mapping = mappings_.lower_bound(begin);
  require(mapping == mappings_.end() || mapping->first >= begin + bytes);
  reservations_.erase(reservation);
  addressSpace().removeReservation(begin);
  retired().retire(pointer(begin), bytes);
}

void VirtualMemory::create(uint64_t handle, uint64_t bytes, uint32_t device, Budget& budget,
                           bool poison) {
  require(bytes != 0 && isMultiple(bytes));
  budget.take(bytes);
  std::lock_guard lock(mutex_);
  if (file_ < 0) file_ = memfd_create("software_gpu", MFD_CLOEXEC);
  if (file_ < 0 || ftruncate(file_, static_cast<off_t>(fileBytes_ + bytes)) != 0) {
    budget.give(bytes);
    fail(kOutOfMemory);
  }
  const uint64_t offset = fileBytes_;
  fileBytes_ += bytes;
  chunks_.emplace(handle, Chunk{bytes, offset, device, &budget});
  if (poison) {
    void* view = mmap(nullptr, bytes, PROT_WRITE, MAP_SHARED, file_, static_cast<off_t>(offset));
    require(view != MAP_FAILED, kOperatingSystem);
    std::memset(view, 0xff, bytes);
    munmap(view, bytes);
  }
}

VirtualMemory::Chunk& VirtualMemory::chunk(uint64_t handle) {
  auto found = chunks_.find(handle);
  // A chunk without references lives on in its mappings, but nobody may name it any more.
  require(found != chunks_.end() && found->second.references != 0);
  return found->second;
}

void VirtualMemory::dropIfUnused(uint64_t handle) {
  auto found = chunks_.find(handle);
  const Chunk& unused = found->second;
  if (unused.references || unused.mappings) return;
  fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(unused.offset),
            static_cast<off_t>(unused.bytes));
  unused.budget->give(unused.bytes);
  chunks_.erase(found);
}

uint64_t VirtualMemory::retainAt(uint64_t address) {
  std::lock_guard lock(mutex_);
  auto found = at(address);
  require(found != mappings_.end());
  chunks_.at(found->second.handle).references++;
  return found->second.handle;
}

void VirtualMemory::release(uint64_t handle) {
  std::lock_guard lock(mutex_);
  chunk(handle).references--;
  dropIfUnused(handle);
}

uint32_t VirtualMemory::deviceOf(uint64_t handle) const {
  std::lock_guard lock(mutex_);
  return const_cast<VirtualMemory*>(this)->chunk(handle).device;
}

const VirtualMemory::Reservation* VirtualMemory::reservationOf(uint64_t begin,
                                                               uint64_t bytes) const {
  auto next = reservations_.upper_bound(begin);
  if (next == reservations_.begin()) return nullptr;
  auto found = std::prev(next);
  const uint64_t end = found->first + found->second.bytes;
  return begin + bytes <= end ? &found->second : nullptr;
}

bool VirtualMemory::map(uint64_t begin, uint64_t bytes, uint64_t offset, uint64_t handle) {
  std::lock_guard lock(mutex_);
  require(bytes != 0 && isMultiple(begin) && isMultiple(bytes) && bytes < uint64_t(1) << 46);
  require(offset == 0);
  Chunk& mapped = chunk(handle);
  require(bytes <= mapped.bytes);
  require(reservationOf(begin, bytes) != nullptr);
  auto next = mappings_.lower_bound(begin);
  require(next == mappings_.end() || next->first >= begin + bytes);
  require(next == mappings_.begin() ||
          std::prev(next)->first + std::prev(next)->second.bytes <= begin);
  void* view = mmap(pointer(begin), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file_,
                    static_cast<off_t>(mapped.offset));
  require(view != MAP_FAILED, kOutOfMemory);
  mapped.mappings++;
  mappings_[begin] = {bytes, handle, {}};
  return !std::exchange(mapped.wasMapped, true);
}

VirtualMemory::Mappings::iterator VirtualMemory::exactly(uint64_t begin, uint64_t bytes) {
  auto first = mappings_.find(begin);
  require(bytes != 0 && first != mappings_.end());
  uint64_t reached = begin;
  for (auto it = first; it != mappings_.end() && it->first == reached; ++it) {
    reached += it->second.bytes;
    if (reached - begin >= bytes) break;
  }
  require(reached - begin == bytes);
  require(reservationOf(begin, bytes) != nullptr);
  return first;
}

void VirtualMemory::unmap(uint64_t begin, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  auto it = exactly(begin, bytes);
  addressSpace().remove(begin, begin + bytes);
  mapNothing(begin, bytes);
  while (it != mappings_.end() && it->first < begin + bytes) {
    const uint64_t handle = it->second.handle;
    it = mappings_.erase(it);
    chunks_.at(handle).mappings--;
    dropIfUnused(handle);
  }
}

void VirtualMemory::setAccess(uint64_t begin, uint64_t bytes, Access access) {
  std::lock_guard lock(mutex_);
  auto it = exactly(begin, bytes);
  const uint64_t serial = reservationOf(begin, bytes)->serial;
  if (access.readable) {
    addressSpace().add({begin, begin + bytes, access.readable, access.writable, serial});
  } else {
    addressSpace().remove(begin, begin + bytes);
  }
  for (; it != mappings_.end() && it->first < begin + bytes; ++it) it->second.access = access;
}

VirtualMemory::Mappings::const_iterator VirtualMemory::at(uint64_t address) const {
  auto next = mappings_.upper_bound(address);
  if (next == mappings_.begin()) return mappings_.end();
  auto found = std::prev(next);
  return address < found->first + found->second.bytes ? found : mappings_.end();
}

VirtualMemory::Access VirtualMemory::accessOf(uint64_t address) const {
  std::lock_guard lock(mutex_);
  auto found = at(address);
  require(found != mappings_.end());
  return found->second.access;
}

bool VirtualMemory::mappingAt(uint64_t address, uint64_t& begin, uint64_t& bytes,
                              uint32_t& device) const {
  std::lock_guard lock(mutex_);
  auto found = at(address);
  if (found == mappings_.end()) return false;
  begin = found->first;
  bytes = found->second.bytes;
  device = chunks_.at(found->second.handle).device;
  return true;
}

uint64_t VirtualMemory::chunks() const {
  std::lock_guard lock(mutex_);
  return chunks_.size();
}

uint64_t VirtualMemory::liveBytes() const {
  std::lock_guard lock(mutex_);
  uint64_t sum = 0;
  for (const auto& [handle, chunk] : chunks_) sum += chunk.bytes;
  return sum;
}

void VirtualMemory::clear() {
  std::lock_guard lock(mutex_);
  mappings_.clear();
  for (auto& [handle, chunk] : chunks_) chunk.budget->give(chunk.bytes);
  chunks_.clear();
  for (const auto& [begin, reservation] : reservations_) {
    addressSpace().remove(begin, begin + reservation.bytes);
    addressSpace().removeReservation(begin);
    retired().retire(pointer(begin), reservation.bytes);
  }
  reservations_.clear();
  if (file_ >= 0) close(file_);
  file_ = -1;
  fileBytes_ = 0;
}

}  // namespace sgpu
