"""Launches a kernel on a rank that is a GPU: finds its arguments there, and the stream on which it goes."""

from .. import _tandem
from ..host.arrays import Tensor
from ..host.call import bind_call, grid_sizes, launch_flags
from ..host.frames import host_place
from ..host.host_arrays import HostArrays
from ..host.memory import host_array
from ..kernel.element_types import type_word
from ..kernel.names import constexpr
from .arguments import Arguments, is_cuda_array, is_descriptor, letter_of


class _RankArguments(Arguments):
    """Also tensors of the team, and arrays of the host, which have copies on the device while the kernel runs."""

    def __init__(self, kernel, team, host):
        super().__init__(kernel)
        self.team, self.host = team, host

    def takes(self, value):
        return isinstance(value, Tensor) or is_cuda_array(value) or host_array(value) is not None

    def memory(self, name, value):
        if isinstance(value, Tensor):
            if value.team._session is not self.team._session:
                raise ValueError(f"argument `{name}` of kernel `{self.kernel.__name__}` is a tensor of another run")
            return type_word(value.dtype), value.address, value.address
        if is_cuda_array(value):
            device = value.get_device() if hasattr(value, "get_device") else -1
            if device not in (-1, self.team.device):
                raise ValueError(
                    f"argument `{name}` of kernel `{self.kernel.__name__}` is on GPU {device}, rank {self.team.rank} has GPU "
                    f"{self.team.device}"
                )
            return super().memory(name, value)
        array = host_array(value)
        return array.word(), lambda: self.host.address(array), self.host.offset(array)


def arrays_in(value):
    """Returns the parts of an argument that may be arrays."""
    if isinstance(value, tuple):
        for item in value:
            yield from arrays_in(item)
    else:
        yield value.base if is_descriptor(value) else value


def kind_of(team, value):
    """ "t": a tensor of the team or of a framework on the rank's GPU; "c": no array; None: the quick way cannot take
    it."""
    if isinstance(value, (bool, int, float, constexpr)):
        return "c"
    if is_descriptor(value):
        return "t" if kind_of(team, value.base) == "t" else None
    if isinstance(value, Tensor):
        return "t" if value.team._session is team._session else None
    letter = letter_of(value)
    return letter if letter == "c" or (letter == "t" and value.get_device() == team.device) else None


def _is_frameworks(value):
    return not isinstance(value, Tensor) and letter_of(value) == "t"


def stream_of(team, given, arrays):
    """The stream of a launch: the given one; PyTorch's current one when a tensor of its is among the arguments; the team's."""
    if given is not None:
        return team.adopt(given)
    framework = team._session.adopt_framework(team) if any(map(_is_frameworks, arrays)) else None
    return framework or team.stream


def _launch_quickly(kernel, team, grid, args, kwargs, arrays):
    """Launches by the launcher of single GPUs: a kernel finds its rank by the device."""
    given = kwargs.get("stream")
    stream = stream_of(team, given, arrays)
    if given is None:
        team._session.order_launch(team, stream)
    else:
        team._session.note_queued(team, stream)
    return kernel.gpu_launcher.run(grid, *args, **{**kwargs, "stream": stream.cuda_stream})


def launch_on_gpu(kernel, team, grid, args, kwargs):
    """Launches on the rank's GPU. Without `stream=` it also waits when an argument is an array of the host."""
    if "stream" not in kernel.arg_names and not team.id and not team._session.is_traced(team.world_rank):
        given = [v for k, v in kwargs.items() if k != "stream"]
        kinds = [kind_of(team, v) for v in (*args, *given)]
        if "t" in kinds and None not in kinds:
            arrays = [v.base if is_descriptor(v) else v for v, kind in zip((*args, *given), kinds) if kind == "t"]
            return _launch_quickly(kernel, team, grid, args, kwargs, arrays)
    values, options, given = bind_call(kernel, args, kwargs)
    arrays = [(p.name, a) for p in kernel.parameters if not kernel.is_constexpr(p) for a in arrays_in(values[p.name])]
    stream = stream_of(team, given, [array for _, array in arrays])
    host = HostArrays(kernel, team, stream)
    for name, array in arrays:
        if not isinstance(array, Tensor) and not is_cuda_array(array) and (found := host_array(array)) is not None:
            host.add(name, found)
    host.plan()
    arguments = _RankArguments(kernel, team, host)
    for parameter in kernel.parameters:
        arguments.add(parameter, values[parameter.name])
    compiled = kernel.specialize(arguments.specs, {**options, "target": team._session.target_of(team.world_rank)}, arguments.builder)
    if kwargs.get("warmup"):
        return compiled
    sizes = grid_sizes(grid, values, options)
    if 0 in sizes:
        return compiled
    if given is None:
        team._session.order_launch(team, stream)
    else:
        team._session.note_queued(team, stream)
    flags = launch_flags(kwargs)
    try:
        host.place()
        words = [word() if callable(word) else word for word in arguments.words]
        team._call_own(
            _tandem.launch, stream.index, compiled.program, *sizes, options["num_warps"], flags, words, len(words), *host_place()
        )
    except BaseException:
        team.hold(host)  # the copies that are queued still read it
        raise
    host.give_back()
    host.finish(waits=given is None)
    return compiled
