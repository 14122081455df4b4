// The listing of hand-built trees.
#include "compiler/frontend/ast/ast.h"
#include <gtest/gtest.h>

namespace tandem::frontend::ast {
namespace {

ExprPtr expr(ExprKind kind, SourceRange range, std::string text = {}) {
  auto e = std::make_unique<Expr>();
  e->kind = kind;
  e->range = range;
  e->text = std::move(text);
  return e;
}

std::string printOne(ExprPtr value) {
  auto s = std::make_unique<Stmt>();
  s->kind = StmtKind::Expr;
  s->range = value->range;
  s->exprs.push_back(std::move(value));
  Module module;
  module.body.push_back(std::move(s));
  return print(module);
}

TEST(Print, NestsChildrenUnderTheirParent) {
  auto sum = expr(ExprKind::Binary, {1, 1, 1, 6});
  sum->binary = BinaryOp::FloorDiv;
  sum->children.push_back(expr(ExprKind::Name, {1, 1, 1, 2}, "a"));
  sum->children.push_back(expr(ExprKind::Int, {1, 6, 1, 7}, "0x10"));
  EXPECT_EQ(printOne(std::move(sum)),
            "Expr 1:1-1:6\n"
            "  Binary // 1:1-1:6\n"
            "    Name a 1:1-1:2\n"
            "    Int 0x10 1:6-1:7\n");
}

TEST(Print, KeepsAStringOnOneLine) {
  EXPECT_EQ(printOne(expr(ExprKind::String, {1, 1, 1, 9}, "a\n\"\\\xc3\xa9")),
            "Expr 1:1-1:9\n"
            "  String \"a\\x0a\\x22\\x5c\\xc3\\xa9\" 1:1-1:9\n");
}

TEST(Print, ShowsAbsentSliceParts) {
  auto slice = expr(ExprKind::Slice, {2, 3, 2, 5});
  slice->children.push_back(nullptr);
  slice->children.push_back(expr(ExprKind::None, {2, 4, 2, 5}));
  slice->children.push_back(nullptr);
  EXPECT_EQ(printOne(std::move(slice)),
            "Expr 2:3-2:5\n"
            "  Slice 2:3-2:5\n"
            "    absent\n"
            "    None 2:4-2:5\n"
            "    absent\n");
}

TEST(Print, PrintsFloatsShortest) {
  auto number = expr(ExprKind::Float, {1, 1, 1, 4});
  number->number = 0.1;
  EXPECT_EQ(printOne(std::move(number)), "Expr 1:1-1:4\n  Float 0.1 1:1-1:4\n");
}

}  // namespace
}  // namespace tandem::frontend::ast
