// Python's arithmetic on constants of compile time. Knows no tensors.
#pragma once
#include "compiler/frontend/semantic/context.h"

namespace tandem::frontend::semantic {

const char* spelling(ast::BinaryOp);
const char* spelling(ast::CompareOp);
const char* spelling(ast::UnaryOp);

Value foldBinary(Context&, ast::BinaryOp, const Value& lhs, const Value& rhs);
Value foldNumbers(Context&, ast::BinaryOp, const Value& lhs, const Value& rhs);
Value foldUnary(Context&, ast::UnaryOp, const Value&);
// Comparison of constants; `is`, `in` and their negations may see tensors too.
bool foldCompare(Context&, ast::CompareOp, const Value& lhs, const Value& rhs);
// Equality of constants as `==` sees it; nothing when it depends on a tensor.
std::optional<bool> constantsEqual(const Value& lhs, const Value& rhs);

Int intOf(const Value& boolOrInt);
double doubleOf(const Value& number);

[[noreturn]] void failOperands(Context&, const char* op, const Value& lhs, const Value& rhs);

}  // namespace tandem::frontend::semantic
