// The C ABI of the collectives and of GEMM + AllReduce.
#include "tandem/collectives_c_api.h"
#include "ops/handle.h"
#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

using namespace tandem;

namespace {

using Options = std::map<std::string, std::function<void(int64_t)>>;

template <class Int>
std::function<void(int64_t)> into(Int& member) {
  return [&member](int64_t value) { member = Int(std::clamp<int64_t>(value, -1, int64_t(1) << 30)); };
}

void parse(const char* text, const Options& options) {
  const nlohmann::json given = nlohmann::json::parse(&required(text, "config"));
  for (auto& [key, value] : given.items()) {
    auto option = options.find(key);
    if (option == options.end()) throw Error("the operator has no option `" + key + "`");
    if (!value.is_number_integer() && !value.is_boolean())
      throw Error("option `" + key + "` is " + value.dump() + ", an integer is needed");
    int64_t number = value.is_boolean() ? value.get<bool>() : value.get<int64_t>();
    if (number < 0) throw Error("option `" + key + "` is " + value.dump());
    option->second(number);
  }
}

Options optionsOf(ops::CollectiveConfig& c) {
  return {{"programs", into(c.programs)}, {"num_warps", into(c.numWarps)}, {"chunk_bytes", into(c.chunkBytes)}};
}

}  // namespace

struct td_all_reduce : ops::Handle<ops::AllReduce> {
  using Handle::Handle;
};
struct td_reduce_scatter : ops::Handle<ops::ReduceScatter> {
  using Handle::Handle;
};
struct td_all_gather : ops::Handle<ops::AllGather> {
  using Handle::Handle;
};
struct td_gemm_ar : ops::ProductHandle<ops::GemmAllReduce> {
  using ProductHandle::ProductHandle;
};

extern "C" {

int td_all_reduce_create(td_session* s, int rank, uint64_t maxElements, int dtype, const char* text,
                         td_all_reduce** op) {
  return guarded([&] {
    auto& place = required(op, "op");
    ops::CollectiveConfig config;
    int way = 0;
    Options options = optionsOf(config);
    options["way"] = into(way);
    parse(text, options);
    if (way > int(ops::AllReduceWay::TwoShot))
      throw Error("option `way` is " + std::to_string(way) + ", 0 to 3 are possible");
    DType type = ops::checkedDType(dtype);
    place = new td_all_reduce(s, rank, 1, type, int64_t(maxElements), type, ops::AllReduceWay(way), config);
  });
}
int td_all_reduce_run(td_all_reduce* h, int stream, uint64_t x, uint64_t out, uint64_t n, int symmetricOut) {
  return guarded([&] {
    auto& op = required(h, "op");
    op.get().run({x, {int64_t(n)}, op.dtype}, {out, {int64_t(n)}, op.dtype}, stream, symmetricOut != 0);
  });
}
int td_all_reduce_close(td_all_reduce* h) {
  return guarded([&] { required(h, "op").close(); });
}
void td_all_reduce_destroy(td_all_reduce* h) { delete h; }
int td_all_reduce_way(uint64_t bytes, int ranks, int* way) {
  return guarded([&] { required(way, "way") = int(ops::allReduceWay(int64_t(bytes), ranks)); });
}

int td_reduce_scatter_create(td_session* s, int rank, int maxM, int columns, int dtype, const char* text,
                             td_reduce_scatter** op) {
  return guarded([&] {
    auto& place = required(op, "op");
    ops::CollectiveConfig config;
    parse(text, optionsOf(config));
    DType type = ops::checkedDType(dtype);
    place = new td_reduce_scatter(s, rank, columns, type, int64_t(maxM), int64_t(columns), type, config);
  });
}
int td_reduce_scatter_run(td_reduce_scatter* h, int stream, uint64_t x, uint64_t out, int m) {
  return guarded([&] {
    auto& op = required(h, "op");
    op.get().run({x, {m, op.columns}, op.dtype}, {out, {op.ownRows(m), op.columns}, op.dtype}, m, stream);
  });
}
int td_reduce_scatter_close(td_reduce_scatter* h) {
  return guarded([&] { required(h, "op").close(); });
}
void td_reduce_scatter_destroy(td_reduce_scatter* h) { delete h; }

int td_all_gather_create(td_session* s, int rank, int maxM, int columns, int dtype, const char* text,
                         td_all_gather** op) {
  return guarded([&] {
    auto& place = required(op, "op");
    ops::CollectiveConfig config;
    int64_t wordsBytes = ops::AllGather::kWordsBytes;
    Options options = optionsOf(config);
    options["words_bytes"] = into(wordsBytes);
    parse(text, options);
    DType type = ops::checkedDType(dtype);
    place = new td_all_gather(s, rank, columns, type, int64_t(maxM), int64_t(columns), type, config, wordsBytes);
  });
}
int td_all_gather_run(td_all_gather* h, int stream, uint64_t x, uint64_t out, int m, int symmetricOut) {
  return guarded([&] {
    auto& op = required(h, "op");
    op.get().run({x, {op.ownRows(m), op.columns}, op.dtype}, {out, {m, op.columns}, op.dtype}, m, stream,
                 symmetricOut != 0);
  });
}
int td_all_gather_close(td_all_gather* h) {
  return guarded([&] { required(h, "op").close(); });
}
void td_all_gather_destroy(td_all_gather* h) { delete h; }

int td_gemm_ar_create(td_session* s, int rank, int maxM, int n, int k, int dtype, const char* text, td_gemm_ar** op) {
  return guarded([&] {
    auto& place = required(op, "op");
    ops::GemmAllReduceConfig c;
    parse(text, {{"block_m", into(c.blockM)},
                 {"block_n", into(c.blockN)},
                 {"block_k", into(c.blockK)},
                 {"programs", into(c.programs)},
                 {"num_warps", into(c.numWarps)},
                 {"num_stages", into(c.numStages)},
                 {"splits", into(c.splits)},
                 {"one_shot_bytes", into(c.oneShotBytes)},
                 {"words_bytes", into(c.wordsBytes)},
                 {"b_transposed", [&](int64_t value) { c.bTransposed = value != 0; }}});
    place = new td_gemm_ar(s, rank, maxM, n, k, dtype, c);
  });
}
int td_gemm_ar_run(td_gemm_ar* h, int stream, uint64_t a, uint64_t b, uint64_t c, int m, int cDType) {
  return guarded([&] {
    auto& op = required(h, "op");
    op.get().run(op.a(a, m), op.b(b), op.result(c, m, cDType), m, stream);
  });
}
int td_gemm_ar_close(td_gemm_ar* h) {
  return guarded([&] { required(h, "op").close(); });
}
void td_gemm_ar_destroy(td_gemm_ar* h) { delete h; }

}  // extern "C"
