// The table that products share, and what their model says as JSON.
#include "ops/gemm_options.h"
#include "ops/gemm_choice.h"
#include <nlohmann/json.hpp>

namespace tandem::ops {
namespace {
using nlohmann::json;

constexpr int kMostRanks = 1024, kMostPrograms = 1 << 16, kMostRows = std::numeric_limits<int>::max();
constexpr int64_t kMostResults = int64_t(1) << 36;  // the model goes from tile to tile

// A member of the request.
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

model::Machine machineOf(const std::string& profile, const std::string& gpu) {
  if (profile.empty()) return model::machineOfGpu(gpu);
  auto fail = [&](const std::string& why) {
    throw Error("`profile` is not one that `tandem doctor --profile` of this version measured on `" + gpu +
                "`: " + why);
  };
  model::Machine machine;
  try {
    machine = model::readMachine(profile);
  } catch (const std::runtime_error& error) {
    fail(error.what());
  }
  if (machine.device != gpu) fail("it is of `" + machine.device + "`");
  return machine;
}

// Returns the options that may be given to another operator, whose `b` may lie differently.
json chosen(const Table& table, const GemmConfig& config) {
  json out = table.write(&config);
  out.erase("b_transposed");
  return out;
}

}  // namespace

Table gemmTable(const char* name, const char* className, const char* what, const char* rowsOfA, const char* rowsOfOut) {
  return {.name = name,
          .className = className,
          .what = what,
          .sizes = {{"max_m", "the most rows"}, {"n", "columns of b"}, {"k", "columns of a, rows of b"}},
          .types = multipliedTypes(),
          .typeWords = "fp16, bf16, fp32 or fp8",
          .tensors = {{"a", {rowsOfA, "k"}},
                      {"b", {"k", "n"}, false, "b_transposed"},
                      {"out", {rowsOfOut, "n"}, true, "", "out_dtype"}},
          .numbers = {{"m", Number::Kind::Rows, "rows of the whole product"},
                      {"out_dtype", Number::Kind::Type, "of `out`: fp16, bf16 or fp32"}},
          .options = {}};
}

std::string textOf(const Table& table, const TunedGemm& t) {
  return json{{"config", chosen(table, t.config)},
              {"predicted", t.predicted},
              {"measured", t.measured},
              {"untuned", t.untuned},
              {"tried", t.tried}}
      .dump();
}

json gemmChoices(const Table& table, const GemmModel& model, const json& request) {
  GemmSizes sizes{numberOf(request, "m", kMostRows), numberOf(request, "n", kMostRows),
                  numberOf(request, "k", kMostRows), int(numberOf(request, "ranks", kMostRanks)),
                  checkedDType(int(numberOf(request, "dtype", kMostRows)))};
  GemmConfig config = configOf<GemmConfig>(table, request.value("config", json::object()));
  std::string target = textOf(request, "target"), profile = textOf(request, "profile"), gpu = textOf(request, "gpu");
  int programs = int(numberOf(request, "programs", kMostPrograms));
  if (sizes.ranks < 1 || programs < 1) throw Error("`ranks` and `programs` are at least 1");
  if (sizes.m * sizes.n > kMostResults)
    throw Error("`m` times `n` is " + std::to_string(sizes.m * sizes.n) + ", at most 2**36 is possible");
  checkMade(table, {sizes.m, sizes.n, sizes.k}, sizes.dtype, &config);
  model::Machine machine = machineOf(profile, gpu);
  Tensor a{0, {sizes.m, sizes.k}, sizes.dtype}, b{0, {sizes.k, sizes.n}, sizes.dtype};
  // Rows of a `b` [n, k] are as long as those of `a`.
  bool blocks = copiesBlocks({a, config.bTransposed ? a : b}, sizes.dtype, config.bTransposed, target);
  json all = json::array();
  bool products = target != "sim";
  for (GemmChoice& c : choices(model, config, sizes, {target, programs, blocks, products}, machine)) {
    c.config.copies = c.slices.copies;
    all.push_back({{"config", chosen(table, c.config)}, {"predicted", c.microseconds}});
  }
  return all;
}

}  // namespace tandem::ops
