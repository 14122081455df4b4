# Compares the ops in TableGen with the text tests: each is in a CHECK line or has an example, which is read and printed here; each with a
# verifier is named by an expected error.
import json
import pathlib
import re
import subprocess
import sys


def ops(source, include, dialect):
    """The records of a dialect's ops by name."""
    record = source / "compiler/dialect" / dialect / f"{dialect}_ops.td"
    dump = subprocess.run(["llvm-tblgen", "-dump-json", "-I", source, "-I", include, record], check=True, capture_output=True)
    data = json.loads(dump.stdout)
    records = (data[name] for name in data["!instanceof"]["Op"])
    return {f"{dialect}.{r['opName']}": r for r in records if data[r["opDialect"]["def"]]["name"] == dialect}


def printed(text, *options):
    """What tandem-opt makes of a text: its lines, all values called `%`."""
    run = subprocess.run(["tandem-opt", *options, "-"], input=text, capture_output=True, text=True)
    return run.stdout if options else {unnamed(line) for line in run.stdout.splitlines()} | set(run.stderr.splitlines()[:1])


def unnamed(line):
    return re.sub(r"%[a-z0-9_]+", "%", line.strip())


def trip_examples(examples):
    """Complaints about examples, (op, its operands, its line), that are printed otherwise than they were written."""
    functions = "\n".join(f"func.func @f{i}({operands}) {{\n{line}\nreturn\n}}" for i, (_, operands, line) in enumerate(examples))
    for lines in (printed(functions), printed(printed(functions, "--mlir-print-op-generic"))):
        for op, _, line in examples:
            if unnamed(line) not in lines:
                seen = sorted(x for x in lines if op in x or "error" in x)
                yield f"`{op}`: its example is not printed as it is written; printed is {seen}"


def main(source, include):
    missing = []
    for dialect in ("tile", "dist", "simt", "tgpu"):
        tests = [path.read_text() for path in sorted((source / "compiler/dialect/test" / dialect).glob("*.mlir"))]
        tripped = set(re.findall(r"^ *// CHECK: ([a-z_.]+)", "\n".join(tests), re.M))
        refused = set(re.findall(r"expected-error .*?\{\{`([a-z_.]+)`", "\n".join(tests)))
        found = ops(source, include, dialect)
        if not found:
            missing.append(f"dialect `{dialect}` has no ops")
        examples = [(op, *(line.strip() for line in r["example"].strip().split("\n"))) for op, r in found.items() if r["example"]]
        missing += trip_examples(examples)
        tripped |= {op for op, operands, line in examples if f"{op} " in line}
        for op, r in found.items():
            if op not in tripped:
                missing.append(f"`{op}` has no round trip")
            if r["hasVerifier"] and op not in refused:
                missing.append(f"`{op}` has a verifier but no input that it refuses")
    print("\n".join(missing))
    return bool(missing)


sys.exit(main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])))
