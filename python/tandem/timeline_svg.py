"""A run's timeline as inline SVG: a band a rank, a row a slot or stream. Knows the Chrome trace and who still waited at the end."""

import html
import re

_WIDTH, _LEFT, _ROW, _BAND = 1000, 120, 14, 10
_MOST_ROWS = 8  # of a rank; what comes later in a trace is on few of them
_KINDS = ("compute", "wait", "transfer", "signal", "barrier", "kernel")
_AS = {"put": "transfer", "get": "transfer", "copy": "transfer"}
_WAITER = re.compile(r"note: rank (\d+), program \([\d,]+\), kernel `[^`]+` (?:expects|loops)")


def _kind(event):
    kind = _AS.get(event.get("cat"), event.get("cat"))
    return kind if kind in _KINDS else "compute"


def _rows(events):
    """(rank, name of the row, its events), at most so many a rank."""
    rows = {}
    for event in events:
        rows.setdefault((event["pid"], event["tid"]), []).append(event)
    shown = {}
    for (rank, lane), inside in sorted(rows.items()):
        if shown.setdefault(rank, 0) < _MOST_ROWS:
            shown[rank] += 1
            yield rank, f"stream {lane - 10000}" if lane >= 10000 else f"slot {lane}", inside


def _bar(event, y, scale):
    begin, length = _LEFT + event["ts"] * scale, max(event.get("dur", 0) * scale, 1.5)
    peer = event.get("args", {}).get("peer")
    where = f", line {event['args']['line']}" if event.get("args", {}).get("line") else ""
    title = f"{event['name']}: {event['ts']:.2f} to {event['ts'] + event.get('dur', 0):.2f} us{where}"
    title += f", peer {peer}" if peer is not None else ""
    return (f'<rect class="k-{_kind(event)}" x="{begin:.1f}" y="{y}" width="{length:.1f}" height="{_ROW - 3}" rx="2">'
            f"<title>{html.escape(title)}</title></rect>")


def timeline_svg(trace, finding):
    """The drawing, or an empty string when nothing took time."""
    events = [e for e in (trace or {}).get("traceEvents", ()) if e.get("ph") == "X"]
    waiters = sorted({int(rank) for rank in _WAITER.findall(finding.text)}) if finding.kind == "deadlock" else []
    if not events and not waiters:
        return ""
    begin = min((e["ts"] for e in events), default=0)
    end = max((e["ts"] + e.get("dur", 0) for e in events), default=begin + 1)
    for event in events:
        event["ts"] -= begin
    span = max(end - begin, 0.01)
    scale = (_WIDTH - _LEFT - (130 if waiters else 20)) / span
    parts, y, last = [], 6, None
    rows = list(_rows(events))
    rows += [(rank, "", []) for rank in waiters if rank not in {r for r, _, _ in rows}]
    for rank, name, inside in sorted(rows, key=lambda r: r[0]):
        if rank != last:
            y += _BAND if last is not None else 0
            parts.append(f'<text x="0" y="{y + 10}" font-weight="600">rank {rank}</text>')
            if rank in waiters:
                x = _LEFT + span * scale + 6
                parts.append(f'<rect class="stuck" x="{x:.1f}" y="{y}" width="112" height="{_ROW}"/>'
                             f'<text class="stuck-text" x="{x + 8:.1f}" y="{y + 11}">waits for ever</text>')
            last = rank
        parts.append(f'<text x="58" y="{y + 10}">{name}</text>')
        parts.extend(_bar(e, y + 1, scale) for e in sorted(inside, key=lambda e: -e.get("dur", 0)))
        y += _ROW
    y += 8
    if not events:
        return _drawing(parts, y)
    parts.append(f'<line class="axis" x1="{_LEFT}" y1="{y}" x2="{_LEFT + span * scale:.1f}" y2="{y}"/>')
    parts.append(f'<text x="{_LEFT}" y="{y + 16}">0</text>')
    parts.append(f'<text x="{_LEFT + span * scale:.1f}" y="{y + 16}" text-anchor="end">{span:.2f} us</text>')
    x, used = _LEFT, [k for k in _KINDS if any(_kind(e) == k for e in events)]
    for kind in used:
        parts.append(f'<rect class="k-{kind}" x="{x}" y="{y + 24}" width="12" height="12" rx="2"/>')
        parts.append(f'<text x="{x + 17}" y="{y + 34}">{kind}</text>')
        x += 90
    return _drawing(parts, y + 42)


def _drawing(parts, height):
    return f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="timeline of the run">{"".join(parts)}</svg>'
