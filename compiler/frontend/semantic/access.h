// The words that modify memory accesses: cache operators, eviction, padding, memory order and scope.
#pragma once
#include "compiler/frontend/semantic/semantic.h"

namespace tandem::frontend::semantic {

tile::Cache loadCache(Context&, const Value&);
tile::Cache storeCache(Context&, const Value&);
tile::Evict evictionOf(Context&, const Value&);
tile::Padding paddingOf(Context&, const Value&);
tile::Semantic semanticOf(Context&, const Value&);
tile::Scope scopeOf(Context&, const Value&);

// Scalars that place a block: a tuple or list of integers and integer scalars, as int32 or int64.
std::vector<Tensor> placeScalars(Context&, const Value& list, DType dtype, const std::string& what);
std::vector<mlir::Value> valuesOf(Context&, const std::vector<Tensor>& scalars, DType dtype);

Value loadBlock(Context&, const BlockPointer&, const LoadOptions&);
void storeBlock(Context&, const BlockPointer&, const Value& value, const LoadOptions&);
bool isEmpty(const Value& listOrText);

}  // namespace tandem::frontend::semantic
