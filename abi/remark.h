// A remark tells a kernel's author of one decision of the compiler that makes the kernel quick or slow.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace tandem::abi {

// X(name, word, what its remarks tell). The words are stable.
// clang-format off
#define TANDEM_REMARK_KINDS(X) \
  X(Product, "product", "Which unit does a matrix product, by which instruction, and from where it reads its operands") \
  X(Load, "load", "How far ahead of its loop a load is started, and by what") \
  X(Conversion, "conversion", "A tile that changes threads through shared memory") \
  X(Resources, "resources", "Registers, spills, shared memory, and how many blocks a multiprocessor holds")

// X(name, word of LLVM's remarks, meaning)
#define TANDEM_REMARK_OUTCOMES(X) \
  X(Passed, "passed", "The compiler has done what makes this quick") \
  X(Missed, "missed", "It has not, and says why") \
  X(Analysis, "analysis", "A fact or a number")
// clang-format on

enum class RemarkKind : uint8_t {
#define TANDEM_ROW(name, ...) name,
  TANDEM_REMARK_KINDS(TANDEM_ROW)
#undef TANDEM_ROW
};
enum class RemarkOutcome : uint8_t {
#define TANDEM_ROW(name, ...) name,
  TANDEM_REMARK_OUTCOMES(TANDEM_ROW)
#undef TANDEM_ROW
};

inline constexpr std::string_view kRemarkKinds[] = {
#define TANDEM_ROW(name, word, ...) word,
    TANDEM_REMARK_KINDS(TANDEM_ROW)
#undef TANDEM_ROW
};
inline constexpr std::string_view kRemarkOutcomes[] = {
#define TANDEM_ROW(name, word, ...) word,
    TANDEM_REMARK_OUTCOMES(TANDEM_ROW)
#undef TANDEM_ROW
};
constexpr std::string_view wordOf(RemarkKind kind) { return kRemarkKinds[size_t(kind)]; }
constexpr std::string_view wordOf(RemarkOutcome outcome) { return kRemarkOutcomes[size_t(outcome)]; }

struct Remark {
  RemarkKind kind = RemarkKind::Product;
  RemarkOutcome outcome = RemarkOutcome::Analysis;
  std::string stage;    // the pass or tool that has decided: "pipeline-loads", "ptxas"
  std::string message;  // one line
  std::string help;     // what the kernel's author can do about it; empty: nothing in particular
  std::string file;     // the place in the kernel; empty: none is known
  uint32_t line = 0, column = 0;

  // "k.py:12:9: missed load: not copied ahead of its loop: ... (help: ...)"
  std::string text() const;
  bool operator==(const Remark&) const = default;
};

}  // namespace tandem::abi
