#include "opcodes.h"

#include <unordered_map>

namespace sgpu {

namespace {

std::unordered_map<std::string, OpcodeRow> gatherOpcodes() {
  std::unordered_map<std::string, OpcodeRow> opcodes;
  for (auto table : {arithmeticOpcodes, bitOpcodes, comparisonOpcodes, conversionOpcodes,
                     memoryOpcodes, atomicOpcodes, warpOpcodes, matrixOpcodes, asyncOpcodes,
                     controlOpcodes}) {
    for (const OpcodeRow& row : table()) opcodes.emplace(row.opcode, row);
  }
  return opcodes;
}

}  // namespace

const OpcodeRow* findOpcode(const std::string& opcode) {
  static const std::unordered_map<std::string, OpcodeRow> opcodes = gatherOpcodes();
  auto found = opcodes.find(opcode);
  return found == opcodes.end() ? nullptr : &found->second;
}

size_t resultCount(const ptx::Instruction& instruction) {
  const OpcodeRow* row = findOpcode(instruction.opcode);
  if (!row) return 0;
  // Of barriers only reductions have a result.
  bool barrier = instruction.opcode == "bar" || instruction.opcode == "barrier";
  if (barrier && !instruction.has("red")) return 0;
  return row->writes == Writes::First ? 1 : 0;
}

}  // namespace sgpu
