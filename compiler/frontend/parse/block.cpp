// Compound statements: blocks, branches, loops, `with`, `try`, and their `async` forms.
#include "compiler/frontend/parse/parser.h"

namespace tandem::frontend {
namespace {

constexpr size_t maxElifCount = 1000;

}  // namespace

using ast::StmtKind;

Parser::BlockOwner Parser::owner(const char* name) const { return {name, token().range.line}; }

void Parser::parseBlock(ast::Body& out, const BlockOwner& owner) {
  if (!accept(TokenKind::Colon)) {
    bool isAssignment = at(TokenKind::Equal);
    failHere(isAssignment ? "invalid syntax, maybe you meant `==` or `:=` instead of `=`?" : "expected `:`");
  }
  if (!accept(TokenKind::Newline)) return parseSimpleStatements(out);
  if (!accept(TokenKind::Indent))
    failHere("expected an indented block after " + owner.name + " on line " + std::to_string(owner.line));
  while (!at(TokenKind::Dedent)) {
    if (at(TokenKind::EndOfFile)) failInvalid();
    parseStatement(out);
  }
  advance();
}

Parser::StmtPtr Parser::parseIf() {
  Mark first = pos_;
  BlockOwner block = owner("`if` statement");
  advance();
  StmtPtr s = makeStmt(StmtKind::If, first);
  s->exprs.push_back(parseNamed());
  parseBlock(s->body, block);
  s->range = rangeFrom(first);
  return at(TokenKind::KwElif) || at(TokenKind::KwElse) ? parseElifs(std::move(s)) : std::move(s);
}

// A chain of `elif` is read in a loop, not by recursion, and each branch ends where the whole chain ends.
Parser::StmtPtr Parser::parseElifs(StmtPtr head) {
  std::vector<ast::Stmt*> chain = {head.get()};
  while (at(TokenKind::KwElif)) {
    if (chain.size() == maxElifCount)
      failHere("too many `elif` branches (more than " + std::to_string(maxElifCount) + ")");
    Mark first = pos_;
    BlockOwner block = owner("`elif` statement");
    advance();
    StmtPtr branch = makeStmt(StmtKind::If, first);
    branch->exprs.push_back(parseNamed());
    ast::Stmt* parent = chain.back();
    chain.push_back(branch.get());
    parent->orElse.push_back(std::move(branch));
    parseBlock(chain.back()->body, block);
  }
  parseElse(chain.back()->orElse);
  for (ast::Stmt* branch : chain) {
    branch->range.endLine = lastEndLine_;
    branch->range.endColumn = lastEndColumn_;
  }
  return head;
}

void Parser::parseElse(ast::Body& out) {
  BlockOwner block = owner("`else` statement");
  if (accept(TokenKind::KwElse)) parseBlock(out, block);
}

void Parser::parseLoopElse(ast::Stmt& loop) {
  loop.elseRange = token().range;
  parseElse(loop.orElse);
}

Parser::StmtPtr Parser::parseWhile() {
  Mark first = pos_;
  BlockOwner block = owner("`while` statement");
  advance();
  StmtPtr s = makeStmt(StmtKind::While, first);
  s->exprs.push_back(parseNamed());
  parseBlock(s->body, block);
  parseLoopElse(*s);
  s->range = rangeFrom(first);
  return s;
}

Parser::StmtPtr Parser::parseFor() {
  Mark first = pos_;
  BlockOwner block = owner("`for` statement");
  advance();
  StmtPtr s = makeStmt(StmtKind::For, first);
  s->exprs.push_back(parseTarget(TargetUse::Loop));
  if (!accept(TokenKind::KwIn)) failHere("expected `in`");
  s->exprs.push_back(parseStarExpressions());
  parseBlock(s->body, block);
  parseLoopElse(*s);
  s->range = rangeFrom(first);
  return s;
}

Parser::StmtPtr Parser::parseWith() {
  Mark first = pos_;
  BlockOwner block = owner("`with` statement");
  advance();
  StmtPtr s = makeStmt(StmtKind::With, first);
  if (withItemsAreBracketed()) {
    parseBracketedWithItems(s->items);
  } else {
    do {
      s->items.push_back(parseWithItem());
    } while (accept(TokenKind::Comma));
  }
  parseBlock(s->body, block);
  s->range = rangeFrom(first);
  return s;
}

// `with (` may start a list of items or an expression. It is a list when its `)` ends the head and each of its
// elements can be an item: no starred element, no `:=`, no `yield`, no generator.
bool Parser::withItemsAreBracketed() const {
  if (!at(TokenKind::LParen) || kind(1) == TokenKind::RParen || kind(1) == TokenKind::KwYield) return false;
  size_t depth = 0, ahead = 0;
  bool elementStarts = false;
  for (;; ++ahead) {
    TokenKind k = kind(ahead);
    if (k == TokenKind::EndOfFile || k == TokenKind::Error || k == TokenKind::Newline) return false;
    if (depth == 1) {
      if (k == TokenKind::KwAs) return true;
      if (k == TokenKind::ColonEqual || k == TokenKind::KwFor || k == TokenKind::KwAsync) return false;
      if (elementStarts && k == TokenKind::Star) return false;
    }
    elementStarts = false;
    if (k == TokenKind::LParen || k == TokenKind::LBracket || k == TokenKind::LBrace) {
      elementStarts = ++depth == 1;
    } else if (k == TokenKind::RParen || k == TokenKind::RBracket || k == TokenKind::RBrace) {
      if (--depth == 0) return kind(ahead + 1) == TokenKind::Colon;
    } else {
      elementStarts = k == TokenKind::Comma && depth == 1;
    }
  }
}

void Parser::parseBracketedWithItems(std::vector<ast::WithItem>& items) {
  expect(TokenKind::LParen);
  do {
    if (at(TokenKind::RParen)) break;
    items.push_back(parseWithItem());
  } while (accept(TokenKind::Comma));
  expectClose(TokenKind::RParen);
}

ast::WithItem Parser::parseWithItem() {
  ast::WithItem item;
  item.context = parseExpression();
  if (accept(TokenKind::KwAs)) item.target = parseTarget(TargetUse::With);
  return item;
}

Parser::StmtPtr Parser::parseTry() {
  Mark first = pos_;
  BlockOwner block = owner("`try` statement");
  advance();
  StmtPtr s = makeStmt(StmtKind::Unsupported, first);
  s->text = "`try`";
  parseBlock(s->body, block);
  bool hasHandlers = at(TokenKind::KwExcept);
  if (!hasHandlers && !at(TokenKind::KwFinally)) failHere("expected `except` or `finally` block");
  parseHandlers(*s);
  if (hasHandlers) parseElse(s->body);
  BlockOwner finallyBlock = owner("`finally` statement");
  if (accept(TokenKind::KwFinally)) parseBlock(s->body, finallyBlock);
  s->range = rangeFrom(first);
  return s;
}

void Parser::parseHandlers(ast::Stmt& stmt) {
  bool isGroup = kind(1) == TokenKind::Star;
  while (at(TokenKind::KwExcept)) {
    if ((kind(1) == TokenKind::Star) != isGroup) failHere("cannot have both `except` and `except*` on the same `try`");
    parseHandler(stmt);
  }
}

void Parser::parseHandler(ast::Stmt& stmt) {
  bool isGroup = kind(1) == TokenKind::Star;
  BlockOwner block = owner(isGroup ? "`except*` statement" : "`except` statement");
  advance();
  if (isGroup) advance();
  if (isGroup && at(TokenKind::Colon)) failHere("expected one or more exception types");
  if (!at(TokenKind::Colon)) {
    stmt.exprs.push_back(parseExpression());
    if (at(TokenKind::Comma)) failHere("multiple exception types must be parenthesized");
    if (accept(TokenKind::KwAs)) expectName();
  }
  parseBlock(stmt.body, block);
}

Parser::StmtPtr Parser::parseAsync() {
  Mark first = pos_;
  TokenKind what = kind(1);
  if (what != TokenKind::KwFor && what != TokenKind::KwWith && what != TokenKind::KwDef) {
    advance();
    failInvalid();
  }
  if (what == TokenKind::KwDef) return parseDefinition({});
  advance();
  StmtPtr s = what == TokenKind::KwFor ? parseFor() : parseWith();
  s->kind = StmtKind::Unsupported;
  s->text = what == TokenKind::KwFor ? "`async for`" : "`async with`";
  std::move(s->orElse.begin(), s->orElse.end(), std::back_inserter(s->body));
  s->orElse.clear();
  s->range = rangeFrom(first);
  return s;
}

}  // namespace tandem::frontend
