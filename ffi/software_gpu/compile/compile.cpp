/// From a module to a program: for each function its flow graph, the lives of its registers, their
/// slots, and one op for each instruction.
#include <algorithm>
#include <stdexcept>

#include "control_flow.h"
#include "errors.h"
#include "function_decoding.h"
#include "opcodes.h"

namespace sgpu {

namespace {

uint32_t product(const uint32_t (&sizes)[3]) {
  uint64_t all = 1;
  for (uint32_t size : sizes) all = std::min<uint64_t>(all * size, ~0u);
  return static_cast<uint32_t>(all);
}

/// A few of these make up a time slice.
constexpr unsigned kMostStraight = 64;

class FunctionCompiler {
 public:
  FunctionCompiler(const ptx::Function& function, Symbols& symbols, Program& program)
      : function_(function),
        symbols_(symbols),
        program_(program),
        flow_(function, symbols, program, static_cast<uint32_t>(program.ops.size())) {}

  FunctionCode compile() {
    FunctionCode code;
    symbols_.enter(function_, code);
    code.maxThreads = product(function_.maxThreads);
    std::copy_n(function_.requiredThreads, 3, code.requiredThreads);
    requireKnownOpcodes();
    FlowGraph graph = makeFlowGraph(function_);
    SlotMap map = allocateSlots(function_, findIntervals(function_, graph));
    code.registersPerThread = map.bytes / kSlotUnit;
    FunctionDecoding decoding(function_, symbols_, map, program_, code);
    code.begin = static_cast<uint32_t>(program_.ops.size());
    for (size_t i = 0; i < function_.code.size(); i++) {
      Op op = decode(function_.code[i], decoding);
      op.leader = graph.leaders[i];
      program_.ops.push_back(op);
    }
    Op end;
    end.flow = function_.isEntry ? Flow::Exit : Flow::Return;
    end.leader = graph.leaders.back();
    end.line = function_.code.empty() ? function_.line : function_.code.back().line;
    program_.ops.push_back(end);
    countStraight(code.begin);
    code.end = static_cast<uint32_t>(program_.ops.size());
    return code;
  }

 private:
  void countStraight(size_t begin) {
    const auto ops = program_.ops.data();
    for (size_t i = program_.ops.size() - 1; i-- > begin;) {
      if (ops[i].flow != Flow::Next || ops[i].guard >= 0) continue;
      const unsigned behind = ops[i + 1].leader ? 0 : ops[i + 1].straight;
      ops[i].straight = static_cast<uint16_t>(std::min(behind, kMostStraight - 1) + 1);
    }
  }

  void requireKnownOpcodes() {
    for (const ptx::Instruction& instruction : function_.code) {
      const std::string& opcode = instruction.opcode;
      bool ours = opcode == "bra" || opcode == "brx" || opcode == "call" || opcode == "ret" ||
                  opcode == "exit";
      if (!ours && !findOpcode(opcode)) refuse(instruction, "the instruction is not supported");
    }
  }

  Op decode(const ptx::Instruction& instruction, FunctionDecoding& decoding) {
    Op op;
    op.line = instruction.line;
    decoding.begin(instruction);
    if (instruction.guard >= 0) {
      op.guard = static_cast<int32_t>(decoding.predicateOf(instruction.guard));
      op.guardNegated = instruction.guardNegated;
    }
    try {
      if (flow_.decode(instruction, decoding, op)) return op;
      findOpcode(instruction.opcode)->decode(instruction, decoding, op);
    } catch (const std::out_of_range&) {
      refuse(instruction, "too few operands or modifiers");
    }
    decoding.requireAllUsed();
    bool runs = op.flow != Flow::Next || (op.full && op.partial);
    if (!runs) refuse(instruction, "the instruction is not supported with these modifiers");
    return op;
  }

  const ptx::Function& function_;
  Symbols& symbols_;
  Program& program_;
  ControlFlow flow_;
};

}  // namespace

std::unique_ptr<Program> compile(const ptx::Module& module, const AddressOf& addressOf) {
  auto program = std::make_unique<Program>();
  Symbols symbols(module, addressOf);
  program->byName = symbols.functions();
  for (const ptx::Function& function : module.functions) {
    if (!function.isDefined) continue;
    program->functions.push_back(
        FunctionCompiler(function, symbols, *program).compile());
  }
  return program;
}

}  // namespace sgpu
