# Compares the ops in TableGen with the text tests: each is in a CHECK line; each with a verifier is named by an expected error.
import json
import pathlib
import re
import subprocess
import sys


def ops(source, include, dialect):
    """The ops of a dialect by name; the value says whether it has a verifier."""
    record = source / "compiler/dialect" / dialect / f"{dialect}_ops.td"
    dump = subprocess.run(["llvm-tblgen", "-dump-json", "-I", source, "-I", include, record], check=True, capture_output=True)
    data = json.loads(dump.stdout)
    records = (data[name] for name in data["!instanceof"]["Op"])
    own = (r for r in records if data[r["opDialect"]["def"]]["name"] == dialect)
    return {f"{dialect}.{r['opName']}": bool(r["hasVerifier"]) for r in own}


def main(source, include):
    missing = []
    for dialect in ("tile", "dist", "simt", "tgpu"):
        tests = [path.read_text() for path in sorted((source / "compiler/dialect/test" / dialect).glob("*.mlir"))]
        tripped = set(re.findall(r"^ *// CHECK: ([a-z_.]+)", "\n".join(tests), re.M))
        refused = set(re.findall(r"expected-error .*?\{\{`([a-z_.]+)`", "\n".join(tests)))
        found = ops(source, include, dialect)
        if not found:
            missing.append(f"dialect `{dialect}` has no ops")
        for op, has_verifier in found.items():
            if op not in tripped:
                missing.append(f"`{op}` has no round trip")
            if has_verifier and op not in refused:
                missing.append(f"`{op}` has a verifier but no input that it refuses")
    print("\n".join(missing))
    return bool(missing)


sys.exit(main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])))
