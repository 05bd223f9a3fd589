/// Variables and parameters: space, alignment, type, sizes, initial value.
#include <algorithm>

#include "literal.h"
#include "parser.h"

namespace sgpu::ptx {

namespace {

/// Beyond the memory of any device; keeps products of sizes from overflowing.
constexpr uint64_t kMostBytes = uint64_t(1) << 42;
constexpr size_t kMostDimensions = 16;

Space spaceNamed(std::string_view word) {
  return word == "global"   ? Space::Global
         : word == "shared" ? Space::Shared
         : word == "const"  ? Space::Const
         : word == "local"  ? Space::Local
         : word == "param"  ? Space::Param
                            : Space::Generic;
}

}  // namespace

bool Parser::atSpace() const {
  return current_.kind == Kind::Dotted && spaceNamed(current_.text) != Space::Generic;
}

Variable Parser::parseVariable(bool isExtern) {
  Variable variable;
  variable.isExtern = isExtern;
  variable.space = spaceNamed(take().text);
  unsigned vector = 1;
  while (current_.kind == Kind::Dotted && typeNamed(current_.text) == Type::None) {
    std::string_view word = current_.text;
    if (skipAttribute()) continue;
    if (takeDotted("align")) {
      variable.alignment = expectAlignment();
    } else if (takeDotted("v2")) {
      vector = 2;
    } else if (takeDotted("v4")) {
      vector = 4;
    } else if (takeDotted("v8")) {
      vector = 8;
    } else if (takeDotted("ptr")) {
      skipPointee();
    } else {
      fail("a type of variable, e.g. `.b8`, instead of `." + std::string(word) + "`");
    }
  }
  variable.type = expectType("a type of variable, e.g. `.b8`");
  // `.param .b64 .ptr .global .align 8 name`: the newer place of `.ptr`.
  if (takeDotted("ptr")) skipPointee();
  if (variable.type == Type::Pred) refuse(current_.line, "a predicate cannot lie in memory");
  variable.line = current_.line;
  variable.name = expectWord("the name of a variable");
  uint64_t elementBytes = uint64_t(vector) * bytesOf(variable.type);
  variable.alignment = std::max<uint32_t>(variable.alignment, elementBytes);
  std::vector<uint64_t> sizes;
  parseSizes(variable, sizes, elementBytes);
  if (takeMark('=')) parseInitial(variable, sizes, elementBytes);
  return variable;
}

/// What a pointer points to, `.global .align 16`: said for optimisers.
void Parser::skipPointee() {
  if (atSpace()) take();
  if (takeDotted("align")) expectAlignment();
}

/// `[4][5]`, or `[]` for what an initialiser or a launch says.
void Parser::parseSizes(Variable& variable, std::vector<uint64_t>& sizes, uint64_t elementBytes) {
  uint64_t product = elementBytes;
  while (takeMark('[')) {
    uint64_t size = current_.isMark(']') ? 0 : parseConstant(1, 0);
    expectMark(']', "behind the size of an array");
    if (size == 0 && !sizes.empty()) refuse(variable.line, "only the first size may be left open");
    sizes.push_back(size);
    if (sizes.size() > kMostDimensions) refuse(variable.line, "an array of too many dimensions");
    if (size == 0) continue;
    if (size > kMostBytes || product > kMostBytes / size) {
      refuse(variable.line, "variable `" + variable.name + "` is too large");
    }
    product *= size;
  }
  bool open = !sizes.empty() && sizes[0] == 0;
  variable.bytes = open ? 0 : product;
}

void Parser::parseInitial(Variable& variable, std::vector<uint64_t>& sizes, uint64_t elementBytes) {
  if (variable.space != Space::Global && variable.space != Space::Const) {
    refuse(variable.line, "only global and constant variables have initial values");
  }
  unsigned scalarBytes = bytesOf(variable.type);
  // A vector is one more dimension to its initialiser.
  if (elementBytes > scalarBytes) sizes.push_back(elementBytes / scalarBytes);
  uint64_t end = sizes.empty() ? (parseValue(variable, 0, scalarBytes), scalarBytes)
                               : parseRow(variable, sizes, 0, 0, scalarBytes);
  bool open = !sizes.empty() && sizes[0] == 0;
  if (open) variable.bytes = end;
  while (!variable.initial.empty() && variable.initial.back() == 0) variable.initial.pop_back();
}

/// `{ 1, 2, { ... } }`, or the elements of an inner array without braces of their own.
/// @returns Where the row ends.
uint64_t Parser::parseRow(Variable& variable, const std::vector<uint64_t>& sizes, size_t dimension,
                          uint64_t at, uint64_t scalarBytes) {
  expectMark('{', "before initial values");
  uint64_t stride = scalarBytes;
  for (size_t i = dimension + 1; i < sizes.size(); i++) stride *= sizes[i];
  bool open = dimension == 0 && sizes[0] == 0;
  uint64_t begin = at;
  uint64_t end = open ? kMostBytes : at + stride * sizes[dimension];
  if (!current_.isMark('}')) {
    do {
      bool nested = current_.isMark('{') && dimension + 1 < sizes.size();
      if (at >= end) refuse(current_.line, "`" + variable.name + "` has too many initial values");
      if (nested) {
        if ((at - begin) % stride != 0) fail("an initial value");
        parseRow(variable, sizes, dimension + 1, at, scalarBytes);
        at += stride;
      } else {
        parseValue(variable, at, static_cast<unsigned>(scalarBytes));
        at += scalarBytes;
      }
    } while (takeMark(','));
  }
  expectMark('}', "behind initial values");
  return open ? std::max(at, begin) : end;
}

void Parser::put(Variable& variable, uint64_t at, uint64_t bits, unsigned bytes) {
  uint64_t end = at + bytes;
  if (end > variable.initial.size()) {
    initialBytes_ += end - variable.initial.size();
    if (initialBytes_ > mostInitialBytes_) {
      refuse(current_.line, "initial values leave too much of `" + variable.name + "` open");
    }
    variable.initial.resize(end);
  }
  for (unsigned i = 0; i < bytes && i < 8; i++) variable.initial[at + i] = bits >> 8 * i;
}

/// A number, `symbol + 4`, `generic(symbol)`, or one byte of an address: `0xFF00(symbol)`.
void Parser::parseValue(Variable& variable, uint64_t at, unsigned bytes) {
  uint64_t mask = ~uint64_t(0);
  if (current_.kind == Kind::Number && next_.isMark('(')) {
    mask = integerOf(take());
    expectMark('(', "behind a mask");
  } else if (atConstant()) {
    Operand value = parseImmediate();
    if (value.literal == Type::S64 && isFloat(variable.type)) {
      refuse(current_.line, "expected a float as initial value of `" + variable.name + "`");
    }
    put(variable, at, literalBits(value, variable.type), bytes);
    return;
  }
  Relocation relocation{at, bytes, {}, 0, false};
  bool generic = current_.is(Kind::Word, "generic") && next_.isMark('(');
  if (generic) {
    take();
    take();
    relocation.generic = true;
  }
  relocation.symbol = expectWord("an initial value");
  relocation.addend = parseOffset();
  if (generic) {
    expectMark(')', "behind `generic`");
    relocation.addend += parseOffset();
  }
  if (mask != ~uint64_t(0)) expectMark(')', "behind a masked address");
  relocate(variable, relocation, mask);
  put(variable, at, 0, bytes);
}

/// The eight bytes of an address, given one by one with a mask each, are one relocation.
void Parser::relocate(Variable& variable, Relocation relocation, uint64_t mask) {
  if (mask == ~uint64_t(0)) {
    if (relocation.bytes < 4) {
      refuse(current_.line, "an address does not fit an element of `" + variable.name + "`");
    }
    relocation.bytes = std::min(relocation.bytes, 8u);
    variable.relocations.push_back(relocation);
    return;
  }
  unsigned shift = 0;
  while (shift < 64 && mask != uint64_t(0xFF) << shift) shift += 8;
  if (shift == 0) {
    relocation.bytes = 1;
    variable.relocations.push_back(relocation);
    return;
  }
  Relocation* before = variable.relocations.empty() ? nullptr : &variable.relocations.back();
  if (shift == 64 || relocation.bytes != 1 || !before || before->symbol != relocation.symbol ||
      before->addend != relocation.addend || before->generic != relocation.generic ||
      before->at + before->bytes != relocation.at || before->bytes * 8 != shift) {
    refuse(current_.line, "expected the bytes of an address in order, lowest first");
  }
  before->bytes++;
}

Variable Parser::parseParam() {
  if (!current_.is(Kind::Dotted, "param")) {
    fail("`.param`; parameters in registers are not supported");
  }
  Variable param = parseVariable(false);
  param.space = Space::Param;
  return param;
}

std::vector<Variable> Parser::parseParams() {
  std::vector<Variable> params;
  expectMark('(', "before parameters");
  if (takeMark(')')) return params;
  do {
    params.push_back(parseParam());
  } while (takeMark(','));
  expectMark(')', "behind parameters");
  return params;
}

}  // namespace sgpu::ptx
