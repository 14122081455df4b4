// Tokens of Python 3.12: kinds, spellings and places. Knows no grammar.
#pragma once
#include "base/source.h"

namespace tandem::frontend {

enum class TokenKind : uint8_t {
  EndOfFile,
  Error,
  Newline,
  Indent,
  Dedent,
  Name,
  Int,
  Float,
  Imaginary,
  String,
  Bytes,
  FStringStart,
  FStringMiddle,
  FStringEnd,
  FormatColon,  // the `:` that starts a format spec, as opposed to any other colon
  LParen,
  RParen,
  LBracket,
  RBracket,
  LBrace,
  RBrace,
  Comma,
  Colon,
  Semicolon,
  Dot,
  Ellipsis,
  Arrow,
  At,
  Exclaim,
  Tilde,
  ColonEqual,
  Equal,
  Plus,
  Minus,
  Star,
  Slash,
  DoubleSlash,
  Percent,
  DoubleStar,
  LShift,
  RShift,
  Ampersand,
  Pipe,
  Caret,
  EqEqual,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  PlusEqual,
  MinusEqual,
  StarEqual,
  SlashEqual,
  DoubleSlashEqual,
  PercentEqual,
  AtEqual,
  AmpersandEqual,
  PipeEqual,
  CaretEqual,
  LShiftEqual,
  RShiftEqual,
  DoubleStarEqual,
  KwFalse,
  KwNone,
  KwTrue,
  KwAnd,
  KwAs,
  KwAssert,
  KwAsync,
  KwAwait,
  KwBreak,
  KwClass,
  KwContinue,
  KwDef,
  KwDel,
  KwElif,
  KwElse,
  KwExcept,
  KwFinally,
  KwFor,
  KwFrom,
  KwGlobal,
  KwIf,
  KwImport,
  KwIn,
  KwIs,
  KwLambda,
  KwNonlocal,
  KwNot,
  KwOr,
  KwPass,
  KwRaise,
  KwReturn,
  KwTry,
  KwWhile,
  KwWith,
  KwYield
};

struct Token {
  TokenKind kind = TokenKind::EndOfFile;
  uint32_t offset = 0, length = 0;  // in the file's text, bytes
  SourceRange range;
};

// Returns the spelling of the kind; a description such as "name" for kinds with many spellings.
std::string_view spelling(TokenKind kind);

// The keyword `word` is, or Name.
TokenKind keywordOrName(std::string_view word);

struct Operator {
  TokenKind kind = TokenKind::Error;
  uint32_t length = 0;
};
// The longest operator that `text` starts with; length 0 when there is none.
Operator matchOperator(std::string_view text);

}  // namespace tandem::frontend
