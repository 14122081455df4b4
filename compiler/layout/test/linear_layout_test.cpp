// Spans, positions, copies and the text form.
#include "compiler/layout/linear_layout.h"
#include "compiler/layout/gf2.h"
#include "simulate.h"

namespace tandem::layout {
namespace {

TEST(Gf2, IntersectionHoldsExactlyTheSharedVectors) {
  Random random(3);
  for (int trial = 0; trial < 300; ++trial) {
    Vectors a, b;
    for (int i = 0; i < 3; ++i) a.push_back(random() % 64), b.push_back(random() % 64);
    Vectors shared = intersect(a, b);
    Span spanA(a), spanB(b), spanShared(shared);
    EXPECT_EQ(spanShared.dimension(), shared.size());
    for (uint64_t v = 0; v < 64; ++v) EXPECT_EQ(spanShared.contains(v), spanA.contains(v) && spanB.contains(v));
  }
}

TEST(Gf2, SolutionsAddUp) {
  Random random(4);
  for (int trial = 0; trial < 300; ++trial) {
    Vectors vectors;
    Span span;
    for (int i = 0; i < 6; ++i) {
      vectors.push_back(random() % 256);
      span.insert(vectors.back(), uint64_t(1) << i);
    }
    for (uint64_t v = 0; v < 256; ++v) {
      std::optional<uint64_t> solution = span.solve(v);
      EXPECT_EQ(solution.has_value(), span.contains(v));
      if (solution) {
        EXPECT_EQ(combine(vectors, *solution), v);
      }
    }
  }
}

TEST(LinearLayout, FreeBitsAreExactlyTheCopies) {
  Random random(5);
  for (int trial = 0; trial < 300; ++trial) {
    LinearLayout layout = randomLayout({8, 16}, 5, 2, trial % 2, random);
    if (trial % 3 == 0) layout.mutableBases(Dim::Register).push_back(layout.apply(0, 3, 1));
    std::multiset<uint64_t> kept;
    for (int64_t r = 0; r < layout.numRegisters(); ++r)
      for (int64_t l = 0; l < 32; ++l)
        for (int64_t w = 0; w < 4; ++w) {
          bool copy = (r & layout.freeMask(Dim::Register)) || (l & layout.freeMask(Dim::Lane)) ||
                      (w & layout.freeMask(Dim::Warp));
          if (!copy) kept.insert(layout.apply(r, l, w));
        }
    EXPECT_EQ(kept.size(), 128u);
    EXPECT_EQ(std::set<uint64_t>(kept.begin(), kept.end()).size(), 128u);
    EXPECT_EQ(layout.isInjective(), layout.numRegisters() * 128 == 128);
  }
}

TEST(LinearLayout, Coordinates) {
  LinearLayout layout({4, 8, 2});
  EXPECT_EQ(layout.position({3, 5, 1}), 3u * 16 + 5 * 2 + 1);
  EXPECT_EQ(layout.coordinates(59), (llvm::SmallVector<int64_t>{3, 5, 1}));
  EXPECT_EQ(layout.axisMask(1), 14u);
}

TEST(LinearLayout, Text) {
  LinearLayout layout({64, 128}, {1, 2, 128 * 8}, {4, 0}, {128}, {});
  EXPECT_EQ(layout.str(), "[64,128] register=[[0,1],[0,2],[8,0]] lane=[[0,4],[0,0]] warp=[[1,0]]");
  EXPECT_EQ(LinearLayout().str(), "[]");
  Random random(6);
  for (int trial = 0; trial < 100; ++trial) {
    LinearLayout any = randomLayout({4, 2, 32}, 5, 2, true, random);
    std::optional<LinearLayout> back = LinearLayout::parse(any.str());
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, any);
  }
  EXPECT_EQ(LinearLayout::parse("[]"), LinearLayout());
  EXPECT_EQ(LinearLayout::parse(" [ 2 ] lane = [ [1] , [0] ] "), LinearLayout({2}, {}, {1, 0}, {}));
}

TEST(LinearLayout, TextErrors) {
  auto errorOf = [](llvm::StringRef text) {
    std::string error;
    EXPECT_FALSE(LinearLayout::parse(text, &error)) << text.str();
    return error;
  };
  EXPECT_EQ(errorOf(""), "expected `[` at the end of the layout");
  EXPECT_EQ(errorOf("[3]"), "a dimension of 3 is not a power of two at the end of the layout");
  EXPECT_EQ(errorOf("[4] lanes=[[1]]"), "expected `=` before `s=[[1]]`");
  EXPECT_EQ(errorOf("[4] thread=[[1]]"),
            "expected `register`, `lane`, `warp`, `block` or `offset` before `thread=[[1]]`");
  EXPECT_EQ(errorOf("[4] lane=[[1,2]]"), "a basis has 2 coordinates and the shape 1 before `]`");
  EXPECT_EQ(errorOf("[4] lane=[[4]]"), "coordinate 4 is outside a dimension of 4 before `]`");
  EXPECT_EQ(errorOf("[4] lane=[[1]] lane=[[2]]"), "`lane` is given twice before `=[[2]]`");
  EXPECT_EQ(errorOf("[4] lane=[[1]"), "expected `]` at the end of the layout");
  EXPECT_EQ(errorOf("[4294967296,4294967296]"), "a shape of 2^64 elements is too large at the end of the layout");
  EXPECT_NE(errorOf("[99999999999999999999]"), "");
}

}  // namespace
}  // namespace tandem::layout
