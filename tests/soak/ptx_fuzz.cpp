/// Mutated PTX: each text has to become a program, whose kernels end or fault, or one of the two
/// errors that say what is wrong with it, soon. Input n of a seed is always the same, so that a
/// failure can be seen again.
///
///     ptx_fuzz <seed> <first> <count> <seconds, 0 for no bound> <file.ptx>...
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "../../ffi/software_gpu/compile/program.h"
#include "../../ffi/software_gpu/execute/launch.h"
#include "../../ffi/software_gpu/memory/address_space.h"

namespace {

using Clock = std::chrono::steady_clock;

/// Far longer than any of these texts takes, even beneath a sanitizer.
constexpr unsigned kSecondsPerInput = 20;
/// Of one kernel: enough to get past its begin.
constexpr uint64_t kInstructions = 3000;

volatile uint64_t current = 0;

/// Names the input whose text ended or stalled the process.
void reportInput(int signal) {
  char line[64];
  int length = std::snprintf(line, sizeof line, "signal %d in input %llu\n", signal,
                             static_cast<unsigned long long>(current));
  if (write(STDERR_FILENO, line, length) < 0) _exit(2);
  _exit(1);
}

/// Pieces of a text: words with their dots, numbers, single marks, blanks. Together they are the text.
std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> tokens;
  auto kind = [](char c) {
    bool word = isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '%' || c == '$';
    return word ? 0 : c == ' ' || c == '\n' || c == '\t' ? 1 : 2;
  };
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    while (end < text.size() && kind(text[i]) != 2 && kind(text[end]) == kind(text[i])) end++;
    tokens.push_back(text.substr(i, end - i));
    i = end;
  }
  return tokens;
}

std::vector<std::string> splitLines(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < text.size();) {
    size_t end = text.find('\n', i);
    end = end == std::string::npos ? text.size() : end + 1;
    lines.push_back(text.substr(i, end - i));
    i = end;
  }
  return lines;
}

std::string join(const std::vector<std::string>& pieces) {
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  return text;
}

class Mutator {
 public:
  explicit Mutator(std::vector<std::string> texts) : texts_(std::move(texts)) {
    for (const std::string& text : texts_) {
      tokens_.push_back(split(text));
      lines_.push_back(splitLines(text));
    }
  }

  std::string make(uint64_t seed, uint64_t index) {
    random_.seed(seed * 0x9E3779B97F4A7C15 + index);
    size_t file = below(texts_.size());
    switch (below(4)) {
      case 0: return mutateBytes(texts_[file]);
      case 1: return join(mutatePieces(tokens_[file], tokens_));
      case 2: return join(mutatePieces(lines_[file], lines_));
      default: return mutateBytes(join(mutatePieces(split(texts_[file]), tokens_)));
    }
  }

 private:
  size_t below(size_t count) { return count == 0 ? 0 : random_() % count; }

  std::string mutateBytes(std::string text) {
    for (size_t changes = 1 + below(4); changes > 0 && !text.empty(); changes--) {
      size_t at = below(text.size());
      switch (below(6)) {
        case 0: text[at] = static_cast<char>(random_()); break;
        case 1: text[at] ^= 1 << below(8); break;
        case 2: text.erase(at, 1 + below(8)); break;
        case 3: text.insert(at, 1, static_cast<char>(random_())); break;
        case 4: text.resize(at); break;
        default: text.insert(at, text.substr(below(text.size()), below(200))); break;
      }
    }
    return text;
  }

  /// Pieces are dropped, doubled, swapped, or taken from any of the texts.
  std::vector<std::string> mutatePieces(std::vector<std::string> pieces,
                                        const std::vector<std::vector<std::string>>& all) {
    for (size_t changes = 1 + below(3); changes > 0 && !pieces.empty(); changes--) {
      size_t at = below(pieces.size());
      const std::vector<std::string>& donor = all[below(all.size())];
      switch (below(7)) {
        case 0: pieces.erase(pieces.begin() + at); break;
        case 1: pieces.insert(pieces.begin() + at, pieces[below(pieces.size())]); break;
        case 2: std::swap(pieces[at], pieces[below(pieces.size())]); break;
        case 3: pieces[at] = donor[below(donor.size())]; break;
        case 4: pieces[at] = extreme(); break;
        case 5: pieces.insert(pieces.begin() + at, extreme()); break;
        default: {
          size_t from = below(donor.size()), count = below(std::min<size_t>(donor.size() - from, 40));
          pieces.insert(pieces.begin() + at, donor.begin() + from, donor.begin() + from + count);
        }
      }
    }
    return pieces;
  }

  /// What limits are there for.
  std::string extreme() {
    static const char* const kExtremes[] = {
        "0", "-1", "1", "4294967295", "4294967296", "9223372036854775807", "18446744073709551615",
        "99999999999999999999999", "0x", "0f", "0f7FC00000", "0dFFF0000000000000", "1e999", "1.5",
        "_", "%", "$", ".", "..", "::", "\"", "/*", "//", "<1000000000>", "[2147483647][2147483647]",
        ".param .b8 x[1099511627776];", ".shared .align 1048576 .b8 y[99999999];",
        ".global .u8 z[][4] = {{1},{2}};", "{", "}", "(", ")", "[", "]", "WARP_SZ", "%envreg2",
        "ret;", "L: bra L;", "generic(", "0xFF00("};
    size_t choice = below(std::size(kExtremes) + 2);
    if (choice < std::size(kExtremes)) return kExtremes[choice];
    static const char* const kRepeated[] = {"{", "(", "[", "-", "{.reg .b32 r;", "a:", ".v4", "!"};
    std::string once = kRepeated[below(std::size(kRepeated))], many;
    for (size_t count = 1 + below(3000); count > 0; count--) many += once;
    return many;
  }

  std::mt19937_64 random_;
  std::vector<std::string> texts_;
  std::vector<std::vector<std::string>> tokens_, lines_;
};

/// Memory that kernels may touch: the module's variables, and what their parameters point to.
class Arena {
 public:
  Arena() : bytes_(kBytes) { sgpu::addressSpace().add({begin(), begin() + kBytes}); }
  ~Arena() { sgpu::addressSpace().remove(begin(), begin() + kBytes); }

  uint64_t begin() const { return reinterpret_cast<uint64_t>(bytes_.data()); }
  uint64_t addressOf(const sgpu::ptx::Variable& variable) {
    uint64_t at = next_;
    next_ = (next_ + std::min<uint64_t>(variable.bytes, kBytes) + 255) / 256 * 256 % kBytes;
    return begin() + at;
  }

 private:
  static constexpr uint64_t kBytes = 1 << 18;
  std::vector<uint8_t> bytes_;
  uint64_t next_ = 0;
};

/// Pointers point to memory; all else is small, so that loops end.
std::vector<uint8_t> makeParams(const sgpu::FunctionCode& kernel, uint64_t pointer) {
  std::vector<uint8_t> params(kernel.paramBytes, 1);
  for (const sgpu::ParamLayout& param : kernel.params) {
    uint64_t value = param.bytes == 8 ? pointer : 40;
    if (param.bytes == 8 || param.bytes == 4) {
      std::memcpy(params.data() + param.offset, &value, param.bytes);
    }
  }
  return params;
}

void runKernels(std::shared_ptr<const sgpu::Program> program, const Arena& arena, uint64_t seed) {
  for (uint32_t i = 0; i < program->functions.size(); i++) {
    const sgpu::FunctionCode& kernel = program->functions[i];
    if (!kernel.isEntry) continue;
    sgpu::Launch launch;
    launch.program = program;
    launch.function = i;
    launch.block[0] = 70;  // two warps and a part of one
    launch.dynamicShared = 4096;
    launch.params = makeParams(kernel, arena.begin() + 1024);
    launch.options.instructionBudget = kInstructions;
    launch.options.adversarialSeed = seed;
    sgpu::GridProgress progress;
    sgpu::ExecutionCounters counters;
    try {
      sgpu::runGrid(launch, progress, counters, [] { return true; });
    } catch (const sgpu::Fault& fault) {
      if (fault.message().empty()) abort();
    }
  }
}

/// Copied to memory of exactly its length, so that a sanitizer sees a step beyond it.
void load(const std::string& text, size_t& programs, size_t& refused) {
  std::vector<char> exact(text.begin(), text.end());
  Arena arena;
  std::shared_ptr<const sgpu::Program> program;
  try {
    sgpu::ptx::Module module = sgpu::ptx::parse(exact.data(), exact.size());
    program = sgpu::compile(
        module, [&](const sgpu::ptx::Variable& variable) { return arena.addressOf(variable); });
  } catch (const sgpu::ptx::ParseError& error) {
    if (error.message.empty()) abort();
  } catch (const sgpu::CompileError& error) {
    if (error.message.empty()) abort();
  }
  if (program) runKernels(program, arena, current % 2 == 0 ? 0 : current);
  (program ? programs : refused)++;
}

}  // namespace

int main(int count, char** words) {
  if (count < 6) {
    std::fprintf(stderr, "ptx_fuzz <seed> <first> <count> <seconds> <file.ptx>...\n");
    return 2;
  }
  uint64_t seed = std::strtoull(words[1], nullptr, 10);
  uint64_t first = std::strtoull(words[2], nullptr, 10);
  uint64_t inputs = std::strtoull(words[3], nullptr, 10);
  uint64_t seconds = std::strtoull(words[4], nullptr, 10);
  std::vector<std::string> texts;
  for (int i = 5; i < count; i++) {
    std::ifstream file(words[i], std::ios::binary);
    texts.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    if (texts.back().empty()) {
      std::fprintf(stderr, "%s cannot be read\n", words[i]);
      return 2;
    }
  }
  for (int signal : {SIGALRM, SIGSEGV, SIGABRT, SIGFPE, SIGILL, SIGBUS}) {
    ::signal(signal, reportInput);
  }
  Mutator mutator(texts);
  size_t programs = 0, refused = 0;
  auto begin = Clock::now();
  for (current = first; current < first + inputs; current++) {
    if (seconds > 0 && Clock::now() - begin > std::chrono::seconds(seconds)) break;
    std::string text = mutator.make(seed, current);
    alarm(kSecondsPerInput);
    load(text, programs, refused);
  }
  alarm(0);
  std::printf("\n%zu programs, %zu refused\n", programs, refused);
  return 0;
}
