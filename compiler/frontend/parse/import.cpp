// `import` and `from ... import`.
#include "compiler/frontend/parse/parser.h"

namespace tandem::frontend {

using ast::StmtKind;

Parser::StmtPtr Parser::parseImport() {
  Mark first = pos_;
  advance();
  std::vector<ast::ImportName> names;
  do {
    names.push_back(parseImportName(true));
  } while (accept(TokenKind::Comma));
  StmtPtr s = makeStmt(StmtKind::Import, first);
  s->names = std::move(names);
  return s;
}

Parser::StmtPtr Parser::parseImportFrom() {
  Mark first = pos_;
  advance();
  std::string module;
  while (at(TokenKind::Dot) || at(TokenKind::Ellipsis)) {
    module += spelling(kind());
    advance();
  }
  if (module.empty() || !at(TokenKind::KwImport)) module += parseDottedName();
  if (!at(TokenKind::KwImport)) failHere("expected `import`");
  advance();
  std::vector<ast::ImportName> names;
  parseImportedNames(names);
  StmtPtr s = makeStmt(StmtKind::ImportFrom, first);
  s->text = std::move(module);
  s->names = std::move(names);
  return s;
}

void Parser::parseImportedNames(std::vector<ast::ImportName>& names) {
  Mark first = pos_;
  if (accept(TokenKind::Star)) {
    names.push_back({"*", {}, rangeFrom(first)});
    return;
  }
  bool bracketed = accept(TokenKind::LParen);
  if (at(TokenKind::Newline)) failHere("expected one or more names after `import`");
  do {
    if (bracketed && !names.empty() && at(TokenKind::RParen)) break;
    if (!bracketed && !names.empty() && at(TokenKind::Newline))
      failHere("trailing comma not allowed without surrounding parentheses");
    names.push_back(parseImportName(false));
  } while (accept(TokenKind::Comma));
  if (bracketed && !accept(TokenKind::RParen)) failInvalid();
}

ast::ImportName Parser::parseImportName(bool dotted) {
  Mark first = pos_;
  ast::ImportName name;
  name.name = dotted ? parseDottedName() : expectName();
  if (accept(TokenKind::KwAs)) name.alias = expectName();
  name.range = rangeFrom(first);
  return name;
}

std::string Parser::parseDottedName() {
  std::string name = expectName();
  while (accept(TokenKind::Dot)) name += "." + expectName();
  return name;
}

}  // namespace tandem::frontend
