// A program as text: one instruction a line with registers, types, immediates and source lines.
#include "interpreter/program.h"
#include "tandem/element_types.h"

namespace tandem::interpreter {
namespace {

// "F16" as "f16".
template <size_t n>
struct Lower {
  constexpr Lower(const char (&name)[n]) {
    for (size_t i = 0; i < n; ++i) text[i] = name[i] >= 'A' && name[i] <= 'Z' ? char(name[i] - 'A' + 'a') : name[i];
  }
  char text[n] = {};
};
template <Lower name>
constexpr const char* kLower = name.text;

const char* const kUnaryNames[] = {"negf",  "absf",  "absi",  "ceil",  "floor", "trunc",   "round", "roundeven",
                                   "sqrt",  "rsqrt", "exp",   "exp2",  "expm1", "log",     "log2",  "log10",
                                   "log1p", "sin",   "cos",   "tan",   "asin",  "acos",    "atan",  "sinh",
                                   "cosh",  "tanh",  "asinh", "acosh", "atanh", "erf",     "erfc",  "cbrt",
                                   "ctlz",  "cttz",  "ctpop", "isnan", "isinf", "isfinite"};
static_assert(std::size(kUnaryNames) == size_t(UnaryOp::IsFinite) + 1);

const char* const kBinaryNames[] = {"addi",  "subi",     "muli",      "divs",     "divu",     "rems",     "remu",
                                    "and",   "or",       "xor",       "shl",      "shrs",     "shru",     "mins",
                                    "minu",  "maxs",     "maxu",      "mulhiu",   "addf",     "subf",     "mulf",
                                    "divf",  "remf",     "minnumf",   "maxnumf",  "minimumf", "maximumf", "powf",
                                    "atan2", "copysign", "floordivs", "ceildivs", "ceildivu"};
static_assert(std::size(kBinaryNames) == size_t(BinaryOp::CeilDivU) + 1);

const char* const kCompareNames[] = {"eq",  "ne",  "slt",  "sle",  "sgt",  "sge",  "ult", "ule",
                                     "ugt", "uge", "oeq",  "one",  "olt",  "ole",  "ogt", "oge",
                                     "ueq", "une", "ultf", "ulef", "ugtf", "ugef", "ord", "uno"};
static_assert(std::size(kCompareNames) == size_t(CompareOp::Uno) + 1);

const char* const kConvertNames[] = {"bitcast", "trunci", "exts", "extu", "stof",
                                     "utof",    "ftos",   "ftou", "ftof", "ftof_rtz"};
static_assert(std::size(kConvertNames) == size_t(ConvertOp::FToFRtz) + 1);

const char* const kRmwNames[] = {"add", "fadd", "and", "or", "xor", "xchg", "max", "min", "umax", "umin"};
static_assert(std::size(kRmwNames) == size_t(RmwOp::UMin) + 1);

template <size_t n>
std::string nameIn(const char* const (&names)[n], size_t index) {
  return index < n ? names[index] : "?";
}

std::string subText(const Instruction& i) {
  switch (i.op) {
    case Op::Unary: return "." + nameIn(kUnaryNames, i.sub);
    case Op::Binary: return "." + nameIn(kBinaryNames, i.sub);
    case Op::Compare: return "." + nameIn(kCompareNames, i.sub);
    case Op::Convert: return "." + nameIn(kConvertNames, i.sub);
    case Op::AtomicRmw: return "." + nameIn(kRmwNames, i.sub);
    case Op::MulExtended: return i.sub ? ".signed" : ".unsigned";
    case Op::Clamp: return i.sub ? ".nan" : "";
    default: return "";
  }
}

std::string typeText(const RegisterType& t) {
  std::string elem = elemName(t.elem);
  if (t.vectorLength > 1) elem = "vector<" + std::to_string(t.vectorLength) + "x" + elem + ">";
  std::string shape;
  for (int64_t d : t.shape) shape += std::to_string(d) + "x";
  switch (t.extent) {
    case Extent::Uniform: return elem;
    case Extent::Lanes: return "lanes<" + elem + ">";
    case Extent::Tile: return "tile<" + shape + elem + ">";
    case Extent::Smem: return "smem<" + shape + elem + ">";
  }
  return elem;
}

std::string registerText(uint32_t raw) {
  Register r = raw & ~kLastUse;
  return r == kNone ? "_" : "r" + std::to_string(r) + (raw & kLastUse ? "!" : "");
}

std::string lineOf(const Program& p, const Instruction& i) {
  std::string text;
  for (Register r : p.results(i)) text += (text.empty() ? "" : ", ") + registerText(r) + ":" + typeText(p.registers[r]);
  if (!text.empty()) text += " = ";
  text += std::string(rowOf(i.op).word) + subText(i) + " " + elemName(i.elem);
  for (uint32_t raw : p.operands(i)) text += " " + registerText(raw);
  std::string_view names = rowOf(i.op).immediates;
  for (int64_t v : p.immediates(i)) {
    size_t end = names.find(", ");
    text += " " + std::string(names.substr(0, end)) + "=" + std::to_string(v);
    if (end != names.npos) names.remove_prefix(end + 2);
  }
  if (i.location < p.locations.size() && p.locations[i.location].range.line)
    text += "  ; line " + std::to_string(p.locations[i.location].range.line);
  return text;
}

}  // namespace

const char* elemName(Elem e) {
  switch (e) {
#define TANDEM_ROW(dtype, scalar, elem, mlirType, word, tl, framework, bits, mantissa, bias, specials, dlpack) \
  case Elem::elem: return kLower<#elem>;
    TANDEM_MEMORY_TYPES(TANDEM_ROW)
#undef TANDEM_ROW
  }
  return "?";
}

std::string print(const Program& p) {
  std::string out = "program " + p.name + (p.perThread ? " per_thread" : "") + "\n";
  for (const Argument& a : p.arguments)
    out += "  argument " + registerText(a.reg) + " " + a.name + ": " +
           (a.isPointer ? "*" + std::string(elemName(a.pointee)) : elemName(a.elem)) + "\n";
  for (size_t k = 0; k < p.regions.size(); ++k) {
    out += "  region " + std::to_string(k) + " [" + std::to_string(p.regions[k].begin) + ".." +
           std::to_string(p.regions[k].end) + ") (";
    for (size_t a = 0; a < p.regions[k].arguments.size(); ++a)
      out += (a ? ", " : "") + registerText(p.regions[k].arguments[a]);
    out += ") -> (";
    for (size_t a = 0; a < p.regions[k].results.size(); ++a)
      out += (a ? ", " : "") + registerText(p.regions[k].results[a]);
    out += ")\n";
  }
  for (size_t pc = 0; pc < p.code.size(); ++pc) out += "  " + std::to_string(pc) + ": " + lineOf(p, p.code[pc]) + "\n";
  return out;
}

}  // namespace tandem::interpreter
