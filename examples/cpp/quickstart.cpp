// Tandem from C++, without Python: a kernel from text on four ranks with symmetric memory and signals, then AllGather +
// GEMM. `quickstart trace.json` writes a trace, which ui.perfetto.dev and `tandem trace` open.
#include "tandem/ops.h"
#include "tandem/tandem.h"
#include <cmath>
#include <cstdio>
#include <fstream>

namespace {

constexpr int kRanks = 4;
constexpr int64_t kCount = 256;

// Each rank writes its block into the next rank's memory and signals it; then it adds the block that it was given to
// its own.
constexpr char kShift[] = R"(
import tandem
import tandem.dist as dl
import tandem.language as tl

@tandem.jit
def shift_add(mine, inbox, arrived, out, N: tl.constexpr):
    rank = dl.rank()
    right = (rank + 1) % dl.num_ranks()
    at = tl.arange(0, N)
    x = tl.load(mine + at)
    tl.store(dl.symm_at(inbox, right) + at, x)
    dl.notify(arrived, right, signal=1, sig_op="set", comm_scope="intra_node")
    token = dl.wait(arrived, 1, "sys", "acquire", waitValue=1)
    y = tl.load(dl.consume_token(inbox, token) + at)
    tl.store(out + at, x + y)
    tl.store(arrived, 0)
)";

bool near(float seen, float wanted) { return std::fabs(seen - wanted) <= 1e-5f * (1 + std::fabs(wanted)); }

void check(bool ok, const char* what, int rank) {
  if (!ok) throw tandem::Error(std::string(what) + " is wrong on rank " + std::to_string(rank));
}

void shift(tandem::Team& team) {
  using tandem::DType;
  tandem::Kernel kernel = tandem::Kernel::fromText(kShift, "shift_add.py");
  tandem::Tensor mine = team.localZeros({kCount}, DType::Float32, "mine");
  tandem::Tensor inbox = team.empty({kCount}, DType::Float32, "inbox");
  tandem::Tensor arrived = team.zeros({1}, DType::Int64, "arrived");
  tandem::Tensor out = team.localZeros({kCount}, DType::Float32, "out");
  for (int64_t i = 0; i < kCount; ++i) mine.data<float>()[i] = float(team.rank() * 1000 + i);

  team.launch(kernel, {.grid = {1, 1, 1}}, {mine, inbox, arrived, out}, {{"N", kCount}});
  team.synchronize();

  int left = (team.rank() + team.size() - 1) % team.size();
  for (int64_t i = 0; i < kCount; ++i)
    check(near(out.data<float>()[i], float((team.rank() + left) * 1000 + 2 * i)), "shift_add", team.rank());
}

float elementOfA(int64_t row, int64_t k) { return float((row * 7 + k * 3) % 11) - 5; }
float elementOfB(int rank, int64_t k, int64_t column) { return float((rank + k * 5 + column * 2) % 7) - 3; }

// C = gather(A) · B; A's rows are dealt to the ranks.
void allGatherGemm(tandem::Team& team) {
  using namespace tandem;
  constexpr int64_t m = 70, n = 33, k = 20;
  ops::AllGatherGemm op(team, m, n, k, DType::Float32);
  int64_t rows = ops::rowsOfRank(m, team.size(), team.rank()), first = team.rank() * ops::shardRows(m, team.size());
  Tensor a = team.localZeros({rows, k}, DType::Float32, "a"), b = team.localZeros({k, n}, DType::Float32, "b");
  Tensor c = team.localZeros({m, n}, DType::Float32, "c");
  for (int64_t i = 0; i < rows * k; ++i) a.data<float>()[i] = elementOfA(first + i / k, i % k);
  for (int64_t i = 0; i < k * n; ++i) b.data<float>()[i] = elementOfB(team.rank(), i / n, i % n);

  op.run(a, b, c, m);
  team.synchronize();

  for (int64_t i = 0; i < m * n; ++i) {
    float wanted = 0;
    for (int64_t j = 0; j < k; ++j) wanted += elementOfA(i / n, j) * elementOfB(team.rank(), j, i % n);
    check(near(c.data<float>()[i], wanted), "ag_gemm", team.rank());
  }
  op.close();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    auto report = tandem::launch(
        [](tandem::Team& team) {
          shift(team);
          allGatherGemm(team);
        },
        {.ranks = kRanks, .seed = 1, .trace = true});
    std::printf("%s", report.timeline.c_str());
    if (argc > 1) std::ofstream(argv[1]) << report.chromeTrace;
    for (const std::string& warning : report.warnings) std::printf("%s\n", warning.c_str());
    return report.warnings.empty() ? 0 : 1;
  } catch (const tandem::Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
