// These tests bind calls: those that are accepted, and the messages of those that are refused.
#include "compiler/frontend/builtin/test/emit_fixture.h"

namespace tandem::frontend {

TEST_F(EmitTest, BindFillsDefaults) {
  Arguments a = frontend::bind(c, *findBuiltin("tl.load"), {Value(Int(1))}, {{"mask", Value(true)}});
  EXPECT_EQ(a["mask"].as<bool>(), true);
  EXPECT_TRUE(a["other"].isNone());
  EXPECT_EQ(a["cache_modifier"].as<std::string>(), "");
}

TEST_F(EmitTest, BindCollectsTheRest) {
  Arguments a = frontend::bind(c, *findBuiltin("tl.reshape"), {Value(Int(1)), Value(Int(2)), Value(Int(3))},
                               {{"can_reorder", Value(true)}});
  ASSERT_EQ(a.rest().size(), 2u);
  EXPECT_EQ(a.rest()[1].as<Int>(), 3);
  EXPECT_EQ(a["can_reorder"].as<bool>(), true);
}

TEST_F(EmitTest, UnknownKeywordNamesTheSignature) {
  EXPECT_EQ(failure("tl.load", {Int(0)}, {{"maks", Value(true)}}), "unknown-argument");
  EXPECT_TRUE(message.starts_with("`tl.load` has no parameter `maks` (its signature is `tl.load(pointer, mask=None"))
      << message;
}

TEST_F(EmitTest, TooManyArguments) {
  EXPECT_EQ(failure("tl.arange", {Int(0), Int(1), Int(2)}), "argument-count");
  EXPECT_TRUE(message.starts_with("`tl.arange` takes at most 2 positional arguments but 3 were given")) << message;
}

TEST_F(EmitTest, TwoValuesForOneParameter) {
  EXPECT_EQ(failure("tl.arange", {Int(0), Int(8)}, {{"start", Int(0)}}), "argument-count");
}

TEST_F(EmitTest, MissingArgument) {
  EXPECT_EQ(failure("tl.arange", {Int(0)}), "missing-argument");
  EXPECT_TRUE(message.starts_with("`tl.arange` needs a value for parameter `end`")) << message;
}

TEST_F(EmitTest, UnsupportedNamesSaySo) {
  EXPECT_EQ(failure("dl.extract", {Int(0)}, {{"pred", Value(true)}}), "unsupported");
  EXPECT_NE(message.find("x[i, j]"), std::string::npos);
  EXPECT_EQ(failure("extra.seid"), "unsupported");
}

}  // namespace tandem::frontend
