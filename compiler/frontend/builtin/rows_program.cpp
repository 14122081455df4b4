// These rows have program indices, loops' ranges and a kernel's questions about its target.
#include "compiler/frontend/builtin/operands.h"

using namespace tandem::frontend::semantic;

namespace tandem::frontend::builtin {

static int32_t axis(Context& c, const Value& value) {
  Int number = constexprInt(c, value, "axis");
  if (number < 0 || number > 2) c.fail("argument-value", "`axis` is " + repr(value) + "; a grid has axes 0, 1 and 2");
  return static_cast<int32_t>(number);
}

static Value programId(Context& c, const Arguments& a) {
  return scalarTensor(tile::ProgramIdOp::create(c.builder, c.loc(), c.builder.getI32Type(), axis(c, a["axis"])),
                      Scalar::Int32);
}

static Value numPrograms(Context& c, const Arguments& a) {
  return scalarTensor(tile::NumProgramsOp::create(c.builder, c.loc(), c.builder.getI32Type(), axis(c, a["axis"])),
                      Scalar::Int32);
}

static Value range(const Arguments& a, bool isStatic) {
  auto result = std::make_shared<RangeValue>();
  bool oneBound = a["arg2"].isNone();
  result->start = std::make_shared<Value>(oneBound ? Value(Int(0)) : a["arg1"]);
  result->stop = std::make_shared<Value>(oneBound ? a["arg1"] : a["arg2"]);
  result->step = std::make_shared<Value>(a["step"].isNone() ? Value(Int(1)) : a["step"]);
  result->isStatic = isStatic;
  if (isStatic) return result;
  for (const char* hint : kRangeHints) result->hints[hint] = a[hint];
  return result;
}

// The simulator answers as Hopper does, so a kernel takes the path it would take there.
static int capability(const Context& c) {
  size_t digits = c.options.target.find_first_of("0123456789");
  return digits == std::string::npos ? 90 : std::atoi(c.options.target.c_str() + digits);
}

static Value capabilityAtLeast(Context& c, const Arguments& a) {
  Int wanted = constexprInt(c, a["major"], "major") * 10 + constexprInt(c, a["minor"], "minor");
  return Int(capability(c)) >= wanted;
}

// A kernel of several blocks a program starts when its inputs are complete, and so does the one behind it.
static Value gridControl(Context& c, const std::string& what) {
  if ((c.options.target == "sim" || capability(c) >= 90) && c.options.numCtas == 1)
    tile::InlineAsmOp::create(c.builder, c.loc(), mlir::TypeRange{c.builder.getI32Type()},
                              "griddepcontrol." + what + ";\n\tmov.b32 $0, 0;", "=r", false, 1, mlir::ValueRange{});
  return None{};
}

static Builtin answer(const std::string& name, bool value) {
  return {name, "", {value ? "True." : "False.", Caller::Compiler}, [value](Context&, const Arguments&) -> Value {
            return value;
          }};
}

void addProgramRows(Rows& rows) {
  rows.push_back(
      {"tl.program_id", "axis", "The program's index in the grid along `axis` (0, 1 or 2), an int32.", programId});
  rows.push_back(
      {"tl.num_programs", "axis", "The size of the grid along `axis` (0, 1 or 2) in programs, an int32.", numPrograms});
  rows.push_back(
      {"tl.range",
       "arg1, arg2=None, step=None, num_stages=None, loop_unroll_factor=None, "
       "disallow_acc_multi_buffer=False, flatten=False, "
       "warp_specialize=False, disable_licm=False",
       "The indices of a `for` loop, as Python's `range`. `num_stages` is how many rounds of its loads may be under way "
       "at once; `loop_unroll_factor` repeats the body; the others are accepted.",
       [](Context&, const Arguments& a) { return range(a, false); }});
  rows.push_back({"tl.static_range",
                  "arg1, arg2=None, step=None",
                  {"As `range`, with constants: the loop's body is emitted once for each index.", Caller::Compiler},
                  [](Context&, const Arguments& a) { return range(a, true); }});
  rows.push_back({"tl.condition", "arg1, disable_licm=False", "The condition of a `while` loop.",
                  [](Context&, const Arguments& a) { return a["arg1"]; }});
  for (const char* module : {"tl.extra.cuda.", "extra."}) {
    rows.push_back({std::string(module) + "num_warps",
                    "",
                    {"How many warps of 32 threads the launch asks for, a constant.", Caller::Compiler},
                    [](Context& c, const Arguments&) -> Value { return Int(c.options.numWarps); }});
    rows.push_back({std::string(module) + "num_threads",
                    "",
                    {"How many threads the launch asks for, a constant.", Caller::Compiler},
                    [](Context& c, const Arguments&) -> Value { return Int(c.options.numWarps * 32); }});
  }
  rows.push_back(
      {"tl.extra.cuda.gdc_wait", "",
       "Waits until the stream's previous kernel is complete, if this one may start before that (`launch_pdl`).",
       [](Context& c, const Arguments&) { return gridControl(c, "wait"); }});
  rows.push_back(
      {"tl.extra.cuda.gdc_launch_dependents", "",
       "When all programs have executed this or ended, the stream's next kernel starts, if it may start before "
       "this one is complete (`launch_pdl`).",
       [](Context& c, const Arguments&) { return gridControl(c, "launch_dependents"); }});
  rows.push_back(answer("tl.target_info.is_cuda", true));
  rows.push_back(answer("tl.target_info.is_hip", false));
  rows.push_back(answer("tl.target_info.is_hip_cdna3", false));
  rows.push_back(answer("tl.target_info.is_hip_cdna4", false));
  rows.push_back({"tl.target_info.cuda_capability_geq",
                  "major, minor=0",
                  {"True if the target's compute capability is at least `major`.`minor`.", Caller::Compiler},
                  capabilityAtLeast});
  rows.push_back({"tl.target_info.current_target",
                  "",
                  {"The target's name: \"sim\", \"sm_90a\".", Caller::Compiler},
                  [](Context& c, const Arguments&) -> Value { return c.options.target; }});
}

}  // namespace tandem::frontend::builtin
