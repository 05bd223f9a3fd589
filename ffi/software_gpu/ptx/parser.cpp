#include "parser.h"

namespace sgpu::ptx {

namespace {

constexpr unsigned kNewestVersion = 9;

}  // namespace

Parser::Parser(const char* text, size_t length)
    // An element of an initialiser takes two characters and at most eight bytes; rows that are not
    // filled take more, but nothing sensible takes much more than the text.
    : lexer_(text, length), mostInitialBytes_(16 * uint64_t(length) + 65536) {
  current_ = lexer_.next();
  next_ = lexer_.next();
}

Module Parser::parseModule() {
  parseVersion();
  while (current_.kind != Kind::End) {
    if (skipRemark() || takeMark(';')) continue;
    if (takeDotted("target")) {
      parseTarget();
    } else if (takeDotted("address_size")) {
      module_.addressSize = expectInteger("an address size", 64);
    } else if (takeDotted("alias")) {
      parseAlias();
    } else {
      bool isExtern = parseLinkage();
      if (takeDotted("entry")) {
        declareFunction(parseFunction(true));
      } else if (takeDotted("func")) {
        declareFunction(parseFunction(false));
      } else if (atSpace()) {
        declareVariable(parseVariable(isExtern));
        expectMark(';', "behind a variable");
      } else {
        fail("a directive such as `.entry`, `.func` or `.global`");
      }
    }
  }
  if (module_.target.empty()) fail("`.target`");
  for (const auto& [name, target] : module_.aliases) {
    if (!functions_.count(target)) {
      refuse(current_.line,
             "alias `" + name + "` is of a function `" + target + "` that is nowhere");
    }
  }
  return std::move(module_);
}

void Parser::parseVersion() {
  while (skipRemark()) continue;
  if (!takeDotted("version")) fail("`.version`");
  Token version = take();
  size_t dot = version.text.find('.');
  auto digits = [&](std::string_view text) {
    unsigned value = 0;
    for (char c : text) {
      if (c < '0' || c > '9' || value > 99) text = "";
      value = value * 10 + (c - '0');
    }
    return text.empty() ? ~0u : value;
  };
  if (version.kind == Kind::Number && dot != std::string_view::npos) {
    module_.versionMajor = digits(version.text.substr(0, dot));
    module_.versionMinor = digits(version.text.substr(dot + 1));
  }
  if (module_.versionMajor == 0 || module_.versionMajor > kNewestVersion ||
      module_.versionMinor > 99) {
    refuse(version.line, "expected a version of PTX from 1.0 to " +
                             std::to_string(kNewestVersion) + ".x, found " + version.shown());
  }
}

void Parser::parseTarget() {
  do {
    std::string word = expectWord("a target such as `sm_80`");
    bool architecture = word.rfind("sm_", 0) == 0 || word.rfind("compute_", 0) == 0;
    if (architecture) module_.target = word;
  } while (takeMark(','));
}

void Parser::parseAlias() {
  std::string name = expectWord("the alias");
  expectMark(',', "between an alias and its function");
  module_.aliases[name] = expectWord("a function");
  expectMark(';', "behind `.alias`");
}

bool Parser::parseLinkage() {
  bool isExtern = false;
  for (;;) {
    if (takeDotted("extern")) {
      isExtern = true;
    } else if (!takeDotted("visible") && !takeDotted("weak") && !takeDotted("common")) {
      return isExtern;
    }
  }
}

void Parser::declareFunction(Function function) {
  auto [found, isNew] = functions_.emplace(function.name, module_.functions.size());
  if (isNew) {
    module_.functions.push_back(std::move(function));
    return;
  }
  Function& known = module_.functions[found->second];
  if (known.isDefined && function.isDefined) {
    refuse(function.line, "function `" + function.name + "` is defined twice");
  }
  if (function.isDefined) known = std::move(function);
}

void Parser::declareVariable(Variable variable) {
  auto [found, isNew] = variables_.emplace(variable.name, module_.variables.size());
  if (isNew) {
    module_.variables.push_back(std::move(variable));
    return;
  }
  Variable& known = module_.variables[found->second];
  if (!known.isExtern && !variable.isExtern) {
    refuse(variable.line, "variable `" + variable.name + "` is defined twice");
  }
  if (!variable.isExtern) known = std::move(variable);
}

bool Parser::skipRemark() {
  if (takeDotted("loc")) {
    for (int i = 0; i < 3; i++) expectInteger("a number of `.loc`", ~0u);
    while (takeMark(',')) {
      std::string what = expectWord("`function_name` or `inlined_at`");
      if (what == "function_name") {
        takeName();
        parseOffset();
      } else if (what == "inlined_at") {
        for (int i = 0; i < 3; i++) expectInteger("a number of `inlined_at`", ~0u);
      } else {
        refuse(current_.line, "expected `function_name` or `inlined_at`, found `" + what + "`");
      }
    }
  } else if (takeDotted("file")) {
    expectInteger("the number of a file", ~0u);
    if (take().kind != Kind::String) fail("the name of a file");
    while (takeMark(',')) expectInteger("time or size of a file", ~uint64_t(0));
  } else if (takeDotted("pragma")) {
    do {
      if (current_.kind != Kind::String) fail("a string behind `.pragma`");
      take();
    } while (takeMark(','));
    expectMark(';', "behind `.pragma`");
  } else if (takeDotted("section")) {
    take();
    expectMark('{', "behind the name of a section");
    unsigned open = 1;
    while (open > 0) {
      if (current_.kind == Kind::End) fail("`}` behind a section");
      open += current_.isMark('{') ? 1 : current_.isMark('}') ? -1 : 0;
      take();
    }
  } else {
    return false;
  }
  return true;
}

bool Parser::skipAttribute() {
  if (!takeDotted("attribute")) return false;
  expectMark('(', "behind `.attribute`");
  unsigned open = 1;
  while (open > 0) {
    if (current_.kind == Kind::End) fail("`)` behind attributes");
    open += current_.isMark('(') ? 1 : current_.isMark(')') ? -1 : 0;
    take();
  }
  return true;
}

void Parser::fail(const std::string& expected) const {
  throw ParseError(current_.line, "expected " + expected + ", found " + current_.shown());
}

void Parser::refuse(uint32_t line, const std::string& message) const {
  throw ParseError(line, message);
}

Token Parser::take() {
  Token taken = current_;
  current_ = next_;
  next_ = lexer_.next();
  return taken;
}

bool Parser::takeMark(char mark) {
  if (!current_.isMark(mark)) return false;
  take();
  return true;
}

bool Parser::takeDotted(std::string_view word) {
  if (!current_.is(Kind::Dotted, word)) return false;
  take();
  return true;
}

void Parser::expectMark(char mark, const char* where) {
  if (!takeMark(mark)) fail(std::string("`") + mark + "` " + where);
}

std::string Parser::expectWord(const char* what) {
  if (current_.kind != Kind::Word) fail(what);
  return std::string(take().text);
}

Type Parser::expectType(const char* what) {
  Type type = current_.kind == Kind::Dotted ? typeNamed(current_.text) : Type::None;
  if (type == Type::None) fail(what);
  take();
  return type;
}

uint64_t Parser::expectInteger(const char* what, uint64_t most) {
  if (current_.kind != Kind::Number) fail(what);
  uint64_t value = integerOf(current_);
  if (value > most) fail(std::string(what) + " of at most " + std::to_string(most));
  take();
  return value;
}

uint32_t Parser::expectAlignment() {
  uint64_t value = expectInteger("an alignment", 1 << 20);
  if (value == 0 || (value & (value - 1)) != 0) {
    refuse(current_.line, "expected a power of two as alignment, found " + std::to_string(value));
  }
  return static_cast<uint32_t>(value);
}

uint64_t Parser::integerOf(const Token& token) const {
  auto bad = [&] { refuse(token.line, "expected an integer of 64 bits, found " + token.shown()); };
  std::string_view digits = token.text;
  if (!digits.empty() && digits.back() == 'U') digits.remove_suffix(1);
  unsigned base = 10;
  if (digits.size() > 1 && digits[0] == '0') {
    bool hexadecimal = digits[1] == 'x' || digits[1] == 'X';
    bool binary = digits[1] == 'b' || digits[1] == 'B';
    base = hexadecimal ? 16 : binary ? 2 : 8;
    digits.remove_prefix(hexadecimal || binary ? 2 : 1);
  }
  if (digits.empty()) bad();
  uint64_t value = 0;
  for (char c : digits) {
    unsigned digit = c >= '0' && c <= '9'   ? c - '0'
                     : c >= 'a' && c <= 'f' ? c - 'a' + 10
                     : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                            : 99;
    if (digit >= base || value > (~uint64_t(0) - digit) / base) bad();
    value = value * base + digit;
  }
  return value;
}

Module parse(const char* text, size_t length) { return Parser(text, length).parseModule(); }

}  // namespace sgpu::ptx
