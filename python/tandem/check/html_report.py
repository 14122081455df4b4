"""Findings as one page that needs nothing else: both sources side by side, the missing edge between them, and the
timeline of a run."""

import html as _html
import linecache
import os
import re

from ..errors import STUCK
from ..trace.timeline_svg import BARS, timeline_svg
from .rules import names_in, rules

_BUFFER = re.compile(r"`(?P<name>[^`]+)`\[(?P<begin>\d+)\.\.(?P<end>\d+)\) (?:of|on) rank (?P<rank>\d+)")
_NOTE = re.compile(r"^note: +(.+)$", re.M)
_CONTEXT = 4  # lines before and behind

_STYLE = (
    BARS
    + """
:root { color-scheme: light dark; --page: #f6f7f9; --card: #fff; --text: #1d2129; --quiet: #5d6675; --line: #dfe3ea; --code: #f3f5f8;
  --first: #d9480f; --first-back: #fff0e6; --second: #1864ab; --second-back: #e7f2fc; --error: #c92a2a; --warning: #b26a00;
  --good: #2b8a3e; }
@media (prefers-color-scheme: dark) { :root { --page: #14171c; --card: #1c2027; --text: #e4e7ec; --quiet: #9aa4b2; --line: #303743;
  --code: #171b21; --first: #ff9d66; --first-back: #3a2417; --second: #74b9f5; --second-back: #15293b; --error: #ff8787;
  --warning: #ffc078; --good: #69db7c; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1280px; margin: 0 auto; padding: 28px 20px 60px; }
h1 { font-size: 22px; margin: 0 0 2px; } h2 { font-size: 17px; margin: 0; overflow-wrap: anywhere; }
h3 { font-size: 12px; margin: 20px 0 6px; color: var(--quiet); text-transform: uppercase; letter-spacing: .05em; }
.quiet { color: var(--quiet); }
nav { margin: 18px 0; padding: 12px 16px; background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
nav ol { margin: 0; padding-left: 22px; } nav a { color: inherit; }
section { margin: 18px 0; padding: 18px 20px; background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
.badge { display: inline-block; margin-right: 8px; padding: 1px 9px; border-radius: 10px; border: 1px solid;
  font-size: 13px; font-weight: 600; }
.error { color: var(--error); } .warning { color: var(--warning); } .suppressed { color: var(--quiet); } .good { color: var(--good); }
.missing { margin: 12px 0 0; padding: 8px 12px; border-left: 4px solid var(--error); background: var(--code); overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 16px; margin: 14px 0 0; } dt { color: var(--quiet); }
dd { margin: 0; overflow-wrap: anywhere; }
.sides { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 460px), 1fr)); gap: 14px; margin-top: 14px; }
.side { min-width: 0; border: 1px solid var(--line); border-radius: 6px; overflow: hidden; }
.side header { padding: 7px 12px; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
.side header b { display: block; }
pre { margin: 0; padding: 8px 0; background: var(--code); overflow-x: auto;
  font: 13px/1.55 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
pre span.l { display: block; width: max-content; min-width: 100%; padding-right: 12px;
  border-left: 4px solid transparent; }
pre i { display: inline-block; width: 46px; padding-right: 12px; text-align: right; font-style: normal;
  color: var(--quiet); user-select: none; }
.one header b { color: var(--first); } .one .mark { background: var(--first-back); border-left-color: var(--first) !important; }
.two header b { color: var(--second); } .two .mark { background: var(--second-back); border-left-color: var(--second) !important; }
.text { padding: 10px 12px; border: 1px solid var(--line); border-radius: 6px; }
code { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
h2 code { font-size: 15px; }
details { margin-top: 14px; }
summary { cursor: pointer; color: var(--quiet); }
.replay { padding: 8px 12px; border: 1px solid var(--line); border-radius: 6px; user-select: all; }
ul { margin: 6px 0 0; padding-left: 20px; }
svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--quiet); font: 12px system-ui, sans-serif; }
.axis { stroke: var(--line); }
@media (prefers-color-scheme: dark) { .k-kernel { fill: #59616e; } }
.stuck { fill: none; stroke: var(--error); stroke-dasharray: 4 3; } svg text.stuck-text { fill: var(--error); }
"""
)


def _text(value):
    return _html.escape(str(value))


def _marked_up(message):
    """Backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", _html.escape(message, quote=False))


def _who(place):
    words = [f"rank {place.rank}"] if place.rank is not None else []
    if place.program is not None:
        words.append("program (" + ",".join(map(str, place.program)) + ")")
    return ", ".join(words)


def _source(place, css, title):
    lines = linecache.getlines(place.file)
    first, last = max(place.line - _CONTEXT, 1), min(place.line + _CONTEXT, len(lines))
    rows = "".join(
        f'<span class="l{" mark" if n == place.line else ""}"><i>{n}</i>{_text(lines[n - 1].rstrip()) or " "}</span>'
        for n in range(first, last + 1)
    )
    who = f" · {_text(_who(place))}" if _who(place) else ""
    where = f"{_text(os.path.relpath(place.file))}:{place.line}"
    return (
        f'<div class="side {css}"><header><b>{_text(title)}{who}</b><span class="quiet">{where}</span></header>'
        f"<pre>{rows or '<span class=l>(the source is not there)</span>'}</pre></div>"
    )


def _sides(finding):
    """The report's own place and the other one; where more are named, their list."""
    places = [p for k, p in enumerate(finding.places) if p not in finding.places[:k]]
    if not places:
        return ""
    own = (places[0].file, places[0].line, places[0].rank)
    stuck = finding.kind in STUCK
    here = [_source(places[0], "one", "Waits here" if stuck else "Reported here")]
    others = [p for p in places[1:] if (p.file, p.line, p.rank) != own]
    if others:
        named = others[0].message.startswith(("first access", "the "))
        title = others[0].message.split(":")[0] if named else "And here" if stuck else "The other place"
        here.append(_source(others[0], "two", title[:1].upper() + title[1:]))
    more = "".join(f"<li><code>{_text(os.path.relpath(p.file))}:{p.line}</code> {_marked_up(p.message)}</li>" for p in places[1:])
    more += "".join(f"<li>{_marked_up(note)}</li>" for note in _NOTE.findall(finding.text))
    return f'<div class="sides">{"".join(here)}</div>' + (f"<ul>{more}</ul>" if more else "")


def _rules(finding):
    """Each rule that the report names: its title, and behind it its text."""
    known = rules()
    return "".join(
        f"<details><summary>{name} {_marked_up(known[name][0])}</summary>{_marked_up(known[name][1])}</details>"
        for name in names_in([finding.rule])
    )


def _facts(finding, total):
    buffer = _BUFFER.search(finding.message)
    ranks = sorted({r for r, _ in finding.runs})
    names = list(dict.fromkeys(str(s) for _, s in finding.runs))
    shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    what = buffer and f"<code>{_text(buffer['name'])}</code> on rank {buffer['rank']}, bytes {buffer['begin']} to {buffer['end']}"
    facts = [
        ("Buffer", what),
        ("Rule", _rules(finding)),
        ("Shown", f"in {len(finding.runs)} of {total} run{'s' * (total != 1)}; on {', '.join(map(str, ranks))} ranks"),
        ("Schedules" if any(not isinstance(s, int) for _, s in finding.runs) else "Seeds", _text(shown)),
        ("Suppressed", _marked_up(finding.allowed) if finding.allowed else ""),
    ]
    return "<dl>" + "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in facts if value) + "</dl>"


def _section(number, finding, total, drawn):
    state = "suppressed" if finding.allowed else finding.severity
    message, _, missing = finding.message.partition("; ") if finding.rule else (finding.message, "", "")
    message = message.removeprefix(f"{finding.kind}: ")
    timeline = f"<h3>The run that showed it, in modelled time</h3>{drawn}" if drawn else ""
    kind = _text(finding.kind) + (" (suppressed)" if finding.allowed else "")
    return (
        f'<section id="f{number}"><h2><span class="badge {state}">{kind}</span>'
        f"{_marked_up(message)}</h2>"
        + (f'<p class="missing"><b>Missing:</b> {_marked_up(missing)}</p>' if missing else "")
        + _facts(finding, total)
        + _sides(finding)
        + f'<h3>Again</h3><pre class="replay">{_text(finding.replay)}</pre>{timeline}'
        f'<details><summary>The whole report as text</summary><pre class="text">{_text(finding.text)}</pre></details></section>'
    )


def html(name, findings, summary, total, trace_of):
    """The page. `total`: how many runs; `trace_of(finding)`: the Chrome trace of the run that showed it, or None."""
    findings = sorted(findings, key=lambda f: (bool(f.allowed), f.severity != "error"))
    entries = "".join(
        f'<li><a href="#f{k}"><span class="{f.severity}">{_text(f.kind)}</span></a> {_marked_up(f.message[:160])}'
        f"{'…' if len(f.message) > 160 else ''}</li>"
        for k, f in enumerate(findings, 1)
    )
    body = "".join(_section(k, f, total, timeline_svg(trace_of(f), f)) for k, f in enumerate(findings, 1))
    found = f"<nav><ol>{entries}</ol></nav>" if findings else '<section><span class="badge good">nothing found</span></section>'
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>tandem check {_text(name)}</title><style>{_STYLE}</style></head><body><main>"
        f'<h1>tandem check {_text(name)}</h1><div class="quiet">{_text(summary)}</div>{found}{body}</main></body></html>\n'
    )
