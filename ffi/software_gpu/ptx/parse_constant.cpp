/// Constants: integers and the expressions made of them, floats.
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "parser.h"

namespace sgpu::ptx {

namespace {

constexpr size_t kLongestNumber = 64;
constexpr unsigned kMostNested = 32;
constexpr unsigned kProduct = 6;  ///< precedence of `*`

bool hasFloatPrefix(std::string_view text) {
  return text.size() > 1 && text[0] == '0' && std::strchr("fFdD", text[1]);
}

bool isFloatNumber(const Token& token) {
  if (token.kind != Token::Kind::Number) return false;
  bool hexadecimal = token.text.size() > 1 && (token.text[1] == 'x' || token.text[1] == 'X');
  return hasFloatPrefix(token.text) ||
         (!hexadecimal && token.text.find_first_of(".eE") != std::string_view::npos);
}

/// Of an operator between constants; 0 for what is none. `<<` and `>>` come as two marks.
unsigned precedenceOf(const Token& token, const Token& next) {
  if (token.kind != Token::Kind::Mark) return 0;
  switch (token.text[0]) {
    case '|': return 1;
    case '^': return 2;
    case '&': return 3;
    case '<': case '>': return next.isMark(token.text[0]) ? 4 : 0;
    case '+': case '-': return 5;
    case '*': case '/': case '%': return kProduct;
    default: return 0;
  }
}

}  // namespace

bool Parser::atConstant() const {
  if (current_.kind == Kind::Number || current_.isMark('~')) return true;
  if (current_.isMark('(')) return next_.kind == Kind::Number;
  return current_.isMark('-') && next_.kind != Kind::Word;
}

Operand Parser::parseImmediate() {
  bool negative = current_.isMark('-');
  if (isFloatNumber(negative ? next_ : current_)) {
    if (negative) take();
    return parseFloat(negative);
  }
  Operand immediate;
  immediate.kind = Operand::Kind::Immediate;
  immediate.literal = Type::S64;
  immediate.bits = parseConstant(1, 0);
  return immediate;
}

/// `0f` and `0d` with the bits of a float, or a decimal fraction, which is a double.
Operand Parser::parseFloat(bool negative) {
  Token token = take();
  std::string text(token.text.substr(0, kLongestNumber));
  Operand immediate;
  immediate.kind = Operand::Kind::Immediate;
  if (hasFloatPrefix(text)) {
    bool single = text[1] == 'f' || text[1] == 'F';
    size_t digits = single ? 8 : 16;
    bool good = text.size() == digits + 2 &&
                text.find_first_not_of("0123456789abcdefABCDEF", 2) == std::string::npos;
    if (!good) {
      refuse(token.line, "expected a float of " + std::to_string(digits) +
                             " hexadecimal digits, found " + token.shown());
    }
    immediate.literal = single ? Type::F32 : Type::F64;
    immediate.bits = std::strtoull(text.c_str() + 2, nullptr, 16);
    if (negative) immediate.bits ^= uint64_t(1) << (single ? 31 : 63);
    return immediate;
  }
  char* end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  if (*end != 0 || !std::isfinite(value)) {
    refuse(token.line, "expected a number, found " + token.shown());
  }
  if (negative) value = -value;
  immediate.literal = Type::F64;
  std::memcpy(&immediate.bits, &value, sizeof value);
  return immediate;
}

/// Operators of at least this precedence, each with what binds closer to its right.
uint64_t Parser::parseConstant(unsigned precedence, unsigned depth) {
  if (depth > kMostNested) refuse(current_.line, "constants are nested too deeply");
  std::string signs;
  while (current_.isMark('-') || current_.isMark('+') || current_.isMark('~')) {
    signs += take().text[0];
  }
  uint64_t left;
  if (takeMark('(')) {
    left = parseConstant(1, depth + 1);
    expectMark(')', "behind a constant");
  } else {
    left = expectInteger("a constant", ~uint64_t(0));
  }
  for (size_t i = signs.size(); i-- > 0;) {
    left = signs[i] == '-' ? 0 - left : signs[i] == '~' ? ~left : left;
  }
  for (;;) {
    unsigned found = precedenceOf(current_, next_);
    if (found < precedence || found == 0) return left;
    char operation = take().text[0];
    if (operation == '<' || operation == '>') take();
    uint64_t right = parseConstant(found + 1, depth + 1);
    left = evaluate(operation, left, right);
  }
}

uint64_t Parser::evaluate(char operation, uint64_t left, uint64_t right) const {
  switch (operation) {
    case '|': return left | right;
    case '^': return left ^ right;
    case '&': return left & right;
    case '<': return right < 64 ? left << right : 0;
    case '>': return right < 64 ? left >> right : 0;
    case '+': return left + right;
    case '-': return left - right;
    case '*': return left * right;
  }
  if (right == 0) refuse(current_.line, "a constant is divided by zero");
  bool quotient = operation == '/';
  // The one quotient that does not fit.
  if (right == ~uint64_t(0)) return quotient ? 0 - left : 0;
  int64_t dividend = static_cast<int64_t>(left), divisor = static_cast<int64_t>(right);
  return static_cast<uint64_t>(quotient ? dividend / divisor : dividend % divisor);
}

/// `+8`, `-8`, `+-8`, `+4*2`, or nothing.
int64_t Parser::parseOffset() {
  uint64_t offset = 0;
  while (current_.isMark('+') || current_.isMark('-')) offset += parseConstant(kProduct, 0);
  return static_cast<int64_t>(offset);
}

}  // namespace sgpu::ptx
