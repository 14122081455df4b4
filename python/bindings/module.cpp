// The extension module `tandem._tandem`: the C ABI as Python functions, limited API, one binary for CPython 3.11 and
// later. A td_ function that returns a status raises RuntimeError(td_last_error()); its out parameters become its
// result.
#include "gpu_launcher.h"
#include "memory.h"
#include "tandem/gpu_c_api.h"
#include "tandem/op_c_api.h"
#include "tandem/search_c_api.h"
#include "tandem/element_types.h"
#include <cstring>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace {

constexpr char kProgram[] = "tandem.program";
constexpr char kSession[] = "tandem.session";
constexpr char kSearch[] = "tandem.search";
constexpr char kOp[] = "tandem.op";
using tandem::bindings::kGpuKernel;

template <class Handle> const char* capsuleName();
template <> const char* capsuleName<td_program>() { return kProgram; }
template <> const char* capsuleName<td_session>() { return kSession; }
template <> const char* capsuleName<td_search>() { return kSearch; }
template <> const char* capsuleName<td_op>() { return kOp; }
template <> const char* capsuleName<td_gpu_kernel>() { return kGpuKernel; }
void destroy(td_program* p) { td_program_release(p); }
void destroy(td_session* s) { td_session_destroy(s); }
void destroy(td_search* s) { td_search_destroy(s); }
void destroy(td_op* op) { td_op_destroy(op); }
void destroy(td_gpu_kernel* k) { td_gpu_kernel_release(k); }
template <class Handle> void destroyCapsule(PyObject* capsule) {
  destroy(static_cast<Handle*>(PyCapsule_GetPointer(capsule, capsuleName<Handle>())));
}

// One parameter of a C function: how it is read from Python and how, when it is an out parameter, it is given back.
template <class T> struct Parameter;
struct InParameter {
  static constexpr bool isOut = false;
  PyObject* give() { return nullptr; }
};
struct OutParameter {
  static constexpr bool isOut = true;
  bool read(PyObject*) { return true; }
};
template <> struct Parameter<int> : InParameter {
  int value = 0;
  bool read(PyObject* o) {
    long v = PyLong_AsLong(o);
    if (v == -1 && PyErr_Occurred()) return false;
    if (v != long(int(v))) {
      PyErr_SetString(PyExc_OverflowError, "integer does not fit 32 bits");
      return false;
    }
    value = int(v);
    return true;
  }
  int pass() { return value; }
};
template <> struct Parameter<int64_t> : InParameter {
  int64_t value = 0;
  bool read(PyObject* o) {
    int overflow = 0;
    value = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow) PyErr_SetString(PyExc_OverflowError, "integer does not fit 64 bits");
    return !overflow && !(value == -1 && PyErr_Occurred());
  }
  int64_t pass() { return value; }
};
inline uint64_t above63Bits(PyObject* o) {
  PyObject* number = PyNumber_Index(o);
  uint64_t value = number ? PyLong_AsUnsignedLongLong(number) : uint64_t(-1);
  Py_XDECREF(number);
  if (PyErr_Occurred()) PyErr_SetString(PyExc_OverflowError, "integer does not fit 64 bits");
  return value;
}
template <> struct Parameter<uint64_t> : InParameter {
  uint64_t value = 0;
  bool read(PyObject* o) {
    int overflow = 0;
    value = uint64_t(PyLong_AsLongLongAndOverflow(o, &overflow));
    if (overflow > 0) value = above63Bits(o);
    if (overflow < 0) PyErr_SetString(PyExc_OverflowError, "integer does not fit 64 bits");
    return !(value == uint64_t(-1) && PyErr_Occurred());
  }
  uint64_t pass() { return value; }
};
template <> struct Parameter<const char*> : InParameter {
  std::string value;
  bool read(PyObject* o) {
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(o, &size);
    if (!text) return false;
    value.assign(text, size_t(size));
    return true;
  }
  const char* pass() { return value.c_str(); }
};
template <> struct Parameter<const void*> : Parameter<uint64_t> {
  const void* pass() { return reinterpret_cast<const void*>(value); }
};
template <> struct Parameter<void*> : Parameter<uint64_t> {
  void* pass() { return reinterpret_cast<void*>(value); }
};
template <class Handle> struct HandleParameter : InParameter {
  Handle* value = nullptr;
  bool read(PyObject* o) {
    return (value = static_cast<Handle*>(PyCapsule_GetPointer(o, capsuleName<Handle>()))) != nullptr;
  }
  Handle* pass() { return value; }
};
template <> struct Parameter<td_program*> : HandleParameter<td_program> {};
template <> struct Parameter<td_session*> : HandleParameter<td_session> {};
template <> struct Parameter<td_search*> : HandleParameter<td_search> {};
template <> struct Parameter<td_op*> : HandleParameter<td_op> {};
template <> struct Parameter<td_gpu_kernel*> : HandleParameter<td_gpu_kernel> {};
template <class Handle> struct HandleOut : OutParameter {
  Handle* value = nullptr;
  Handle** pass() { return &value; }
  PyObject* give() { return PyCapsule_New(value, capsuleName<Handle>(), destroyCapsule<Handle>); }
};
template <> struct Parameter<td_program**> : HandleOut<td_program> {};
template <> struct Parameter<td_session**> : HandleOut<td_session> {};
template <> struct Parameter<td_search**> : HandleOut<td_search> {};
template <> struct Parameter<td_op**> : HandleOut<td_op> {};
template <> struct Parameter<td_gpu_kernel**> : HandleOut<td_gpu_kernel> {};
template <> struct Parameter<char**> : OutParameter {
  char* value = nullptr;
  char** pass() { return &value; }
  PyObject* give() {
    PyObject* text = PyUnicode_DecodeUTF8(value, Py_ssize_t(std::strlen(value)), "replace");
    td_free(value);
    return text;
  }
};
template <> struct Parameter<uint64_t*> : OutParameter {
  uint64_t value = 0;
  uint64_t* pass() { return &value; }
  PyObject* give() { return PyLong_FromUnsignedLongLong(value); }
};
template <> struct Parameter<int*> : OutParameter {
  int value = 0;
  int* pass() { return &value; }
  PyObject* give() { return PyLong_FromLong(value); }
};
template <> struct Parameter<float*> : OutParameter {
  float value = 0;
  float* pass() { return &value; }
  PyObject* give() { return PyFloat_FromDouble(double(value)); }
};
// A sequence, followed in C by its length.
template <class T> struct ListParameter : InParameter {
  std::vector<T> value;
  bool read(PyObject* o) {
    Py_ssize_t n = PySequence_Size(o);
    if (n < 0) return false;
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject* item = PySequence_GetItem(o, i);
      Parameter<T> one;
      bool ok = item && one.read(item);
      Py_XDECREF(item);
      if (!ok) return false;
      value.push_back(one.value);
    }
    return true;
  }
  const T* pass() { return value.data(); }
};
template <> struct Parameter<const uint64_t*> : ListParameter<uint64_t> {};
template <> struct Parameter<const int*> : ListParameter<int> {};
template <> struct Parameter<const int64_t*> : ListParameter<int64_t> {};

// (signal, value, count, bytes, action)
template <> struct Parameter<td_signal_step> : InParameter {
  td_signal_step value = {};
  bool read(PyObject* o) {
    ListParameter<uint64_t> members;
    if (!members.read(o)) return false;
    if (members.value.size() != 5) {
      PyErr_SetString(PyExc_TypeError, "five numbers are wanted");
      return false;
    }
    const std::vector<uint64_t>& m = members.value;
    value = {m[0], m[1], int(m[2]), int(m[3]), int(m[4])};
    return true;
  }
};
template <> struct Parameter<const td_signal_step*> : ListParameter<td_signal_step> {};

template <class... A, size_t... I>
PyObject* invoke(int (*function)(A...), PyObject* const* given, Py_ssize_t count, std::index_sequence<I...>) {
  std::tuple<Parameter<A>...> parameters;
  Py_ssize_t next = 0;
  constexpr Py_ssize_t wanted = (Py_ssize_t(!Parameter<A>::isOut) + ... + 0);
  if (count != wanted) {
    PyErr_Format(PyExc_TypeError, "%zd arguments given, %zd wanted", count, wanted);
    return nullptr;
  }
  bool ok = ([&] {
    using P = std::tuple_element_t<I, std::tuple<Parameter<A>...>>;
    return std::get<I>(parameters).read(P::isOut ? nullptr : given[next++]);
  }() && ...);
  if (!ok) return nullptr;
  int status;
  Py_BEGIN_ALLOW_THREADS status = function(std::get<I>(parameters).pass()...);
  Py_END_ALLOW_THREADS if (status) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, td_last_error());
    return nullptr;
  }
  PyObject* result = nullptr;
  ((result = result ? result : std::get<I>(parameters).give()), ...);
  if (!result && !PyErr_Occurred()) return Py_NewRef(Py_None);
  return result;
}

template <class... A> PyObject* invoke(int (*function)(A...), PyObject* const* given, Py_ssize_t count) {
  return invoke(function, given, count, std::index_sequence_for<A...>{});
}

template <auto function> PyObject* call(PyObject*, PyObject* const* given, Py_ssize_t count) {
  return invoke(function, given, count);
}

PyObject* version(PyObject*, PyObject* const*, Py_ssize_t) { return PyUnicode_FromString(td_version()); }

td_gpu_kernel* gpuKernel(PyObject* const* given, Py_ssize_t count) {
  if (count == 1) return static_cast<td_gpu_kernel*>(PyCapsule_GetPointer(given[0], kGpuKernel));
  PyErr_SetString(PyExc_TypeError, "one kernel is wanted");
  return nullptr;
}

PyObject* gpuKernelCubin(PyObject*, PyObject* const* given, Py_ssize_t count) {
  td_gpu_kernel* kernel = gpuKernel(given, count);
  const void* bytes = nullptr;
  uint64_t size = 0;
  if (!kernel) return nullptr;
  if (!td_gpu_kernel_cubin(kernel, &bytes, &size))
    return PyBytes_FromStringAndSize(static_cast<const char*>(bytes), Py_ssize_t(size));
  PyErr_SetString(PyExc_RuntimeError, td_last_error());
  return nullptr;
}

// (registers, bytes of local memory) of a thread, once loaded.
PyObject* gpuKernelPrepare(PyObject*, PyObject* const* given, Py_ssize_t count) {
  Parameter<int> device;
  int registers = 0, localBytes = 0;
  if (count != 2) {
    PyErr_SetString(PyExc_TypeError, "a kernel and a device are wanted");
    return nullptr;
  }
  td_gpu_kernel* kernel = gpuKernel(given, 1);
  if (!kernel || !device.read(given[1])) return nullptr;
  if (!td_gpu_kernel_prepare(kernel, device.pass(), &registers, &localBytes))
    return Py_BuildValue("(ii)", registers, localBytes);
  PyErr_SetString(PyExc_RuntimeError, td_last_error());
  return nullptr;
}

using FastCall = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t);
// are_apart(a, b)
PyObject* areApart(PyObject*, PyObject* const* given, Py_ssize_t count) {
  if (count == 2) return PyBool_FromLong(tandem::bindings::areApart(given[0], given[1]));
  PyErr_SetString(PyExc_TypeError, "two arrays are wanted");
  return nullptr;
}

PyMethodDef entry(const char* name, FastCall f) {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(f)), METH_FASTCALL, nullptr};
}

#define TD(name) entry(#name, call<&td_##name>)
PyMethodDef methods[] = {entry("version", version),
                         TD(compile),
                         TD(program_info),
                         TD(emit),
                         TD(request_for_file),
                         TD(builtins),
                         TD(session_create),
                         TD(search_create),
                         TD(search_session),
                         TD(search_run),
                         TD(search_next),
                         TD(session_target),
                         TD(device_name),
                         TD(resident_programs),
                         TD(enter),
                         TD(leave),
                         TD(abort),
                         TD(fail),
                         TD(expire),
                         TD(interrupt),
                         TD(finish),
                         TD(reports),
                         TD(report_kinds),
                         TD(counters),
                         TD(first_difference),
                         TD(chrome_trace),
                         TD(timeline),
                         TD(trace_summary),
                         TD(read_trace),
                         TD(allocate),
                         TD(release),
                         TD(is_written),
                         TD(mark_initialised),
                         TD(host_place),
                         TD(host_access),
                         TD(peer_address),
                         TD(create_team),
                         TD(team_session),
                         TD(gather),
                         TD(create_stream),
                         TD(adopt_stream),
                         TD(stream_beside),
                         TD(launch),
                         TD(copy),
                         TD(copy_rows),
                         TD(set),
                         TD(copy_from_host),
                         TD(copy_to_host),
                         TD(map_host),
                         TD(release_async),
                         TD(signal_write),
                         TD(signal_wait),
                         TD(signals),
                         TD(barrier_on_stream),
                         TD(record_event),
                         TD(wait_event),
                         TD(record_time),
                         TD(microseconds),
                         TD(synchronize),
                         TD(barrier),
                         TD(machine_named),
                         TD(machine_read),
                         TD(machine_speeds),
                         TD(op_tables),
                         TD(op_create),
                         TD(op_run),
                         TD(op_tune),
                         TD(op_close),
                         TD(op_memory),
                         TD(op_choices),
                         TD(op_workspace),
                         TD(gpu_devices),
                         TD(gpu_current_device),
                         TD(gpu_probe),
                         TD(gpu_compile),
                         TD(gpu_load_file),
                         TD(gpu_kernel_info),
                         TD(gpu_kernel_ptx),
                         entry("gpu_kernel_cubin", gpuKernelCubin),
                         entry("gpu_kernel_prepare", gpuKernelPrepare),
                         entry("are_apart", areApart),
                         TD(gpu_launch),
                         TD(gpu_malloc),
                         TD(gpu_free),
                         TD(gpu_copy_from_host),
                         TD(gpu_copy_to_host),
                         TD(gpu_copy),
                         TD(gpu_memset),
                         TD(gpu_synchronize),
                         TD(gpu_device_of),
                         TD(gpu_stream_create),
                         TD(gpu_stream_destroy),
                         TD(gpu_stream_synchronize),
                         TD(gpu_graph_begin),
                         TD(gpu_graph_end),
                         TD(gpu_graph_launch),
                         TD(gpu_graph_destroy),
                         TD(gpu_event_create),
                         TD(gpu_event_destroy),
                         TD(gpu_event_record),
                         TD(gpu_event_wait),
                         TD(gpu_event_synchronize),
                         TD(gpu_event_elapsed),
                         {nullptr, nullptr, 0, nullptr}};
#undef TD

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_tandem", "The C ABI of Tandem.", -1, methods, nullptr, nullptr, nullptr, nullptr};

// Ctrl-C while the importing (main) thread simulates: its handler runs, and what that raises ends the run.
unsigned long importingThread;
int pollSignals() {
  if (PyThread_get_thread_ident() != importingThread) return 0;
  PyGILState_STATE state = PyGILState_Ensure();
  int raised = PyErr_CheckSignals();
  PyGILState_Release(state);
  return raised;
}

// Asks Python for a framework's tensor around an address. The tensor lives until the simulator drops it.
int findHostMemory(uint64_t address, td_host_memory* found) {
  PyGILState_STATE state = PyGILState_Ensure();
  PyObject* module = PyImport_ImportModule("tandem.host.memory");
  PyObject* storage =
      module ? PyObject_CallMethod(module, "storage_at", "K", static_cast<unsigned long long>(address)) : nullptr;
  unsigned long long begin = 0, bytes = 0;
  const char* name = nullptr;
  PyObject* owner = nullptr;
  bool is = storage && storage != Py_None && PyArg_ParseTuple(storage, "KKsO", &begin, &bytes, &name, &owner);
  if (is) {
    found->begin = begin;
    found->bytes = bytes;
    std::strncpy(found->name, name, sizeof found->name - 1);
    found->owner = Py_NewRef(owner);
  }
  if (PyErr_Occurred()) PyErr_WriteUnraisable(module);
  Py_XDECREF(storage);
  Py_XDECREF(module);
  PyGILState_Release(state);
  return is;
}

void dropHostMemory(void* owner) {
  PyGILState_STATE state = PyGILState_Ensure();
  Py_DECREF(static_cast<PyObject*>(owner));
  PyGILState_Release(state);
}

}  // namespace

PyMODINIT_FUNC PyInit__tandem() {
  importingThread = PyThread_get_thread_ident();
  td_set_interrupt_poll(pollSignals);
  td_set_host_finder(findHostMemory, dropHostMemory);
  PyObject* module = PyModule_Create(&definition);
  PyObject* launcher = module ? tandem::bindings::makeGpuLauncherType() : nullptr;
#define TANDEM_ROW(name, c_name, word, sign) word " "
  constexpr char comparisons[] = TANDEM_COMPARISONS(TANDEM_ROW);
#undef TANDEM_ROW
#define TANDEM_ROW(dtype, scalar, elem, mlirType, word, tl, framework, bits, mantissa, bias, specials, dlpack) \
  word " " tl " " framework " " #dlpack "\n"
  constexpr char elementTypes[] = TANDEM_ELEMENT_TYPES(TANDEM_ROW);
#undef TANDEM_ROW
  if (module && (!launcher || PyModule_AddObjectRef(module, "GpuLauncher", launcher) ||
                 PyModule_AddStringConstant(module, "COMPARISONS", comparisons) ||
                 PyModule_AddStringConstant(module, "ELEMENT_TYPES", elementTypes)))
    Py_CLEAR(module);
  Py_XDECREF(launcher);
  return module;
}
