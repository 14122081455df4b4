"""The file of recorded results (a JSON index and one run of bytes, in one .npz) and how other results are held against it."""

import json
import pathlib

import numpy as np
from cases import DTYPES

PATH = pathlib.Path(__file__).with_name("golden.npz")

# Triton 3.6 refuses these for limits of its own; here they have their meaning in Python, and hints may be wrong.
EXTENSIONS = {
    "control.keyword_only_call",
    "control.truth_of_integers",
    "control.negated_integer",
    "control.membership",
    "refused.hint_of_wrong_length",
    "refused.flip_without_axis",
    "refused.unary_plus",
    "refused.rounded_root_of_fp64",
    "refused.chained_comparison",
    "refused.plain_global",
}


def write(results, about):
    """`results`: by case name, a list of arrays, or the text of the refusal."""
    names = {np.dtype(v): k for k, v in DTYPES.items()}
    index, blobs, at = {}, [], 0
    for name, result in sorted(results.items()):
        if isinstance(result, str):
            index[name] = {"refused": result}
            continue
        index[name] = {"outputs": [[names[a.dtype], list(a.shape)] for a in result], "at": at}
        for a in result:
            blobs.append(a.tobytes())
            at += a.nbytes
    text = json.dumps({"about": about, "cases": index}, separators=(",", ":"))
    np.savez_compressed(PATH, index=np.frombuffer(text.encode(), np.uint8), data=np.frombuffer(b"".join(blobs), np.uint8))


def read():
    """Returns (facts of the recording, {case name: list of arrays or refusal text})."""
    with np.load(PATH) as file:
        index, data = json.loads(file["index"].tobytes()), file["data"].tobytes()
    results = {}
    for name, entry in index["cases"].items():
        if "refused" in entry:
            results[name] = entry["refused"]
            continue
        at, arrays = entry["at"], []
        for dtype, shape in entry["outputs"]:
            count = int(np.prod(shape))
            arrays.append(np.frombuffer(data, DTYPES[dtype], count, at).reshape(shape))
            at += arrays[-1].nbytes
        results[name] = arrays
    return index["about"], results


def assert_close(found, expected, case, which):
    exact = case.rtol == 0 and case.atol == 0
    same_type = found if exact and found.dtype.kind in "biu" else found.astype(np.float64)
    wanted = expected if same_type is found else expected.astype(np.float64)
    if same_type is found:
        good = same_type == wanted
    else:
        with np.errstate(invalid="ignore"):
            near = np.abs(same_type - wanted) <= case.atol + case.rtol * np.abs(wanted)
        good = near | (same_type == wanted) | (np.isnan(same_type) & np.isnan(wanted))
    if not good.all():
        at = tuple(int(k) for k in np.argwhere(~good)[0])
        raise AssertionError(
            f"output {which} differs in {int((~good).sum())} of {good.size} places; at {at}: {found[at]} here, {expected[at]} in Triton"
        )


def verify(case, expected, run, refusals):
    """Runs a case and raises AssertionError unless it ends as recorded. `refusals`: what `run` raises for a wrong program."""
    if case.name in EXTENSIONS:
        assert isinstance(expected, str)
        run(case)
        return
    if isinstance(expected, str):
        try:
            run(case)
        except refusals:
            return
        raise AssertionError(f"accepted here; Triton said: {expected}")
    for which, (found, wanted) in enumerate(zip(run(case), expected, strict=True)):
        assert_close(found, wanted, case, which)
