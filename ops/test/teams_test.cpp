// Operators on teams of some of the ranks, from C++ and from C.
#include "tandem/op_c_api.h"
#include "tandem/ops.h"
#include <gtest/gtest.h>

namespace tandem {
namespace {

constexpr int64_t kCount = 40;

// Sums over the rows and the columns of a grid, at once.
TEST(Teams, RowsAndColumnsFromCpp) {
  auto main = [](Team& team) {
    constexpr int kColumns = 2;
    int row = team.rank() / kColumns, column = team.rank() % kColumns;
    std::vector<std::vector<int>> axes{{row * kColumns + 1, row * kColumns}, {column, column + 2, column + 4}};
    Tensor x = team.localZeros({kCount}, DType::Int32);
    for (int64_t i = 0; i < kCount; ++i) x.data<int>()[i] = int(100 * team.rank() + i);
    std::vector<Team> parts;
    for (const std::vector<int>& members : axes) parts.push_back(team.split(members));
    EXPECT_EQ(parts[0].rank(), 1 - column);
    EXPECT_EQ(parts[1].rank(), row);
    for (size_t axis = 0; axis < axes.size(); ++axis) {
      Tensor all = team.localZeros({parts[axis].size(), kCount}, DType::Int32);
      ops::AllGather op(parts[axis], parts[axis].size(), kCount, DType::Int32);
      op.run({x.address, {1, kCount}, x.dtype}, all, parts[axis].size());
      team.synchronize();
      for (size_t r = 0; r < axes[axis].size(); ++r)
        for (int64_t i = 0; i < kCount; ++i)
          ASSERT_EQ(all.data<int>()[int64_t(r) * kCount + i], 100 * axes[axis][r] + i) << team.rank();
      op.close();
    }
    Tensor mine = parts[0].zeros({4}, DType::Int32, "mine");
    EXPECT_THROW(team.peer(mine, 1), Error) << "the run does not know a team's memory";
    EXPECT_THROW(parts[0].peer(mine, 2), Error);
  };
  EXPECT_TRUE(launch(main, {.ranks = 6, .check = true}).warnings.empty());
}

TEST(Teams, FromC) {
  auto main = [](Team& team) {
    if (team.rank() == 1) return;
    int members[] = {2, 0}, number = 0, index = team.rank() == 2 ? 0 : 1;
    td_session* part = nullptr;
    ASSERT_EQ(td_create_team(team.session(), team.rank(), members, 2, &number), 0) << td_last_error();
    EXPECT_NE(td_team_session(team.session(), team.rank(), 0, &part), 0);
    ASSERT_EQ(td_team_session(team.session(), team.rank(), number, &part), 0) << td_last_error();
    EXPECT_NE(td_leave(part, index), 0);
    int64_t sizes[] = {kCount}, count[] = {kCount, 0};
    td_op* op = nullptr;
    ASSERT_EQ(td_op_create(part, index, "all_reduce", sizes, 1, int(DType::Float32), "{}", &op), 0) << td_last_error();
    Tensor x = team.localZeros({kCount}, DType::Float32), out = team.localZeros({kCount}, DType::Float32);
    for (int64_t i = 0; i < kCount; ++i) x.data<float>()[i] = float(10 * team.rank() + i);
    uint64_t tensors[] = {x.address, out.address};
    EXPECT_EQ(td_op_run(op, 0, tensors, 2, count, 2), 0) << td_last_error();
    EXPECT_EQ(td_synchronize(part, index, -1), 0) << td_last_error();
    for (int64_t i = 0; i < kCount; ++i) ASSERT_EQ(out.data<float>()[i], float(20 + 2 * i));
    EXPECT_EQ(td_op_close(op), 0) << td_last_error();
    td_op_destroy(op);
    td_session_destroy(part);
  };
  EXPECT_TRUE(launch(main, {.ranks = 3, .check = true}).warnings.empty());
}

}  // namespace
}  // namespace tandem
