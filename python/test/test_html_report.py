"""The page of `tandem check --html`: complete in itself, well-formed, both sources with their lines marked, escaped, and the timeline."""

import html.parser
import os
import re
import subprocess
import sys

SCRIPT = """
import tandem
import tandem.dist as dl
import tandem.language as tl


@tandem.jit
def shift(x_ptr, y_ptr, flag_ptr):
    peer = (dl.rank() + 1) % dl.num_ranks()  # <b>not bold</b> & plain
    tl.store(dl.symm_at(x_ptr, peer), dl.rank())
    dl.notify(flag_ptr, peer, signal=1, sig_op="set", comm_scope="intra_node")
    token = dl.wait(flag_ptr, 1, "sys", "relaxed", waitValue=1)
    tl.store(y_ptr, tl.load(dl.consume_token(x_ptr, token))){allow}


def main(team):
    shift[(1,)](team.zeros(1, "int32", name="x"), team.zeros(1, "int32", name="y"), team.zeros(1, "int64", name="flag"))
"""
VOID = {"meta", "rect", "line"}


class Page(html.parser.HTMLParser):
    """Checks that tags nest; keeps marked lines, and everything that names a place outside the page."""

    def __init__(self, text):
        super().__init__()
        self.open, self.marked, self.outside, self.bars = [], [], [], 0
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.outside += [v for k, v in attributes if k in ("src", "href") and not v.startswith("#")]
        self.bars += tag == "rect" and given.get("class", "").startswith("k-")
        if given.get("class") == "l mark":
            self.marked.append("")
        if tag not in VOID:
            self.open.append((tag, given.get("class")))

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop()[0] == tag

    def handle_data(self, data):
        if ("span", "l mark") in self.open:
            self.marked[-1] += data


def check(folder, *words):
    return subprocess.run([sys.executable, "-m", "tandem", "check", *words], cwd=folder, capture_output=True, text=True, timeout=120)


def page_of(folder, script, *options):
    (folder / "s.py").write_text(script)
    done = check(folder, "--html", "out.html", *options, "s.py")
    text = (folder / "out.html").read_text() if os.path.exists(folder / "out.html") else ""
    return done, text


def test_a_race(tmp_path):
    done, text = page_of(tmp_path, SCRIPT.format(allow=""), "--ranks", "2", "--explore", "4")
    assert done.returncode == 1, done.stderr
    page = Page(text)
    assert page.outside == [] and "http" not in text and "<script" not in text and "url(" not in text
    lines = [re.sub(r"^\d+", "", line).strip() for line in page.marked]
    assert lines == ["tl.store(y_ptr, tl.load(dl.consume_token(x_ptr, token)))", "tl.store(dl.symm_at(x_ptr, peer), dl.rank())"]
    assert "<b>not bold</b>" not in text and "&lt;b&gt;not bold&lt;/b&gt; &amp; plain" in text
    for word in (
        "Missing:",
        "it must acquire",
        "<code>x</code> on rank 1, bytes 0 to 4",
        "M4, M6",
        "rank 1, program (0,0,0)",
        "in 4 of 4 runs",
        "tandem run --check --ranks 2 --seed 0 --main s.py",
    ):
        assert word in text, word
    assert page.bars >= 2


def test_a_suppressed_race(tmp_path):
    done, text = page_of(tmp_path, SCRIPT.format(allow="  # tandem: allow(race) on purpose"), "--ranks", "2", "--explore", "2")
    assert done.returncode == 0 and "race (suppressed)" in text and "on purpose" in text
    Page(text)


def test_every_schedule_and_a_deadlock(tmp_path):
    wrong = SCRIPT.format(allow="").replace('"relaxed", waitValue=1', '"acquire", waitValue=2')
    done, text = page_of(tmp_path, wrong, "--ranks", "2", "--exhaustive")
    assert done.returncode == 1 and "Waits here" in text and "And here" in text and "waits for ever" in text
    assert "--schedule 0 --main s.py" in text and "all there are" in text
    Page(text)


def test_nothing_found(tmp_path):
    done, text = page_of(tmp_path, SCRIPT.format(allow="").replace("relaxed", "acquire"), "--ranks", "2", "--explore", "2")
    assert done.returncode == 0 and "nothing found" in text
    Page(text)


def test_no_such_folder(tmp_path):
    (tmp_path / "s.py").write_text(SCRIPT.format(allow=""))
    done = check(tmp_path, "--html", "no/out.html", "s.py")
    assert done.returncode == 2 and "cannot write no/out.html" in done.stderr
