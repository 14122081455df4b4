// LLVM's constraint strings.
#include "compiler/ptx/constraints.h"
#include <gtest/gtest.h>

namespace tandem::ptx {
namespace {

std::vector<unsigned> bitsOf(const std::vector<Constraint>& list) {
  std::vector<unsigned> bits;
  for (const Constraint& c : list) bits.push_back(c.bits);
  return bits;
}

TEST(Constraints, OutputsThenInputs) {
  Constraints c = parseConstraints("=r, =l,=&f , h,d,b,~{memory}");
  EXPECT_EQ(c.error, "");
  EXPECT_EQ(bitsOf(c.outputs), (std::vector<unsigned>{32, 64, 32}));
  EXPECT_EQ(bitsOf(c.inputs), (std::vector<unsigned>{16, 64, 1}));
}

TEST(Constraints, TiedInput) {
  Constraints c = parseConstraints("=r,=l,1,0");
  EXPECT_EQ(c.error, "");
  EXPECT_EQ(bitsOf(c.inputs), (std::vector<unsigned>{64, 32}));
  EXPECT_EQ(c.inputs[0].tiedTo, 1);
  EXPECT_EQ(c.inputs[1].tiedTo, 0);
}

TEST(Constraints, ConstantInTheText) {
  Constraints c = parseConstraints("=r,r,n");
  EXPECT_EQ(c.error, "");
  EXPECT_EQ(bitsOf(c.inputs), (std::vector<unsigned>{32, 32}));
}

TEST(Constraints, NothingIsNothing) {
  Constraints c = parseConstraints("");
  EXPECT_EQ(c.error, "");
  EXPECT_TRUE(c.outputs.empty() && c.inputs.empty());
}

TEST(Constraints, Wrong) {
  EXPECT_EQ(parseConstraints("=r,z").error, "the constraint `z` is no PTX register that the simulator has");
  EXPECT_EQ(parseConstraints("=q").error, "the constraint `=q` is no PTX register that the simulator has");
  EXPECT_EQ(parseConstraints("=r,1").error, "the constraint `1` is tied to no output");
  EXPECT_EQ(parseConstraints("r,=r").error, "the constraint `=r` stands after an input");
  EXPECT_EQ(parseConstraints("=r,,r").error, "the constraint `` names no register");
  EXPECT_EQ(parseConstraints("=").error, "the constraint `=` names no register");
}

}  // namespace
}  // namespace tandem::ptx
