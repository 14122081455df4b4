"""Findings as SARIF 2.1.0, which code hosts and editors show beside the source."""

import os
import pathlib

from ..host.report_kinds import KINDS
from .rules import page_uri

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


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
    result = {
        "ruleId": finding.kind,
        "level": "error" if finding.severity == "error" else "warning",
        "message": {"text": finding.message},
        "locations": [_location(p) for p in finding.places[:1]],
        "relatedLocations": [{"id": i, **_location(p, p.message)} for i, p in enumerate(finding.places[1:], 1)],
        "properties": {
            "ranks": sorted({r for r, _ in finding.runs}),
            "seeds": sorted({s for _, s in finding.runs}),
            "rule": finding.rule,
            "replay": finding.replay,
        },
    }
    if finding.allowed:
        result["suppressions"] = [{"kind": "inSource", "justification": finding.allowed}]
    return result


def sarif(findings):
    """The log of one `tandem check`, as a dict to write as JSON."""
    findings = list(findings)
    kinds = sorted({f.kind for f in findings})
    rules = [{"id": k, "shortDescription": {"text": KINDS[k].what}, "helpUri": page_uri()} for k in kinds]
    results = [_result(f) | {"ruleIndex": kinds.index(f.kind)} for f in findings]
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": {"name": "tandem", "rules": rules}}, "results": results, "columnKind": "unicodeCodePoints"}],
    }
