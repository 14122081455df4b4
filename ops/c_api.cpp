// The C ABI of AllGather + GEMM and GEMM + ReduceScatter.
#include "tandem/ops_c_api.h"
#include "api/text_out.h"
#include "ops/check.h"
#include "ops/handle.h"
#include "ops/plan.h"
#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

using namespace tandem;
using nlohmann::json;

namespace {

int clamped(const json& number) { return int(std::clamp<int64_t>(number.get<int64_t>(), -1, 1 << 30)); }

std::vector<std::vector<int>> parseCopies(const json& value) {
  auto isCount = [](const json& count) { return count.is_number_integer(); };
  auto isPeer = [&](const json& peer) { return peer.is_array() && std::all_of(peer.begin(), peer.end(), isCount); };
  if (!value.is_array() || !std::all_of(value.begin(), value.end(), isPeer))
    throw Error("option `copies` is " + value.dump() + ", a list of integers for each peer is needed");
  std::vector<std::vector<int>> out;
  for (const json& peer : value)
    std::transform(peer.begin(), peer.end(), std::back_inserter(out.emplace_back()), clamped);
  return out;
}

ops::GemmConfig parseConfig(const char* text) {
  ops::GemmConfig c;
  int transposed = 0;
  const std::map<std::string, int*> members = {
      {"block_m", &c.blockM},     {"block_n", &c.blockN},       {"block_k", &c.blockK}, {"programs", &c.programs},
      {"num_warps", &c.numWarps}, {"num_stages", &c.numStages}, {"group", &c.group},    {"bands", &c.bands},
      {"slices", &c.slices},      {"pieces", &c.pieces},        {"chunks", &c.chunks},  {"b_transposed", &transposed}};
  const json options = json::parse(&required(text, "config"));
  for (auto& [key, value] : options.items()) {
    if (key == "copies") {
      c.copies = parseCopies(value);
      continue;
    }
    auto member = members.find(key);
    if (member == members.end()) throw Error("operators have no option `" + key + "`");
    bool isFlag = member->second == &transposed;
    if (!value.is_number_integer() && !(isFlag && value.is_boolean()))
      throw Error("option `" + key + "` is " + value.dump() + ", an integer is needed");
    *member->second = value.is_boolean() ? int(value.get<bool>()) : clamped(value);
    int least = member->second == &c.chunks ? 0 : 1;
    if (!isFlag && *member->second < least)
      throw Error("option `" + key + "` is " + value.dump() + ", at least " + std::to_string(least) + " is needed");
  }
  c.bTransposed = transposed != 0;
  return c;
}

json jsonOf(const ops::GemmConfig& c) {
  json out = {{"block_m", c.blockM},     {"block_n", c.blockN},       {"block_k", c.blockK}, {"programs", c.programs},
              {"num_warps", c.numWarps}, {"num_stages", c.numStages}, {"group", c.group}};
  if (c.bands) out["bands"] = c.bands;
  if (c.slices) out["slices"] = c.slices;
  if (c.chunks >= 0) out["chunks"] = c.chunks;
  if (c.pieces) out["pieces"] = c.pieces;
  if (!c.copies.empty()) out["copies"] = c.copies;
  return out;
}

json jsonOf(const ops::TunedGemm& t) {
  return {{"config", jsonOf(t.config)},
          {"predicted", t.predicted},
          {"measured", t.measured},
          {"untuned", t.untuned},
          {"tried", t.tried}};
}

// A member of the request that `td_gemm_choices` gets.
int64_t numberOf(const json& request, const char* name, int64_t most) {
  json value = request.value(name, json());
  if (!value.is_number_integer())
    throw Error(std::string("`") + name + "` is " + value.dump() + ", an integer is needed");
  if (value > most)
    throw Error(std::string("`") + name + "` is " + value.dump() + ", at most " + std::to_string(most) +
                " is possible");
  return value.get<int64_t>();
}

std::string textOf(const json& request, const char* name) {
  json value = request.value(name, json());
  if (!value.is_string()) throw Error(std::string("`") + name + "` is " + value.dump() + ", a text is needed");
  return value.get<std::string>();
}

}  // namespace

struct td_ag_gemm : ops::ProductHandle<ops::AllGatherGemm> {
  using ProductHandle::ProductHandle;
};
struct td_gemm_rs : ops::ProductHandle<ops::GemmReduceScatter> {
  using ProductHandle::ProductHandle;
};

extern "C" {

int td_ag_gemm_create(td_session* s, int rank, int maxM, int n, int k, int dtype, const char* config, td_ag_gemm** op) {
  return guarded([&] {
    auto& place = required(op, "op");
    place = new td_ag_gemm(s, rank, maxM, n, k, dtype, parseConfig(config));
  });
}
int td_ag_gemm_run(td_ag_gemm* h, int stream, uint64_t a, uint64_t b, uint64_t c, int m, int cDType) {
  return guarded([&] {
    auto& op = required(h, "op");
    op.get().run(op.a(a, op.ownRows(m)), op.b(b), op.result(c, m, cDType), m, stream);
  });
}
int td_ag_gemm_tune(td_ag_gemm* h, int stream, uint64_t a, uint64_t b, uint64_t c, int m, int cDType, char** out) {
  return guarded([&] {
    auto& op = required(h, "op");
    auto& place = required(out, "json");
    place = copyOut(jsonOf(op.get().tune(op.a(a, op.ownRows(m)), op.b(b), op.result(c, m, cDType), m, stream)));
  });
}
int td_ag_gemm_close(td_ag_gemm* h) {
  return guarded([&] { required(h, "op").close(); });
}
void td_ag_gemm_destroy(td_ag_gemm* h) { delete h; }

int td_gemm_rs_create(td_session* s, int rank, int maxM, int n, int k, int dtype, const char* config, td_gemm_rs** op) {
  return guarded([&] {
    auto& place = required(op, "op");
    place = new td_gemm_rs(s, rank, maxM, n, k, dtype, parseConfig(config));
  });
}
int td_gemm_rs_run(td_gemm_rs* h, int stream, uint64_t a, uint64_t b, uint64_t out, int m, int outDType) {
  return guarded([&] {
    auto& op = required(h, "op");
    op.get().run(op.a(a, m), op.b(b), op.result(out, op.ownRows(m), outDType), m, stream);
  });
}
int td_gemm_rs_tune(td_gemm_rs* h, int stream, uint64_t a, uint64_t b, uint64_t to, int m, int outDType, char** out) {
  return guarded([&] {
    auto& op = required(h, "op");
    auto& place = required(out, "json");
    place = copyOut(jsonOf(op.get().tune(op.a(a, m), op.b(b), op.result(to, op.ownRows(m), outDType), m, stream)));
  });
}
int td_gemm_rs_close(td_gemm_rs* h) {
  return guarded([&] { required(h, "op").close(); });
}
void td_gemm_rs_destroy(td_gemm_rs* h) { delete h; }

int td_gemm_choices(const char* request, char** out) {
  return guarded([&] {
    constexpr int kMostRanks = 1024, kMostPrograms = 1 << 16, kMostRows = std::numeric_limits<int>::max();
    constexpr int64_t kMostResults = int64_t(1) << 36;  // the model goes from tile to tile
    auto& place = required(out, "json");
    json in = json::parse(&required(request, "request")), all = json::array();
    ops::GemmSizes sizes{numberOf(in, "m", kMostRows), numberOf(in, "n", kMostRows), numberOf(in, "k", kMostRows),
                         int(numberOf(in, "ranks", kMostRanks)),
                         ops::checkedDType(int(numberOf(in, "dtype", kMostRows)))};
    ops::GemmConfig config = parseConfig(in.value("config", json::object()).dump().c_str());
    std::string op = textOf(in, "op"), target = textOf(in, "target"), profile = textOf(in, "profile"),
                gpu = textOf(in, "gpu");
    int programs = int(numberOf(in, "programs", kMostPrograms));
    if (op != "ag_gemm" && op != "gemm_rs") throw Error("`" + op + "` is not `ag_gemm` or `gemm_rs`");
    if (sizes.ranks < 1 || programs < 1) throw Error("`ranks` and `programs` are at least 1");
    ops::checkOperator(op.c_str(), sizes.m, sizes.n, sizes.k, sizes.dtype, config,
                       op == "ag_gemm" ? ops::kWidthParts : 1);
    if (sizes.m * sizes.n > kMostResults)
      throw Error("`m` times `n` is " + std::to_string(sizes.m * sizes.n) + ", at most 2**36 is possible");
    if (!profile.empty() && !ops::isProfileOf(gpu, profile))
      throw Error("`profile` is not one that `tandem doctor --profile` of this version measured on `" + gpu + "`");
    bool blocks = ops::copiesBlocks({{0, {sizes.m, sizes.k}, sizes.dtype}, {0, {sizes.k, sizes.n}, sizes.dtype}},
                                    sizes.dtype, config.bTransposed, target);
    for (ops::GemmChoice& c : ops::choices(op == "ag_gemm" ? ops::GemmOp::AllGather : ops::GemmOp::ReduceScatter,
                                           config, sizes, {target, programs, blocks}, ops::machineOf(profile, gpu))) {
      c.config.copies = c.slices.copies;
      all.push_back({{"config", jsonOf(c.config)}, {"predicted", c.microseconds}});
    }
    place = copyOut(all);
  });
}

}  // extern "C"
