"""Each row of guide/not_there_yet.md about kernels is refused with the message that the page gives."""

import importlib.util
import pathlib
import re

import pytest

import tandem

PAGE = (pathlib.Path(__file__).resolve().parent / "guide" / "not_there_yet.md").read_text()
ROWS = re.findall(r"^\| `(.*?)` \| (.*?) \|$", PAGE.partition("## On the host")[0], re.M)


@pytest.mark.parametrize("code,message", ROWS, ids=[code for code, _ in ROWS])
def test_code_is_refused(code, message, tmp_path):
    path = tmp_path / "kernels.py"
    path.write_text(f"import tandem\nimport tandem.language as tl\n\n\n@tandem.jit\ndef kernel(p):\n    {code}\n")
    spec = importlib.util.spec_from_file_location("kernels", path)
    spec.loader.exec_module(module := importlib.util.module_from_spec(spec))
    with pytest.raises(tandem.CompileError) as refusal:
        tandem.launch(lambda team: module.kernel[(1,)](team.zeros(16, "float32")))
    assert message in str(refusal.value)


def test_there_are_rows():
    assert len(ROWS) == 5
