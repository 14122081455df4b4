// The table of compiled kernels of one Python function, and the launch of a call that is in it.
#include "gpu_launcher.h"
#include "gpu_call.h"
#include "memory.h"
#include "tandem/gpu_c_api.h"
#include <cstring>

namespace tandem::bindings {
namespace {

constexpr char kEntry[] = "tandem.gpu_entry";

struct Entry {
  PyObject* kernelCapsule;
  td_gpu_kernel* kernel;
  std::string packs;
  int flags;
  PyObject *options, *reads, *result;
  struct Pair {
    size_t first, second;
    bool apart;
  };
  std::vector<Pair> pairs = {};
  PyObject* next = nullptr;  // the capsule of an entry for the same key, of other pairs; null: there is none

  ~Entry() {
    for (PyObject* o : {kernelCapsule, options, reads, result, next}) Py_XDECREF(o);
  }
};

struct LauncherObject {
  PyObject_HEAD LauncherState* state;
};

LauncherState& stateOf(PyObject* self) { return *reinterpret_cast<LauncherObject*>(self)->state; }

Entry& entryOf(PyObject* capsule) { return *static_cast<Entry*>(PyCapsule_GetPointer(capsule, kEntry)); }
void destroyEntry(PyObject* capsule) { delete &entryOf(capsule); }

// Returns the value that a read of the host finds now, as Python's `_look_up` does; a new reference. Null: nothing, or
// an exception is set.
PyObject* lookUp(PyObject* owner, PyObject* key) {
  if (PyLong_Check(key)) {
    Py_ssize_t at = PyLong_AsSsize_t(key);
    return PyList_Check(owner) && at < PyList_Size(owner) ? Py_NewRef(PyList_GetItem(owner, at)) : nullptr;
  }
  if (!PyDict_CheckExact(owner)) return PyObject_GetAttr(owner, key);
  return Py_XNewRef(PyDict_GetItemWithError(owner, key));
}

// Returns true if the values of the host that the kernel was compiled with are still the same objects.
bool isCurrent(const LauncherState& state, const Entry& entry) {
  for (Py_ssize_t i = 0, n = PyTuple_Size(entry.reads); i < n; ++i) {
    PyObject* read = PyTuple_GetItem(entry.reads, i);
    PyObject* now = lookUp(PyTuple_GetItem(read, 0), PyTuple_GetItem(read, 1));
    PyErr_Clear();
    bool same = (now ? now : state.empty) == PyTuple_GetItem(read, 2);
    Py_XDECREF(now);
    if (!same) return false;
  }
  return true;
}

bool fits(const Call& call, const Entry& entry) {
  for (auto [first, second, apart] : entry.pairs)
    if (areApart(call.slot(first), call.slot(second)) != apart) return false;
  return true;
}

// Returns true for the values that Python's scalar_bits allows: -2^(bits-1) to 2^bits - 1.
bool fits(uint64_t word, int bits, bool negative) {
  if (bits == 64) return true;
  int64_t v = int64_t(word);
  return negative ? bits > 1 && v >= -(int64_t(1) << (bits - 1)) : word < (uint64_t(1) << bits);
}

Outcome packInteger(PyObject* value, uint64_t word, int bits, uint64_t& out) {
  if (!PyLong_Check(value)) return Outcome::Slow;
  int overflow = 0;
  long long v = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (!fits(word, bits, v < 0 && !overflow)) return Outcome::Slow;
  out = word;
  return Outcome::Done;
}

Outcome packNumber(PyObject* value, bool wide, uint64_t& out) {
  double number = PyFloat_AsDouble(value);
  if (number == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    return Outcome::Slow;
  }
  float narrow = float(number);
  out = 0;
  if (wide)
    std::memcpy(&out, &number, sizeof number);
  else
    std::memcpy(&out, &narrow, sizeof narrow);
  return Outcome::Done;
}

Outcome packSlot(const Call& call, size_t i, char pack, uint64_t* words, int& count) {
  if (pack == 's') return Outcome::Done;
  if (count + call.wordCount(i) > kMaxWords || call.wordCount(i) < 1) return Outcome::Slow;
  if (pack == 'c') {
    for (int w = 0; w < call.wordCount(i); ++w) words[count++] = call.words(i)[w];
    return Outcome::Done;
  }
  uint64_t& out = words[count++];
  switch (pack) {
    case 'f': return packNumber(call.slot(i), false, out);
    case 'd': return packNumber(call.slot(i), true, out);
    case 'o': return packInteger(call.slot(i), call.words(i)[0], 1, out);
    case 'B': return packInteger(call.slot(i), call.words(i)[0], 8, out);
    case 'H': return packInteger(call.slot(i), call.words(i)[0], 16, out);
    case 'W': return packInteger(call.slot(i), call.words(i)[0], 32, out);
    case 'Q': return packInteger(call.slot(i), call.words(i)[0], 64, out);
    default: return Outcome::Slow;
  }
}

Outcome gridSizes(PyObject* grid, int sizes[3]) {
  sizes[0] = sizes[1] = sizes[2] = 1;
  bool isTuple = PyTuple_Check(grid), isList = PyList_Check(grid);
  Py_ssize_t count = isTuple ? PyTuple_Size(grid) : isList ? PyList_Size(grid) : PyLong_Check(grid) ? 1 : 0;
  if (count < 1 || count > 3) return Outcome::Slow;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* size = isTuple ? PyTuple_GetItem(grid, i) : isList ? PyList_GetItem(grid, i) : grid;
    int overflow = 0;
    if (!PyLong_Check(size)) return Outcome::Slow;
    long v = PyLong_AsLongAndOverflow(size, &overflow);
    if (overflow || v < 0 || v != long(int(v))) return Outcome::Slow;
    sizes[i] = int(v);
  }
  return Outcome::Done;
}

// Returns the arguments of a grid function: the options, then every argument by name.
PyObject* metaOf(const LauncherState& state, const Call& call, const Entry& entry) {
  PyObject* meta = PyDict_Copy(entry.options);
  for (size_t i = 0; meta && i < state.parameters.size(); ++i) {
    PyObject* value = Py_NewRef(call.slot(i));
    if (reinterpret_cast<PyObject*>(Py_TYPE(value)) == state.constexprType) {
      PyObject* plain = PyObject_GetAttr(value, names().value);
      Py_DECREF(value);
      value = plain;
    }
    if (!value || PyDict_SetItem(meta, state.parameters[i].name, value)) {
      Py_CLEAR(meta);
    }
    Py_XDECREF(value);
  }
  return meta;
}

Outcome findGrid(const LauncherState& state, const Call& call, const Entry& entry, PyObject* grid, int sizes[3]) {
  if (!PyCallable_Check(grid)) return gridSizes(grid, sizes);
  PyObject* meta = metaOf(state, call, entry);
  if (!meta) return Outcome::Failed;
  PyObject* made = PyObject_CallFunctionObjArgs(grid, meta, nullptr);
  Py_DECREF(meta);
  if (!made) return Outcome::Failed;
  Outcome o = gridSizes(made, sizes);
  Py_DECREF(made);
  return o;
}

Outcome launch(const LauncherState& state, Call& call, const Entry& entry, PyObject* grid) {
  if (entry.flags < 0) return Outcome::Done;
  uint64_t words[kMaxWords];
  int count = 0, sizes[3];
  for (size_t i = 0; i < entry.packs.size(); ++i)
    if (Outcome o = packSlot(call, i, entry.packs[i], words, count); o != Outcome::Done) return o;
  if (Outcome o = findGrid(state, call, entry, grid, sizes); o != Outcome::Done) return o;
  int status;
  Py_BEGIN_ALLOW_THREADS status = td_gpu_launch(entry.kernel, call.device(), call.stream(), sizes[0], sizes[1],
                                                sizes[2], words, count, entry.flags);
  Py_END_ALLOW_THREADS if (!status) return Outcome::Done;
  PyErr_SetString(PyExc_RuntimeError, td_last_error());
  return Outcome::Failed;
}

// The entry for a key and the call's memory, held; null when there is none (or an exception is set).
PyObject* entryFor(const LauncherState& state, const Call& call, PyObject* key) {
  PyObject* at = Py_XNewRef(PyDict_GetItemWithError(state.entries, key));
  while (at && !(isCurrent(state, entryOf(at)) && fits(call, entryOf(at)))) {
    PyObject* next = Py_XNewRef(entryOf(at).next);
    Py_DECREF(at);
    at = next;
  }
  return at;
}

PyObject* callMiss(const LauncherState& state, const Call& call, PyObject* key, PyObject* const* given,
                   Py_ssize_t count, PyObject* keywordNames) {
  PyObject* positional = PyTuple_New(count - 1);
  PyObject* keywords = PyDict_New();
  bool ok = positional && keywords;
  for (Py_ssize_t i = 1; ok && i < count; ++i) PyTuple_SetItem(positional, i - 1, Py_NewRef(given[i]));
  for (Py_ssize_t k = 0, n = keywordNames ? PyTuple_Size(keywordNames) : 0; ok && k < n; ++k)
    ok = !PyDict_SetItem(keywords, PyTuple_GetItem(keywordNames, k), given[count + k]);
  PyObject* arguments =
      ok ? Py_BuildValue("(OiKOOO)", key ? key : Py_None, key ? call.device() : -1,
                         static_cast<unsigned long long>(call.stream()), given[0], positional, keywords)
         : nullptr;
  PyObject* result = arguments ? PyObject_CallObject(state.miss, arguments) : nullptr;
  Py_XDECREF(arguments);
  Py_XDECREF(positional);
  Py_XDECREF(keywords);
  return result;
}

PyObject* run(PyObject* self, PyObject* const* given, Py_ssize_t count, PyObject* keywordNames) {
  LauncherState& state = stateOf(self);
  if (count < 1) {
    PyErr_SetString(PyExc_TypeError, "a launch needs a grid");
    return nullptr;
  }
  Call call(state);
  Outcome o = call.bind(given, count, keywordNames);
  if (o == Outcome::Done) o = call.classify();
  if (o == Outcome::Done) o = call.findStream();
  if (o == Outcome::Failed) return nullptr;
  if (o == Outcome::Slow) return callMiss(state, call, nullptr, given, count, keywordNames);
  PyObject* key = call.makeKey();
  if (!key) return nullptr;
  PyObject* capsule = entryFor(state, call, key);
  PyObject* result = nullptr;
  if (!capsule && PyErr_Occurred()) {  // a constant that cannot be hashed
    PyErr_Clear();
    result = callMiss(state, call, nullptr, given, count, keywordNames);
  } else if (!capsule) {
    result = callMiss(state, call, key, given, count, keywordNames);
  } else {
    const Entry& entry = entryOf(capsule);
    o = launch(state, call, entry, given[0]);
    if (o == Outcome::Done) result = Py_NewRef(entry.result);
    if (o == Outcome::Slow) result = callMiss(state, call, nullptr, given, count, keywordNames);
  }
  Py_XDECREF(capsule);
  Py_DECREF(key);
  return result;
}

PyObject* runAs(PyObject* self, PyObject* const* given, Py_ssize_t count, PyObject* keywordNames) {
  LauncherState& state = stateOf(self);
  if (count < 2) {
    PyErr_SetString(PyExc_TypeError, "a launch needs a kernel and a grid");
    return nullptr;
  }
  Call call(state);
  Outcome o = call.bind(given + 1, count - 1, keywordNames);
  if (o == Outcome::Done) o = call.classify();
  if (o == Outcome::Done) o = call.findStream();
  if (o == Outcome::Done) o = call.ask(given[0]);
  PyObject* key = o == Outcome::Done ? call.makeKey() : nullptr;
  if (o == Outcome::Slow) return Py_NewRef(Py_None);
  if (!key) return nullptr;
  PyObject* capsule = entryFor(state, call, key);
  if (!capsule && !PyErr_Occurred()) return key;
  Py_DECREF(key);
  if (!capsule) {  // a constant that cannot be hashed
    PyErr_Clear();
    return Py_NewRef(Py_None);
  }
  o = launch(state, call, entryOf(capsule), given[1]);
  Py_DECREF(capsule);
  return o == Outcome::Failed ? nullptr : Py_NewRef(o == Outcome::Done ? Py_True : Py_None);
}

bool readPairs(PyObject* given, size_t parameters, std::vector<Entry::Pair>& out) {
  for (Py_ssize_t i = 0, n = PyTuple_Size(given); i < n; ++i) {
    Py_ssize_t first, second;
    int apart;
    if (!PyArg_ParseTuple(PyTuple_GetItem(given, i), "nnp", &first, &second, &apart)) return false;
    if (size_t(first) >= parameters || size_t(second) >= parameters) {
      PyErr_SetString(PyExc_ValueError, "a pair is of no parameters");
      return false;
    }
    out.push_back({size_t(first), size_t(second), bool(apart)});
  }
  return true;
}

PyObject* add(PyObject* self, PyObject* arguments) {
  PyObject *key, *kernel, *options, *reads, *pairs, *result;
  const char* packs;
  Py_ssize_t packCount;
  int flags;
  if (!PyArg_ParseTuple(arguments, "OOy#iO!O!O!O", &key, &kernel, &packs, &packCount, &flags, &PyDict_Type, &options,
                        &PyTuple_Type, &reads, &PyTuple_Type, &pairs, &result))
    return nullptr;
  LauncherState& state = stateOf(self);
  auto* handle = static_cast<td_gpu_kernel*>(PyCapsule_GetPointer(kernel, kGpuKernel));
  if (!handle) return nullptr;
  if (size_t(packCount) != state.parameters.size()) {
    PyErr_SetString(PyExc_ValueError, "one letter for each parameter is wanted");
    return nullptr;
  }
  for (Py_ssize_t i = 0, n = PyTuple_Size(reads); i < n; ++i) {
    PyObject* read = PyTuple_GetItem(reads, i);
    if (!PyTuple_Check(read) || PyTuple_Size(read) != 3) {
      PyErr_SetString(PyExc_TypeError, "a read is an owner, a key and a value");
      return nullptr;
    }
  }
  auto* entry =
      new Entry{Py_NewRef(kernel), handle,           std::string(packs, size_t(packCount)), flags, PyDict_Copy(options),
                Py_NewRef(reads),  Py_NewRef(result)};
  bool ok = entry->options && readPairs(pairs, state.parameters.size(), entry->pairs);
  PyObject* known = PyDict_GetItemWithError(state.entries, key);
  if (known && isCurrent(state, entryOf(known))) entry->next = Py_NewRef(known);
  PyObject* capsule = ok ? PyCapsule_New(entry, kEntry, destroyEntry) : nullptr;
  if (!capsule) {
    delete entry;
    return nullptr;
  }
  int failed = PyDict_SetItem(state.entries, key, capsule);
  Py_DECREF(capsule);
  return failed ? nullptr : Py_NewRef(Py_None);
}

PyObject* getStreamOf(PyObject* self, void*) { return Py_NewRef(stateOf(self).streamOf); }
int setStreamOf(PyObject* self, PyObject* value, void*) {
  PyObject* old = stateOf(self).streamOf;
  stateOf(self).streamOf = Py_NewRef(value ? value : Py_None);
  Py_XDECREF(old);
  return 0;
}

void release(LauncherState* state) {
  if (!state) return;
  for (const Parameter& p : state->parameters) {
    Py_XDECREF(p.name);
    Py_XDECREF(p.defaultValue);
  }
  for (PyObject* o : {state->constexprType, state->classify, state->miss, state->streamOf, state->entries, state->kinds,
                      state->empty})
    Py_XDECREF(o);
  delete state;
}

bool readParameters(LauncherState& state, PyObject* names, const char* kinds, Py_ssize_t count, PyObject* defaults,
                    PyObject* empty) {
  if (PyTuple_Size(names) != count || PyTuple_Size(defaults) != count) {
    PyErr_SetString(PyExc_ValueError, "names, kinds and defaults have different lengths");
    return false;
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject *name = PyTuple_GetItem(names, i), *value = PyTuple_GetItem(defaults, i);
    Py_INCREF(name);
    PyUnicode_InternInPlace(&name);
    state.parameters.push_back({name, kinds[i], value == empty ? nullptr : Py_NewRef(value)});
  }
  return true;
}

PyObject* create(PyTypeObject* type, PyObject* arguments, PyObject*) {
  PyObject *names, *defaults, *empty, *constexprType, *classify, *miss;
  const char* kinds;
  Py_ssize_t count;
  if (!PyArg_ParseTuple(arguments, "O!y#O!OOOO", &PyTuple_Type, &names, &kinds, &count, &PyTuple_Type, &defaults,
                        &empty, &constexprType, &classify, &miss))
    return nullptr;
  auto* state = new LauncherState;
  state->empty = Py_NewRef(empty);
  bool ok = readParameters(*state, names, kinds, count, defaults, empty);
  state->constexprType = Py_NewRef(constexprType);
  state->classify = Py_NewRef(classify);
  state->miss = Py_NewRef(miss);
  state->streamOf = Py_NewRef(Py_None);
  state->entries = PyDict_New();
  state->kinds = PyDict_New();
  PyObject* self = ok && state->entries && state->kinds ? PyType_GenericAlloc(type, 0) : nullptr;
  if (!self) {
    release(state);
    return nullptr;
  }
  reinterpret_cast<LauncherObject*>(self)->state = state;
  return self;
}

// The entries' objects are visited here: capsules do not show the objects that they own, and results refer back to the
// launcher.
int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(reinterpret_cast<PyObject*>(Py_TYPE(self)));
  LauncherState* state = reinterpret_cast<LauncherObject*>(self)->state;
  if (!state) return 0;
  for (PyObject* o : {state->classify, state->miss, state->streamOf, state->entries, state->kinds}) Py_VISIT(o);
  for (const Parameter& p : state->parameters) Py_VISIT(p.defaultValue);
  Py_ssize_t at = 0;
  PyObject* capsule = nullptr;
  while (state->entries && PyDict_Next(state->entries, &at, nullptr, &capsule))
    for (; capsule; capsule = entryOf(capsule).next) {
      const Entry& entry = entryOf(capsule);
      for (PyObject* o : {entry.kernelCapsule, entry.options, entry.reads, entry.result, entry.next}) Py_VISIT(o);
    }
  return 0;
}

int clear(PyObject* self) {
  LauncherState* state = reinterpret_cast<LauncherObject*>(self)->state;
  if (!state) return 0;
  Py_CLEAR(state->entries);
  Py_CLEAR(state->classify);
  Py_CLEAR(state->miss);
  return 0;
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  release(reinterpret_cast<LauncherObject*>(self)->state);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

}  // namespace

PyObject* makeGpuLauncherType() {
  static PyMethodDef methods[] = {
      {"run", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(run)), METH_FASTCALL | METH_KEYWORDS, nullptr},
      {"run_as", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(runAs)), METH_FASTCALL | METH_KEYWORDS, nullptr},
      {"add", add, METH_VARARGS, nullptr},
      {nullptr, nullptr, 0, nullptr}};
  static PyGetSetDef properties[] = {{"stream_of", getStreamOf, setStreamOf, nullptr, nullptr},
                                     {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(create)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                                {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                                {Py_tp_clear, reinterpret_cast<void*>(clear)},
                                {Py_tp_methods, methods},
                                {Py_tp_getset, properties},
                                {0, nullptr}};
  static PyType_Spec spec = {"tandem._tandem.GpuLauncher", sizeof(LauncherObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};
  return PyType_FromSpec(&spec);
}

}  // namespace tandem::bindings
