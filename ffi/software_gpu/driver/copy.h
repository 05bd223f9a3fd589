/// Copies and fills of memory, as streams and graphs do them.
#pragma once

#include "stream.h"

namespace sgpu {

/// Whose memory one side of a copy is.
enum class Side : uint8_t { Host, Device };

/// Rows of bytes; what has one row is a plain block.
struct Box {
  uint64_t begin = 0;
  uint64_t pitch = 0;  ///< from row to row
  uint64_t slice = 0;  ///< from layer to layer
  Side side = Side::Device;
};

struct Extent {
  uint64_t width = 0, height = 1, depth = 1;
  uint64_t bytes() const { return width * height * depth; }
};

class Copy : public Operation {
 public:
  /// @throws Failure 1 when a side is not memory that a copy may touch
  Copy(const Box& to, const Box& from, const Extent& extent);
  void execute(Stream& stream) const override;
  CUgraphNodeType type() const override { return CU_GRAPH_NODE_TYPE_MEMCPY; }

  const Box to, from;
  const Extent extent;
};

/// A block of memory, one value again and again.
class Fill : public Operation {
 public:
  /// @param elementBytes 1, 2 or 4, to which `to` has to be aligned
  /// @throws Failure 1
  Fill(const Box& to, const Extent& extent, uint32_t value, unsigned elementBytes);
  void execute(Stream& stream) const override;
  CUgraphNodeType type() const override { return CU_GRAPH_NODE_TYPE_MEMSET; }

  const Box to;
  const Extent extent;  ///< its width in bytes
  const uint32_t value;
  const unsigned elementBytes;
};

/// Whose memory an address that may be either is.
Side sideOf(uint64_t address);
/// The copy that the vendor's structure describes.
/// @throws Failure 1; 801 for arrays
std::shared_ptr<const Copy> copyOf(const CUDA_MEMCPY3D& params);
/// The structure that describes a copy.
CUDA_MEMCPY3D describe(const Copy& copy);

}  // namespace sgpu
