#include "ops/product/library_way.h"
#include "ops/all_gather/all_gather.h"
#include "ops/all_reduce/all_reduce.h"
#include "ops/kernel_text.h"
#include "ops/reduce_scatter/reduce_scatter.h"

namespace tandem::ops {
namespace {

constexpr int64_t kWorkspaceBytes = 32 << 20;  // what cuBLAS asks for on its own
constexpr int64_t kBlock = 32, kSimulatedPrograms = 6;

}  // namespace

LibraryWay::LibraryWay(Team& team, Memory& memory, Kind kind, int64_t maxM, int64_t n, int64_t k, DType dtype,
                       bool bTransposed)
    : team_(team), kind_(kind), bTransposed_(bTransposed), hasProducts_(team.hasProducts()) {
  if (hasProducts_) workspace_ = memory.localZeros({kWorkspaceBytes}, DType::Int8, "library workspace");
  if (team.size() == 1) return;
  switch (kind) {
    case Kind::Gather: {
      AllGatherConfig config;
      config.packetsBytes = maxM * k * byteSize(dtype);
      collective_ = std::make_unique<AllGather>(team, maxM, k, dtype, config);
      between_ = memory.localZeros({maxM, k}, dtype, "library rows");
      break;
    }
    case Kind::Scatter: {
      ReduceScatterConfig config;
      config.packetsBytes = shardRows(maxM, team.size()) * n * byteSize(dtype);
      collective_ = std::make_unique<ReduceScatter>(team, maxM, n, dtype, config);
      between_ = memory.localZeros({maxM, n}, dtype, "library sums");
      break;
    }
    case Kind::Reduce: collective_ = std::make_unique<AllReduce>(team, maxM * n, dtype);
  }
}

LibraryWay::~LibraryWay() = default;

void LibraryWay::multiply(const Tensor& a, const Tensor& b, const Tensor& out, int stream) {
  if (hasProducts_) return team_.multiply(out, a, b, bTransposed_, workspace_, stream);
  int64_t programs = std::min<int64_t>(kSimulatedPrograms, team_.residentPrograms());
  team_.launch(kernelOf("ops/product/product.py", "product"), {.grid = {int(programs), 1, 1}, .stream = stream},
               {a, b, out, out.shape[0], out.shape[1], a.shape[1]},
               {{"BLOCK", kBlock}, {"BLOCK_K", kBlock}, {"PROGRAMS", programs}, {"B_TRANSPOSED", bTransposed_}});
}

void LibraryWay::run(const Tensor& a, const Tensor& b, const Tensor& out, int64_t m, int stream) {
  if (out.dtype != a.dtype)
    throw Error(std::string("`library` is 1, but its result has the type of `a`, ") + name(a.dtype) + ": `out` is " +
                name(out.dtype));
  if (!collective_) return multiply(a, b, out, stream);
  Tensor between{between_.address, {m, between_.shape.empty() ? 0 : between_.shape[1]}, out.dtype};
  switch (kind_) {
    case Kind::Gather:
      static_cast<AllGather&>(*collective_).run(a, between, m, stream);
      return multiply(between, b, out, stream);
    case Kind::Scatter:
      multiply(a, b, between, stream);
      return static_cast<ReduceScatter&>(*collective_).run(between, out, m, stream);
    case Kind::Reduce: multiply(a, b, out, stream); return static_cast<AllReduce&>(*collective_).run(out, out, stream);
  }
}

}  // namespace tandem::ops
