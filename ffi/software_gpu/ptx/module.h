/// What a PTX text says: declarations, functions, instructions. Nothing here knows how it will run.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sgpu::ptx {

/// State spaces, PTX ISA 5.1. `Generic` is an address whose space is known only at run time.
enum class Space : uint8_t { Generic, Global, Shared, Local, Const, Param };

/// For messages: `constant`.
const char* nameOf(Space space);

/// Fundamental and packed types, PTX ISA 5.2. `None` is an instruction without a type.
enum class Type : uint8_t {
  None, Pred,
  B8, B16, B32, B64, B128,
  U8, U16, U32, U64,
  S8, S16, S32, S64,
  F16, F16x2, BF16, BF16x2, TF32, F32, F64,
};

/// Size of one value: 0 for `None`, 1 for a predicate.
unsigned bitsOf(Type type);
inline unsigned bytesOf(Type type) { return (bitsOf(type) + 7) / 8; }
bool isSigned(Type type);
bool isFloat(Type type);
/// The type that a word such as `f32` names, `None` for any other word.
Type typeNamed(std::string_view word);

/// A vector whose `[]` checks: an operand that an instruction ought to have and the text lacks throws
/// `std::out_of_range`, which the compiler reports with the instruction's line.
template <class T>
struct List : std::vector<T> {
  using std::vector<T>::vector;
  T& operator[](size_t index) { return this->at(index); }
  const T& operator[](size_t index) const { return this->at(index); }
};

struct Operand {
  enum class Kind : uint8_t {
    None,       ///< `_`, a result that nobody wants
    Register,   ///< `%r1`, `!%p1`, `%p1|%p2`, `%tid.x`
    Immediate,  ///< an integer, or the bits of a float
    Symbol,     ///< the address of a variable or function, or a label
    Memory,     ///< `[%rd1+8]`, `[symbol+4]`, `[64]`; what follows a comma in it are `elements`
    Vector,     ///< `{%f1, %f2}`; of `call`, a list in parentheses
  };
  Kind kind = Kind::None;
  bool negated = false;       ///< `!%p` or `-%r`
  int reg = -1;               ///< index in `Function::registers`; of `Memory`, the base
  int second = -1;            ///< the other register of `d|p`
  Type literal = Type::None;  ///< of `Immediate`: S64 as written, F32 (0f...), F64 (0d... or 1.5)
  uint64_t bits = 0;          ///< of `Immediate`: two's complement, or the float's bits
  int64_t offset = 0;         ///< of `Memory` and `Symbol`: bytes behind the base
  std::string symbol;         ///< of `Symbol`, and of `Memory` whose base is one
  List<Operand> elements;
};

struct Instruction {
  int guard = -1;             ///< predicate register, or -1
  bool guardNegated = false;
  std::string opcode;                  ///< the first word: `ld`, `mma`, `setp`
  List<std::string> modifiers;         ///< the other words, types included, in order
  Type type = Type::None;              ///< the last modifier that is a type
  List<Operand> operands;
  uint32_t line = 0;

  bool has(const char* modifier) const;
  /// The whole opcode as written, for messages: `ld.global.v4.f32`.
  std::string text() const;
};

struct Register {
  std::string name;  ///< unique in its function, whatever scope it was declared in
  Type type;
  bool special = false;  ///< `%tid.x`, `%laneid`, ...
};

/// A piece of an initialiser that is an address.
struct Relocation {
  uint64_t at;         ///< bytes from the variable's begin
  unsigned bytes;
  std::string symbol;
  int64_t addend;
  bool generic;        ///< `generic(symbol)`, against an address in the symbol's own space
};

struct Variable {
  std::string name;
  Space space = Space::Global;
  Type type = Type::B8;
  uint64_t bytes = 0;       ///< 0 for `extern .shared x[]`, whose size a launch gives
  uint32_t alignment = 1;
  bool isExtern = false;
  std::vector<uint8_t> initial;  ///< the first bytes; those behind them are zero
  std::vector<Relocation> relocations;
  uint32_t line = 0;
};

struct Function {
  std::string name;
  bool isEntry = false;
  bool isDefined = false;             ///< has a body; otherwise a declaration
  std::vector<Variable> params;       ///< space `Param`
  std::vector<Variable> results;      ///< of a `.func`
  std::vector<Register> registers;
  std::vector<Variable> variables;    ///< declared in the body: shared, local, param of calls
  std::vector<Instruction> code;
  std::unordered_map<std::string, uint32_t> labels;  ///< to an index in `code`, may be its end
  /// `.branchtargets` and `.calltargets`.
  std::unordered_map<std::string, std::vector<std::string>> targets;
  /// `.callprototype`: sizes and alignments of what an indirect call passes.
  struct Prototype { std::vector<Variable> params, results; };
  std::unordered_map<std::string, Prototype> prototypes;
  uint32_t maxThreads[3] = {0, 0, 0};       ///< `.maxntid`, 0 where not given
  uint32_t requiredThreads[3] = {0, 0, 0};  ///< `.reqntid`
  uint32_t line = 0;
};

struct Module {
  unsigned versionMajor = 0, versionMinor = 0;
  std::string target;     ///< e.g. `sm_80`
  unsigned addressSize = 64;
  std::vector<Function> functions;   ///< a definition replaces its declaration
  std::vector<Variable> variables;   ///< global, const, shared
  std::unordered_map<std::string, std::string> aliases;  ///< `.alias`: another name of a function
};

/// Malformed PTX: `what()` names the line and what was expected there.
struct ParseError : std::exception {
  uint32_t line;
  std::string message;
  ParseError(uint32_t line, const std::string& message);
  const char* what() const noexcept override { return message.c_str(); }
};

/// Reads a PTX text. Knows the grammar, not the instructions: whether `foo.bar.u32` exists is for
/// the compiler to say.
/// @throws ParseError
Module parse(const char* text, size_t length);

}  // namespace sgpu::ptx
