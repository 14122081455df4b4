// These tests turn text into statements: operands, scopes, labels, numbers, and mistakes.
#include "compiler/ptx/parse.h"
#include <bit>
#include <gtest/gtest.h>

namespace tandem::ptx {
namespace {

using Kind = Operand::Kind;

Body body(std::string_view text, std::vector<unsigned> bits = {32, 32, 64}) {
  Parsed parsed = parse(text, bits);
  EXPECT_EQ(parsed.error, "") << text;
  return parsed.body;
}
std::string errorOf(std::string_view text) { return parse(text, std::vector<unsigned>{32, 32}).error; }

TEST(Parse, OneInstruction) {
  Body b = body("ld.global.acquire.gpu.L1::no_allocate.v2.b32 {$0, _}, [$2 + 8 - 0x4];");
  ASSERT_EQ(b.code.size(), 1u);
  const Instruction& i = b.code[0];
  EXPECT_EQ(i.opcode, "ld");
  EXPECT_EQ(i.modifiers, (std::vector<std::string>{"global", "acquire", "gpu", "L1::no_allocate", "v2", "b32"}));
  ASSERT_EQ(i.operands.size(), 2u);
  EXPECT_EQ(i.operands[0].kind, Kind::Vector);
  EXPECT_EQ(i.operands[0].parts[0].variable, 0u);
  EXPECT_EQ(i.operands[0].parts[1].kind, Kind::Sink);
  EXPECT_EQ(i.operands[1].kind, Kind::Address);
  EXPECT_EQ(i.operands[1].parts[0].variable, 2u);
  EXPECT_EQ(i.operands[1].offset, 4);
  EXPECT_EQ(i.text, "ld.global.acquire.gpu.L1::no_allocate.v2.b32 {$0, _}, [$2 + 8 - 0x4]");
}

TEST(Parse, GuardsAndPairs) {
  Body b = body("{ .reg .pred p, %q; @!p setp.lt.and.s32 p|%q, $0, -5, !%q; @%q bar.sync 0; }");
  ASSERT_EQ(b.code.size(), 2u);
  EXPECT_TRUE(b.code[0].isGuarded && b.code[0].guard.negated);
  EXPECT_EQ(b.code[0].operands[0].kind, Kind::Pair);
  EXPECT_EQ(b.code[0].operands[2].bits, uint64_t(-5));
  EXPECT_TRUE(b.code[0].operands[3].negated);
  EXPECT_TRUE(b.code[1].isGuarded && !b.code[1].guard.negated);
  EXPECT_EQ(b.variables[b.code[1].guard.variable].name, "%q");
  EXPECT_EQ(b.variables[b.code[1].guard.variable].bits, 1u);
}

TEST(Parse, ScopesShadow) {
  Body b = body(".reg .b32 t<3>; { .reg .b64 t1; mov.b64 t1, $2; { mov.b64 t1, t1; } } mov.b32 t1, t2;");
  auto bitsOf = [&](int i, int k) { return b.variables[b.code[i].operands[k].variable].bits; };
  EXPECT_EQ(bitsOf(0, 0), 64u);
  EXPECT_EQ(bitsOf(1, 1), 64u);
  EXPECT_EQ(bitsOf(2, 0), 32u);
}

TEST(Parse, Labels) {
  Body b = body("L_${:uid}: add.u32 $0, $0, 1; { bra L_; L: bra L; } L:");
  ASSERT_EQ(b.labels.size(), 3u);
  EXPECT_EQ(b.labels[b.code[1].operands[0].variable].position, 0u);
  EXPECT_EQ(b.labels[b.code[2].operands[0].variable].position, 2u);
  EXPECT_EQ(b.labels[2].position, 3u);
}

TEST(Parse, NumbersHaveTheirBits) {
  const Body b = body("f 10, 0x1F, 017, 0b101, 0xffffffffU, 1.5, -2e3, 0f3F800000, -0d3FF0000000000000;");
  std::vector<uint64_t> wanted = {10,
                                  31,
                                  15,
                                  5,
                                  0xffffffffu,
                                  std::bit_cast<uint64_t>(1.5),
                                  std::bit_cast<uint64_t>(-2000.0),
                                  0x3f800000u,
                                  0xbff0000000000000u};
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(b.code[0].operands[i].bits, wanted[i]) << i;
  EXPECT_EQ(b.code[0].operands[7].realBits, 32u);
  EXPECT_EQ(b.code[0].operands[8].realBits, 64u);
  EXPECT_EQ(b.code[0].operands[5].realBits, 0u);
}

TEST(Parse, SpecialRegistersAndOperandForms) {
  Body b = body("mov.u32 ${0}, %tid.x; /* no\nmore */ mov.u32 $1, %laneid; // end\n mov.u32 ${1:r}, WARP_SZ;");
  EXPECT_EQ(b.code[0].operands[1].kind, Kind::Special);
  EXPECT_EQ(b.code[0].operands[1].name, "%tid.x");
  EXPECT_EQ(b.code[1].operands[1].name, "%laneid");
  EXPECT_EQ(b.code[2].operands[0].variable, 1u);
  EXPECT_EQ(b.code[2].operands[1].name, "WARP_SZ");
}

TEST(Parse, ModifiersMayBeginWithADigit) {
  EXPECT_EQ(body("cp.2d.shared::cta [$0, {$1, 0}];").code[0].modifiers,
            (std::vector<std::string>{"2d", "shared::cta"}));
}

TEST(Parse, Wrong) {
  EXPECT_EQ(errorOf("mov.b32 $0, x;"), "`x` is not declared");
  EXPECT_EQ(errorOf("mov.b32 $0, $7;"), "the assembly has no operand `$7`");
  EXPECT_EQ(errorOf("{ .reg .b32 x; } mov.b32 $0, x;"), "`x` is not declared");
  EXPECT_EQ(errorOf("{ mov.b32 $0, $1;"), "a `{` is never closed");
  EXPECT_EQ(errorOf("mov.b32 $0, $1; }"), "a `}` has no `{`");
  EXPECT_EQ(errorOf(".reg .b32 a, a;"), "`a` is declared twice");
  EXPECT_EQ(errorOf("L: L: bra L;"), "the label `L` stands twice");
  EXPECT_EQ(errorOf(".reg .b77 a;"), "a register cannot have the type `.b77`");
  EXPECT_EQ(errorOf(".reg .b32 a<99999>;"), "`a<99999>` is too many registers");
  EXPECT_EQ(errorOf(".shared .b32 a;"), "`.shared` cannot stand in inline assembly here");
  EXPECT_EQ(errorOf("mov.b32 $0 $1;"), "`;` is missing before `$1`");
  EXPECT_EQ(errorOf("bar.sync 0"), "`;` is missing before `end of text`");
  EXPECT_EQ(errorOf("mov.b32 $0, 0f12;"), "`0f12` is no number");
  EXPECT_EQ(errorOf("mov.b32 $0, 12ab;"), "`12ab` is no number");
  EXPECT_EQ(errorOf("mov.b32 $0, ;"), "`;` stands where an operand belongs");
  EXPECT_EQ(errorOf("mov.b32 $0, !5;"), "`!` belongs before a predicate");
  EXPECT_EQ(errorOf("mov.b32 $, 5;"), "`$` names no operand");
  EXPECT_EQ(errorOf("ld.b32 $0, [$1+1.5];"), "an address is moved by a whole number of bytes");
  EXPECT_EQ(errorOf("[$0];"), "`[` stands where an instruction belongs");
  EXPECT_EQ(errorOf("mov.b32 {{{{{{{{{{$0}}}}}}}}}}, 1;"), "operands nest too deep");
}

}  // namespace
}  // namespace tandem::ptx
