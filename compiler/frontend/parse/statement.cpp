// Statements: the choice between them, and the simple ones that are not assignments or imports.
#include "compiler/frontend/parse/parser.h"

namespace tandem::frontend {

using ast::StmtKind;

void Parser::parseStatement(ast::Body& out) {
  if (StmtPtr compound = parseCompound())
    out.push_back(std::move(compound));
  else
    parseSimpleStatements(out);
}

// Null when the statement is a simple one.
Parser::StmtPtr Parser::parseCompound() {
  switch (kind()) {
    case TokenKind::KwIf: return parseIf();
    case TokenKind::KwWhile: return parseWhile();
    case TokenKind::KwFor: return parseFor();
    case TokenKind::KwWith: return parseWith();
    case TokenKind::KwTry: return parseTry();
    case TokenKind::KwDef:
    case TokenKind::KwClass: return parseDefinition({});
    case TokenKind::At: return parseDecorated();
    case TokenKind::KwAsync: return parseAsync();
    case TokenKind::Name: return atMatchStatement() ? parseMatch() : nullptr;
    default: return nullptr;
  }
}

void Parser::parseSimpleStatements(ast::Body& out) {
  do {
    Mark first = pos_;
    out.push_back(parseSimple());
    if (!at(TokenKind::Semicolon)) expectStatementEnd(first);
  } while (accept(TokenKind::Semicolon) && !at(TokenKind::Newline));
  if (!accept(TokenKind::Newline)) failInvalid();
}

void Parser::expectStatementEnd(Mark first) {
  if (at(TokenKind::Newline)) return;
  const Token& head = lexed_.tokens[first];
  bool isCall = head.kind == TokenKind::Name && (textOf(head) == "print" || textOf(head) == "exec");
  if (isCall && pos_ == first + 1 && startsExpression())
    fail("missing parentheses in call to `" + std::string(textOf(head)) + "`", head.range);
  failInvalid();
}

Parser::StmtPtr Parser::parseSimple() {
  switch (kind()) {
    case TokenKind::KwPass: return parseKeywordOnly(StmtKind::Pass);
    case TokenKind::KwBreak: return parseKeywordOnly(StmtKind::Break);
    case TokenKind::KwContinue: return parseKeywordOnly(StmtKind::Continue);
    case TokenKind::KwReturn: return parseReturn();
    case TokenKind::KwRaise: return parseRaise();
    case TokenKind::KwAssert: return parseAssert();
    case TokenKind::KwDel: return parseDelete();
    case TokenKind::KwGlobal: return parseScopeNames("`global`");
    case TokenKind::KwNonlocal: return parseScopeNames("`nonlocal`");
    case TokenKind::KwImport: return parseImport();
    case TokenKind::KwFrom: return parseImportFrom();
    case TokenKind::KwElif:
    case TokenKind::KwElse:
    case TokenKind::KwExcept:
    case TokenKind::KwFinally: failInvalid();
    default: break;
  }
  bool alias =
      atWord("type") && kind(1) == TokenKind::Name && (kind(2) == TokenKind::Equal || kind(2) == TokenKind::LBracket);
  return alias ? parseTypeAlias() : parseExprStatement();
}

Parser::StmtPtr Parser::parseKeywordOnly(StmtKind kind) {
  Mark first = pos_;
  advance();
  return makeStmt(kind, first);
}

Parser::StmtPtr Parser::parseReturn() {
  Mark first = pos_;
  advance();
  ExprPtr value = at(TokenKind::Newline) || at(TokenKind::Semicolon) ? nullptr : parseStarExpressions();
  StmtPtr s = makeStmt(StmtKind::Return, first);
  if (value) s->exprs.push_back(std::move(value));
  return s;
}

Parser::StmtPtr Parser::parseRaise() {
  Mark first = pos_;
  advance();
  Exprs values;
  if (!at(TokenKind::Newline) && !at(TokenKind::Semicolon)) {
    values.push_back(parseExpression());
    if (accept(TokenKind::KwFrom)) values.push_back(parseExpression());
  }
  StmtPtr s = makeStmt(StmtKind::Unsupported, first);
  s->text = "`raise`";
  s->exprs = std::move(values);
  return s;
}

Parser::StmtPtr Parser::parseAssert() {
  Mark first = pos_;
  advance();
  Exprs values;
  values.push_back(parseExpression());
  if (accept(TokenKind::Comma)) values.push_back(parseExpression());
  StmtPtr s = makeStmt(StmtKind::Assert, first);
  s->exprs = std::move(values);
  return s;
}

Parser::StmtPtr Parser::parseDelete() {
  Mark first = pos_;
  advance();
  Exprs targets;
  do {
    targets.push_back(parseTarget(TargetUse::Delete));
  } while (accept(TokenKind::Comma) && !at(TokenKind::Newline) && !at(TokenKind::Semicolon));
  StmtPtr s = makeStmt(StmtKind::Unsupported, first);
  s->text = "`del`";
  s->exprs = std::move(targets);
  return s;
}

Parser::StmtPtr Parser::parseScopeNames(const char* feature) {
  Mark first = pos_;
  advance();
  std::vector<ast::ImportName> names;
  do {
    Mark start = pos_;
    std::string name = expectName();
    names.push_back({std::move(name), {}, rangeFrom(start)});
  } while (accept(TokenKind::Comma));
  StmtPtr s = makeStmt(StmtKind::Unsupported, first);
  s->text = feature;
  s->names = std::move(names);
  return s;
}

Parser::StmtPtr Parser::parseTypeAlias() {
  Mark first = pos_;
  advance();
  Exprs parts;
  parts.push_back(parseName());
  skipTypeParameters();
  expect(TokenKind::Equal);
  parts.push_back(parseExpression());
  StmtPtr s = makeStmt(StmtKind::Unsupported, first);
  s->text = "`type`";
  s->exprs = std::move(parts);
  return s;
}

}  // namespace tandem::frontend
