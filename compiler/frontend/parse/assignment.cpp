// This part of the parser reads expression statements and the three kinds of assignment, and checks their targets.
#include "compiler/frontend/parse/parser.h"

namespace tandem::frontend {
namespace {

using ast::BinaryOp;
using ast::Expr;
using ast::ExprKind;
using ast::StmtKind;

bool augmentedOperator(TokenKind kind, BinaryOp& op) {
  switch (kind) {
    case TokenKind::PlusEqual: op = BinaryOp::Add; return true;
    case TokenKind::MinusEqual: op = BinaryOp::Sub; return true;
    case TokenKind::StarEqual: op = BinaryOp::Mul; return true;
    case TokenKind::SlashEqual: op = BinaryOp::Div; return true;
    case TokenKind::DoubleSlashEqual: op = BinaryOp::FloorDiv; return true;
    case TokenKind::PercentEqual: op = BinaryOp::Mod; return true;
    case TokenKind::AtEqual: op = BinaryOp::MatMul; return true;
    case TokenKind::AmpersandEqual: op = BinaryOp::And; return true;
    case TokenKind::PipeEqual: op = BinaryOp::Or; return true;
    case TokenKind::CaretEqual: op = BinaryOp::Xor; return true;
    case TokenKind::LShiftEqual: op = BinaryOp::LShift; return true;
    case TokenKind::RShiftEqual: op = BinaryOp::RShift; return true;
    case TokenKind::DoubleStarEqual: op = BinaryOp::Pow; return true;
    default: return false;
  }
}

// The words for an expression in messages.
std::string describe(const Expr& e) {
  switch (e.kind) {
    case ExprKind::Name: return "name";
    case ExprKind::None: return "`None`";
    case ExprKind::Bool: return e.boolean ? "`True`" : "`False`";
    case ExprKind::Int:
    case ExprKind::Float:
    case ExprKind::String: return "literal";
    case ExprKind::Ellipsis: return "ellipsis";
    case ExprKind::FString: return "f-string expression";
    case ExprKind::Tuple: return "tuple";
    case ExprKind::List: return "list";
    case ExprKind::Dict: return "dict literal";
    case ExprKind::Set: return "set display";
    case ExprKind::Unary:
    case ExprKind::Binary:
    case ExprKind::BoolOp: return "expression";
    case ExprKind::Compare: return "comparison";
    case ExprKind::Call: return "function call";
    case ExprKind::Attribute: return "attribute";
    case ExprKind::Subscript: return "subscript";
    case ExprKind::Slice: return "slice";
    case ExprKind::Conditional: return "conditional expression";
    case ExprKind::Lambda: return "lambda";
    case ExprKind::Comprehension: return e.text + (e.text == "generator" ? " expression" : " comprehension");
    case ExprKind::Starred: return "starred";
    case ExprKind::Walrus: return "named expression";
    case ExprKind::Unsupported: return e.text + " expression";
  }
  return "expression";
}

bool isSingleTarget(const Expr& e) {
  return e.kind == ExprKind::Name || e.kind == ExprKind::Attribute || e.kind == ExprKind::Subscript;
}

}  // namespace

Parser::StmtPtr Parser::parseExprStatement() {
  Mark first = pos_;
  ExprPtr value = parseAssignedValue();
  BinaryOp op{};
  if (at(TokenKind::Equal)) return parseAssign(first, std::move(value));
  if (at(TokenKind::Colon)) return parseAnnAssign(first, std::move(value));
  if (augmentedOperator(kind(), op)) return parseAugAssign(first, std::move(value), op);
  StmtPtr s = makeStmt(StmtKind::Expr, first);
  s->exprs.push_back(std::move(value));
  return s;
}

Parser::ExprPtr Parser::parseAssignedValue() { return at(TokenKind::KwYield) ? parseYield() : parseStarExpressions(); }

Parser::StmtPtr Parser::parseAssign(Mark first, ExprPtr target) {
  Exprs exprs(1);
  ExprPtr value = std::move(target);
  while (accept(TokenKind::Equal)) {
    checkTarget(*value, TargetUse::Assign);
    exprs.push_back(std::move(value));
    value = parseAssignedValue();
  }
  exprs[0] = std::move(value);
  StmtPtr s = makeStmt(StmtKind::Assign, first);
  s->exprs = std::move(exprs);
  return s;
}

Parser::StmtPtr Parser::parseAugAssign(Mark first, ExprPtr target, BinaryOp op) {
  if (!isSingleTarget(*target))
    fail(describe(*target) + " is an illegal expression for augmented assignment", target->range);
  advance();
  ExprPtr value = parseAssignedValue();
  StmtPtr s = makeStmt(StmtKind::AugAssign, first);
  s->binary = op;
  s->exprs.push_back(std::move(target));
  s->exprs.push_back(std::move(value));
  return s;
}

Parser::StmtPtr Parser::parseAnnAssign(Mark first, ExprPtr target) {
  if (target->kind == ExprKind::Tuple || target->kind == ExprKind::List)
    fail("only a single target (not " + describe(*target) + ") can be annotated", target->range);
  if (!isSingleTarget(*target)) failInvalid();
  advance();
  Exprs exprs;
  exprs.push_back(std::move(target));
  exprs.push_back(parseExpression());
  if (accept(TokenKind::Equal)) exprs.push_back(parseAssignedValue());
  StmtPtr s = makeStmt(StmtKind::AnnAssign, first);
  s->exprs = std::move(exprs);
  return s;
}

void Parser::checkTarget(const Expr& target, TargetUse use) const {
  if (isSingleTarget(target)) return;
  bool isSequence = target.kind == ExprKind::Tuple || target.kind == ExprKind::List;
  bool isStarred = target.kind == ExprKind::Starred && use != TargetUse::Delete;
  if (!isSequence && !isStarred) failTarget(target, use);
  for (const ExprPtr& element : target.children) checkTarget(*element, use);
}

void Parser::failTarget(const Expr& target, TargetUse use) const {
  std::string message = (use == TargetUse::Delete ? "cannot delete " : "cannot assign to ") + describe(target);
  bool isConstant = target.kind == ExprKind::None || target.kind == ExprKind::Bool;
  if (use == TargetUse::Assign && !isConstant && target.kind != ExprKind::Unsupported)
    message += ", maybe you meant `==` instead of `=`?";
  fail(message, target.range);
}

Parser::ExprPtr Parser::parseTarget(TargetUse use) {
  ExprPtr target = use == TargetUse::Loop ? parseTargetList() : parseTargetElement();
  checkTarget(*target, use);
  return target;
}

// Elements are read without comparisons, so that `in` ends the list.
Parser::ExprPtr Parser::parseTargetList() {
  Mark first = pos_;
  ExprPtr head = parseTargetElement();
  if (!at(TokenKind::Comma)) return head;
  Exprs elements;
  elements.push_back(std::move(head));
  while (accept(TokenKind::Comma) && !at(TokenKind::KwIn)) elements.push_back(parseTargetElement());
  ExprPtr tuple = makeExpr(ExprKind::Tuple, first);
  tuple->children = std::move(elements);
  return tuple;
}

Parser::ExprPtr Parser::parseTargetElement() { return at(TokenKind::Star) ? parseStarred() : parseBinary(); }

}  // namespace tandem::frontend
