// Atoms, and the calls, attributes and subscripts that follow them.
#include "compiler/frontend/parse/parser.h"

namespace tandem::frontend {

using ast::ExprKind;

Parser::ExprPtr Parser::parsePrimary() {
  Mark first = pos_;
  if (accept(TokenKind::KwAwait)) {
    if (at(TokenKind::KwAwait)) failInvalid();
    ExprPtr value = parsePrimary();
    return makeUnsupported("`await`", first, std::move(value));
  }
  Height height(*this);
  ExprPtr value = parseAtom();
  for (;; height.grow()) {
    if (at(TokenKind::Dot))
      value = parseAttribute(first, std::move(value));
    else if (at(TokenKind::LParen))
      value = parseCall(first, std::move(value));
    else if (at(TokenKind::LBracket))
      value = parseSubscript(first, std::move(value));
    else
      return value;
  }
}

Parser::ExprPtr Parser::parseAttribute(Mark first, ExprPtr value) {
  advance();
  std::string member = expectName();
  ExprPtr e = makeExpr(ExprKind::Attribute, first, std::move(value));
  e->text = std::move(member);
  return e;
}

Parser::ExprPtr Parser::parseCall(Mark first, ExprPtr callee) {
  Mark open = pos_;
  advance();
  ExprPtr call = makeExpr(ExprKind::Call, first, std::move(callee));
  parseArguments(*call, open);
  call->range = rangeFrom(first);
  return call;
}

// Up to and including the closing bracket. Positional arguments go to the children.
void Parser::parseArguments(ast::Expr& call, Mark open) {
  bool sawDoubleStar = false;
  Mark last = open;
  while (!at(TokenKind::RParen)) {
    last = pos_;
    parseArgument(call, open, sawDoubleStar);
    if (!accept(TokenKind::Comma)) break;
  }
  expectCloseAfter(last, TokenKind::RParen);
}

void Parser::parseArgument(ast::Expr& call, Mark open, bool& sawDoubleStar) {
  Mark first = pos_;
  if (accept(TokenKind::DoubleStar)) {
    sawDoubleStar = true;
    parseKeyword(call, first, {});
  } else if (at(TokenKind::Name) && kind(1) == TokenKind::Equal) {
    std::string name = expectName();
    advance();
    if (at(TokenKind::Comma) || at(TokenKind::RParen)) failHere("expected argument value expression");
    parseKeyword(call, first, std::move(name));
  } else if (at(TokenKind::Star)) {
    if (sawDoubleStar) failHere("iterable argument unpacking follows keyword argument unpacking");
    advance();
    ExprPtr value = parseExpression();
    call.children.push_back(makeExpr(ExprKind::Starred, first, std::move(value)));
  } else {
    parsePositional(call, open, sawDoubleStar);
  }
}

void Parser::parseKeyword(ast::Expr& call, Mark first, std::string name) {
  ExprPtr value = parseExpression();
  if (atClause()) fail("generator expression must be parenthesized", value->range);
  call.keywords.push_back({std::move(name), std::move(value), rangeFrom(first)});
}

// A generator that is the only argument needs no brackets of its own; its range is that of the call's.
void Parser::parsePositional(ast::Expr& call, Mark open, bool sawDoubleStar) {
  Mark first = pos_;
  ExprPtr value = parseNamed();
  if (at(TokenKind::Equal)) failKeywordName(*value);
  if (atClause()) {
    bool isOnly = first == open + 1 && call.kind == ExprKind::Call;
    value = parseComprehension("generator", first, std::move(value), nullptr);
    if (!isOnly || !at(TokenKind::RParen)) fail("generator expression must be parenthesized", value->range);
    value->range = lexed_.tokens[open].range;
    value->range.endLine = token().range.endLine;
    value->range.endColumn = token().range.endColumn;
  } else if (sawDoubleStar) {
    fail("positional argument follows keyword argument unpacking", value->range);
  } else if (!call.keywords.empty()) {
    fail("positional argument follows keyword argument", value->range);
  }
  call.children.push_back(std::move(value));
}

void Parser::failKeywordName(const ast::Expr& name) const {
  if (name.kind == ExprKind::None) fail("cannot assign to `None`", name.range);
  if (name.kind == ExprKind::Bool)
    fail(name.boolean ? "cannot assign to `True`" : "cannot assign to `False`", name.range);
  fail("expression cannot contain assignment, perhaps you meant `==`?", name.range);
}

Parser::ExprPtr Parser::parseSubscript(Mark first, ExprPtr value) {
  advance();
  Mark head = pos_;
  ExprPtr index = parseIndex();
  expectCloseAfter(head, TokenKind::RBracket);
  return makeExpr(ExprKind::Subscript, first, std::move(value), std::move(index));
}

Parser::ExprPtr Parser::parseIndex() {
  Mark first = pos_;
  ExprPtr head = parseIndexElement();
  if (!at(TokenKind::Comma) && head->kind != ExprKind::Starred) return head;
  Exprs elements;
  elements.push_back(std::move(head));
  while (accept(TokenKind::Comma) && !at(TokenKind::RBracket)) elements.push_back(parseIndexElement());
  ExprPtr tuple = makeExpr(ExprKind::Tuple, first);
  tuple->children = std::move(elements);
  return tuple;
}

Parser::ExprPtr Parser::parseIndexElement() {
  Mark first = pos_;
  if (accept(TokenKind::Star)) {
    ExprPtr value = parseExpression();
    return makeExpr(ExprKind::Starred, first, std::move(value));
  }
  auto atEnd = [&] { return at(TokenKind::Colon) || at(TokenKind::Comma) || at(TokenKind::RBracket); };
  bool isWalrus = at(TokenKind::Name) && kind(1) == TokenKind::ColonEqual;
  ExprPtr lower = at(TokenKind::Colon) ? nullptr : parseNamed();
  if (isWalrus || !accept(TokenKind::Colon)) return lower;
  ExprPtr upper = atEnd() ? nullptr : parseExpression();
  ExprPtr step = accept(TokenKind::Colon) && !atEnd() ? parseExpression() : nullptr;
  return makeExpr(ExprKind::Slice, first, std::move(lower), std::move(upper), std::move(step));
}

Parser::ExprPtr Parser::parseAtom() {
  Mark first = pos_;
  switch (kind()) {
    case TokenKind::Name: return parseName();
    case TokenKind::Int:
    case TokenKind::Float:
    case TokenKind::Imaginary: return parseNumber();
    case TokenKind::String:
    case TokenKind::Bytes:
    case TokenKind::FStringStart: return parseStrings();
    case TokenKind::LParen: return parseGroup();
    case TokenKind::LBracket: return parseList();
    case TokenKind::LBrace: return parseBraces();
    case TokenKind::KwNone: advance(); return makeExpr(ExprKind::None, first);
    case TokenKind::Ellipsis: advance(); return makeExpr(ExprKind::Ellipsis, first);
    case TokenKind::KwTrue:
    case TokenKind::KwFalse: {
      bool value = at(TokenKind::KwTrue);
      advance();
      ExprPtr e = makeExpr(ExprKind::Bool, first);
      e->boolean = value;
      return e;
    }
    default: failInvalid();
  }
}

Parser::ExprPtr Parser::parseName() {
  Mark first = pos_;
  std::string name = expectName();
  ExprPtr e = makeExpr(ExprKind::Name, first);
  e->text = std::move(name);
  return e;
}

Parser::ExprPtr Parser::parseNumber() {
  Mark first = pos_;
  TokenKind what = kind();
  std::string digits(textOf(token()));
  std::erase(digits, '_');
  advance();
  if (what == TokenKind::Imaginary) return makeUnsupported("`complex`", first, nullptr);
  ExprPtr e = makeExpr(what == TokenKind::Int ? ExprKind::Int : ExprKind::Float, first);
  if (what == TokenKind::Int)
    e->text = std::move(digits);
  else
    e->number = std::strtod(digits.c_str(), nullptr);
  return e;
}

}  // namespace tandem::frontend
