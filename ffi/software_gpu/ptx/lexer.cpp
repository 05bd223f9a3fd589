#include "lexer.h"

#include <cstring>

#include "module.h"

namespace sgpu::ptx {

namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool isNamePart(char c) { return isLetter(c) || isDigit(c) || c == '$'; }

}  // namespace

std::string Token::shown() const {
  if (kind == Kind::End) return "the end of the text";
  std::string shown = kind == Kind::Dotted ? "`." : "`";
  for (char c : text.substr(0, 40)) shown += c >= ' ' && c <= '~' ? c : '?';
  return shown + (text.size() > 40 ? "...`" : "`");
}

Lexer::Lexer(const char* text, size_t length) : at_(text), end_(text) {
  if (length > 0) {
    const void* zero = std::memchr(text, 0, length);
    end_ = zero ? static_cast<const char*>(zero) : text + length;
  }
}

bool Lexer::skipBlanks() {
  const char* begin = at_;
  while (at_ < end_) {
    bool more = end_ - at_ > 1;
    if (*at_ == '\n') {
      line_++;
      at_++;
      lineBegins_ = true;
    } else if (*at_ == ' ' || *at_ == '\t' || *at_ == '\r' || *at_ == '\f' || *at_ == '\v') {
      at_++;
    } else if ((*at_ == '/' && more && at_[1] == '/') || (*at_ == '#' && lineBegins_)) {
      // A line of the C preprocessor is a comment to us: it names the file that the text came from.
      while (at_ < end_ && *at_ != '\n') at_++;
    } else if (*at_ == '/' && more && at_[1] == '*') {
      uint32_t opened = line_;
      at_ += 2;
      while (end_ - at_ >= 2 && !(at_[0] == '*' && at_[1] == '/')) {
        if (*at_++ == '\n') line_++;
      }
      if (end_ - at_ < 2) throw ParseError(opened, "expected `*/` behind a comment");
      at_ += 2;
    } else {
      break;
    }
  }
  return at_ != begin;
}

Token Lexer::next() {
  Token token;
  token.spaced = skipBlanks();
  token.line = line_;
  lineBegins_ = false;
  if (at_ == end_) return token;
  const char* begin = at_++;
  char first = *begin;
  if (isLetter(first) || first == '%' || first == '$') {
    token.kind = Token::Kind::Word;
    while (at_ < end_ && isNamePart(*at_)) at_++;
  } else if (first == '.' && at_ < end_ && (isLetter(*at_) || isDigit(*at_))) {
    token.kind = Token::Kind::Dotted;
    begin++;
    while (at_ < end_) {
      if (isNamePart(*at_)) {
        at_++;
      } else if (end_ - at_ > 2 && at_[0] == ':' && at_[1] == ':' && isNamePart(at_[2])) {
        at_ += 2;
      } else {
        break;
      }
    }
  } else if (isDigit(first)) {
    token.kind = Token::Kind::Number;
    bool hexadecimal = first == '0' && at_ < end_ && std::strchr("xXfFdDbB", *at_);
    while (at_ < end_) {
      bool exponent = !hexadecimal && (at_[-1] == 'e' || at_[-1] == 'E');
      if (!isNamePart(*at_) && *at_ != '.' && !(exponent && (*at_ == '-' || *at_ == '+'))) break;
      at_++;
    }
  } else if (first == '"') {
    token.kind = Token::Kind::String;
    begin++;
    while (at_ < end_ && *at_ != '"' && *at_ != '\n') at_++;
    if (at_ == end_ || *at_ != '"') throw ParseError(line_, "expected `\"` behind a string");
    token.text = std::string_view(begin, at_ - begin);
    at_++;
    return token;
  } else {
    token.kind = Token::Kind::Mark;
  }
  token.text = std::string_view(begin, at_ - begin);
  return token;
}

}  // namespace sgpu::ptx
