// AllToAll from C++ and from C.
#include "tandem/ops/all_to_all.h"
#include <gtest/gtest.h>

extern "C" int allToAllFromC(td_session* session, int rank, uint64_t x, uint64_t out, int64_t maxM, int64_t columns,
                             const int64_t* counts, int count);

namespace tandem {
namespace {

constexpr int64_t kRows = 6, kColumns = 5;
const std::vector<int64_t> kEqual = {kRows}, kUnequal = {1, 4, 2, 0};  // of two ranks

// Row i of x is 100 * rank + i.
void expectRows(const Tensor& out, const std::vector<int>& rows) {
  for (size_t i = 0; i < rows.size() * kColumns; ++i) ASSERT_EQ(out.data<int>()[i], rows[i / kColumns]);
}

TEST(AllToAll, FromCppAndC) {
  auto main = [](Team& team) {
    Tensor x = team.localZeros({kRows, kColumns}, DType::Int32), out = team.localZeros({kRows, kColumns}, DType::Int32);
    for (int64_t i = 0; i < kRows * kColumns; ++i) x.data<int>()[i] = int(100 * team.rank() + i / kColumns);
    auto rowsOf = [](Tensor t, int64_t rows) {
      t.shape[0] = rows;
      return t;
    };
    bool isFirst = team.rank() == 0;
    std::vector<int> equal =
        isFirst ? std::vector<int>{0, 1, 2, 100, 101, 102} : std::vector<int>{3, 4, 5, 103, 104, 105};
    std::vector<int> unequal = isFirst ? std::vector<int>{0, 100, 101} : std::vector<int>{1, 2, 3, 4};
    ops::AllToAll op(team, kRows, kColumns, DType::Int32);
    op.run(x, out, kEqual);
    team.synchronize();
    expectRows(out, equal);
    op.run(rowsOf(x, isFirst ? 5 : 2), rowsOf(out, isFirst ? 3 : 4), kUnequal);
    team.synchronize();
    expectRows(out, unequal);
    op.close();
    for (const std::vector<int64_t>* counts : {&kEqual, &kUnequal}) {
      team.fill(out, 0);
      EXPECT_EQ(allToAllFromC(team.session(), team.rank(), x.address, out.address, kRows, kColumns, counts->data(),
                              int(counts->size())),
                0)
          << td_last_error();
      team.synchronize();
      expectRows(out, counts == &kEqual ? equal : unequal);
    }
  };
  EXPECT_TRUE(launch(main, {.ranks = 2, .check = true}).warnings.empty());
}

TEST(AllToAll, CountsThatDoNotFitAreNamed) {
  auto thrown = [](const std::vector<int64_t>& counts) -> std::string {
    try {
      launch(
          [&](Team& team) {
            ops::AllToAll op(team, 4, 2, DType::Int8);
            Tensor x = team.localZeros({4, 2}, DType::Int8);
            op.run(x, x, counts);
          },
          {.ranks = 2});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(thrown({1, 2, 3}), "`all_to_all`: `counts` has 3 numbers, one or 2 times 2 are needed");
  EXPECT_EQ(thrown({1, -2, 3, 0}), "`all_to_all`: `counts`: rank 0 sends -2 rows to rank 1, 0 to 4 are possible");
  EXPECT_EQ(thrown({1, 2, 4, 0}), "`all_to_all`: `counts`: rank 0 gets 5 rows, the operator was made for up to 4");
  EXPECT_EQ(thrown({}), "`all_to_all`: 1 numbers given, 2 wanted");
}

}  // namespace
}  // namespace tandem
