"""Draws the pictures of the tutorials from what their programs write. `python docs/pictures.py [NUMBER...]` draws all, or those, anew; that
of the checker's page needs Chromium."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
QUICKSTART = ROOT / "build" / "examples" / "tandem_example_quickstart"
# What is shown of a trace: the last launch of a kernel, or the whole run.
TRACES = {
    "01": "add",
    "02": "pass_on",
    "04": "all_reduce",
    "05": "send",
    "06": "decode",
    "07": None,
    "08": "exchange",
    "09": None,
    "10": "ring",
}
TANDEM = [sys.executable, "-m", "tandem"]


def program(number):
    """The program of a tutorial."""
    (page,) = (ROOT / "docs" / "tutorials").glob(f"{number}_*.md")
    return re.search(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S)[1]


def picture(number, ending):
    return str(ROOT / "docs" / "images" / f"tutorial_{number}.{ending}")


def draw_trace(number, folder, kernel):
    if number == "09":
        subprocess.run([QUICKSTART, "trace.json"], cwd=folder, check=True)
    else:
        pathlib.Path(folder, "script.py").write_text(program(number))
        subprocess.run([sys.executable, "script.py"], cwd=folder, check=True)
    chosen = ["--kernel", kernel] if kernel else []
    subprocess.run([*TANDEM, "trace", "trace.json", *chosen, "--rows", "10", "--svg", picture(number, "svg")], cwd=folder, check=True)


def draw_page(number, folder):
    """The checker's page about the program of a tutorial, as a browser shows it."""
    pathlib.Path(folder, "script.py").write_text(program(number).split("\ntry:")[0])
    subprocess.run([*TANDEM, "check", "--ranks", "2", "--html", "page.html", "script.py"], cwd=folder)  # it fails: a race
    browser = shutil.which("chromium") or sys.exit(f"no Chromium: the picture of tutorial {number} stays")
    options = ["--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=1180,1130", f"--screenshot={picture(number, 'png')}"]
    subprocess.run([browser, *options, pathlib.Path(folder, "page.html").as_uri()], cwd=folder, check=True)


if __name__ == "__main__":
    for number in sys.argv[1:] or sorted([*TRACES, "03"]):
        with tempfile.TemporaryDirectory() as folder:
            if number == "03":
                draw_page(number, folder)
            else:
                draw_trace(number, folder, TRACES[number])
