"""The file of recorded results: a JSON index and one run of bytes, in one .npz."""

import json
import pathlib

import numpy as np
from cases import DTYPES

PATH = pathlib.Path(__file__).with_name("golden.npz")


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
    np.savez_compressed(
        PATH, index=np.frombuffer(text.encode(), np.uint8), data=np.frombuffer(b"".join(blobs), np.uint8)
    )


def read():
    """(what was recorded, {case name: list of arrays or refusal text})."""
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
