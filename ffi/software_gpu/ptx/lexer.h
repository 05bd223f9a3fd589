/// Splits PTX into words, numbers and marks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sgpu::ptx {

struct Token {
  enum class Kind : uint8_t {
    End,
    Word,    ///< `ld`, `%r1`, `$L__BB0_1`, `_`
    Dotted,  ///< `.global`, `.L2::128B`: a directive, a modifier or a type, without its dot
    Number,  ///< `12`, `0x1F`, `0f3F800000`, `1.5e-3`
    String,  ///< without its quotes
    Mark,    ///< one character
  };
  Kind kind = Kind::End;
  bool spaced = false;  ///< blanks or a comment come before it
  uint32_t line = 1;
  std::string_view text;

  bool is(Kind wanted, std::string_view what) const { return kind == wanted && text == what; }
  bool isMark(char mark) const { return kind == Kind::Mark && text[0] == mark; }
  /// As messages show it.
  std::string shown() const;
};

class Lexer {
 public:
  /// The text ends at its length or at a zero byte: drivers are given both.
  Lexer(const char* text, size_t length);
  /// @throws ParseError
  Token next();

 private:
  bool skipBlanks();

  const char* at_;
  const char* end_;
  uint32_t line_ = 1;
  bool lineBegins_ = true;
};

}  // namespace sgpu::ptx
