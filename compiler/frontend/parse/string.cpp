// String literals: adjacent ones joined, f-strings taken apart.
#include "compiler/frontend/parse/parser.h"
#include "compiler/frontend/parse/string_escape.h"
#include <algorithm>

namespace tandem::frontend {
namespace {

using ast::ExprKind;

struct LiteralForm {
  size_t prefixLength = 0, quoteLength = 1;
  bool raw = false;
};

LiteralForm formOf(std::string_view literal) {
  LiteralForm form;
  form.prefixLength = literal.find_first_of("\"'");
  std::string_view prefix = literal.substr(0, form.prefixLength), rest = literal.substr(form.prefixLength);
  form.raw = prefix.find_first_of("rR") != std::string_view::npos;
  bool isTriple = rest.size() >= 3 && rest[1] == rest[0] && rest[2] == rest[0];
  form.quoteLength = isTriple ? 3 : 1;
  return form;
}

}  // namespace

// One or more adjacent literals. Any f-string among them makes the whole an FString.
Parser::ExprPtr Parser::parseStrings() {
  Mark first = pos_;
  ExprPtr e = makeExpr(ExprKind::String, first);
  bool endsInText = false, isFString = false, sawBytes = false, sawText = false;
  while (at(TokenKind::String) || at(TokenKind::Bytes) || at(TokenKind::FStringStart)) {
    (at(TokenKind::Bytes) ? sawBytes : sawText) = true;
    if (sawBytes && sawText) failHere("cannot mix bytes and nonbytes literals");
    isFString |= at(TokenKind::FStringStart);
    if (at(TokenKind::FStringStart)) {
      parseFString(*e, endsInText);
    } else {
      appendText(*e, endsInText, decodeLiteral(), token().range);
      advance();
    }
  }
  return finishStrings(std::move(e), first, isFString, sawBytes);
}

Parser::ExprPtr Parser::finishStrings(ExprPtr e, Mark first, bool isFString, bool isBytes) const {
  e->range = rangeFrom(first);
  if (isFString) {
    e->kind = ExprKind::FString;
    return e;
  }
  if (isBytes) return makeUnsupported("`bytes`", first, nullptr);
  e->text = std::move(e->children[0]->text);
  e->children.clear();
  return e;
}

std::string Parser::decodeLiteral() const {
  std::string_view literal = textOf(token());
  LiteralForm form = formOf(literal);
  size_t begin = form.prefixLength + form.quoteLength;
  std::string_view body = literal.substr(begin, literal.size() - begin - form.quoteLength);
  return decode(body, {.raw = form.raw, .bytes = at(TokenKind::Bytes)});
}

// `body` is part of the current token.
std::string Parser::decode(std::string_view body, const StringRules& rules) const {
  std::string out;
  std::optional<EscapeError> error = decodeString(body, rules, out);
  if (!error) return out;
  std::string_view before = std::string_view(file_->text).substr(token().offset);
  before = before.substr(0, size_t(body.data() - before.data()) + error->offset);
  SourceRange at = token().range;
  size_t newline = before.rfind('\n');
  at.line += uint32_t(std::count(before.begin(), before.end(), '\n'));
  at.column = uint32_t(newline == std::string_view::npos ? at.column + before.size() : before.size() - newline);
  fail(error->message, {at.line, at.column, at.line, uint32_t(at.column + error->length)});
}

// Literal text joins the literal text in front of it; an expression between them, even a string, keeps them apart.
void Parser::appendText(ast::Expr& out, bool& endsInText, std::string text, const SourceRange& range) const {
  if (endsInText) {
    ast::Expr& last = *out.children.back();
    last.text += text;
    last.range.endLine = range.endLine;
    last.range.endColumn = range.endColumn;
    return;
  }
  auto e = std::make_unique<ast::Expr>();
  e->kind = ExprKind::String;
  e->range = range;
  e->text = std::move(text);
  out.children.push_back(std::move(e));
  endsInText = true;
}

void Parser::parseFString(ast::Expr& out, bool& endsInText) {
  bool isRaw = formOf(textOf(token())).raw;
  advance();
  parseFStringParts(out, endsInText, TokenKind::FStringEnd, isRaw);
  expect(TokenKind::FStringEnd);
}

void Parser::parseFStringParts(ast::Expr& out, bool& endsInText, TokenKind end, bool isRaw) {
  while (!at(end)) {
    if (at(TokenKind::FStringMiddle)) {
      StringRules rules{.raw = isRaw, .doubledBraces = end == TokenKind::FStringEnd};
      appendText(out, endsInText, decode(textOf(token()), rules), token().range);
      advance();
    } else if (at(TokenKind::LBrace)) {
      parseField(out, endsInText, isRaw);
    } else {
      failInvalid();
    }
  }
}

// `{value}`, `{value=}`, `{value!r:spec}`.
void Parser::parseField(ast::Expr& out, bool& endsInText, bool isRaw) {
  Mark first = pos_;
  advance();
  uint32_t textBegin = lexed_.tokens[first].offset + 1;
  bool isEmpty = at(TokenKind::RBrace) || at(TokenKind::FormatColon) || at(TokenKind::Exclaim) || at(TokenKind::Equal);
  if (isEmpty) failHere("f-string: valid expression required before `" + std::string(spelling(kind())) + "`");
  ExprPtr value = parseAssignedValue();
  if (accept(TokenKind::Equal))
    appendText(out, endsInText, file_->text.substr(textBegin, token().offset - textBegin), rangeFrom(first));
  value = parseFieldFormat(first, std::move(value), isRaw);
  if (!accept(TokenKind::RBrace)) failHere("f-string: expecting `}`");
  out.children.push_back(std::move(value));
  endsInText = false;
}

// `!s` changes nothing. Any other conversion or format wraps the value in an Unsupported node, with the parts of the
// format behind it.
Parser::ExprPtr Parser::parseFieldFormat(Mark first, ExprPtr value, bool isRaw) {
  const char* feature = nullptr;
  if (at(TokenKind::Exclaim)) {
    uint32_t adjacent = token().offset + 1;
    advance();
    bool isKnown = token().offset == adjacent && (atWord("s") || atWord("r") || atWord("a"));
    if (!isKnown) failHere("f-string: invalid conversion character: expected `s`, `r`, or `a`");
    feature = atWord("s") ? nullptr : atWord("r") ? "`!r`" : "`!a`";
    advance();
  }
  ast::Expr spec;
  bool endsInText = false;
  if (accept(TokenKind::FormatColon)) parseFStringParts(spec, endsInText, TokenKind::RBrace, isRaw);
  if (!spec.children.empty() && !feature) feature = "`format spec`";
  if (!feature) return value;
  ExprPtr e = makeUnsupported(feature, first, std::move(value));
  std::move(spec.children.begin(), spec.children.end(), std::back_inserter(e->children));
  return e;
}

}  // namespace tandem::frontend
