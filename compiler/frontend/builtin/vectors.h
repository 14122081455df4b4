// Per-thread vectors as values: taking them apart and putting them together.
#pragma once
#include "compiler/frontend/builtin/operands.h"

namespace tandem::frontend::builtin {

Tensor makeVector(Context&, const std::vector<Tensor>& elements);  // one dtype; at least one
Tensor element(Context&, const Tensor& vector, int64_t index);
std::vector<Tensor> elements(Context&, const Tensor& vector);
// The same bits as `length` elements of `dtype`; length 0 is a scalar.
Tensor recast(Context&, const Tensor&, DType dtype, uint32_t length);
Tensor vectorArgument(Context&, const Value&, const std::string& what);
uint32_t vectorLength(Context&, const Value&, const std::string& what);  // a power of two

// One memory access by each thread. `vectorLength` 0 accesses a scalar.
struct Access {
  tile::Semantic sem = tile::Semantic::Relaxed;
  tile::Scope scope = tile::Scope::Gpu;
  bool weak = false;
};
Tensor threadLoad(Context&, const Tensor& pointer, uint32_t vectorLength, const Access&);
void threadStore(Context&, const Tensor& pointer, const Tensor& value, const Access&);
// Makes an access from words; two empty words make a weak access.
Access access(Context&, const Value& scope, const Value& semantic, tile::Semantic strongest);

}  // namespace tandem::frontend::builtin
