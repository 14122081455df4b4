"""Symmetric memory as tensors; and CUDA tensors of simulated ranks: tensors that a script asks for on a GPU lie in the host's memory, and
what PyTorch does with them takes its place in the order of the rank's current stream."""

import numpy as np
import torch
import torch.utils.checkpoint
from torch.autograd.function import BackwardCFunction
from torch.overrides import TorchFunctionMode, _get_current_function_mode

from ... import _tandem
from ...host.layout import READ, WRITE, Memory, runs_of
from ...host.shown import hide, show, shown_at
from .rank import is_rank, mapped, state

_WORDS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64, 16: np.complex128}
_HOST = torch.device("cpu")
_Tensor = torch.Tensor


def _is_device(value):
    return isinstance(value, (torch.device, str)) and (not isinstance(value, str) or value.split(":")[0] in ("cpu", "cuda", "meta"))


def _host_device(device):
    """Where a tensor for `device` is made."""
    if isinstance(device, int) and not isinstance(device, bool):
        return _HOST
    if isinstance(device, (str, torch.device)) and torch.device(device).type == "cuda":
        return _HOST
    return device


# ---- memory of the team as tensors


def over(address, shape, strides, dtype, owner):
    """A tensor over device memory; strides are in elements."""
    size = dtype.itemsize
    reach = 1 + sum((n - 1) * s for n, s in zip(shape, strides)) if 0 not in shape else 0
    return state().bytes_at(address, reach * size, owner).view(dtype).as_strided(tuple(shape), tuple(strides))


def symmetric(shape, dtype):
    """Symmetric memory as a tensor [collective]; it holds nothing yet."""
    shape = torch.Size((shape,) if isinstance(shape, int) else shape)
    tensor = state().team.empty(max(shape.numel(), 1) * dtype.itemsize, "uint8")
    show(tensor)
    strides = [1]
    for size in reversed(shape[1:]):
        strides.insert(0, strides[0] * max(size, 1))
    return over(tensor.address, shape, strides[: len(shape)], dtype, tensor)


def peer_of(tensor, peer):
    """The same symmetric memory on another rank."""
    address = _plain(tensor.data_ptr)()
    base = _symmetric_base(address)
    remote = base.peer(peer)
    return over(remote.address + address - base.address, tuple(tensor.shape), tensor.stride(), tensor.dtype, remote)


def free(tensor):
    base = _symmetric_base(_plain(tensor.data_ptr)())
    base.free()
    hide(base)


def _symmetric_base(address):
    base = shown_at(address)
    if base is None:
        raise ValueError("this tensor is not in symmetric memory")
    return base


def _plain(function):
    """Calls past the mode."""

    def call(*args, **kwargs):
        with torch._C.DisableTorchFunction():
            return function(*args, **kwargs)

    return call


# ---- order and notes


def _runs(tensor):
    size = tensor.element_size()
    strides = [s * size for s in tensor.stride()]
    return runs_of(np.asarray(Memory(tensor.data_ptr(), tensor.shape, strides, np.dtype(_WORDS[size]), False, None)))


def _place_of(tensor):
    """The memory of the team that a tensor lies in, or None."""
    try:
        return shown_at(tensor.data_ptr())
    except RuntimeError:  # a tensor of `vmap` and the like, which stands for others
        return None


def note(tensor, how):
    """Tells the simulator that the host reads or writes a tensor in the device memory of this rank."""
    place = _place_of(tensor)
    if place is not None and place.team is state().team and tensor.numel():
        place._tell(_runs(tensor), how)


def _tensors_in(values):
    for value in values:
        if isinstance(value, _Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors_in(value)


def _simple_pair(to, source):
    return (
        isinstance(source, _Tensor)
        and to.dtype == source.dtype
        and to.shape == source.shape
        and to.is_contiguous()
        and source.is_contiguous()
        and to.numel() > 0
    )


def copy_async(to, source, count, stream):
    """Queues a copy of bytes between addresses; either may be of the team or of the host."""
    me = state()
    index = stream.queue.index
    ends = shown_at(to), shown_at(source)
    if me.on_gpu or all(ends):
        me.team._call(_tandem.copy, index, to, source, count)
    elif ends[0]:
        me.team._call(_tandem.copy_from_host, index, to, source, count)
    elif ends[1]:
        me.team._call(_tandem.copy_to_host, index, to, source, count)
    else:
        with mapped(to, count, stream) as to, mapped(source, count, stream) as source:
            me.team._call(_tandem.copy, index, to, source, count)
    stream.queue.pending = True


def _copy(to, source, non_blocking=False):
    """`copy_`: by the copy engine in stream order where it can, else by the host when the stream is idle."""
    stream = state().current
    if _simple_pair(to, source) and (stream.busy or _place_of(to) or _place_of(source)):
        copy_async(to.data_ptr(), source.data_ptr(), to.numel() * to.element_size(), stream)
        state().team.hold((to, source))
        return to
    return _eager(_Tensor.copy_, (to, source), {})


def _fill(tensor, value):
    stream = state().current
    if not isinstance(value, _Tensor) and _place_of(tensor) and tensor.is_contiguous() and tensor.numel():
        pattern = torch.full((1,), value, dtype=tensor.dtype).view(torch.uint8).numpy().tobytes()
        count = tensor.numel() * tensor.element_size()
        if len(set(pattern)) == 1:
            state().team._call(_tandem.set, stream.queue.index, tensor.data_ptr(), pattern[0], count)
            stream.queue.pending = True
            return tensor
    return _eager(_Tensor.fill_, (tensor, value), {})


def _set_item(tensor, index, value):
    parts = index if isinstance(index, tuple) else (index,)
    if all(part is None or part is Ellipsis or isinstance(part, (int, slice)) and not isinstance(part, bool) for part in parts):
        part = tensor[index]
        if isinstance(value, _Tensor):
            _copy(part, value.expand(part.shape) if value.shape != part.shape and value.numel() == 1 else value)
        else:
            _fill(part, value)
        return None
    return _eager(_Tensor.__setitem__, (tensor, index, value), {})


def _eager(function, args, kwargs):
    """The host does it, once the current stream is idle."""
    given = list(_tensors_in([*args, *kwargs.values()]))
    if not given:
        return function(*args, **kwargs)
    state().current.settle()
    shown = [tensor for tensor in given if _place_of(tensor) is not None]
    name = getattr(function, "__name__", "")
    changes = _changed(name, args, kwargs)
    result = function(*args, **kwargs)
    for tensor in shown:
        if any(tensor is changed for changed in changes):
            unread = name in _OVERWRITES
        else:
            unread = result is tensor  # as `to` of the type that it has
        if not unread:
            note(tensor, READ)
    for tensor in changes:
        if _place_of(tensor) is not None:
            note(tensor, WRITE)
    return result


_OVERWRITES = {"copy_", "fill_", "zero_", "normal_", "uniform_", "random_", "__setitem__"}


def _changed(name, args, kwargs):
    """The tensors that a function writes."""
    in_place = name.endswith("_") and not name.endswith("__") or name == "__setitem__" or name.startswith("__i") and name != "__invert__"
    out = kwargs.get("out")
    return list(_tensors_in([*([args[0]] if in_place and args else []), *([out] if out is not None else [])]))


# ---- functions that mean something else


def _to_cuda(tensor, device=None, non_blocking=False, memory_format=None):
    return _eager(_Tensor.clone, (tensor,), {})


def _shown(function):
    """Printing shows what is there, written or not."""

    def call(tensor, *args, **kwargs):
        state().current.settle()
        with torch._C.DisableTorchFunction():
            return function(tensor, *args, **kwargs)

    return call


def _to_host(tensor, memory_format=None):
    return _eager(_Tensor.clone, (tensor,), {})


def _to(tensor, *args, **kwargs):
    """`to`: between devices it copies, as it does where they are two."""
    moves = "device" in kwargs or any(_is_device(value) for value in args)
    args = [value for value in args if not (_is_device(value) or isinstance(value, int) and not isinstance(value, bool))]
    kwargs = {name: value for name, value in kwargs.items() if name not in ("device", "non_blocking")}
    if args and isinstance(args[0], _Tensor):
        args[0] = args[0].dtype
    result = _eager(_Tensor.to, (tensor, *args), kwargs) if args or kwargs else tensor
    return _eager(_Tensor.clone, (tensor,), {}) if moves and result is tensor else result


def _hooked(tensor, hook):
    """`register_hook`: PyTorch takes at once what the hook may have left to kernels that are queued."""

    def settled(gradient):
        result = hook(gradient)
        state().current.settle()
        return result

    return _Tensor.register_hook(tensor, settled)


_MEANINGS = {
    _Tensor.register_hook: _hooked,
    _Tensor.copy_: _copy,
    _Tensor.fill_: _fill,
    _Tensor.zero_: lambda tensor: _fill(tensor, 0),
    _Tensor.__setitem__: _set_item,
    _Tensor.cuda: _to_cuda,
    _Tensor.cpu: _to_host,
    _Tensor.to: _to,
    _Tensor.pin_memory: lambda tensor, device=None: tensor,
    _Tensor.is_pinned: lambda tensor, device=None: False,
    _Tensor.record_stream: lambda tensor, stream: None,
    _Tensor.__repr__: _shown(_Tensor.__repr__),
    _Tensor.__format__: _shown(_Tensor.__format__),
    _Tensor.is_cuda.__get__: lambda tensor, *_: True,
    _Tensor.device.__get__: lambda tensor, *_: torch.device("cuda", state().local_rank),
    _Tensor.get_device: lambda tensor: state().local_rank,
}

# Functions that look at no element: they need not wait.
_SILENT = set(
    "__get__ __set__ data_ptr size stride dim ndimension numel nelement element_size storage_offset is_contiguous view view_as t transpose "
    "swapaxes permute expand expand_as unsqueeze squeeze narrow select split chunk unbind unfold as_strided detach untyped_storage storage "
    "movedim diagonal empty_like zeros_like ones_like full_like rand_like randn_like randint_like new_empty new_zeros new_ones new_full "
    "new_empty_strided is_floating_point is_complex is_same_size requires_grad_ __len__ __hash__ is_shared type_as unflatten mT".split()
)
_VIEWS_IF_DENSE = {"reshape", "contiguous", "flatten", "ravel"}


def _is_view_index(index):
    parts = index if isinstance(index, tuple) else (index,)
    return all(part is None or part is Ellipsis or isinstance(part, (int, slice)) and not isinstance(part, bool) for part in parts)


class CudaTensors(TorchFunctionMode):
    """Entered by the thread of each rank."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        try:
            meaning = _MEANINGS.get(function)
        except TypeError:  # a function without a hash
            meaning = None
        if meaning is not None:
            return meaning(*args, **kwargs)
        if kwargs.get("device") is not None:
            kwargs["device"] = _host_device(kwargs["device"])
        kwargs.pop("pin_memory", None)
        name = getattr(function, "__name__", "")
        silent = (
            name in _SILENT
            or name in _VIEWS_IF_DENSE
            and isinstance(args[0], _Tensor)
            and args[0].is_contiguous()
            or name == "__getitem__"
            and _is_view_index(args[1])
        )
        return function(*args, **kwargs) if silent else _eager(function, args, kwargs)


_run_backward = torch.autograd._engine_run_backward
_apply_backward = BackwardCFunction.apply


def _backward(*args, **kwargs):
    """What scripts do in a backward pass is as outside of it: PyTorch comes here past the mode."""
    if not is_rank() or isinstance(_get_current_function_mode(), CudaTensors):
        return _run_backward(*args, **kwargs)
    with CudaTensors():
        return _run_backward(*args, **kwargs)


def _apply(function, *gradients):
    """The backward of a script's function: others add up at once what it may have left to kernels that are queued."""
    result = _apply_backward(function, *gradients)
    if is_rank():
        state().current.settle()
    return result


class _Generator(torch.Generator):
    """A generator of random numbers; one for a GPU is one of the host."""

    def __new__(cls, device="cpu"):
        return super().__new__(cls, device=_host_device(device))


_load = torch.load


def _load_on_host(f, map_location=None, **options):
    """`torch.load`: tensors of a GPU are made where simulated ones lie."""
    if map_location is None or _is_device(map_location):
        map_location = _HOST
    return _load(f, map_location=map_location, **options)


_begin_autocast = torch.autocast.__init__


def _autocast(self, device_type, dtype=None, enabled=True, cache_enabled=None):
    """The types of a GPU for what the host does in its place."""
    if device_type == "cuda":
        device_type, dtype = "cpu", dtype or torch.float16
    _begin_autocast(self, device_type, dtype, enabled, cache_enabled)


def _not_compiled(model=None, **options):
    """`torch.compile` as a function and as a decorator: code for a GPU that is not there would not be the simulator's."""
    return (lambda function: function) if model is None else model


def install():
    torch.compile = _not_compiled
    torch.load = _load_on_host
    torch.autocast.__init__ = _autocast
    torch.Generator = _Generator
    checks = torch.utils.checkpoint._allowed_determinism_checks_to_fns
    checks["default"] = _plain(checks["default"])  # a tensor is saved past the mode, and computed again under it
    torch.autograd._engine_run_backward = _backward
    BackwardCFunction.apply = _apply
    torch.set_default_device = lambda device: None
    torch.get_default_device = lambda: torch.device("cuda", state().local_rank)
