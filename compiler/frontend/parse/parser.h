// The parser's state and its rules, one method a rule of Python's grammar. Each construct has its own file.
#pragma once
#include "compiler/frontend/lex/lex.h"
#include "compiler/frontend/parse/parse.h"
#include "compiler/frontend/parse/string_escape.h"

namespace tandem::frontend {

class Parser {
 public:
  explicit Parser(SourceFilePtr file);
  ast::Module parseModule();

 private:
  using ExprPtr = ast::ExprPtr;
  using StmtPtr = ast::StmtPtr;
  using Exprs = std::vector<ast::ExprPtr>;
  using Mark = uint32_t;  // index of a token

  // Bounds the recursion of the parser.
  class Nesting {
   public:
    explicit Nesting(Parser& parser);
    ~Nesting() { --parser_.nesting_; }
    Nesting(const Nesting&) = delete;

   private:
    Parser& parser_;
  };
  // Bounds the height of trees built without recursion, such as `a + b + ...`: visitors of the tree do recurse.
  class Height {
   public:
    explicit Height(Parser& parser) : parser_(parser), outer_(parser.height_) { parser.height_ = 0; }
    ~Height();
    Height(const Height&) = delete;
    void grow();

   private:
    Parser& parser_;
    uint32_t outer_;
  };
  enum class TargetUse : uint8_t { Assign, Loop, With, Delete };
  struct BlockOwner {
    std::string name;  // "`if` statement"
    uint32_t line = 0;
  };

  // cursor.cpp
  const Token& token(size_t ahead = 0) const;
  TokenKind kind(size_t ahead = 0) const { return token(ahead).kind; }
  bool at(TokenKind k) const { return kind() == k; }
  std::string_view textOf(const Token& t) const { return std::string_view(file_->text).substr(t.offset, t.length); }
  bool atWord(std::string_view word, size_t ahead = 0) const;
  void advance();
  bool accept(TokenKind k);
  void expect(TokenKind k);
  std::string expectName();
  SourceRange rangeFrom(Mark first) const;
  ExprPtr makeExpr(ast::ExprKind kind, Mark first) const;
  template <typename... Children>
  ExprPtr makeExpr(ast::ExprKind kind, Mark first, Children... children) const {
    ExprPtr e = makeExpr(kind, first);
    e->children.reserve(sizeof...(children));
    (e->children.push_back(std::move(children)), ...);
    return e;
  }
  ExprPtr makeUnsupported(const char* feature, Mark first, ExprPtr child) const;
  StmtPtr makeStmt(ast::StmtKind kind, Mark first) const;
  [[noreturn]] void fail(std::string message, const SourceRange& range) const;
  [[noreturn]] void failHere(std::string message) const;
  [[noreturn]] void failInvalid() const;

  // statement.cpp
  void parseStatement(ast::Body& out);
  StmtPtr parseCompound();
  void parseSimpleStatements(ast::Body& out);
  void expectStatementEnd(Mark first);
  StmtPtr parseSimple();
  StmtPtr parseReturn();
  StmtPtr parseRaise();
  StmtPtr parseAssert();
  StmtPtr parseDelete();
  StmtPtr parseScopeNames(const char* feature);
  StmtPtr parseTypeAlias();
  StmtPtr parseKeywordOnly(ast::StmtKind kind);

  // assignment.cpp
  StmtPtr parseExprStatement();
  StmtPtr parseAssign(Mark first, ExprPtr target);
  StmtPtr parseAugAssign(Mark first, ExprPtr target, ast::BinaryOp op);
  StmtPtr parseAnnAssign(Mark first, ExprPtr target);
  ExprPtr parseAssignedValue();
  void checkTarget(const ast::Expr& target, TargetUse use) const;
  [[noreturn]] void failTarget(const ast::Expr& target, TargetUse use) const;
  ExprPtr parseTarget(TargetUse use);
  ExprPtr parseTargetList();
  ExprPtr parseTargetElement();

  // import.cpp
  StmtPtr parseImport();
  StmtPtr parseImportFrom();
  void parseImportedNames(std::vector<ast::ImportName>& names);
  ast::ImportName parseImportName(bool dotted);
  std::string parseDottedName();

  // block.cpp
  void parseBlock(ast::Body& out, const BlockOwner& owner);
  BlockOwner owner(const char* name) const;
  StmtPtr parseIf();
  StmtPtr parseElifs(StmtPtr head);
  void parseElse(ast::Body& out);
  void parseLoopElse(ast::Stmt& loop);
  StmtPtr parseWhile();
  StmtPtr parseFor();
  StmtPtr parseWith();
  bool withItemsAreBracketed() const;
  void parseBracketedWithItems(std::vector<ast::WithItem>& items);
  ast::WithItem parseWithItem();
  StmtPtr parseTry();
  void parseHandlers(ast::Stmt& stmt);
  void parseHandler(ast::Stmt& stmt);
  StmtPtr parseAsync();

  // definition.cpp
  StmtPtr parseDecorated();
  StmtPtr parseDefinition(Exprs decorators);
  StmtPtr parseFunction(Mark first, Exprs decorators);
  StmtPtr parseClass(Exprs decorators);
  void skipTypeParameters();
  std::vector<ast::Parameter> parseParameters(TokenKind close, bool annotated);
  struct ParameterState {
    bool sawSlash = false, sawStar = false, needsName = false, sawDefault = false, sawVarKeyword = false;
  };
  void parseParameter(std::vector<ast::Parameter>& out, ParameterState& state, TokenKind close, bool annotated);
  void parseSlash(const std::vector<ast::Parameter>& before, ParameterState& state);
  bool parseBareStar(ParameterState& state, TokenKind close);
  ast::Parameter parseNamedParameter(ast::Parameter::Kind kind, bool annotated);

  // match.cpp
  bool atMatchStatement() const;
  StmtPtr parseMatch();
  void parseCase(ast::Stmt& match);
  void parseOpenPattern(Exprs& values);
  bool parseSequenceElement(Exprs& values);
  void parsePattern(Exprs& values);
  void parseClosedPattern(Exprs& values);
  void parsePatternSequence(Exprs& values, TokenKind close);
  void parseMappingPattern(Exprs& values);
  void parseNamedPattern(Exprs& values);
  void parseClassPatternArguments(Exprs& values);
  void parseNumberPattern(Exprs& values);
  ExprPtr parseSignedNumber();

  // expression.cpp
  ExprPtr parseStarExpressions();
  ExprPtr parseTupleFrom(Mark first, ExprPtr head);
  ExprPtr parseStarExpression();
  ExprPtr parseStarNamed();
  ExprPtr parseStarred();
  ExprPtr parseNamed();
  ExprPtr parseExpression();
  ExprPtr parseLambda();
  ExprPtr parseYield();
  ExprPtr parseBoolOp(TokenKind word, ast::BoolOpKind op, ExprPtr (Parser::*operand)());
  ExprPtr parseDisjunction();
  ExprPtr parseConjunction();
  ExprPtr parseInversion();
  ExprPtr parseComparison();
  bool acceptCompareOp(ast::CompareOp& op);
  ExprPtr parseBinary(int minPrecedence = 1);
  ExprPtr parseFactor();
  ExprPtr parsePower();
  bool startsExpression() const;
  bool endsExpressionList() const;

  // primary.cpp
  ExprPtr parsePrimary();
  ExprPtr parseAttribute(Mark first, ExprPtr value);
  ExprPtr parseCall(Mark first, ExprPtr callee);
  void parseArguments(ast::Expr& call, Mark open);
  void parseArgument(ast::Expr& call, Mark open, bool& sawDoubleStar);
  void parseKeyword(ast::Expr& call, Mark first, std::string name);
  void parsePositional(ast::Expr& call, Mark open, bool sawDoubleStar);
  [[noreturn]] void failKeywordName(const ast::Expr& name) const;
  ExprPtr parseSubscript(Mark first, ExprPtr value);
  ExprPtr parseIndex();
  ExprPtr parseIndexElement();
  ExprPtr parseAtom();
  ExprPtr parseName();
  ExprPtr parseNumber();

  // display.cpp
  void expectClose(TokenKind close);
  void expectCloseAfter(Mark lastElement, TokenKind close);
  Exprs parseElements(ExprPtr head, TokenKind close, Mark last);
  ExprPtr parseGroup();
  ExprPtr parseList();
  ExprPtr parseBraces();
  ExprPtr parseDictFrom(Mark first, ExprPtr key);
  void parseDictItem(Exprs& items, ExprPtr key);
  bool atClause() const;
  ExprPtr parseComprehension(const char* kind, Mark first, ExprPtr element, ExprPtr value);
  ExprPtr closeComprehension(ExprPtr comprehension, TokenKind close, Mark first);
  bool parseClauses(std::vector<ast::ForClause>& clauses);

  // string.cpp
  ExprPtr parseStrings();
  ExprPtr finishStrings(ExprPtr e, Mark first, bool isFString, bool isBytes) const;
  std::string decodeLiteral() const;
  std::string decode(std::string_view body, const StringRules& rules) const;
  void appendText(ast::Expr& out, bool& endsInText, std::string text, const SourceRange& range) const;
  void parseFString(ast::Expr& out, bool& endsInText);
  void parseFStringParts(ast::Expr& out, bool& endsInText, TokenKind end, bool isRaw);
  void parseField(ast::Expr& out, bool& endsInText, bool isRaw);
  ExprPtr parseFieldFormat(Mark first, ExprPtr value, bool isRaw);

  SourceFilePtr file_;
  LexResult lexed_;
  Mark pos_ = 0;
  uint32_t lastEndLine_ = 0, lastEndColumn_ = 0;  // end of the last token that was not a line end or indentation
  uint32_t nesting_ = 0, height_ = 0;
};

}  // namespace tandem::frontend
