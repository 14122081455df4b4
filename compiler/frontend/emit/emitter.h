// Walks the syntax tree of a kernel and of the functions it calls, and emits their ops. Each construct has its own
// file. Knows names, scopes, calls and control flow; typing rules are those of semantic.h, builtins those of the table.
#pragma once
#include "compiler/frontend/emit/carried.h"
#include "compiler/frontend/emit/session.h"
#include "compiler/frontend/emit/special.h"
#include "compiler/frontend/semantic/semantic.h"

namespace tandem::frontend {

// One call being emitted.
struct Frame {
  const Function* function = nullptr;  // null while a module's constant is evaluated
  Globals* globals = nullptr;
  ModulePtr module;
  Locals locals;
  Value returned = None{};
  bool constant = false;      // Python's own evaluation: loops run, numbers stay numbers
  bool keepsNumbers = false;  // `__init__` of an aggregate: numbers become tensors only where the field says so
  const char* blocksReturn = nullptr;  // the construct that a `return` cannot leave
  bool inLoop = false;                 // a `continue` goes on with a loop's next iteration
  // The variables that this loop carries, and where they are assigned before it. Null where the loop is unrolled.
  const std::map<std::string, SourceRange>* carried = nullptr;
  const Frame* caller = nullptr;
};

// Says if control goes on after a statement. `Continued` also follows an `if` that has emitted all the rest of a loop's
// body, since one of its branches continues.
enum class Flow : uint8_t { Falls, Returned, Broke, Continued };

// The statements that follow the ones being emitted, innermost first.
struct Rest {
  const ast::Body* body;
  size_t from;
  const Rest* outer;
};

using Positional = std::vector<Value>;
using Keywords = std::map<std::string, Value>;

class Emitter {
 public:
  Emitter(Context& context, Session& session);
  Emitter(const Emitter&) = delete;

  // Emits the body of `kernel` at the insertion point with its parameters bound.
  void emitKernel(const Function& kernel, const std::map<std::string, Value>& arguments);
  // call.cpp: any callable value.
  Value call(const Value& callee, const Positional& positional, const Keywords& keywords);

 private:
  // The source position while in scope.
  class At {
   public:
    At(Emitter& e, const SourceRange& range) : context_(e.cx), saved_(e.cx.place.range) {
      context_.place.range = range;
    }
    ~At() { context_.place.range = saved_; }
    At(const At&) = delete;

   private:
    Context& context_;
    SourceRange saved_;
  };
  class Entered;  // a frame while in scope (call.cpp)

  // failure.cpp
  Diagnostic note(const SourceRange& range, const std::string& message) const;
  [[noreturn]] void failWithNotes(const SourceRange& range, const std::string& kind, const std::string& message,
                                  std::vector<Diagnostic> notes);
  [[noreturn]] void failUnsupported(const SourceRange& range, const std::string& feature, const std::string& hint = "");
  [[noreturn]] void failUnknownName(const std::string& name);
  [[noreturn]] void failUnknownMember(const std::string& owner, const std::string& name,
                                      const std::vector<std::string>& candidates, const std::string& hint = "");
  [[noreturn]] void failForeign(const std::string& name, const Foreign& foreign);
  void spend(uint64_t amount = 1);
  uint64_t sizeOf(const Value& value, int depth = 0) const;

  // expression.cpp
  Value evaluate(const ast::Expr& e);
  Value made(Value value);  // a value that an expression made anew, once its size is paid for
  Value evaluateNode(const ast::Expr& e);
  Value integer(const ast::Expr& e);
  Value name(const ast::Expr& e);
  std::optional<Value> findName(const std::string& name);
  Value walrus(const ast::Expr& e);
  Value lambda(const ast::Expr& e);

  // operator.cpp
  Value boolOp(const ast::Expr& e);
  Value compare(const ast::Expr& e);
  Value compareOne(ast::CompareOp op, const Value& lhs, const Value& rhs);
  Value unary(const ast::Expr& e);
  Value conditional(const ast::Expr& e);

  // sequence.cpp
  Positional elements(const std::vector<ast::ExprPtr>& exprs);
  Value fString(const ast::Expr& e);
  std::string fStringText(const std::vector<ast::ExprPtr>& parts, size_t from);
  Value comprehension(const ast::Expr& e);
  Value dictionary(const ast::Expr& e);
  void comprehensionClause(const ast::Expr& e, size_t clause, Positional& out);
  Value subscript(const ast::Expr& e);
  Value slice(const ast::Expr& e);
  Positional constantElements(const Value& iterable, const SourceRange& range);

  // smem_access.cpp
  Value loadElement(const SmemBuffer& buffer, const Value& index);
  void storeElement(const SmemBuffer& buffer, const Value& index, const Value& value);
  std::vector<mlir::Value> elementIndices(const SmemBuffer& buffer, const Value& index);

  // attribute.cpp, tensor_attribute.cpp, dtype_attribute.cpp
  Value attribute(const ast::Expr& e);
  Value attributeOf(const Value& base, const std::string& name);
  Value tensorAttribute(const Tensor& t, const std::string& name);
  Value dtypeAttribute(const DType& t, const std::string& name);
  Value descriptorAttribute(const Value& base, const std::string& name);
  Value aggregateAttribute(const Value& base, const std::string& name);
  Value classAttribute(const AggregateClass& c, const std::string& name);
  Value tupleAttribute(const Value& base, const std::string& name);
  Value numberAttribute(const Value& base, const std::string& name);
  Value namespaceAttribute(const Namespace& module, const std::string& name);
  std::optional<Value> tensorMethod(const std::string& name);
  Value callMethod(const BoundMethod& method, const Positional& positional, const Keywords& keywords);

  // call.cpp, bind.cpp
  Value callExpression(const ast::Expr& e);
  void limitDepth(const Function& f);
  Value callFunction(const Function& f, const Positional& positional, const Keywords& keywords,
                     bool keepsNumbers = false);
  void bindParameters(Frame& frame, const Positional& positional, const Keywords& keywords);
  Value defaultOf(const Function& f, const ast::Parameter& p);
  void checkConstexprParameter(const Function& f, const ast::Parameter& p, const Value& v);
  Value constructTuple(const AggregateClass& type, const Positional& positional, const Keywords& keywords);
  Value construct(const std::shared_ptr<const AggregateClass>& type, const Positional& positional,
                  const Keywords& keywords);

  // python_builtin.cpp
  Value callPython(const std::string& name, const Positional& positional, const Keywords& keywords);
  Value pythonRange(const Positional& positional, const Keywords& keywords);
  Value pythonExtremum(bool least, const Positional& positional);
  Value pythonLen(const Value& v);
  Value pythonNumber(const std::string& name, const Positional& positional);
  Value pythonPrint(const Positional& positional, const Keywords& keywords);
  Value pythonIsInstance(const Positional& positional);
  bool isInstance(const Value& v, const Value& type);
  Value pythonZip(const Positional& positional);
  Value pythonEnumerate(const Positional& positional);

  // statement.cpp
  Flow emitBody(const ast::Body& body, size_t from, const Rest* rest);
  Flow emitRest(const Rest* rest);
  Flow emit(const ast::Stmt& s, const Rest* rest);
  Flow emitReturn(const ast::Stmt& s);
  [[noreturn]] void failBlockedReturn(const SourceRange& range);
  void emitAssert(const ast::Stmt& s);

  // assignment.cpp
  void emitAssign(const ast::Stmt& s);
  void emitAugAssign(const ast::Stmt& s);
  void emitAnnAssign(const ast::Stmt& s);
  void assign(const ast::Expr& target, const Value& value);
  void assignName(const ast::Expr& target, const Value& value, bool declaredConstexpr);
  void assignSequence(const ast::Expr& target, const Value& value);
  void assignAttribute(const ast::Expr& target, const Value& value);
  void assignSubscript(const ast::Expr& target, const Value& value);
  Value withElement(const Tensor& vector, const ast::Expr& place, const Value&);
  Value decay(const Value& value);

  // branch.cpp, returning_branch.cpp
  Flow emitIf(const ast::Stmt& s, const Rest* rest);
  struct Branch {
    std::string name;  // "`if`" or "`else`"
    mlir::Block* block = nullptr;
    Locals locals;
    Clones clones;
    Value returned;
    bool fellOff = false;  // the end of the function or of the loop's body was reached
  };
  void emitDynamicIf(const ast::Stmt& s, mlir::Value condition, const Rest* rest = nullptr);
  Flow emitReturningIf(const ast::Stmt& s, mlir::Value condition, const Rest* rest);
  Branch emitBranch(const char* name, mlir::Block* block, const Locals& before, const ast::Body& body,
                    const Rest* rest);
  struct Merged {
    std::vector<mlir::Value> thenValues, elseValues;
    // changed in place; with the pattern of the result
    std::vector<std::pair<std::shared_ptr<Aggregate>, Value>> objects;
    std::vector<std::pair<std::string, Value>> names;  // likewise
  };
  void mergeName(const std::string& name, const Locals& before, Branch& thenBranch, Branch& elseBranch, Merged& merged);
  [[noreturn]] void failBranchTypes(const std::string& name, const Local& a, const Local& b, const Locals& before);
  void mergeObjects(const Locals& before, Branch& thenBranch, Branch& elseBranch, Merged& merged);
  void rebindMerged(const Merged& merged, const mlir::Value*& from);
  void decayIn(const Branch& branch, Value& value);
  std::optional<Value> undefinedLike(const Value& pattern);
  mlir::Operation* finishIf(mlir::Operation* ifOp, const Merged& merged);

  // loop.cpp, unrolled_loop.cpp, while_loop.cpp, loop_variables.cpp
  void emitFor(const ast::Stmt& s);
  void emitRangeLoop(const ast::Stmt& s, const RangeValue& range);
  void emitUnrolledLoop(const ast::Stmt& s, const Positional& values);
  void emitWhile(const ast::Stmt& s);
  void keepLoop();
  Tensor lastValue(const LoopEnd& loop);
  struct LoopVariables {
    std::vector<std::string> names;
    std::vector<Value> patterns;
    std::vector<mlir::Value> initial;
    std::map<std::string, std::string> fixed;                   // name -> signature of constants that must not change
    std::map<std::string, std::shared_ptr<Aggregate>> aliases;  // names of objects that are carried under another name
    std::map<std::string, SourceRange> definedAt;
  };
  LoopVariables prepareLoop(const std::set<std::string>& assigned);
  void bindLoop(const LoopVariables& vars, llvm::ArrayRef<mlir::Value> values);
  std::vector<mlir::Value> collectLoop(const LoopVariables& vars);
  void finishLoop(const LoopVariables& vars, const Locals& before, llvm::ArrayRef<mlir::Value> results);
  std::set<std::string> namesForLoop(const ast::Stmt& s) const;

  // constant_function.cpp
  Flow emitConstantFor(const ast::Stmt& s);
  Flow emitConstantWhile(const ast::Stmt& s);

  // simt_region.cpp
  void emitWith(const ast::Stmt& s, const Rest* rest);
  void emitSimtRegion(const ast::Stmt& s);

  Context& cx;
  Session& session_;
  Frame* frame_ = nullptr;
  uint64_t spent_ = 0;
};

}  // namespace tandem::frontend
