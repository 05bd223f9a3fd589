/// Tiles of 8 by 8 values of 16 bits between shared memory and the registers of a warp: a row of
/// 16 bytes at each address, one register for each tile.
#include "matrix.h"
#include "modifiers.h"
#include "operands.h"

#include <algorithm>
#include <cstring>

#include "../memory/places.h"

namespace sgpu {
namespace {

using ptx::Instruction;
using ptx::Space;

constexpr unsigned kRowBytes = 16, kTileBytes = 8 * kRowBytes;

void transpose(const uint8_t* tile, uint8_t* to) {
  const uint16_t* from = reinterpret_cast<const uint16_t*>(tile);
  uint16_t* transposed = reinterpret_cast<uint16_t*>(to);
  for (unsigned row = 0; row < 8; row++) {
    for (unsigned column = 0; column < 8; column++) {
      transposed[column * 8 + row] = from[row * 8 + column];
    }
  }
}

/// Lanes 0-7 give the rows of the first tile, 8-15 those of the second, ...
template <FindPlaces kFind, bool kLoad, bool kTransposed>
void moveTiles(const Op& op, Warp& warp, uint32_t mask) {
  requireAllLanes(op, warp, mask);
  const unsigned tiles = op.variant;
  const uint32_t addressing = tiles == 4 ? kAllLanes : (1u << 8 * tiles) - 1;
  const Request request{op.slots[0], op.immediate, kRowBytes,
                        kLoad ? Access::Read : Access::Write};
  Places places;
  kFind(op, warp, addressing, request, places);
  inspectPlaces(op, warp, addressing, request, places);
  for (unsigned tile = 0; tile < tiles; tile++) {
    uint8_t* registers = lanes<uint8_t>(op, warp, 1 + tile);
    alignas(kRowBytes) uint8_t buffer[kTileBytes];
    uint8_t* rows = kTransposed ? buffer : registers;
    if (!kLoad && kTransposed) transpose(registers, buffer);
    for (unsigned row = 0; row < 8; row++) {
      uint8_t* memory = places.of(tile * 8 + row, kRowBytes);
      if (kLoad) std::memcpy(rows + row * kRowBytes, memory, kRowBytes);
      else std::memcpy(memory, rows + row * kRowBytes, kRowBytes);
    }
    if (kLoad && kTransposed) transpose(buffer, registers);
  }
}

template <FindPlaces kFind>
Handler tileMove(bool isLoad, bool isTransposed) {
  if (isLoad) return isTransposed ? moveTiles<kFind, true, true> : moveTiles<kFind, true, false>;
  return isTransposed ? moveTiles<kFind, false, true> : moveTiles<kFind, false, false>;
}

void decodeTiles(const Instruction& instruction, Decoding& decoding, Op& op, bool isLoad) {
  allowOnly(instruction, decoding,
            {"sync", "aligned", "m8n8", "x1", "x2", "x4", "trans", "shared", "shared::"});
  if (!instruction.has("m8n8") || ptx::bitsOf(instruction.type) != 16) {
    decoding.refuse("tiles of .m8n8 and .b16 were expected");
  }
  const Address address =
      decodeAddress(instruction.operands[isLoad ? 1 : 0], spaceOf(instruction), decoding, op);
  const unsigned tiles = instruction.has("x4") ? 4 : instruction.has("x2") ? 2 : 1;
  if (decodeElements(instruction.operands[isLoad ? 0 : 1], 32, decoding, op.slots + 1, 4) !=
      tiles) {
    decoding.refuse("it needs as many registers as tiles");
  }
  op.variant = static_cast<uint8_t>(tiles);
  op.flow = Flow::Meet;
  const bool isTransposed = instruction.has("trans");
  op.full = op.partial =
      address.space != Space::Shared ? tileMove<findGeneric>(isLoad, isTransposed)
      : address.wide                 ? tileMove<findSharedWide>(isLoad, isTransposed)
                                     : tileMove<findShared>(isLoad, isTransposed);
}

void decodeLoad(const Instruction& instruction, Decoding& decoding, Op& op) {
  decodeTiles(instruction, decoding, op, true);
}

void decodeStore(const Instruction& instruction, Decoding& decoding, Op& op) {
  decodeTiles(instruction, decoding, op, false);
}

void transposeRegister(const Op& op, Warp& warp, uint32_t mask) {
  requireAllLanes(op, warp, mask);
  alignas(kRowBytes) uint8_t tile[kTileBytes];
  transpose(lanes<uint8_t>(op, warp, 1), tile);
  std::memcpy(lanes<uint8_t>(op, warp, 0), tile, kTileBytes);
}

void decodeMove(const Instruction& instruction, Decoding& decoding, Op& op) {
  allowOnly(instruction, decoding, {"sync", "aligned", "m8n8", "trans"});
  for (unsigned i = 0; i < 2; i++) op.slots[i] = decoding.slot(instruction.operands[i], 32);
  op.flow = Flow::Meet;
  op.full = op.partial = transposeRegister;
}

}  // namespace

std::vector<OpcodeRow> matrixOpcodes() {
  return {
      {"mma", decodeMma},
      {"wmma", decodeWmma},
      {"ldmatrix", decodeLoad},
      {"stmatrix", decodeStore, Writes::Nothing},
      {"movmatrix", decodeMove},
  };
}

}  // namespace sgpu
