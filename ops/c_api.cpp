// The operators' C ABI.
#include "tandem/ops_c_api.h"
#include "api/guarded.h"
#include "tandem/ops.h"
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

using namespace tandem;

namespace {

ops::GemmConfig parseConfig(const char* text) {
  ops::GemmConfig c;
  int transposed = 0;
  const std::map<std::string, int*> members = {
      {"block_m", &c.blockM},    {"block_n", &c.blockN},     {"block_k", &c.blockK},
      {"programs", &c.programs}, {"num_warps", &c.numWarps}, {"num_stages", &c.numStages},
      {"group", &c.group},       {"slices", &c.slices},      {"b_transposed", &transposed}};
  const nlohmann::json options = nlohmann::json::parse(text);
  for (auto& [key, value] : options.items()) {
    auto member = members.find(key);
    if (member == members.end()) throw Error("operators have no option `" + key + "`");
    bool isFlag = member->second == &transposed;
    if (!value.is_number_integer() && !(isFlag && value.is_boolean()))
      throw Error("option `" + key + "` is " + value.dump() + ", an integer is needed");
    *member->second = value.is_boolean() ? int(value.get<bool>()) : int(std::clamp<int64_t>(value.get<int64_t>(), -1, 1 << 30));
    if (!isFlag && *member->second < 1)
      throw Error("option `" + key + "` is " + value.dump() + ", at least 1 is needed");
  }
  c.bTransposed = transposed != 0;
  return c;
}

DType checkedDType(int number) {
  if (number < 0 || number > int(DType::Float64))
    throw Error("element type number " + std::to_string(number) + " is unknown");
  return DType(number);
}

// An operator with the team it lives on and the sizes its views need.
template <class Op>
struct Holder {
  Team team;
  int64_t n, k;
  DType dtype;
  bool bTransposed;
  std::optional<Op> op;
  Holder(td_session* session, int rank, int ranks, int maxM, int n, int k, DType dtype, const ops::GemmConfig& config)
      : team(session, rank, ranks), n(n), k(k), dtype(dtype), bTransposed(config.bTransposed) {
    op.emplace(team, maxM, n, k, dtype, config);
  }
  void close() {
    if (op) op->close();
    op.reset();
  }
  Tensor b(uint64_t address) const { return {address, {bTransposed ? n : k, bTransposed ? k : n}, dtype}; }
  Op& get() {
    if (!op) throw Error("the operator is closed");
    return *op;
  }
};

}  // namespace

struct td_ag_gemm : Holder<ops::AllGatherGemm> {
  using Holder::Holder;
};
struct td_gemm_rs : Holder<ops::GemmReduceScatter> {
  using Holder::Holder;
};

extern "C" {

int td_ag_gemm_create(td_session* s, int rank, int maxM, int n, int k, int dtype, const char* config, td_ag_gemm** op) {
  return guarded(
      [&] { *op = new td_ag_gemm(s, rank, rankCount(s), maxM, n, k, checkedDType(dtype), parseConfig(config)); });
}
int td_ag_gemm_run(td_ag_gemm* h, int stream, uint64_t a, uint64_t b, uint64_t c, int m, int cDType) {
  return guarded([&] {
    int64_t rows = ops::rowsOfRank(m, h->team.size(), h->team.rank());
    h->get().run({a, {rows, h->k}, h->dtype}, h->b(b), {c, {m, h->n}, checkedDType(cDType)}, m, stream);
  });
}
int td_ag_gemm_close(td_ag_gemm* h) {
  return guarded([&] { h->close(); });
}
void td_ag_gemm_destroy(td_ag_gemm* h) { delete h; }

int td_gemm_rs_create(td_session* s, int rank, int maxM, int n, int k, int dtype, const char* config, td_gemm_rs** op) {
  return guarded(
      [&] { *op = new td_gemm_rs(s, rank, rankCount(s), maxM, n, k, checkedDType(dtype), parseConfig(config)); });
}
int td_gemm_rs_run(td_gemm_rs* h, int stream, uint64_t a, uint64_t b, uint64_t out, int m, int outDType) {
  return guarded([&] {
    int64_t rows = ops::rowsOfRank(m, h->team.size(), h->team.rank());
    h->get().run({a, {m, h->k}, h->dtype}, h->b(b), {out, {rows, h->n}, checkedDType(outDType)}, m, stream);
  });
}
int td_gemm_rs_close(td_gemm_rs* h) {
  return guarded([&] { h->close(); });
}
void td_gemm_rs_destroy(td_gemm_rs* h) { delete h; }

}  // extern "C"
