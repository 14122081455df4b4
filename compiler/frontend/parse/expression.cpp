// Expressions from `lambda` and `if ... else` down to unary operators, by precedence.
#include "compiler/frontend/parse/parser.h"

namespace tandem::frontend {
namespace {

using ast::BinaryOp;
using ast::CompareOp;
using ast::ExprKind;
using ast::UnaryOp;

struct BinaryRule {
  BinaryOp op{};
  int precedence = 0;  // 0: not a binary operator
};

BinaryRule binaryRule(TokenKind kind) {
  switch (kind) {
    case TokenKind::Pipe: return {BinaryOp::Or, 1};
    case TokenKind::Caret: return {BinaryOp::Xor, 2};
    case TokenKind::Ampersand: return {BinaryOp::And, 3};
    case TokenKind::LShift: return {BinaryOp::LShift, 4};
    case TokenKind::RShift: return {BinaryOp::RShift, 4};
    case TokenKind::Plus: return {BinaryOp::Add, 5};
    case TokenKind::Minus: return {BinaryOp::Sub, 5};
    case TokenKind::Star: return {BinaryOp::Mul, 6};
    case TokenKind::Slash: return {BinaryOp::Div, 6};
    case TokenKind::DoubleSlash: return {BinaryOp::FloorDiv, 6};
    case TokenKind::Percent: return {BinaryOp::Mod, 6};
    case TokenKind::At: return {BinaryOp::MatMul, 6};
    default: return {};
  }
}

}  // namespace

bool Parser::endsExpressionList() const {
  switch (kind()) {
    case TokenKind::Newline:
    case TokenKind::Semicolon:
    case TokenKind::Equal:
    case TokenKind::Colon:
    case TokenKind::FormatColon:
    case TokenKind::Exclaim:
    case TokenKind::RParen:
    case TokenKind::RBracket:
    case TokenKind::RBrace: return true;
    default: return false;
  }
}

bool Parser::startsExpression() const {
  switch (kind()) {
    case TokenKind::Name:
    case TokenKind::Int:
    case TokenKind::Float:
    case TokenKind::Imaginary:
    case TokenKind::String:
    case TokenKind::Bytes:
    case TokenKind::FStringStart:
    case TokenKind::KwNone:
    case TokenKind::KwTrue:
    case TokenKind::KwFalse:
    case TokenKind::LBrace:
    case TokenKind::Tilde:
    case TokenKind::KwLambda:
    case TokenKind::KwAwait: return true;
    default: return false;
  }
}

// One expression, or a tuple without brackets.
Parser::ExprPtr Parser::parseStarExpressions() {
  Mark first = pos_;
  ExprPtr head = parseStarExpression();
  if (!at(TokenKind::Comma)) return head;
  Exprs elements;
  elements.push_back(std::move(head));
  while (accept(TokenKind::Comma) && !endsExpressionList()) elements.push_back(parseStarExpression());
  ExprPtr tuple = makeExpr(ExprKind::Tuple, first);
  tuple->children = std::move(elements);
  return tuple;
}

// The same, but elements may be `name := value`; for places that are bracketed by other means.
Parser::ExprPtr Parser::parseTupleFrom(Mark first, ExprPtr head) {
  Exprs elements;
  elements.push_back(std::move(head));
  while (accept(TokenKind::Comma) && !endsExpressionList()) elements.push_back(parseStarNamed());
  ExprPtr tuple = makeExpr(ExprKind::Tuple, first);
  tuple->children = std::move(elements);
  return tuple;
}

Parser::ExprPtr Parser::parseStarExpression() { return at(TokenKind::Star) ? parseStarred() : parseExpression(); }

Parser::ExprPtr Parser::parseStarNamed() { return at(TokenKind::Star) ? parseStarred() : parseNamed(); }

Parser::ExprPtr Parser::parseStarred() {
  Mark first = pos_;
  advance();
  ExprPtr value = parseBinary();
  return makeExpr(ExprKind::Starred, first, std::move(value));
}

Parser::ExprPtr Parser::parseNamed() {
  if (!at(TokenKind::Name) || kind(1) != TokenKind::ColonEqual) {
    ExprPtr value = parseExpression();
    if (at(TokenKind::ColonEqual)) fail("cannot use assignment expressions with this target", value->range);
    return value;
  }
  Mark first = pos_;
  ExprPtr name = parseName();
  advance();
  ExprPtr value = parseExpression();
  return makeExpr(ExprKind::Walrus, first, std::move(name), std::move(value));
}

Parser::ExprPtr Parser::parseExpression() {
  Nesting nesting(*this);
  Mark first = pos_;
  if (at(TokenKind::KwLambda)) return parseLambda();
  ExprPtr then = parseDisjunction();
  if (!accept(TokenKind::KwIf)) return then;
  ExprPtr test = parseDisjunction();
  if (!accept(TokenKind::KwElse)) failHere("expected `else` after `if` expression");
  ExprPtr otherwise = parseExpression();
  return makeExpr(ExprKind::Conditional, first, std::move(test), std::move(then), std::move(otherwise));
}

Parser::ExprPtr Parser::parseLambda() {
  Mark first = pos_;
  advance();
  std::vector<ast::Parameter> parameters = parseParameters(TokenKind::Colon, false);
  if (at(TokenKind::FormatColon)) failHere("f-string: lambda expressions are not allowed without parentheses");
  expect(TokenKind::Colon);
  ExprPtr body = parseExpression();
  ExprPtr lambda = makeExpr(ExprKind::Lambda, first, std::move(body));
  lambda->parameters = std::move(parameters);
  return lambda;
}

Parser::ExprPtr Parser::parseYield() {
  Mark first = pos_;
  advance();
  bool isFrom = accept(TokenKind::KwFrom);
  ExprPtr value;
  if (isFrom)
    value = parseExpression();
  else if (!endsExpressionList())
    value = parseStarExpressions();
  return makeUnsupported(isFrom ? "`yield from`" : "`yield`", first, std::move(value));
}

Parser::ExprPtr Parser::parseBoolOp(TokenKind word, ast::BoolOpKind op, ExprPtr (Parser::*operand)()) {
  Mark first = pos_;
  ExprPtr head = (this->*operand)();
  if (!at(word)) return head;
  Exprs operands;
  operands.push_back(std::move(head));
  while (accept(word)) operands.push_back((this->*operand)());
  ExprPtr e = makeExpr(ExprKind::BoolOp, first);
  e->boolOp = op;
  e->children = std::move(operands);
  return e;
}

Parser::ExprPtr Parser::parseDisjunction() {
  return parseBoolOp(TokenKind::KwOr, ast::BoolOpKind::Or, &Parser::parseConjunction);
}

Parser::ExprPtr Parser::parseConjunction() {
  return parseBoolOp(TokenKind::KwAnd, ast::BoolOpKind::And, &Parser::parseInversion);
}

Parser::ExprPtr Parser::parseInversion() {
  if (!at(TokenKind::KwNot)) return parseComparison();
  Nesting nesting(*this);
  Mark first = pos_;
  advance();
  ExprPtr operand = parseInversion();
  ExprPtr e = makeExpr(ExprKind::Unary, first, std::move(operand));
  e->unary = UnaryOp::Not;
  return e;
}

Parser::ExprPtr Parser::parseComparison() {
  Mark first = pos_;
  ExprPtr head = parseBinary();
  CompareOp op{};
  if (!acceptCompareOp(op)) return head;
  std::vector<CompareOp> ops;
  Exprs operands;
  operands.push_back(std::move(head));
  do {
    ops.push_back(op);
    operands.push_back(parseBinary());
  } while (acceptCompareOp(op));
  ExprPtr e = makeExpr(ExprKind::Compare, first);
  e->compareOps = std::move(ops);
  e->children = std::move(operands);
  return e;
}

bool Parser::acceptCompareOp(CompareOp& op) {
  switch (kind()) {
    case TokenKind::EqEqual: op = CompareOp::Eq; break;
    case TokenKind::NotEqual: op = CompareOp::Ne; break;
    case TokenKind::Less: op = CompareOp::Lt; break;
    case TokenKind::LessEqual: op = CompareOp::Le; break;
    case TokenKind::Greater: op = CompareOp::Gt; break;
    case TokenKind::GreaterEqual: op = CompareOp::Ge; break;
    case TokenKind::KwIn: op = CompareOp::In; break;
    case TokenKind::KwNot:
      if (kind(1) != TokenKind::KwIn) return false;
      advance();
      op = CompareOp::NotIn;
      break;
    case TokenKind::KwIs:
      op = kind(1) == TokenKind::KwNot ? CompareOp::IsNot : CompareOp::Is;
      if (op == CompareOp::IsNot) advance();
      break;
    default: return false;
  }
  advance();
  return true;
}

Parser::ExprPtr Parser::parseBinary(int minPrecedence) {
  Mark first = pos_;
  Height height(*this);
  ExprPtr left = parseFactor();
  for (;;) {
    BinaryRule rule = binaryRule(kind());
    if (!rule.precedence || rule.precedence < minPrecedence) return left;
    advance();
    ExprPtr right = parseBinary(rule.precedence + 1);
    left = makeExpr(ExprKind::Binary, first, std::move(left), std::move(right));
    left->binary = rule.op;
    height.grow();
  }
}

Parser::ExprPtr Parser::parseFactor() {
  UnaryOp op{};
  switch (kind()) {
    case TokenKind::Minus: op = UnaryOp::Neg; break;
    case TokenKind::Plus: op = UnaryOp::Pos; break;
    case TokenKind::Tilde: op = UnaryOp::Invert; break;
    default: return parsePower();
  }
  Nesting nesting(*this);
  Mark first = pos_;
  advance();
  ExprPtr operand = parseFactor();
  ExprPtr e = makeExpr(ExprKind::Unary, first, std::move(operand));
  e->unary = op;
  return e;
}

Parser::ExprPtr Parser::parsePower() {
  Mark first = pos_;
  ExprPtr base = parsePrimary();
  if (!at(TokenKind::DoubleStar)) return base;
  Nesting nesting(*this);
  advance();
  ExprPtr exponent = parseFactor();
  ExprPtr e = makeExpr(ExprKind::Binary, first, std::move(base), std::move(exponent));
  e->binary = BinaryOp::Pow;
  return e;
}

}  // namespace tandem::frontend
