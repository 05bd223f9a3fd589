/// Functions: signature, directives, and the statements of a body.
#include "parser.h"

namespace sgpu::ptx {

namespace {

constexpr size_t kMostNested = 64;
constexpr uint32_t kMostRegisters = 1 << 24;

}  // namespace

Function Parser::parseFunction(bool isEntry) {
  Function function;
  function.isEntry = isEntry;
  skipAttribute();
  if (!isEntry && current_.isMark('(')) function.results = parseParams();
  function.line = current_.line;
  function.name = expectWord("the name of a function");
  if (current_.isMark('(')) function.params = parseParams();
  parseDirectives(function);
  if (takeMark(';')) return function;
  if (!current_.isMark('{')) fail("`{` or `;` behind the head of a function");
  function.isDefined = true;
  parseBody(function);
  return function;
}

/// What stands between the head of a function and its body: `.maxntid 256, 1, 1`.
void Parser::parseDirectives(Function& function) {
  while (current_.kind == Kind::Dotted) {
    if (skipRemark()) continue;
    std::string word(take().text);
    if (word == "noreturn" || word == "explicitcluster" || word == "blocksareclusters") continue;
    uint32_t* kept = word == "maxntid" ? function.maxThreads
                     : word == "reqntid" ? function.requiredThreads
                                         : nullptr;
    bool known = kept || word == "minnctapersm" || word == "maxnctapersm" || word == "maxnreg" ||
                 word == "reqnctapercluster" || word == "maxclusterrank" ||
                 word == "abi_preserve" || word == "abi_preserve_control";
    if (!known) refuse(current_.line, "`." + word + "` is not a directive of a function");
    uint32_t values[3] = {1, 1, 1};
    unsigned count = 0;
    do {
      if (count == 3) fail("at most three numbers");
      values[count++] = expectInteger("a number", ~0u);
    } while (takeMark(','));
    for (unsigned i = 0; kept && i < 3; i++) kept[i] = values[i];
  }
}

void Parser::parseBody(Function& function) {
  Scopes scopes(function);
  scopes_ = &scopes;
  expectMark('{', "before a body");
  while (scopes.depth() > 0) {
    if (takeMark('}')) {
      scopes.close();
    } else if (takeMark('{')) {
      if (scopes.depth() == kMostNested) refuse(current_.line, "scopes are nested too deeply");
      scopes.open();
    } else {
      parseStatement(function);
    }
  }
  scopes_ = nullptr;
}

void Parser::parseStatement(Function& function) {
  if (takeMark(';') || skipRemark()) return;
  if (current_.kind == Kind::Word && next_.isMark(':')) return parseLabel(function);
  if (takeDotted("reg")) return parseRegisters();
  if (current_.kind != Kind::Dotted) {
    function.code.push_back(parseInstruction());
    return;
  }
  bool isExtern = parseLinkage();
  bool ours = current_.text == "shared" || current_.text == "local" || current_.text == "param";
  if (!ours) fail("`.reg`, `.param`, `.local`, `.shared` or an instruction");
  uint32_t line = current_.line;
  Variable variable = parseVariable(isExtern);
  std::string name = variable.name;
  if (!scopes_->declareVariable(std::move(variable))) {
    refuse(line, "variable `" + name + "` is declared twice");
  }
  expectMark(';', "behind a variable");
}

/// `.reg .b32 %a, %r<100>;`
void Parser::parseRegisters() {
  Type type = expectType("a type of register, e.g. `.b32`");
  do {
    uint32_t line = current_.line;
    std::string name = expectWord("the name of a register");
    bool isNew;
    if (takeMark('<')) {
      uint32_t count = expectInteger("a number of registers", kMostRegisters);
      expectMark('>', "behind a number of registers");
      isNew = scopes_->declareRegisters(name, count, type);
    } else {
      isNew = scopes_->declareRegister(name, type);
    }
    if (!isNew) refuse(line, "register `" + name + "` is declared twice");
  } while (takeMark(','));
  expectMark(';', "behind registers");
}

/// A place in the code, or the name of a list of targets or of a prototype.
void Parser::parseLabel(Function& function) {
  uint32_t line = current_.line;
  std::string name(take().text);
  take();
  std::string label = scopes_->declareLabel(name);
  if (label.empty()) refuse(line, "label `" + name + "` is declared twice");
  if (takeDotted("branchtargets") || takeDotted("calltargets")) {
    std::vector<std::string> targets;
    do {
      targets.push_back(expectWord("a target"));
    } while (takeMark(','));
    expectMark(';', "behind targets");
    scopes_->addTargets(label, std::move(targets));
  } else if (takeDotted("callprototype")) {
    function.prototypes.emplace(label, parsePrototype());
  } else {
    function.labels.emplace(label, static_cast<uint32_t>(function.code.size()));
  }
}

/// `(.param .b32 _) _ (.param .b64 _, .param .b32 _)`
Function::Prototype Parser::parsePrototype() {
  Function::Prototype prototype;
  if (current_.isMark('(')) prototype.results = parseParams();
  expectWord("`_` in a prototype");
  if (current_.isMark('(')) prototype.params = parseParams();
  Function ignored;
  parseDirectives(ignored);
  expectMark(';', "behind a prototype");
  return prototype;
}

}  // namespace sgpu::ptx
