// The syntax tree of the Python subset: plain data, no meaning. Every node knows its range.
// Python that kernels cannot use but host code around them can (try, async, yield, ...) parses into
// `Unsupported` nodes that carry the feature's name, so the error can name it when a kernel reaches it.
#pragma once
#include "base/source.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tandem::frontend::ast {

struct Expr;
struct Stmt;
using ExprPtr = std::unique_ptr<Expr>;
using StmtPtr = std::unique_ptr<Stmt>;
using Body = std::vector<StmtPtr>;

enum class ExprKind : uint8_t {
  Name,
  None,
  Bool,
  Int,
  Float,
  String,
  Ellipsis,
  FString,
  Tuple,
  List,
  Dict,
  Set,
  Unary,
  Binary,
  BoolOp,
  Compare,
  Call,
  Attribute,
  Subscript,
  Slice,
  Conditional,
  Lambda,
  Comprehension,
  Starred,
  Walrus,
  Unsupported
};
enum class UnaryOp : uint8_t { Neg, Pos, Not, Invert };
enum class BinaryOp : uint8_t { Add, Sub, Mul, Div, FloorDiv, Mod, Pow, MatMul, LShift, RShift, And, Or, Xor };
enum class BoolOpKind : uint8_t { And, Or };
enum class CompareOp : uint8_t { Eq, Ne, Lt, Le, Gt, Ge, Is, IsNot, In, NotIn };

// A function parameter; kinds as in Python's inspect module.
struct Parameter {
  enum class Kind : uint8_t { Positional, VarPositional, KeywordOnly, VarKeyword };
  std::string name;
  ExprPtr annotation;    // may be null
  ExprPtr defaultValue;  // may be null
  Kind kind = Kind::Positional;
  SourceRange range;
};

struct Keyword {
  std::string name;  // empty for **value
  ExprPtr value;
  SourceRange range;
};

// `for target in iterable if cond...`, one clause of a comprehension.
struct ForClause {
  ExprPtr target, iterable;
  std::vector<ExprPtr> conditions;
};

struct Expr {
  ExprKind kind;
  SourceRange range;

  std::string text;  // Name: identifier. Attribute: member. String: decoded value. Int: digits as written, without '_'.
                     // Unsupported: the feature ("`await`"). Comprehension: "list", "set", "generator" or "dict".
  bool boolean = false;               // Bool
  double number = 0;                  // Float
  UnaryOp unary{};                    // Unary: children[0]
  BinaryOp binary{};                  // Binary: children[0], children[1]
  BoolOpKind boolOp{};                // BoolOp: children[0..n)
  std::vector<CompareOp> compareOps;  // Compare: children[0] ops[0] children[1] ops[1] ...
  // Tuple/List/Set: elements. Dict: key, value, ... (null key: **). FString: String and other parts in order.
  // Attribute/Starred: [value]. Subscript: [value, index]. Slice: [lower, upper, step], each may be null. Call:
  // [callee, positional...]. Conditional: [test, then, else]. Lambda: [body]. Comprehension: [element] ([key, value]).
  // Walrus: [Name, value].
  std::vector<ExprPtr> children;
  std::vector<Keyword> keywords;      // Call
  std::vector<Parameter> parameters;  // Lambda
  std::vector<ForClause> clauses;     // Comprehension
};

enum class StmtKind : uint8_t {
  Function,
  Class,
  Return,
  Assign,
  AugAssign,
  AnnAssign,
  For,
  While,
  If,
  With,
  Assert,
  Pass,
  Break,
  Continue,
  Expr,
  Import,
  ImportFrom,
  Unsupported
};

// `import a.b as c` and `from m import a as c`.
struct ImportName {
  std::string name, alias;  // alias empty when absent
  SourceRange range;
};
struct WithItem {
  ExprPtr context, target;  // target may be null
};

struct Stmt {
  StmtKind kind;
  SourceRange range;

  // Function/Class: name. ImportFrom: module with its leading dots. Unsupported: the feature ("`try`").
  std::string text;
  // Return: [value?]. Assign: [value, target...]. AugAssign: [target, value]. AnnAssign: [target, annotation, value?].
  // For: [target, iterable]. While/If: [test]. Assert: [test, message?]. Expr: [value]. Class: bases. Missing ones are
  // absent.
  std::vector<ExprPtr> exprs;
  BinaryOp binary{};                  // AugAssign
  std::vector<ExprPtr> decorators;    // Function, Class
  std::vector<Parameter> parameters;  // Function
  ExprPtr returns;                    // Function, may be null
  // For/While/If: else branch (elif is one If in orElse). Unsupported: nested bodies joined.
  Body body, orElse;
  SourceRange elseRange;          // For/While: the word `else`
  std::vector<WithItem> items;    // With
  std::vector<ImportName> names;  // Import, ImportFrom ("*" for a star import)
};

// A whole file, or the text of one function.
struct Module {
  SourceFilePtr file;
  Body body;
};

// An indented listing, one node a line, for `tandemc --emit=ast` and tests.
std::string print(const Module& module);

}  // namespace tandem::frontend::ast
