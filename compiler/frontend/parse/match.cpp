// `match`: kernels cannot use it, so patterns are checked for form and only the expressions in them are kept.
#include "compiler/frontend/parse/parser.h"

namespace tandem::frontend {

using ast::ExprKind;
using ast::StmtKind;

// `match` is an ordinary name unless its line ends in a colon and an indented `case` follows.
bool Parser::atMatchStatement() const {
  if (!atWord("match")) return false;
  size_t ahead = 1;
  while (kind(ahead) != TokenKind::Newline) {
    if (kind(ahead) == TokenKind::EndOfFile || kind(ahead) == TokenKind::Error) return false;
    ++ahead;
  }
  bool endsInColon = ahead > 2 && kind(ahead - 1) == TokenKind::Colon;
  return endsInColon && kind(ahead + 1) == TokenKind::Indent && atWord("case", ahead + 2);
}

Parser::StmtPtr Parser::parseMatch() {
  Mark first = pos_;
  advance();
  StmtPtr s = makeStmt(StmtKind::Unsupported, first);
  s->text = "`match`";
  Mark subject = pos_;
  ExprPtr value = parseStarNamed();
  if (value->kind == ExprKind::Starred && !at(TokenKind::Comma)) failInvalid();
  s->exprs.push_back(at(TokenKind::Comma) ? parseTupleFrom(subject, std::move(value)) : std::move(value));
  expect(TokenKind::Colon);
  expect(TokenKind::Newline);
  expect(TokenKind::Indent);
  while (!at(TokenKind::Dedent)) parseCase(*s);
  advance();
  s->range = rangeFrom(first);
  return s;
}

void Parser::parseCase(ast::Stmt& match) {
  if (!atWord("case")) failInvalid();
  BlockOwner block = owner("`case` statement");
  advance();
  parseOpenPattern(match.exprs);
  if (accept(TokenKind::KwIf)) match.exprs.push_back(parseNamed());
  parseBlock(match.body, block);
}

// Parses a pattern without brackets: one pattern, or a sequence when there is a comma.
void Parser::parseOpenPattern(Exprs& values) {
  bool isStar = parseSequenceElement(values);
  if (isStar && !at(TokenKind::Comma)) failInvalid();
  while (accept(TokenKind::Comma) && !at(TokenKind::Colon) && !at(TokenKind::KwIf)) parseSequenceElement(values);
}

// `*rest` or a pattern; true for the first.
bool Parser::parseSequenceElement(Exprs& values) {
  bool isStar = accept(TokenKind::Star);
  if (isStar)
    expectName();
  else
    parsePattern(values);
  return isStar;
}

void Parser::parsePattern(Exprs& values) {
  do {
    parseClosedPattern(values);
  } while (accept(TokenKind::Pipe));
  if (!accept(TokenKind::KwAs)) return;
  if (atWord("_")) failHere("cannot use `_` as a target");
  expectName();
  if (at(TokenKind::Dot) || at(TokenKind::LParen)) failHere("invalid pattern target");
}

void Parser::parseClosedPattern(Exprs& values) {
  switch (kind()) {
    case TokenKind::KwNone:
    case TokenKind::KwTrue:
    case TokenKind::KwFalse: return advance();
    case TokenKind::LParen: return parsePatternSequence(values, TokenKind::RParen);
    case TokenKind::LBracket: return parsePatternSequence(values, TokenKind::RBracket);
    case TokenKind::LBrace: return parseMappingPattern(values);
    case TokenKind::Name: return parseNamedPattern(values);
    case TokenKind::String:
    case TokenKind::Bytes:
    case TokenKind::FStringStart:
      values.push_back(parseStrings());
      if (values.back()->kind == ExprKind::FString)
        fail("patterns may only match literals and attribute lookups", values.back()->range);
      return;
    default: return parseNumberPattern(values);
  }
}

// Also a group: `(pattern)`. A lone `*rest` in parentheses needs a comma.
void Parser::parsePatternSequence(Exprs& values, TokenKind close) {
  advance();
  bool isFirst = true;
  while (!at(close)) {
    bool isStar = parseSequenceElement(values);
    if (isFirst && isStar && at(TokenKind::RParen)) failInvalid();
    isFirst = false;
    if (!accept(TokenKind::Comma)) break;
  }
  if (!accept(close)) failInvalid();
}

void Parser::parseMappingPattern(Exprs& values) {
  advance();
  bool sawRest = false;
  while (!at(TokenKind::RBrace)) {
    if (sawRest) failInvalid();
    if (accept(TokenKind::DoubleStar)) {
      if (atWord("_")) failInvalid();
      expectName();
      sawRest = true;
    } else {
      bool isConstant = at(TokenKind::KwNone) || at(TokenKind::KwTrue) || at(TokenKind::KwFalse);
      bool isPlainName = at(TokenKind::Name) && kind(1) != TokenKind::Dot;
      bool isNested = at(TokenKind::LParen) || at(TokenKind::LBracket) || at(TokenKind::LBrace);
      if (isPlainName || isNested) failInvalid();
      if (isConstant)
        values.push_back(parseAtom());
      else
        parseClosedPattern(values);
      if (!accept(TokenKind::Colon)) failInvalid();
      parsePattern(values);
    }
    if (!accept(TokenKind::Comma)) break;
  }
  if (!accept(TokenKind::RBrace)) failInvalid();
}

// A capture, a dotted value, or a class pattern.
void Parser::parseNamedPattern(Exprs& values) {
  Mark first = pos_;
  Height height(*this);
  ExprPtr value = parseName();
  while (at(TokenKind::Dot)) {
    value = parseAttribute(first, std::move(value));
    height.grow();
  }
  bool isClass = at(TokenKind::LParen);
  if (isClass || value->kind == ExprKind::Attribute) values.push_back(std::move(value));
  if (isClass) parseClassPatternArguments(values);
}

void Parser::parseClassPatternArguments(Exprs& values) {
  advance();
  bool sawKeyword = false;
  while (!at(TokenKind::RParen)) {
    bool isKeyword = at(TokenKind::Name) && kind(1) == TokenKind::Equal;
    if (sawKeyword && !isKeyword) failHere("positional patterns follow keyword patterns");
    if (isKeyword) {
      advance();
      advance();
    }
    sawKeyword = isKeyword;
    parsePattern(values);
    if (!accept(TokenKind::Comma)) break;
  }
  if (!accept(TokenKind::RParen)) failInvalid();
}

// A signed number, or a real and an imaginary one: `-1.5 + 2j`.
void Parser::parseNumberPattern(Exprs& values) {
  Mark first = pos_;
  ExprPtr value = parseSignedNumber();
  bool isPlus = at(TokenKind::Plus);
  if (isPlus || at(TokenKind::Minus)) {
    advance();
    if (!at(TokenKind::Imaginary)) failHere("imaginary number required in complex literal");
    bool isReal = lexed_.tokens[pos_ - 2].kind != TokenKind::Imaginary;
    if (!isReal) failHere("real number required in complex literal");
    ExprPtr imaginary = parseNumber();
    value = makeExpr(ExprKind::Binary, first, std::move(value), std::move(imaginary));
    value->binary = isPlus ? ast::BinaryOp::Add : ast::BinaryOp::Sub;
  }
  values.push_back(std::move(value));
}

Parser::ExprPtr Parser::parseSignedNumber() {
  Mark first = pos_;
  bool isNegative = accept(TokenKind::Minus);
  if (!at(TokenKind::Int) && !at(TokenKind::Float) && !at(TokenKind::Imaginary)) failInvalid();
  ExprPtr number = parseNumber();
  if (!isNegative) return number;
  ExprPtr e = makeExpr(ExprKind::Unary, first, std::move(number));
  e->unary = ast::UnaryOp::Neg;
  return e;
}

}  // namespace tandem::frontend
