/// Virtual memory management: addresses are reserved, physical chunks are created, and the two are
/// brought together and parted again without a copy.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <unordered_map>

#include "budget.h"

namespace sgpu {

constexpr uint64_t kGranularity = 2 << 20;

class VirtualMemory {
 public:
  struct Access {
    bool readable = false, writable = false;
  };

  /// @param wanted Where, as a hint; 0 for anywhere
  uint64_t reserve(uint64_t bytes, uint64_t alignment, uint64_t wanted);
  /// Gives addresses back: the whole reservation, with nothing mapped in it.
  void unreserve(uint64_t begin, uint64_t bytes);

  /// A chunk of physical memory, with one reference to it.
  /// @param handle Never used before
  void create(uint64_t handle, uint64_t bytes, uint32_t device, Budget& budget, bool poison);
  /// One more reference to the chunk that an address is mapped to.
  uint64_t retainAt(uint64_t address);
  /// The chunk goes when its last reference and its last mapping have gone.
  void release(uint64_t handle);
  uint32_t deviceOf(uint64_t handle) const;

  /// @returns Whether this is the chunk's first mapping, so that nobody can have written it
  bool map(uint64_t begin, uint64_t bytes, uint64_t offset, uint64_t handle);
  /// Whole mappings only.
  void unmap(uint64_t begin, uint64_t bytes);
  void setAccess(uint64_t begin, uint64_t bytes, Access access);

  Access accessOf(uint64_t address) const;
  /// The mapping that an address lies in, or nothing (false).
  bool mappingAt(uint64_t address, uint64_t& begin, uint64_t& bytes, uint32_t& device) const;

  uint64_t chunks() const;
  uint64_t liveBytes() const;  ///< of chunks
  void clear();

 private:
  struct Chunk {
    uint64_t bytes, offset;
    uint32_t device;
    Budget* budget;
    uint64_t references = 1, mappings = 0;
    bool wasMapped = false;
  };
  struct Mapping {
    uint64_t bytes, handle;
    Access access;
  };
  struct Reservation {
    uint64_t bytes, serial;
  };
  using Mappings = std::map<uint64_t, Mapping>;

  Chunk& chunk(uint64_t handle);
  void dropIfUnused(uint64_t handle);
  /// Mappings that make up exactly [begin, begin + bytes).
  /// @throws Failure when it begins, ends or has a gap elsewhere
  Mappings::iterator exactly(uint64_t begin, uint64_t bytes);
  Mappings::const_iterator at(uint64_t address) const;
  const Reservation* reservationOf(uint64_t begin, uint64_t bytes) const;

  mutable std::mutex mutex_;
  std::map<uint64_t, Reservation> reservations_;
  std::unordered_map<uint64_t, Chunk> chunks_;
  Mappings mappings_;
  int file_ = -1;            ///< holds all chunks
  uint64_t fileBytes_ = 0;   ///< only grows: what was freed is a hole in it
};

VirtualMemory& virtualMemory();

}  // namespace sgpu
