// Moving over the tokens, making nodes, and reporting the first error.
#include "compiler/frontend/parse/parser.h"
#include <algorithm>

namespace tandem::frontend {
namespace {

constexpr uint32_t maxNesting = 200, maxHeight = 1000;

}  // namespace

ast::Module parse(SourceFilePtr file) { return Parser(std::move(file)).parseModule(); }

Parser::Parser(SourceFilePtr file) : file_(std::move(file)), lexed_(lex(file_)) {}

ast::Module Parser::parseModule() {
  ast::Module module;
  while (!at(TokenKind::EndOfFile)) parseStatement(module.body);
  module.file = file_;
  return module;
}

Parser::Nesting::Nesting(Parser& parser) : parser_(parser) {
  if (parser.nesting_ == maxNesting)
    parser.failHere("expression is nested too deeply (more than " + std::to_string(maxNesting) + " levels)");
  ++parser.nesting_;
}

Parser::Height::~Height() { parser_.height_ = std::max(outer_, parser_.height_); }

void Parser::Height::grow() {
  if (++parser_.height_ > maxHeight)
    parser_.failHere("expression has too many chained operations (more than " + std::to_string(maxHeight) + ")");
}

const Token& Parser::token(size_t ahead) const {
  size_t last = lexed_.tokens.size() - 1;
  return lexed_.tokens[std::min(pos_ + ahead, last)];
}

bool Parser::atWord(std::string_view word, size_t ahead) const {
  return kind(ahead) == TokenKind::Name && textOf(token(ahead)) == word;
}

void Parser::advance() {
  const Token& t = token();
  if (t.kind == TokenKind::Error) failInvalid();
  if (t.kind != TokenKind::Newline && t.kind != TokenKind::Indent && t.kind != TokenKind::Dedent) {
    lastEndLine_ = t.range.endLine;
    lastEndColumn_ = t.range.endColumn;
  }
  if (pos_ + 1 < lexed_.tokens.size()) ++pos_;
}

bool Parser::accept(TokenKind k) {
  if (!at(k)) return false;
  advance();
  return true;
}

void Parser::expect(TokenKind k) {
  if (!accept(k)) failHere("expected `" + std::string(spelling(k)) + "`");
}

std::string Parser::expectName() {
  if (!at(TokenKind::Name)) failInvalid();
  std::string name(textOf(token()));
  advance();
  return name;
}

SourceRange Parser::rangeFrom(Mark first) const {
  const SourceRange& start = lexed_.tokens[first].range;
  return {start.line, start.column, lastEndLine_, lastEndColumn_};
}

Parser::ExprPtr Parser::makeExpr(ast::ExprKind kind, Mark first) const {
  auto e = std::make_unique<ast::Expr>();
  e->kind = kind;
  e->range = rangeFrom(first);
  return e;
}

Parser::ExprPtr Parser::makeUnsupported(const char* feature, Mark first, ExprPtr child) const {
  ExprPtr e = makeExpr(ast::ExprKind::Unsupported, first);
  e->text = feature;
  if (child) e->children.push_back(std::move(child));
  return e;
}

Parser::StmtPtr Parser::makeStmt(ast::StmtKind kind, Mark first) const {
  auto s = std::make_unique<ast::Stmt>();
  s->kind = kind;
  s->range = rangeFrom(first);
  return s;
}

void Parser::fail(std::string message, const SourceRange& range) const {
  Diagnostic diagnostic;
  diagnostic.kind = "syntax";
  diagnostic.message = std::move(message);
  diagnostic.file = file_;
  diagnostic.range = range;
  throw CompileError(std::move(diagnostic));
}

// An error below a bracket that is never closed is most likely the bracket's: the lines after it were joined to it.
void Parser::failHere(std::string message) const {
  const Token& t = token();
  if (lexed_.error) {
    bool swallowed = lexed_.unclosedBracket && lexed_.error->range.line < t.range.line;
    if (t.kind == TokenKind::Error || swallowed) throw CompileError(*lexed_.error);
  }
  fail(std::move(message), t.range);
}

void Parser::failInvalid() const { failHere(at(TokenKind::Indent) ? "unexpected indent" : "invalid syntax"); }

}  // namespace tandem::frontend
