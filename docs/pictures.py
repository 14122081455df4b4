"""Draws the pictures of the tutorials from the traces that their programs write. `python docs/pictures.py` draws them anew."""

import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
KERNELS = {"02": "pass_on", "04": "all_reduce", "07": None}  # what is shown: the last launch of a kernel, or the whole run


def draw(number, kernel):
    (page,) = (HERE / "tutorials").glob(f"{number}_*.md")
    program = re.search(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S)[1]
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "script.py").write_text(program)
        subprocess.run([sys.executable, "script.py"], cwd=folder, check=True)
        chosen = ["--kernel", kernel] if kernel else []
        picture = HERE / "images" / f"tutorial_{number}.svg"
        subprocess.run(
            [sys.executable, "-m", "tandem", "trace", "trace.json", *chosen, "--rows", "10", "--svg", str(picture)], cwd=folder, check=True
        )


if __name__ == "__main__":
    for number, kernel in KERNELS.items():
        draw(number, kernel)
