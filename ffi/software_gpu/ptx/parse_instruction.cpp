/// Instructions: guard, opcode with its modifiers, operands.
#include "parser.h"

namespace sgpu::ptx {

namespace {

/// A list in a list, or coordinates in an address, is the deepest there is.
constexpr unsigned kMostNested = 4;
/// No instruction has as many operands or elements of a vector; arguments of calls are not counted.
constexpr size_t kMostOperands = 256;

}  // namespace

Instruction Parser::parseInstruction() {
  Instruction instruction;
  instruction.line = current_.line;
  if (takeMark('@')) {
    instruction.guardNegated = takeMark('!');
    instruction.guard = expectRegister("a predicate behind `@`");
  }
  instruction.opcode = expectWord("an instruction");
  while (current_.kind == Kind::Dotted) {
    std::string modifier(take().text);
    Type type = typeNamed(modifier);
    if (type != Type::None) instruction.type = type;
    instruction.modifiers.push_back(std::move(modifier));
  }
  if (!current_.isMark(';')) {
    do {
      if (instruction.operands.size() == kMostOperands) fail("`;` behind so many operands");
      instruction.operands.push_back(parseOperand(0));
    } while (takeMark(','));
  }
  if (!takeMark(';')) fail("`,` or `;` behind an operand of `" + instruction.text() + "`");
  return instruction;
}

Operand Parser::parseOperand(unsigned depth) {
  if (depth > kMostNested) refuse(current_.line, "operands are nested too deeply");
  if (atConstant()) return parseImmediate();
  if (takeMark('{')) return parseList('}', depth);
  if (takeMark('(')) return parseList(')', depth);
  if (takeMark('[')) return parseMemory(depth);
  Operand operand;
  bool negative = current_.isMark('-');
  operand.negated = takeMark('!') || takeMark('-');
  if (current_.kind != Kind::Word) fail("an operand");
  uint32_t line = current_.line;
  std::string name = takeName();
  if (name == "_") {
    operand.kind = Operand::Kind::None;
  } else if (name == "WARP_SZ") {
    operand.kind = Operand::Kind::Immediate;
    operand.literal = Type::S64;
    operand.bits = negative ? ~uint64_t(31) : 32;
  } else if ((operand.reg = scopes_->findRegister(name)) >= 0) {
    operand.kind = Operand::Kind::Register;
  } else if (name[0] == '%') {
    refuse(line, "register `" + name + "` is not declared");
  } else {
    operand.kind = Operand::Kind::Symbol;
    operand.symbol = scopes_->resolve(name);
    operand.offset = parseOffset();
  }
  bool mayPair = operand.kind == Operand::Kind::Register || operand.kind == Operand::Kind::None;
  if (mayPair && takeMark('|')) {
    if (!current_.is(Kind::Word, "_")) {
      operand.second = expectRegister("a register behind `|`");
    } else {
      take();
    }
  }
  return operand;
}

Operand Parser::parseList(char close, unsigned depth) {
  Operand list;
  list.kind = Operand::Kind::Vector;
  if (takeMark(close)) return list;
  do {
    if (close != ')' && list.elements.size() == kMostOperands) fail("the end of so many elements");
    list.elements.push_back(parseOperand(depth + 1));
  } while (takeMark(','));
  expectMark(close, "behind a list of operands");
  return list;
}

Operand Parser::parseMemory(unsigned depth) {
  Operand memory;
  memory.kind = Operand::Kind::Memory;
  if (current_.kind == Kind::Word) {
    uint32_t line = current_.line;
    std::string name = takeName();
    memory.reg = scopes_->findRegister(name);
    if (memory.reg < 0 && name[0] == '%') refuse(line, "register `" + name + "` is not declared");
    if (memory.reg < 0) memory.symbol = scopes_->resolve(name);
    memory.offset = parseOffset();
  } else {
    memory.offset = static_cast<int64_t>(parseConstant(1, 0));
  }
  if (takeMark(',')) {
    memory.elements = parseList(']', depth).elements;
  } else {
    expectMark(']', "behind an address");
  }
  return memory;
}

int Parser::expectRegister(const char* what) {
  if (current_.kind != Kind::Word) fail(what);
  uint32_t line = current_.line;
  std::string name = takeName();
  int found = scopes_->findRegister(name);
  if (found < 0) refuse(line, "register `" + name + "` is not declared");
  return found;
}

/// A word, joined with the `.x` of a special register.
std::string Parser::takeName() {
  if (current_.kind != Kind::Word) fail("a name");
  std::string name(take().text);
  if (name[0] == '%' && current_.kind == Kind::Dotted && !current_.spaced) {
    name += "." + std::string(take().text);
  }
  return name;
}

}  // namespace sgpu::ptx
