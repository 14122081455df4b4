// These tests turn inline PTX into instructions of the Program, and check that no text, however odd, becomes something
// that cannot run.
#include "compiler/lower/sim/ptx/assembler.h"
#include "compiler/lower/sim/test/lowered.h"
#include "compiler/ptx/parse.h"
#include "interpreter/vm/handlers.h"
#include <random>

namespace tandem::lower::test {
namespace {

using namespace interpreter;

struct Assembled {
  std::shared_ptr<Program> program = std::make_shared<Program>();
  std::string error;
};

// The text on operands of 32, 32, 64, 16, 64 bits and a predicate, all of `like`'s extent.
Assembled assembled(const std::string& text, RegisterType like) {
  const std::vector<unsigned> bits{32, 32, 64, 16, 64, 1};
  Assembled out;
  ptx::Parsed parsed = ptx::parse(text, bits);
  out.error = parsed.error;
  if (!out.error.empty()) return out;
  ProgramBuilder build(*out.program);
  try {
    Assembler assembler(build, parsed.body, like,
                        [](const std::string& message) { throw std::runtime_error(message); });
    for (uint32_t i = 0; i < bits.size(); ++i)
      assembler.set(i, assembler.constant(Assembler::integerOf(bits[i]), i + 1));
    assembler.run();
  } catch (const std::runtime_error& error) {
    out.error = error.what();
  }
  build.emit({Op::Return}, {}, {});
  return out;
}

RegisterType lanes() { return {Elem::I32, Extent::Lanes, 1, {}}; }
RegisterType uniform() { return {Elem::I32, Extent::Uniform, 1, {}}; }
RegisterType tile() { return {Elem::I32, Extent::Tile, 1, {8}}; }

bool has(const Program& program, Op op) { return llvm::is_contained(opsOf(program), op); }

TEST(Ptx, AccessesAreTheSimulatorsOwn) {
  Assembled strong = assembled("ld.acquire.sys.global.b32 $0, [$2+4];", lanes());
  ASSERT_EQ(strong.error, "");
  const Instruction& ld = find(*strong.program, Op::Ld);
  EXPECT_EQ(strong.program->as<imm::Ld>(ld).semantic, int64_t(Semantic::Acquire));
  EXPECT_EQ(strong.program->as<imm::Ld>(ld).scope, int64_t(Scope::Sys));
  EXPECT_EQ(strong.program->as<imm::Ld>(ld).weak, 0);
  Assembled weak = assembled("ld.global.nc.L1::no_allocate.v2.b32 {$0, $1}, [$2];", lanes());
  ASSERT_EQ(weak.error, "");
  EXPECT_EQ(weak.program->as<imm::Ld>(find(*weak.program, Op::Ld)).weak, 1);
  Assembled volatil = assembled("st.volatile.global.b32 [$2], $0;", uniform());
  ASSERT_EQ(volatil.error, "");
  EXPECT_EQ(volatil.program->as<imm::St>(find(*volatil.program, Op::St)).scope, int64_t(Scope::Sys));
  EXPECT_EQ(volatil.program->as<imm::St>(find(*volatil.program, Op::St)).weak, 0);
  EXPECT_TRUE(has(*assembled("st.global.b32 [$2], $0;", tile()).program, Op::Store));
  EXPECT_TRUE(has(*assembled("st.release.gpu.global.b32 [$2], $0;", tile()).program, Op::St));
}

TEST(Ptx, GuardsOfEffects) {
  const std::string text = "@$5 st.global.b32 [$2], $0;";
  EXPECT_TRUE(has(*assembled(text, lanes()).program, Op::IfBegin));
  EXPECT_TRUE(has(*assembled(text, uniform()).program, Op::Branch));
  Assembled masked = assembled(text, tile());
  EXPECT_NE(plain(masked.program->operands(find(*masked.program, Op::Store))[2]), kNone);
  EXPECT_EQ(assembled("@$5 bar.sync 0;", tile()).error,
            "the simulator cannot run `bar.sync 0`: a tile's elements cannot guard what threads do together");
}

TEST(Ptx, BranchesThatAreNoLoopOrCondition) {
  EXPECT_EQ(assembled("L: @$5 bra M; add.s32 $0, $0, 1; M: @$5 bra L; N: add.s32 $0, $0, 2;", lanes()).error, "");
  EXPECT_EQ(assembled("A: @$5 bra C; B: add.s32 $0, $0, 1; @$5 bra A; C: @$5 bra B;", lanes()).error,
            "the simulator cannot run `bra B`: the simulator follows branches that form loops and conditions only");
  std::string nested;
  for (int i = 0; i < 1000; ++i) nested += "@$5 bra L" + std::to_string(i) + "; ";
  for (int i = 1000; i-- > 0;) nested += "L" + std::to_string(i) + ": add.s32 $0, $0, 1; ";
  EXPECT_EQ(assembled(nested, lanes()).error, "the simulator cannot run `bra L64`: branches nest too deep");
}

TEST(Ptx, ThreadsDiffer) {
  auto differs = [](const char* text) { return differsByThread(ptx::parse(text, std::vector<unsigned>{32, 64}).body); };
  EXPECT_TRUE(differs("mov.u32 $0, %tid.x;"));
  EXPECT_TRUE(differs("add.u32 $0, $0, %laneid;"));
  EXPECT_TRUE(differs("atom.global.add.u32 $0, [$1], 1;"));
  EXPECT_FALSE(differs("mov.u32 $0, %ctaid.x;"));
  EXPECT_FALSE(differs("ld.global.b32 $0, [$1];"));
}

// Random instructions, most of them wrong: an error, or a program all of whose instructions the simulator can run.
TEST(Ptx, OddTextsAreErrors) {
  const char* const opcodes[] = {
      "add",  "sub",   "mul",     "mad",      "div",       "rem",          "min",     "max",   "abs",  "neg",
      "sad",  "mul24", "mad24",   "dp4a",     "and",       "or",           "xor",     "not",   "cnot", "shl",
      "shr",  "shf",   "lop3",    "prmt",     "brev",      "popc",         "clz",     "bfind", "bfe",  "bfi",
      "setp", "set",   "selp",    "slct",     "fma",       "rcp",          "sqrt",    "rsqrt", "sin",  "cos",
      "lg2",  "ex2",   "tanh",    "testp",    "copysign",  "mov",          "cvta",    "cvt",   "ld",   "st",
      "atom", "red",   "discard", "multimem", "cp",        "bar",          "membar",  "fence", "trap", "shfl",
      "vote", "elect", "bra",     "prefetch", "nanosleep", "createpolicy", "nonsense"};
  const char* const modifiers[] = {
      "s32",    "u32",    "b32",     "f32",     "f16",    "bf16",   "f16x2",    "bf16x2",    "f64",    "u64",
      "s64",    "b64",    "s16",     "u16",     "b16",    "u8",     "pred",     "lo",        "hi",     "wide",
      "rn",     "rz",     "rp",      "rni",     "rzi",    "sat",    "ftz",      "satfinite", "approx", "relu",
      "global", "shared", "acquire", "relaxed", "gpu",    "sys",    "volatile", "v2",        "v4",     "add",
      "cas",    "exch",   "sync",    "up",      "idx",    "ballot", "all",      "eq",        "lt",     "and",
      "l",      "r",      "wrap",    "clamp",   "e4m3x2", "e2m1x2", "ue8m0x2",  "tf32",      "to",     "warp"};
  const char* const operands[] = {"$0",    "$1",   "$2",     "$3",   "$4",         "$5",       "!$5",
                                  "1",     "-1",   "0x80",   "1.5",  "0f3F800000", "{$0, $1}", "{$0, $1, $0, $1}",
                                  "$0|$5", "[$2]", "[$4+8]", "[$0]", "_",          "%tid.x",   "%clock64",
                                  "L"};
  std::mt19937 random(11);
  auto one = [&](auto& list) { return std::string(list[random() % std::size(list)]); };
  size_t good = 0;
  for (int round = 0; round < 60000; ++round) {
    std::string text = random() % 4 ? "" : "@$5 ";
    text += one(opcodes);
    for (unsigned n = random() % 5; n-- > 0;) text += "." + one(modifiers);
    for (unsigned n = random() % 6, k = 0; k < n; ++k) text += (k ? ", " : " ") + one(operands);
    text += "; L:";
    for (const RegisterType& like : {lanes(), uniform(), tile()}) {
      Assembled made = assembled(text, like);
      if (!made.error.empty()) continue;
      ++good;
      auto prepared = prepare(made.program);
      for (const Prepared& i : prepared->code)
        ASSERT_NE(i.handler, handlers::malformed) << text << "\n" << print(*made.program);
    }
  }
  EXPECT_GT(good, 300u);
}

}  // namespace
}  // namespace tandem::lower::test
