"""Findings as SARIF 2.1.0, which code hosts and editors show beside the source."""

import os
import pathlib

from .rules import page_uri

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
RULES = {
    "race": "Two accesses that the memory model does not order",
    "signal-misuse": "A signal update that may come too early or too late",
    "history-exceeded": "A wait that may need an update which the run no longer remembers",
    "deadlock": "Ranks that wait for what cannot happen",
    "livelock": "Programs that loop for ever while nothing changes",
    "limit-exceeded": "A run that goes on longer than it may",
    "exception": "What the script itself raised",
    "schedule-dependent": "Results that depend on the schedule",
    "scope": "An access or a fence whose scope leaves another rank out",
    "portability": "Right in Tandem's memory model, but not promised elsewhere",
    "collective-mismatch": "A collective whose members give different roots or sizes",
}


def _uri(file):
    path = os.path.abspath(file)
    inside = os.path.relpath(path)
    return pathlib.Path(path).as_uri() if inside.startswith("..") else pathlib.PurePath(inside).as_posix()


def _location(place, message=None):
    region = {"startLine": max(place.line, 1)}
    if place.column:
        region["startColumn"] = place.column
    location = {"physicalLocation": {"artifactLocation": {"uri": _uri(place.file)}, "region": region}}
    return location | ({"message": {"text": message}} if message else {})


def _result(finding):
    result = {"ruleId": finding.kind, "level": "error" if finding.severity == "error" else "warning",
              "message": {"text": finding.message},
              "locations": [_location(p) for p in finding.places[:1]],
              "relatedLocations": [{"id": i, **_location(p, p.message)} for i, p in enumerate(finding.places[1:], 1)],
              "properties": {"ranks": sorted({r for r, _ in finding.runs}), "seeds": sorted({s for _, s in finding.runs}),
                             "rule": finding.rule, "replay": finding.replay}}
    if finding.allowed:
        result["suppressions"] = [{"kind": "inSource", "justification": finding.allowed}]
    return result


def sarif(findings):
    """The log of one `tandem check`, as a dict to write as JSON."""
    findings = list(findings)
    kinds = sorted({f.kind for f in findings})
    rules = [{"id": k, "shortDescription": {"text": RULES.get(k, k.replace("-", " ").capitalize())}, "helpUri": page_uri()} for k in kinds]
    results = [_result(f) | {"ruleIndex": kinds.index(f.kind)} for f in findings]
    return {"$schema": SCHEMA, "version": "2.1.0",
            "runs": [{"tool": {"driver": {"name": "tandem", "rules": rules}}, "results": results, "columnKind": "unicodeCodePoints"}]}
