"""The operators behind tandem.torch's functions: made once, for more rows than asked, and told of streams and captures."""

import dataclasses

import pytest

torch = pytest.importorskip("torch")

from plain_ranks import CPU, raises

DEFAULT_STREAM = 0


class Kernel:
    """An operator that notes its calls."""

    def __init__(self, log, operation, max_m):
        from tandem.ops.table import TABLES

        self._op, self.max_m, self.log, self.table = self, max_m, log, TABLES[operation]

    def close(self):
        self.log.append(("closed", self.max_m))


@pytest.fixture
def operators(monkeypatch):
    """Operators over a session that is not there, and the calls that they noted."""
    from tandem.torch import operators as module

    log, state = [], {"capturing": False, "stream": 7}

    class Session:
        def guarded(self, function, *args):
            return function(None, *args)

    class Team:
        _session, world_rank = Session(), 0

    @dataclasses.dataclass
    class Stream:
        cuda_stream: int

        def __ne__(self, other):  # as PyTorch has it: no stream is unequal to None
            return other is not None and self.cuda_stream != other.cuda_stream

        def wait_stream(self, other):
            log.append((self.cuda_stream, "waits for", other.cuda_stream))

    monkeypatch.setattr(module, "create", lambda team, operation, sizes, *rest: Kernel(log, operation, sizes[0]))
    monkeypatch.setattr(
        module,
        "_tandem",
        type(
            "Library",
            (),
            {
                "adopt_stream": staticmethod(lambda handle, rank, stream: stream + 100),
                "op_run": staticmethod(lambda op, stream, addresses, _, numbers, __: log.append((op.max_m, stream, *addresses, *numbers))),
            },
        ),
    )
    monkeypatch.setattr(module, "current_handle", lambda index: state["stream"])
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: Stream(state["stream"]))
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: state["capturing"])
    monkeypatch.setattr(torch.cuda, "synchronize", lambda device=None: None)
    made = module.Operators(Team(), CPU)
    made.log, made.state = log, state
    return made


def run(operators, m, transposed=True):
    operators.run("ag_gemm", (m, 6, 8), torch.bfloat16, transposed, [1, 2, 3], [m], torch.float32)


@pytest.mark.parametrize(
    "operation,values,words",
    [("all_reduce", {"elements": 600}, (600, 0)), ("all_gather", {"m": 100}, (100, 0)), ("reduce_scatter", {"m": 100}, (100,))],
)
def test_collectives_are_told_what_their_c_abi_takes(operation, values, words):
    from tandem.torch.shapes import OPERATIONS

    assert OPERATIONS[operation].numbers(values) == list(words)


def test_operators_are_made_once_and_for_more_rows(operators):
    run(operators, 100)
    run(operators, 128)
    run(operators, 5000)
    run(operators, 8192)
    run(operators, 100, transposed=False)
    assert [call[0] for call in operators.log] == [128, 128, 8192, 8192, 128]
    assert operators.log[0] == (128, 107, 1, 2, 3, 100, 13)


def test_calls_that_are_alike_take_the_newest_operator(operators):
    """As some ranks may find a call alike which others do not, all must then have the same operator."""

    def asked(m):
        return operators.known(m, lambda: operators.ready("ag_gemm", (m, 6, 8), torch.bfloat16, True, [m], torch.float32))

    small = asked(100)
    assert asked(100) is small
    assert asked(5000).op.max_m == asked(100).op.max_m == 8192


def test_another_stream_waits_for_the_last(operators):
    run(operators, 100)
    operators.state["stream"] = 9
    run(operators, 100)
    operators.state["stream"] = DEFAULT_STREAM
    run(operators, 100)
    operators.state["stream"] = 9
    run(operators, 100)
    waits = [(9, "waits for", 7), (DEFAULT_STREAM, "waits for", 9), (9, "waits for", DEFAULT_STREAM)]
    assert [call for call in operators.log if "waits for" in call] == waits
    assert operators.log[2] == (128, 109, 1, 2, 3, 100, 13)


def test_a_capture_needs_a_call_before(operators):
    run(operators, 100)
    operators.state["capturing"] = True
    run(operators, 100)
    raises(
        RuntimeError,
        r"`ag_gemm` of this size has not run before this graph capture; before it, call it once or "
        r'tandem.torch.prepare\("ag_gemm", 64, 6, 8, dtype=torch.bfloat16\) on every rank',
        run,
        operators,
        64,
    )
    raises(RuntimeError, r"prepare\(.*weight=False\)", run, operators, 100, transposed=False)


def test_release_closes(operators):
    run(operators, 100)
    run(operators, 1000)
    operators.close()
    run(operators, 100)
    assert [call[:2] for call in operators.log if call[0] == "closed"] == [("closed", 128), ("closed", 1024)]
    assert operators.log[-1][0] == 128
