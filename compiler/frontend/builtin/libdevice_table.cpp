// The table of libdevice. Knows names and types only.
#include "compiler/frontend/builtin/libdevice_table.h"
#include <string_view>

namespace tandem::frontend::builtin {

using Table = std::vector<LibdeviceFunction>;

static const char* parametersOf(size_t count) {
  static const char* const names[] = {"", "arg0", "arg0, arg1", "arg0, arg1, arg2", "arg0, arg1, arg2, arg3"};
  return names[count];
}

// Functions of floats with symbols `__nv_<name>f` and `__nv_<name>`.
static void addFloat(Table& table, size_t arity, std::initializer_list<const char*> names) {
  for (const char* name : names)
    table.push_back({name,
                     parametersOf(arity),
                     {{std::string("__nv_") + name + "f", std::string(arity, 'f'), 'f'},
                      {std::string("__nv_") + name, std::string(arity, 'd'), 'd'}}});
}

static void add(Table& table, const char* name, std::vector<LibdeviceSymbol> symbols) {
  size_t arity = symbols.front().operands.size();
  table.push_back({name, parametersOf(arity), std::move(symbols)});
}

static void addRoundings(Table& table) {
  for (const char* mode : {"rn", "rz", "rd", "ru"}) {
    std::string m = std::string("_") + mode;
    auto both = [&](const char* name, size_t arity, const char* single, const char* twice) {
      table.push_back({name + m,
                       parametersOf(arity),
                       {{single + m, std::string(arity, 'f'), 'f'}, {twice + m, std::string(arity, 'd'), 'd'}}});
    };
    both("fma", 3, "__nv_fmaf", "__nv_fma");
    both("div", 2, "__nv_fdiv", "__nv_ddiv");
    both("rcp", 1, "__nv_frcp", "__nv_drcp");
    both("sqrt", 1, "__nv_fsqrt", "__nv_dsqrt");
    both("add", 2, "__nv_fadd", "__nv_dadd");
    both("sub", 2, "__nv_fsub", "__nv_dsub");
    both("mul", 2, "__nv_fmul", "__nv_dmul");
  }
}

static void addConversions(Table& table) {
  struct Kind {
    const char* name;
    char from, to;
  };
  static constexpr Kind kinds[] = {{"double2float", 'd', 'f'}, {"double2int", 'd', 'i'},  {"double2uint", 'd', 'u'},
                                   {"int2double", 'i', 'd'},   {"uint2double", 'u', 'd'}, {"float2int", 'f', 'i'},
                                   {"float2uint", 'f', 'u'},   {"int2float", 'i', 'f'},   {"uint2float", 'u', 'f'},
                                   {"float2ll", 'f', 'l'},     {"float2ull", 'f', 'm'},   {"double2ll", 'd', 'l'},
                                   {"double2ull", 'd', 'm'},   {"ll2float", 'l', 'f'},    {"ull2float", 'm', 'f'},
                                   {"ll2double", 'l', 'd'},    {"ull2double", 'm', 'd'}};
  for (const Kind& kind : kinds)
    for (const char* mode : {"_rn", "_rz", "_rd", "_ru"}) {
      // 32-bit integers fit a double exactly: libdevice has one function.
      if (kind.to == 'd' && (kind.from == 'i' || kind.from == 'u') && std::string_view(mode) != "_rn") continue;
      table.push_back({std::string(kind.name) + mode,
                       "arg0",
                       {{std::string("__nv_") + kind.name + mode, std::string(1, kind.from), kind.to}}});
    }
  add(table, "hiloint2double", {{"__nv_hiloint2double", "ii", 'd'}});
  add(table, "double2loint", {{"__nv_double2loint", "d", 'i'}});
  add(table, "double2hiint", {{"__nv_double2hiint", "d", 'i'}});
  add(table, "int_as_float", {{"__nv_int_as_float", "i", 'f'}});
  add(table, "uint_as_float", {{"__nv_uint_as_float", "u", 'f'}});
  add(table, "float_as_int", {{"__nv_float_as_int", "f", 'i'}});
  add(table, "float_as_uint", {{"__nv_float_as_uint", "f", 'u'}});
  add(table, "longlong_as_double", {{"__nv_longlong_as_double", "l", 'd'}});
  add(table, "double_as_longlong", {{"__nv_double_as_longlong", "d", 'l'}});
}

static void addIntegers(Table& table) {
  add(table, "clz", {{"__nv_clz", "i", 'i'}, {"__nv_clzll", "l", 'i'}});
  add(table, "popc", {{"__nv_popc", "i", 'i'}, {"__nv_popcll", "l", 'i'}});
  add(table, "ffs", {{"__nv_ffs", "i", 'i'}, {"__nv_ffsll", "l", 'i'}});
  add(table, "brev", {{"__nv_brev", "i", 'i'}, {"__nv_brevll", "l", 'l'}});
  add(table, "byte_perm", {{"__nv_byte_perm", "iii", 'i'}});
  add(table, "mulhi",
      {{"__nv_mulhi", "ii", 'i'},
       {"__nv_umulhi", "uu", 'u'},
       {"__nv_mul64hi", "ll", 'l'},
       {"__nv_umul64hi", "mm", 'm'}});
  add(table, "mul24", {{"__nv_mul24", "ii", 'i'}, {"__nv_umul24", "uu", 'u'}});
  add(table, "sad", {{"__nv_sad", "iiu", 'i'}, {"__nv_usad", "uuu", 'u'}});
  add(table, "hadd", {{"__nv_hadd", "ii", 'i'}, {"__nv_uhadd", "uu", 'u'}});
  add(table, "rhadd", {{"__nv_rhadd", "ii", 'i'}, {"__nv_urhadd", "uu", 'u'}});
  add(table, "abs",
      {{"__nv_abs", "i", 'i'}, {"__nv_llabs", "l", 'l'}, {"__nv_fabsf", "f", 'f'}, {"__nv_fabs", "d", 'd'}});
  add(table, "min",
      {{"__nv_min", "ii", 'i'},
       {"__nv_umin", "uu", 'u'},
       {"__nv_llmin", "ll", 'l'},
       {"__nv_ullmin", "mm", 'm'},
       {"__nv_fminf", "ff", 'f'},
       {"__nv_fmin", "dd", 'd'}});
  add(table, "max",
      {{"__nv_max", "ii", 'i'},
       {"__nv_umax", "uu", 'u'},
       {"__nv_llmax", "ll", 'l'},
       {"__nv_ullmax", "mm", 'm'},
       {"__nv_fmaxf", "ff", 'f'},
       {"__nv_fmax", "dd", 'd'}});
}

static void addFast(Table& table) {
  for (const char* name : {"sinf", "cosf", "tanf", "tanhf", "logf", "log2f", "log10f", "expf", "exp10f"})
    table.push_back({std::string("fast_") + name, "arg0", {{std::string("__nv_fast_") + name, "f", 'f'}}});
  add(table, "fast_powf", {{"__nv_fast_powf", "ff", 'f'}});
  add(table, "fast_dividef", {{"__nv_fast_fdividef", "ff", 'f'}});
  add(table, "saturatef", {{"__nv_saturatef", "f", 'f'}});
  add(table, "rcp64h", {{"__nv_rcp64h", "d", 'd'}});
  add(table, "rsqrt_rn", {{"__nv_frsqrt_rn", "f", 'f'}});
}

static void addMixed(Table& table) {
  add(table, "isnan", {{"__nv_isnanf", "f", 'b'}, {"__nv_isnand", "d", 'b'}});
  add(table, "isinf", {{"__nv_isinff", "f", 'b'}, {"__nv_isinfd", "d", 'b'}});
  add(table, "signbit", {{"__nv_signbitf", "f", 'b'}, {"__nv_signbitd", "d", 'b'}});
  add(table, "finitef", {{"__nv_finitef", "f", 'b'}});
  add(table, "isfinited", {{"__nv_isfinited", "d", 'b'}});
  add(table, "llrint", {{"__nv_llrintf", "f", 'l'}, {"__nv_llrint", "d", 'l'}});
  add(table, "llround", {{"__nv_llroundf", "f", 'l'}, {"__nv_llround", "d", 'l'}});
  add(table, "ilogb", {{"__nv_ilogbf", "f", 'i'}, {"__nv_ilogb", "d", 'i'}});
  add(table, "ldexp", {{"__nv_ldexpf", "fi", 'f'}, {"__nv_ldexp", "di", 'd'}});
  add(table, "scalbn", {{"__nv_scalbnf", "fi", 'f'}, {"__nv_scalbn", "di", 'd'}});
  add(table, "jn", {{"__nv_jnf", "if", 'f'}, {"__nv_jn", "id", 'd'}});
  add(table, "yn", {{"__nv_ynf", "if", 'f'}, {"__nv_yn", "id", 'd'}});
  add(table, "pow",
      {{"__nv_powif", "fi", 'f'}, {"__nv_powi", "di", 'd'}, {"__nv_powf", "ff", 'f'}, {"__nv_pow", "dd", 'd'}});
}

const std::vector<LibdeviceFunction>& libdeviceTable() {
  static const Table table = [] {
    Table t;
    addFloat(t, 1, {"floor",  "ceil",  "trunc", "rsqrt",   "sqrt",    "exp",           "exp2",          "exp10",
                    "expm1",  "log",   "log2",  "log10",   "log1p",   "logb",          "sin",           "cos",
                    "tan",    "sinpi", "cospi", "asin",    "acos",    "atan",          "sinh",          "cosh",
                    "tanh",   "asinh", "acosh", "atanh",   "rint",    "nearbyint",     "round",         "cbrt",
                    "rcbrt",  "j0",    "j1",    "y0",      "y1",      "cyl_bessel_i0", "cyl_bessel_i1", "erf",
                    "erfinv", "erfc",  "erfcx", "erfcinv", "normcdf", "normcdfinv",    "lgamma",        "tgamma"});
    addFloat(t, 2, {"copysign", "nextafter", "atan2", "hypot", "rhypot", "fmod", "remainder", "fdim"});
    addFloat(t, 3, {"fma", "norm3d", "rnorm3d"});
    addFloat(t, 4, {"norm4d", "rnorm4d"});
    addRoundings(t);
    addConversions(t);
    addIntegers(t);
    addFast(t);
    addMixed(t);
    return t;
  }();
  return table;
}

}  // namespace tandem::frontend::builtin
