/// The grammar of PTX, by recursive descent over tokens. One file per part of it.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lexer.h"
#include "module.h"
#include "scopes.h"

namespace sgpu::ptx {

class Parser {
 public:
  Parser(const char* text, size_t length);
  Module parseModule();

 private:
  using Kind = Token::Kind;

  // parser.cpp: the module, and what all parts share.
  void parseTarget();
  void parseVersion();
  void parseAlias();
  /// `.extern`, `.visible`, `.weak`, `.common`: whether the first is among them.
  bool parseLinkage();
  void declareFunction(Function function);
  void declareVariable(Variable variable);
  /// `.loc`, `.file`, `.pragma`, `.section`: what runs does not depend on them.
  bool skipRemark();
  /// `.attribute(.managed)`
  bool skipAttribute();
  [[noreturn]] void fail(const std::string& expected) const;
  [[noreturn]] void refuse(uint32_t line, const std::string& message) const;
  Token take();
  bool takeMark(char mark);
  bool takeDotted(std::string_view word);
  void expectMark(char mark, const char* where);
  std::string expectWord(const char* what);
  Type expectType(const char* what);
  uint64_t expectInteger(const char* what, uint64_t most);
  uint32_t expectAlignment();
  uint64_t integerOf(const Token& token) const;

  // parse_variable.cpp: variables and their initial values.
  bool atSpace() const;
  Variable parseVariable(bool isExtern);
  void skipPointee();
  Variable parseParam();
  std::vector<Variable> parseParams();
  void parseSizes(Variable& variable, std::vector<uint64_t>& sizes, uint64_t elementBytes);
  void parseInitial(Variable& variable, std::vector<uint64_t>& sizes, uint64_t elementBytes);
  uint64_t parseRow(Variable& variable, const std::vector<uint64_t>& sizes, size_t dimension,
                    uint64_t at, uint64_t elementBytes);
  void parseValue(Variable& variable, uint64_t at, unsigned bytes);
  void relocate(Variable& variable, Relocation relocation, uint64_t mask);
  void put(Variable& variable, uint64_t at, uint64_t bits, unsigned bytes);

  // parse_function.cpp: signatures and bodies.
  Function parseFunction(bool isEntry);
  void parseDirectives(Function& function);
  void parseBody(Function& function);
  void parseStatement(Function& function);
  void parseRegisters();
  void parseLabel(Function& function);
  Function::Prototype parsePrototype();

  // parse_instruction.cpp
  Instruction parseInstruction();
  Operand parseOperand(unsigned depth);
  Operand parseList(char close, unsigned depth);
  Operand parseMemory(unsigned depth);
  int expectRegister(const char* what);
  std::string takeName();

  // parse_constant.cpp
  bool atConstant() const;
  Operand parseImmediate();
  Operand parseFloat(bool negative);
  uint64_t parseConstant(unsigned precedence, unsigned depth);
  uint64_t evaluate(char operation, uint64_t left, uint64_t right) const;
  int64_t parseOffset();

  Lexer lexer_;
  Token current_, next_;
  Module module_;
  std::unordered_map<std::string, size_t> functions_, variables_;
  Scopes* scopes_ = nullptr;  ///< of the function that is being read
  uint64_t initialBytes_ = 0, mostInitialBytes_;
};

}  // namespace sgpu::ptx
