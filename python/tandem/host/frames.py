"""Tells the user's Python code from the package's: the line that called the package, and tracebacks without the
package's frames."""

import dis
import linecache
import os
import sys
import traceback
import types

import numpy as np

from ..errors import CompileError, RunError

_HERE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")
_NUMPY = os.path.join(os.path.dirname(np.__file__), "")
_TORCH = os.path.join(os.path.dirname(os.path.dirname(np.__file__)), "torch", "")  # beside NumPy, where it is installed


def in_package(code):
    """Returns true if a function is this package's own."""
    return os.path.abspath(code.co_filename).startswith(_HERE)


def host_place():
    """(file, line) of the nearest caller outside this package, NumPy and PyTorch, whose functions read tensors, too."""
    frame = sys._getframe(1)
    while frame and (in_package(frame.f_code) or frame.f_code.co_filename.startswith((_NUMPY, _TORCH))):
        frame = frame.f_back
    return (frame.f_code.co_filename, frame.f_lineno) if frame else ("", 0)


def user_frames(trace):
    """A traceback without the frames of this package."""
    if trace is None:
        return None
    rest = user_frames(trace.tb_next)
    if in_package(trace.tb_frame.f_code):
        return rest
    return types.TracebackType(rest, trace.tb_frame, trace.tb_lasti, trace.tb_lineno)


def users_traceback(error):
    """Returns the traceback of an error without the frames of this package, unless the error is one that it did not
    mean to raise."""
    last = error.__traceback__
    while last.tb_next:
        last = last.tb_next
    is_meant = isinstance(error, (CompileError, RunError)) or last.tb_frame.f_code.co_code[last.tb_lasti] == dis.opmap["RAISE_VARARGS"]
    return user_frames(error.__traceback__) if is_meant or user_frames(last) else error.__traceback__


def host_notes(stops):
    """Returns the places of the ranks' host code when the run stopped: one note for each line of code."""
    ranks_at = {}
    for rank, error in sorted(stops, key=lambda stop: stop[0]):
        for frame in traceback.extract_tb(user_frames(error.__traceback__))[-1:]:
            ranks_at.setdefault((frame.filename, frame.lineno), []).append(rank)
    for (file, line), ranks in ranks_at.items():
        who = f"rank {ranks[0]}" if len(ranks) == 1 else f"ranks {', '.join(map(str, ranks))}"
        yield f"{file}:{line}: note: the host of {who} is here\n    {linecache.getline(file, line).rstrip()}\n"
