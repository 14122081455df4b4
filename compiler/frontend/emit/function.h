// This header has the functions and classes with source that kernels call, and the tables of their global names.
#pragma once
#include "compiler/frontend/semantic/value.h"
#include <set>

namespace tandem::frontend {

// The names a function sees outside itself.
class Globals {
 public:
  virtual ~Globals() = default;
  virtual std::optional<Value> find(const std::string& name) = 0;
  virtual std::vector<std::string> names() const = 0;
};

// The bounds of a loop that is over, from which its variable's last value follows.
struct LoopEnd {
  Tensor lower, upper, step;
  bool reversed = false;  // the variable counts down from `upper`'s side
};

// A variable of a function while it is emitted.
struct Local {
  Value value;
  SourceRange definedAt;
  bool declaredConstexpr = false;                   // by a `tl.constexpr` annotation
  bool undefined = false;                           // assigned on some paths only; `value` is then meaningless
  std::shared_ptr<const LoopEnd> lastOf = nullptr;  // of a variable that only a loop has assigned, which is over
};
using Locals = std::map<std::string, Local>;

// A parsed file or function text. Trees point into it, so a holder of a tree holds this too.
using ModulePtr = std::shared_ptr<const ast::Module>;

struct Function {
  enum class Kind : uint8_t { Jit, Constexpr, Lambda };
  std::string name;
  Kind kind = Kind::Jit;
  bool isStatic = false;  // a method without `self`
  ModulePtr module;
  const ast::Stmt* node = nullptr;        // the `def`; null for lambdas
  const ast::Expr* lambda = nullptr;      // the lambda expression; null for `def`s
  Globals* globals = nullptr;             // owned by the session; may be null
  std::map<std::string, Value> defaults;  // given from outside; they win over the text's
  Locals captured;                        // lambdas: the variables around it

  const SourceFilePtr& file() const { return module->file; }
  const std::vector<ast::Parameter>& parameters() const { return node ? node->parameters : lambda->parameters; }
  const SourceRange& range() const { return node ? node->range : lambda->range; }
};
using FunctionPtr = std::shared_ptr<const Function>;

// A class under `@aggregate`, or one of named tuples.
struct AggregateClass {
  struct Field {
    std::string name;
    bool isConstexpr = false;
  };
  std::string name;
  std::vector<Field> fields;
  std::map<std::string, FunctionPtr> methods;
  // `X = 4` in the class body; of named tuples: the fields' defaults
  std::map<std::string, const ast::Expr*> constants;
  bool isTuple = false;
  std::map<std::string, Value> defaults;  // of named tuples: the fields', given from outside
  ModulePtr module;
  Globals* globals = nullptr;

  const Field* findField(const std::string& fieldName) const;
};

// Returns true if an annotation says constexpr, by its last word, as Triton decides it.
bool isConstexprAnnotation(const ast::ExprPtr& annotation);
// An annotation may say that a pointer is only read: `tl.const`, "*kfp32".
bool isConstAnnotation(const ast::ExprPtr& annotation);
// The last word of a decorator: `triton.jit`, `jit(...)` -> "jit".
std::string decoratorWord(const ast::Expr& decorator);
bool hasDecorator(const ast::Stmt& definition, std::string_view word);

FunctionPtr makeFunction(ModulePtr module, const ast::Stmt& def, Globals* globals,
                         std::map<std::string, Value> defaults = {});
// Returns true if a class is written as a subclass of `NamedTuple`.
bool isNamedTuple(const ast::Stmt& node);
std::shared_ptr<const AggregateClass> makeClass(ModulePtr module, const ast::Stmt& node, Globals* globals);

}  // namespace tandem::frontend
