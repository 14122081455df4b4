// The registry is the table of every name that kernels may use: each row is a builtin with its canonical name, its
// Python signature and the code that emits it. The Python package makes its stub modules from this table, so there is
// one list of names.
#pragma once
#include "compiler/frontend/semantic/context.h"
#include <span>

namespace tandem::frontend {

// Arguments after binding, by parameter name. A missing parameter holds its default.
class Arguments {
 public:
  const Value& operator[](std::string_view parameter) const;
  const std::vector<Value>& rest() const { return rest_; }  // *args
  std::map<std::string, Value> values_;
  std::vector<Value> rest_;
};

// A call of a builtin is carried out by these. Outside of `simt_exec_region` a program's threads act as one.
enum class Caller : uint8_t {
  Compiler,  // nobody at run time: the call has a meaning while the kernel is compiled
  Program,   // the program, for whole tensors
  Thread,    // each thread that calls, for itself
  Warp,      // the threads of a warp together
  Block,     // all threads of the program together
};
const char* wordOf(Caller caller);  // "the program"

// Python's `help` and docs/guide/language.md show this description of a builtin.
struct Doc {
  // `rule`: of docs/spec/memory_model.md, for a builtin that touches memory others see or orders accesses: "M6".
  Doc(std::string text, Caller by = Caller::Program, const char* rule = "")
      : text(std::move(text)), by(by), rule(rule) {}
  Doc(const char* text) : Doc(std::string(text)) {}
  std::string text;  // sentences: the result, what is read and written, units
  Caller by;
  std::string rule;
};

// `name` is canonical: "<module>.<name>" with module one of
//   tl, tl.math, tl.extra.libdevice, dl, shmem (libshmem_device), extra (language_extra), dl.tma
// `signature` is Python text without `def` ("pointer, mask=None, other=None, *, volatile=False"); a trailing "*args"
// collects the rest.
struct Builtin {
  std::string name;
  std::string signature;
  Doc doc;
  std::function<Value(Context&, const Arguments&)> emit;
};

// Every builtin: rows of tl, math, libdevice, dl, shmem, extra and the constants (dtypes, NVSHMEM_*, ...).
const Builtin* findBuiltin(const std::string& canonicalName);
// A constant of ours: a dtype ("tl.float16"), a number ("shmem.NVSHMEM_CMP_EQ"), a class that is also callable.
std::optional<Value> findConstant(const std::string& canonicalName);
// A function of ours written in our language (library/*.py): its source file and its name there.
struct LibraryFunction {
  SourceFilePtr file;
  std::string function;
  std::string signature, doc;  // as they stand in the file
};
std::optional<LibraryFunction> findLibraryFunction(const std::string& canonicalName);
// Binds a call; fails with kind "argument-count", "unknown-argument" or "missing-argument", naming the builtin and its
// signature.
Arguments bind(Context&, const Builtin&, const std::vector<Value>& positional,
               const std::map<std::string, Value>& keywords);
// Methods of tensors and descriptors: tensor.to -> "tl.tensor.to", descriptor.load -> "tl.tensor_descriptor.load",
// vector.recast -> "dl.vector.recast". They are builtins whose first parameter is `self`.

// The canonical module of an importable module name, or nothing: "triton.language", "tandem.language" -> "tl";
// "triton.language.math" -> "tl.math"; "triton.language.extra.cuda.libdevice", "triton.language.extra.libdevice" ->
// "tl.extra.libdevice"; "triton_dist.language", "tandem.dist" -> "dl"; "triton_dist.language.extra.libshmem_device",
// "tandem.shmem" -> "shmem"; "triton_dist.language.extra.language_extra", "triton.language.extra.cuda.language_extra",
// ... -> "extra".
std::optional<std::string> canonicalModule(std::string_view importedName);
// Every importable name with its canonical module.
std::map<std::string, std::string> importNames();
// "use `tl.sqrt`" for a name of Python's math, NumPy or PyTorch, such as "sqrt" or "bool_"; "" when the language has
// nothing like it.
std::string hintForHostName(const std::string& name);
// All names of a canonical module, sorted, for star imports and for the Python package.
std::vector<std::string> namesOf(const std::string& canonicalModule);

}  // namespace tandem::frontend
