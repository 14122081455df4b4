// What the handles of the operators' C ABI hold, and the checks of what a caller passes in.
#pragma once
#include "api/guarded.h"
#include "api/required.h"
#include "tandem/ops.h"
#include <optional>
#include <string>

namespace tandem::ops {

inline DType checkedDType(int number) {
  if (number < 0 || number > int(DType::Float64))
    throw Error("element type number " + std::to_string(number) + " is unknown");
  return DType(number);
}

// An operator with the team it lives on.
template <class Op>
struct Handle {
  Team team;
  DType dtype;
  int64_t columns;
  std::optional<Op> op;

  template <class... Sizes>
  Handle(td_session* session, int rank, int64_t columns, DType dtype, Sizes&&... sizes)
      : team(session, rank, rankCount(session)), dtype(dtype), columns(columns) {
    op.emplace(team, std::forward<Sizes>(sizes)...);
  }
  void close() {
    if (op) op->close();
    op.reset();
  }
  Op& get() {
    if (!op) throw Error("the operator is closed");
    return *op;
  }
  int64_t ownRows(int64_t m) const { return rowsOfRank(m, team.size(), team.rank()); }
};

// An operator that multiplies a [rows, k] and b [k, columns] (transposed: [columns, k]).
template <class Op>
struct ProductHandle : Handle<Op> {
  int64_t k;
  bool bTransposed;

  template <class Config>
  ProductHandle(td_session* session, int rank, int maxM, int n, int k, int dtype, const Config& config)
      : Handle<Op>(session, rank, n, checkedDType(dtype), maxM, n, k, checkedDType(dtype), config),
        k(k),
        bTransposed(config.bTransposed) {}
  Tensor a(uint64_t address, int64_t rows) const { return {address, {rows, k}, this->dtype}; }
  Tensor b(uint64_t address) const {
    return {address, {bTransposed ? this->columns : k, bTransposed ? k : this->columns}, this->dtype};
  }
  Tensor result(uint64_t address, int64_t rows, int dtype) const {
    return {address, {rows, this->columns}, checkedDType(dtype)};
  }
};

}  // namespace tandem::ops
