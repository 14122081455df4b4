// Token sequences, places, and the lexer's own errors.
#include "compiler/frontend/lex/lex.h"
#include <gtest/gtest.h>

namespace tandem::frontend {
namespace {

SourceFilePtr source(std::string text) {
  auto file = std::make_shared<SourceFile>();
  file->name = "k.py";
  file->text = std::move(text);
  return file;
}

// Operators and keywords as written; other tokens as <kind text>.
std::string tokens(const std::string& text) {
  SourceFilePtr file = source(text);
  std::string out;
  for (const Token& token : lex(file).tokens) {
    if (!out.empty()) out += ' ';
    if (token.kind >= TokenKind::LParen)
      out += spelling(token.kind);
    else if (token.length)
      out += "<" + file->text.substr(token.offset, token.length) + ">";
    else
      out += "<" + std::string(spelling(token.kind)) + ">";
  }
  return out;
}

std::string errorOf(const std::string& text) {
  LexResult result = lex(source(text));
  if (!result.error) return "accepted";
  EXPECT_EQ(result.error->kind, "syntax");
  EXPECT_EQ(result.tokens.back().kind, TokenKind::Error);
  const SourceRange& at = result.error->range;
  return std::to_string(at.line) + ":" + std::to_string(at.column) + " " + result.error->message;
}

TEST(Lex, NamesKeywordsAndTheLongestOperator) {
  EXPECT_EQ(tokens("if a**=b>>=c//d->e:=f...g\n"),
            "if <a> **= <b> >>= <c> // <d> -> <e> := <f> ... <g> <end of line> <end of file>");
}

TEST(Lex, IndentsAndDedents) {
  EXPECT_EQ(tokens("if a:\n  b\n\n  # c\n    \n  d\ne"),
            "if <a> : <end of line> <indent> <b> <end of line> <d> <end of line> <unindent> <e> <end of line> "
            "<end of file>");
}

TEST(Lex, UniformIndentationIsTheBase) {
  EXPECT_EQ(tokens("    a\n    b\n"), "<a> <end of line> <b> <end of line> <end of file>");
  EXPECT_EQ(errorOf("    a\n  b\n"), "2:3 unindent does not match any outer indentation level");
}

TEST(Lex, BracketsAndBackslashesJoinLines) {
  EXPECT_EQ(tokens("a(b,\n# c\n  d)\nx = \\\n  y\n"),
            "<a> ( <b> , <d> ) <end of line> <x> = <y> <end of line> <end of file>");
}

TEST(Lex, TabsAreEightColumnsUnlessTheMixtureIsAmbiguous) {
  EXPECT_EQ(tokens("if a:\n\tb\n\tc\n"),
            "if <a> : <end of line> <indent> <b> <end of line> <c> <end of line> <unindent> <end of file>");
  EXPECT_EQ(errorOf("if a:\n        b\n\tc\n"), "3:2 inconsistent use of tabs and spaces in indentation");
}

TEST(Lex, LineEndsAndMarksOfOtherSystems) {
  EXPECT_EQ(tokens("\xef\xbb\xbf"
                   "a\r\n\fb\r\n"),
            "<a> <end of line> <b> <end of line> <end of file>");
  EXPECT_EQ(lex(source("a\r\nb")).tokens[2].range.line, 2u);
}

TEST(Lex, Numbers) {
  EXPECT_EQ(tokens("0xFf_0 0o17 0b1_0 1_000 1. .5e-3 1e5 2j 0777.5 1if 0x1for"),
            "<0xFf_0> <0o17> <0b1_0> <1_000> <1.> <.5e-3> <1e5> <2j> <0777.5> <1> if <0x1f> or <end of line> "
            "<end of file>");
  EXPECT_EQ(errorOf("012"),
            "1:1 leading zeros in decimal integer literals are not permitted; use an `0o` prefix for octal integers");
  EXPECT_EQ(errorOf("1__0"), "1:3 invalid decimal literal");
  EXPECT_EQ(errorOf("0xg"), "1:3 invalid hexadecimal literal");
  EXPECT_EQ(errorOf("0b12"), "1:4 invalid digit `2` in binary literal");
  EXPECT_EQ(errorOf("1x"), "1:2 invalid decimal literal");
}

TEST(Lex, StringsOfEveryPrefix) {
  EXPECT_EQ(tokens(R"(a'x' )"), "<a> <'x'> <end of line> <end of file>");
  EXPECT_EQ(tokens(R"(rb'\'' Br"" u'x' R'''a'b''' "\"")"),
            R"(<rb'\''> <Br""> <u'x'> <R'''a'b'''> <"\""> <end of line> <end of file>)");
  EXPECT_EQ(errorOf("x = 'abc\n"), "1:5 unterminated string literal");
  EXPECT_EQ(errorOf("'''a\nb"), "1:1 unterminated triple-quoted string literal (detected at line 2)");
}

TEST(Lex, FStrings) {
  EXPECT_EQ(tokens(R"(f"a{{{b!r:>{w}}c")"),
            R"(<f"> <a{{> { <b> ! <r> <:> <>> { <w> } } <c> <"> <end of line> <end of file>)");
  EXPECT_EQ(tokens(R"(f"{x["k"]:=5}{f'{y!=z}'}\N{DASH}")"),
            R"(<f"> { <x> [ <"k"> ] <:> <=5> } { <f'> { <y> != <z> } <'> } <\N{DASH}> <"> )"
            "<end of line> <end of file>");
  EXPECT_EQ(tokens("f'{\na # c\n}'"), "<f'> { <a> } <'> <end of line> <end of file>");
  EXPECT_EQ(errorOf("f'{a'"), "1:5 f-string: expecting `}`");
  EXPECT_EQ(errorOf("f'{a:b'"), "1:7 f-string: expecting `}`");
  EXPECT_EQ(errorOf("f'}'"), "1:3 f-string: single `}` is not allowed");
  EXPECT_EQ(errorOf("f'abc"), "1:1 unterminated f-string literal");
  EXPECT_EQ(errorOf("f'{a)}'"), "1:5 f-string: unmatched `)`");
}

TEST(Lex, UnicodeNames) {
  EXPECT_EQ(tokens("\xc3\xa9t\xc3\xa9 \xe5\x90\x8d"), "<\xc3\xa9t\xc3\xa9> <\xe5\x90\x8d> <end of line> <end of file>");
  EXPECT_EQ(errorOf("a \xe2\x80\x9cx"), "1:3 invalid character `\xe2\x80\x9c` (U+201C)");
  EXPECT_EQ(errorOf("a\xc2\xa0= 1"), "1:2 invalid non-printable character U+00A0");
}

TEST(Lex, RefusesBytesThatAreNoText) {
  EXPECT_EQ(errorOf(std::string("a\nb\0c", 5)), "2:2 source text cannot contain null bytes");
  EXPECT_EQ(errorOf("a = '\xff'"), "1:6 source text is not valid UTF-8");
}

TEST(Lex, Brackets) {
  EXPECT_EQ(errorOf("f(\n  a]"), "2:4 closing bracket `]` does not match opening bracket `(` on line 1");
  EXPECT_EQ(errorOf("a)"), "1:2 unmatched `)`");
  EXPECT_EQ(errorOf("a = (1,\nb"), "1:5 `(` was never closed");
  EXPECT_EQ(errorOf(std::string(201, '(')), "1:201 too many nested brackets (more than 200)");
}

TEST(Lex, Continuation) {
  EXPECT_EQ(errorOf("a \\ b\n"), "1:4 unexpected character after line continuation character");
  EXPECT_EQ(errorOf("a \\"), "1:4 unexpected end of file after line continuation character");
}

TEST(Lex, FirstLineIsHonoured) {
  auto file = std::make_shared<SourceFile>();
  file->text = "  a\n  b";
  file->firstLine = 40;
  LexResult result = lex(file);
  EXPECT_EQ(result.tokens[2].range.line, 41u);
  EXPECT_EQ(result.tokens[2].range.column, 3u);
}

}  // namespace
}  // namespace tandem::frontend
