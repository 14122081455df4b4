// This part of the parser reads the insides of brackets: groups, tuples, lists, sets, dicts and comprehensions.
#include "compiler/frontend/parse/parser.h"

namespace tandem::frontend {

using ast::ExprKind;

void Parser::expectClose(TokenKind close) {
  if (!accept(close)) failInvalid();
}

// The closing bracket of a list whose last element starts at `lastElement`.
void Parser::expectCloseAfter(Mark lastElement, TokenKind close) {
  if (at(close)) return advance();
  if (startsExpression() && lexed_.tokens[pos_ - 1].kind != TokenKind::Comma && !lexed_.unclosedBracket) {
    SourceRange range = rangeFrom(lastElement);
    range.endLine = token().range.endLine;
    range.endColumn = token().range.endColumn;
    fail("invalid syntax, perhaps you forgot a comma?", range);
  }
  failInvalid();
}

// Comma-separated elements up to the closing bracket, the first of them given.
Parser::Exprs Parser::parseElements(ExprPtr head, TokenKind close, Mark last) {
  Exprs elements;
  elements.push_back(std::move(head));
  while (accept(TokenKind::Comma) && !at(close)) {
    last = pos_;
    elements.push_back(parseStarNamed());
  }
  expectCloseAfter(last, close);
  return elements;
}

Parser::ExprPtr Parser::parseGroup() {
  Mark first = pos_;
  advance();
  if (accept(TokenKind::RParen)) return makeExpr(ExprKind::Tuple, first);
  Mark head = pos_;
  if (at(TokenKind::KwYield)) {
    ExprPtr value = parseYield();
    expectClose(TokenKind::RParen);
    return value;
  }
  ExprPtr value = parseStarNamed();
  if (atClause()) {
    value = parseComprehension("generator", first, std::move(value), nullptr);
    return closeComprehension(std::move(value), TokenKind::RParen, first);
  }
  if (!at(TokenKind::Comma)) {
    bool isStarred = value->kind == ExprKind::Starred && at(TokenKind::RParen);
    if (isStarred) fail("cannot use starred expression here", value->range);
    if (at(TokenKind::Equal)) failHere("invalid syntax, maybe you meant `==` or `:=` instead of `=`?");
    expectCloseAfter(head, TokenKind::RParen);
    return value;
  }
  Exprs elements = parseElements(std::move(value), TokenKind::RParen, head);
  ExprPtr tuple = makeExpr(ExprKind::Tuple, first);
  tuple->children = std::move(elements);
  return tuple;
}

Parser::ExprPtr Parser::parseList() {
  Mark first = pos_;
  advance();
  if (accept(TokenKind::RBracket)) return makeExpr(ExprKind::List, first);
  Mark head = pos_;
  ExprPtr value = parseStarNamed();
  if (atClause()) {
    value = parseComprehension("list", first, std::move(value), nullptr);
    return closeComprehension(std::move(value), TokenKind::RBracket, first);
  }
  Exprs elements = parseElements(std::move(value), TokenKind::RBracket, head);
  ExprPtr list = makeExpr(ExprKind::List, first);
  list->children = std::move(elements);
  return list;
}

Parser::ExprPtr Parser::parseBraces() {
  Mark first = pos_;
  advance();
  if (accept(TokenKind::RBrace)) return makeExpr(ExprKind::Dict, first);
  if (at(TokenKind::DoubleStar)) return parseDictFrom(first, nullptr);
  Mark head = pos_;
  bool isWalrus = at(TokenKind::Name) && kind(1) == TokenKind::ColonEqual;
  ExprPtr value = parseStarNamed();
  bool isKey = at(TokenKind::Colon) && !isWalrus && value->kind != ExprKind::Starred;
  if (isKey) return parseDictFrom(first, std::move(value));
  if (atClause()) {
    value = parseComprehension("set", first, std::move(value), nullptr);
    return closeComprehension(std::move(value), TokenKind::RBrace, first);
  }
  Exprs elements = parseElements(std::move(value), TokenKind::RBrace, head);
  ExprPtr set = makeExpr(ExprKind::Set, first);
  set->children = std::move(elements);
  return set;
}

// A dict whose first key is already read; no key when the first item is `**mapping`.
Parser::ExprPtr Parser::parseDictFrom(Mark first, ExprPtr key) {
  Mark last = pos_;
  Exprs items;
  parseDictItem(items, std::move(key));
  if (atClause()) {
    if (!items[0]) fail("dict unpacking cannot be used in dict comprehension", items[1]->range);
    ExprPtr e = parseComprehension("dict", first, std::move(items[0]), std::move(items[1]));
    return closeComprehension(std::move(e), TokenKind::RBrace, first);
  }
  while (accept(TokenKind::Comma) && !at(TokenKind::RBrace)) {
    last = pos_;
    parseDictItem(items, at(TokenKind::DoubleStar) ? nullptr : parseExpression());
  }
  expectCloseAfter(last, TokenKind::RBrace);
  ExprPtr dict = makeExpr(ExprKind::Dict, first);
  dict->children = std::move(items);
  return dict;
}

void Parser::parseDictItem(Exprs& items, ExprPtr key) {
  bool isUnpacking = !key;
  items.push_back(std::move(key));
  if (isUnpacking) {
    advance();
    items.push_back(parseBinary());
    return;
  }
  if (!accept(TokenKind::Colon)) failHere("`:` expected after dictionary key");
  if (at(TokenKind::Comma) || at(TokenKind::RBrace)) failHere("expression expected after dictionary key and `:`");
  if (at(TokenKind::Star)) failHere("cannot use a starred expression in a dictionary value");
  items.push_back(parseExpression());
}

bool Parser::atClause() const {
  return at(TokenKind::KwFor) || (at(TokenKind::KwAsync) && kind(1) == TokenKind::KwFor);
}

// The clauses after `element`. One with `async for` is wrapped in an Unsupported node.
Parser::ExprPtr Parser::parseComprehension(const char* kind, Mark first, ExprPtr element, ExprPtr value) {
  if (element->kind == ExprKind::Starred) fail("iterable unpacking cannot be used in comprehension", element->range);
  std::vector<ast::ForClause> clauses;
  bool isAsync = parseClauses(clauses);
  ExprPtr e = makeExpr(ExprKind::Comprehension, first, std::move(element));
  if (value) e->children.push_back(std::move(value));
  e->text = kind;
  e->clauses = std::move(clauses);
  return isAsync ? makeUnsupported("`async for`", first, std::move(e)) : std::move(e);
}

Parser::ExprPtr Parser::closeComprehension(ExprPtr comprehension, TokenKind close, Mark first) {
  expectClose(close);
  comprehension->range = rangeFrom(first);
  if (comprehension->kind == ExprKind::Unsupported) comprehension->children[0]->range = comprehension->range;
  return comprehension;
}

// True when one of the clauses is `async for`.
bool Parser::parseClauses(std::vector<ast::ForClause>& clauses) {
  bool isAsync = false;
  while (atClause()) {
    isAsync |= accept(TokenKind::KwAsync);
    expect(TokenKind::KwFor);
    ast::ForClause clause;
    clause.target = parseTarget(TargetUse::Loop);
    if (!accept(TokenKind::KwIn)) failHere("expected `in`");
    clause.iterable = parseDisjunction();
    while (accept(TokenKind::KwIf)) clause.conditions.push_back(parseDisjunction());
    clauses.push_back(std::move(clause));
  }
  return isAsync;
}

}  // namespace tandem::frontend
