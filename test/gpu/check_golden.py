"""Every case that was recorded from Triton (test/triton), on the GPU."""

import functools

import cases
import device
import golden
import tandem
from checks import add


def _launched(case):
    host = case.host_args()
    args = [device.to_device(a) for a in host]
    case.kernel[case.grid](*args, **case.constants)
    device.synchronize()
    return [device.to_host(args[i], host[i]) for i in case.outputs()]


def _check(case, expected, seed):
    golden.verify(case, expected, _launched, (tandem.CompileError, TypeError))


_RESULTS = golden.read()[1]
for _name, _case in cases.load_all().items():
    add(f"golden.{_name}", functools.partial(_check, _case, _RESULTS[_name]))
