// Functions, classes, decorators and parameter lists.
#include "compiler/frontend/parse/parser.h"

namespace tandem::frontend {

using ast::Parameter;
using ast::StmtKind;

Parser::StmtPtr Parser::parseDecorated() {
  Exprs decorators;
  while (accept(TokenKind::At)) {
    decorators.push_back(parseNamed());
    if (!accept(TokenKind::Newline)) failInvalid();
  }
  return parseDefinition(std::move(decorators));
}

Parser::StmtPtr Parser::parseDefinition(Exprs decorators) {
  Mark first = pos_;
  if (at(TokenKind::KwClass)) return parseClass(std::move(decorators));
  bool isAsync = accept(TokenKind::KwAsync);
  if (!at(TokenKind::KwDef)) failInvalid();
  StmtPtr s = parseFunction(first, std::move(decorators));
  if (isAsync) {
    s->kind = StmtKind::Unsupported;
    s->text = "`async def`";
  }
  return s;
}

Parser::StmtPtr Parser::parseFunction(Mark first, Exprs decorators) {
  BlockOwner block = owner("function definition");
  expect(TokenKind::KwDef);
  StmtPtr s = makeStmt(StmtKind::Function, first);
  s->decorators = std::move(decorators);
  s->text = expectName();
  skipTypeParameters();
  expect(TokenKind::LParen);
  s->parameters = parseParameters(TokenKind::RParen, true);
  expectClose(TokenKind::RParen);
  if (accept(TokenKind::Arrow)) s->returns = parseExpression();
  parseBlock(s->body, block);
  s->range = rangeFrom(first);
  return s;
}

// Keyword arguments of the base list (`metaclass=...`) are read and dropped.
Parser::StmtPtr Parser::parseClass(Exprs decorators) {
  Mark first = pos_;
  BlockOwner block = owner("class definition");
  advance();
  StmtPtr s = makeStmt(StmtKind::Class, first);
  s->decorators = std::move(decorators);
  s->text = expectName();
  skipTypeParameters();
  Mark open = pos_;
  if (accept(TokenKind::LParen)) {
    ast::Expr bases;
    bases.kind = ast::ExprKind::Tuple;
    parseArguments(bases, open);
    s->exprs = std::move(bases.children);
  }
  parseBlock(s->body, block);
  s->range = rangeFrom(first);
  return s;
}

// PEP 695: `[T: bound, *Ts, **P]`. Kernels have no generic parameters, so nothing is kept.
void Parser::skipTypeParameters() {
  Mark open = pos_;
  if (!accept(TokenKind::LBracket)) return;
  do {
    if (pos_ != open + 1 && at(TokenKind::RBracket)) break;
    bool isPack = accept(TokenKind::Star) || accept(TokenKind::DoubleStar);
    expectName();
    if (!isPack && accept(TokenKind::Colon)) parseExpression();
  } while (accept(TokenKind::Comma));
  expectClose(TokenKind::RBracket);
}

// `close` is the token that ends the list; it is not consumed. Only lambdas have no annotations.
std::vector<Parameter> Parser::parseParameters(TokenKind close, bool annotated) {
  std::vector<Parameter> parameters;
  ParameterState state;
  while (!at(close)) {
    if (state.sawVarKeyword) failHere("parameters cannot follow a var-keyword parameter");
    parseParameter(parameters, state, close, annotated);
    if (!accept(TokenKind::Comma)) break;
  }
  if (state.needsName) failHere("named parameters must follow bare `*`");
  return parameters;
}

void Parser::parseParameter(std::vector<Parameter>& out, ParameterState& state, TokenKind close, bool annotated) {
  if (at(TokenKind::Slash)) return parseSlash(out, state);
  Parameter::Kind parameterKind = state.sawStar ? Parameter::Kind::KeywordOnly : Parameter::Kind::Positional;
  if (at(TokenKind::Star)) {
    if (parseBareStar(state, close)) return;
    parameterKind = Parameter::Kind::VarPositional;
  } else if (accept(TokenKind::DoubleStar)) {
    if (state.needsName) failHere("named parameters must follow bare `*`");
    parameterKind = Parameter::Kind::VarKeyword;
    state.sawVarKeyword = true;
  }
  out.push_back(parseNamedParameter(parameterKind, annotated));
  state.needsName = false;
  const Parameter& parameter = out.back();
  if (parameterKind != Parameter::Kind::Positional) return;
  if (state.sawDefault && !parameter.defaultValue)
    fail("parameter without a default follows parameter with a default", parameter.range);
  state.sawDefault = parameter.defaultValue != nullptr;
}

void Parser::parseSlash(const std::vector<Parameter>& before, ParameterState& state) {
  if (state.sawSlash) failHere("`/` may appear only once");
  if (state.sawStar) failHere("`/` must be ahead of `*`");
  if (before.empty()) failHere("at least one parameter must precede `/`");
  state.sawSlash = true;
  advance();
}

// Consumes the `*`. False when a name follows, which makes it a var-positional parameter.
bool Parser::parseBareStar(ParameterState& state, TokenKind close) {
  if (state.sawStar) failHere("`*` may appear only once");
  state.sawStar = true;
  advance();
  if (!at(TokenKind::Comma) && !at(close)) return false;
  state.needsName = true;
  return true;
}

Parameter Parser::parseNamedParameter(Parameter::Kind parameterKind, bool annotated) {
  Mark first = pos_;
  Parameter parameter;
  parameter.kind = parameterKind;
  parameter.name = expectName();
  bool isVarPositional = parameterKind == Parameter::Kind::VarPositional;
  if (annotated && accept(TokenKind::Colon))
    parameter.annotation = isVarPositional ? parseStarExpression() : parseExpression();
  parameter.range = rangeFrom(first);
  if (at(TokenKind::Equal)) {
    if (isVarPositional) failHere("var-positional parameter cannot have a default value");
    if (parameterKind == Parameter::Kind::VarKeyword) failHere("var-keyword parameter cannot have a default value");
    advance();
    parameter.defaultValue = parseExpression();
  }
  return parameter;
}

}  // namespace tandem::frontend
