"""A run's timeline as SVG: a band a rank, a row a slot or stream. Knows the Chrome trace and who still waited at the end."""

import html
import re

from ..errors import STUCK

ROWS = 8  # of a rank; what comes later in a trace is on few of them
_WIDTH, _LEFT, _ROW, _BAND, _MARGIN = 1000, 160, 14, 10, 12
_STREAMS, _PARTS, _PARTS_OF_SLOT = 10000, 20000, 64  # lanes: slots below, then streams, then producers, signallers and warps of slots
_COLOURS = {
    "compute": "#4c8f5d",
    "wait": "#d9a441",
    "transfer": "#3f7fbf",
    "signal": "#8a5cc2",
    "barrier": "#b5555f",
    "kernel": "#a3abb8",
    "load": "#8fbfa0",
}
BARS = "".join(f".k-{kind} {{ fill: {colour}; }}\n" for kind, colour in _COLOURS.items())
_STYLE = (
    BARS
    + """text { fill: #4a5361; font: 12px system-ui, sans-serif; }
.page { fill: #fff; } .axis { stroke: #c5ccd6; }
"""
)
_AS = {"put": "transfer", "get": "transfer", "copy": "transfer", "store": "transfer"}
_WAITER = re.compile(r"note: rank (\d+), program \([\d,]+\), kernel `[^`]+` (?:expects|loops)")


def _kind(event):
    kind = _AS.get(event.get("cat"), event.get("cat"))
    return kind if kind in _COLOURS else "compute"


def _place(key):
    """Streams first, then each slot with its parts behind it."""
    rank, lane = key
    if lane >= _PARTS:
        return rank, 1, (lane - _PARTS) // _PARTS_OF_SLOT, lane
    return (rank, 0, 0, lane) if lane >= _STREAMS else (rank, 1, lane, -1)


def _rows(events, names, most):
    """Returns (rank, name of the row, its events), with a limit on the rows of a rank."""
    rows = {}
    for event in events:
        rows.setdefault((event["pid"], event["tid"]), []).append(event)
    shown = {}
    for rank, lane in sorted(rows, key=_place):
        if shown.setdefault(rank, 0) < most:
            shown[rank] += 1
            yield rank, names.get((rank, lane), f"stream {lane - _STREAMS}" if lane >= _STREAMS else f"slot {lane}"), rows[rank, lane]


def _bar(event, y, scale):
    begin, length = _LEFT + event["ts"] * scale, max(event.get("dur", 0) * scale, 1.5)
    peer = event.get("args", {}).get("peer")
    where = f", line {event['args']['line']}" if event.get("args", {}).get("line") else ""
    title = f"{event['name']}: {event['ts']:.2f} to {event['ts'] + event.get('dur', 0):.2f} us{where}"
    title += f", peer {peer}" if peer is not None else ""
    return (
        f'<rect class="k-{_kind(event)}" x="{begin:.1f}" y="{y}" width="{length:.1f}" height="{_ROW - 3}" rx="2">'
        f"<title>{html.escape(title)}</title></rect>"
    )


def timeline_svg(trace, finding=None, names=(), rows=ROWS, alone=False):
    """The drawing, or an empty string when nothing took time. `names`: of rows by rank and lane; `alone`: as a file of its own."""
    events = [dict(e) for e in (trace or {}).get("traceEvents", ()) if e.get("ph") == "X"]
    waiters = sorted({int(rank) for rank in _WAITER.findall(finding.text)}) if finding and finding.kind in STUCK else []
    if not events and not waiters:
        return ""
    begin = min((e["ts"] for e in events), default=0)
    end = max((e["ts"] + e.get("dur", 0) for e in events), default=begin + 1)
    for event in events:
        event["ts"] -= begin
    span = max(end - begin, 0.01)
    scale = (_WIDTH - _LEFT - (130 if waiters else 20)) / span
    parts, y, last = [], 6, None
    drawn = list(_rows(events, dict(names), rows))
    drawn += [(rank, "", []) for rank in waiters if rank not in {r for r, _, _ in drawn}]
    for rank, name, inside in sorted(drawn, key=lambda r: r[0]):
        if rank != last:
            y += _BAND if last is not None else 0
            parts.append(f'<text x="0" y="{y + 10}" font-weight="600">rank {rank}</text>')
            if rank in waiters:
                x = _LEFT + span * scale + 6
                parts.append(
                    f'<rect class="stuck" x="{x:.1f}" y="{y}" width="112" height="{_ROW}"/>'
                    f'<text class="stuck-text" x="{x + 8:.1f}" y="{y + 11}">waits for ever</text>'
                )
            last = rank
        parts.append(f'<text x="58" y="{y + 10}">{name}</text>')
        parts.extend(_bar(e, y + 1, scale) for e in sorted(inside, key=lambda e: -e.get("dur", 0)))
        y += _ROW
    y += 8
    if not events:
        return _drawing(parts, y, alone)
    parts.append(f'<line class="axis" x1="{_LEFT}" y1="{y}" x2="{_LEFT + span * scale:.1f}" y2="{y}"/>')
    parts.append(f'<text x="{_LEFT}" y="{y + 16}">0</text>')
    parts.append(f'<text x="{_LEFT + span * scale:.1f}" y="{y + 16}" text-anchor="end">{span:.2f} us</text>')
    x, used = _LEFT, [k for k in _COLOURS if any(_kind(e) == k for e in events)]
    for kind in used:
        parts.append(f'<rect class="k-{kind}" x="{x}" y="{y + 24}" width="12" height="12" rx="2"/>')
        parts.append(f'<text x="{x + 17}" y="{y + 34}">{kind}</text>')
        x += 90
    return _drawing(parts, y + 42, alone)


def trace_svg(trace, rows=ROWS):
    """The drawing of a trace as a file of its own."""
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in trace["traceEvents"] if e.get("name") == "thread_name"}
    return timeline_svg(trace, names=names, rows=rows, alone=True)


def _drawing(parts, height, alone):
    what = 'role="img" aria-label="timeline of the run"'
    if not alone:
        return f'<svg viewBox="0 0 {_WIDTH} {height}" {what}>{"".join(parts)}</svg>'
    box = (-_MARGIN, -_MARGIN, _WIDTH + 2 * _MARGIN, height + 2 * _MARGIN)
    page = '<rect class="page" x="{}" y="{}" width="{}" height="{}"/>'.format(*box)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{" ".join(map(str, box))}" {what}><style>{_STYLE}</style>{page}'
        f"{''.join(parts)}</svg>\n"
    )
