// The words that modify memory accesses, and the scalars that place a block.
#include "compiler/frontend/semantic/access.h"
#include "compiler/frontend/semantic/fold.h"
#include "compiler/frontend/semantic/typed_op.h"

namespace tandem::frontend::semantic {
namespace {

template <class Enum> struct Word {
  const char* text;
  Enum value;
};

// `None` and "" mean the first word.
template <class Enum, size_t n>
Enum lookup(Context& context, const Value& value, const Word<Enum> (&words)[n], const std::string& what) {
  if (isEmpty(value)) return words[0].value;
  std::string text = constexprString(context, value, what), known;
  for (const Word<Enum>& word : words) {
    if (text == word.text) return word.value;
    if (*word.text) known += (known.empty() ? "\"" : ", \"") + std::string(word.text) + "\"";
  }
  context.fail("unknown-option", "`" + what + "` \"" + text + "\" is not supported; it is one of " + known);
}

constexpr Word<tile::Cache> loadCaches[] = {
    {"", tile::Cache::None}, {".ca", tile::Cache::Ca}, {".cg", tile::Cache::Cg}, {".cv", tile::Cache::Cv}};
constexpr Word<tile::Cache> storeCaches[] = {{"", tile::Cache::None},
                                             {".wb", tile::Cache::Wb},
                                             {".cg", tile::Cache::Cg},
                                             {".cs", tile::Cache::Cs},
                                             {".wt", tile::Cache::Wt}};
constexpr Word<tile::Evict> evictions[] = {
    {"evict_normal", tile::Evict::Normal}, {"evict_first", tile::Evict::First}, {"evict_last", tile::Evict::Last}};
constexpr Word<tile::Padding> paddings[] = {{"zero", tile::Padding::Zero}, {"nan", tile::Padding::Nan}};
constexpr Word<tile::Semantic> semantics[] = {{"acq_rel", tile::Semantic::AcqRel},
                                              {"acquire", tile::Semantic::Acquire},
                                              {"release", tile::Semantic::Release},
                                              {"relaxed", tile::Semantic::Relaxed}};
constexpr Word<tile::Scope> scopes[] = {
    {"gpu", tile::Scope::Gpu}, {"cta", tile::Scope::Cta}, {"sys", tile::Scope::Sys}};

Tensor placeScalar(Context& context, const Value& value, DType dtype, const std::string& what) {
  if (value.is<Int>() || value.is<bool>()) return constant(context, intOf(value), dtype);
  if (!value.isTensor()) context.fail("type-mismatch", "`" + what + "` needs integers, not " + describe(value));
  const Tensor& tensor = value.as<Tensor>();
  if (!tensor.type.isScalar() || !tensor.type.dtype.isInt())
    context.fail("type-mismatch", "`" + what + "` needs integer scalars, not a " + describe(value));
  if (tensor.type.dtype.bitWidth() > dtype.bitWidth())
    context.fail("type-mismatch",
                 "`" + what + "` has 32 bits but was given a " + describe(value) + "; add a `.to(tl.int32)`");
  return cast(context, tensor, dtype);
}

}  // namespace

bool isEmpty(const Value& value) {
  if (value.isNone()) return true;
  if (value.is<std::string>()) return value.as<std::string>().empty();
  return value.isTuple() && value.elements().empty();
}

tile::Cache loadCache(Context& context, const Value& value) {
  return lookup(context, value, loadCaches, "cache_modifier");
}
tile::Cache storeCache(Context& context, const Value& value) {
  return lookup(context, value, storeCaches, "cache_modifier");
}
tile::Evict evictionOf(Context& context, const Value& value) {
  return lookup(context, value, evictions, "eviction_policy");
}
tile::Padding paddingOf(Context& context, const Value& value) {
  return lookup(context, value, paddings, "padding_option");
}
tile::Semantic semanticOf(Context& context, const Value& value) { return lookup(context, value, semantics, "sem"); }
tile::Scope scopeOf(Context& context, const Value& value) { return lookup(context, value, scopes, "scope"); }

std::vector<Tensor> placeScalars(Context& context, const Value& list, DType dtype, const std::string& what) {
  std::vector<Tensor> out;
  for (const Value& element : listOf(list)) out.push_back(placeScalar(context, element, dtype, what));
  return out;
}

std::vector<mlir::Value> valuesOf(Context& context, const std::vector<Tensor>& scalars, DType dtype) {
  std::vector<mlir::Value> out;
  for (const Tensor& scalar : scalars) out.push_back(cast(context, scalar, dtype).value);
  return out;
}

}  // namespace tandem::frontend::semantic
