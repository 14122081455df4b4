"""The corpus' table and picture: python bench/corpus/table.py RESULTS.json PICTURE.svg prints the table."""

import json
import math
import pathlib
import sys


def is_right(row):
    mine, theirs = row.get("tandem", {}), row.get("triton", {})
    if "error" not in mine:
        return False
    return mine["error"] <= max(mine["tolerance"], 2 * theirs.get("error", 0.0))


def ratio(row):
    """Triton's time divided by Tandem's; None where one of them has none."""
    mine, theirs = row.get("tandem", {}).get("ms"), row.get("triton", {}).get("ms")
    return theirs / mine if mine and theirs and is_right(row) else None


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def number(value, digits=3):
    return "–" if value is None or value != value else f"{value:.{digits}g}"


def summary(rows):
    ran = [row for row in rows.values() if row.get("tandem") and "failed" not in row["tandem"]]
    checked = [row for row in rows.values() if "error" in row.get("tandem", {})]
    ratios = [r for row in rows.values() if (r := ratio(row))]
    both = [row for row in rows.values() if "first_call_s" in row.get("tandem", {}) and "first_call_s" in row.get("triton", {})]
    compiled = [sum(row[b]["first_call_s"] for row in both) for b in ("tandem", "triton")]
    above = sum(row["tandem"]["first_call_s"] > row["triton"]["first_call_s"] for row in both)
    return (
        f"{len(ran)} of {len(rows)} cases run; of {len(checked)} that were checked, {sum(map(is_right, checked))} are right. Speed against "
        f"Triton, geometric mean of {len(ratios)} that were timed on both sides: {geometric_mean(ratios):.2f}; "
        f"{sum(r >= 0.95 for r in ratios)} cases at 0.95 or more, {sum(r < 0.8 for r in ratios)} below 0.8. "
        f"First calls of {len(both)} cases: {compiled[0]:.0f} s, Triton's {compiled[1]:.0f} s; {above} are slower than Triton's."
    )


def lines(rows):
    yield "| Case | Tandem, ms | Triton, ms | Speed | Error | Triton's | First call, s | Triton's |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for name in sorted(rows, key=lambda name: (ratio(rows[name]) or 0, name)):
        row = rows[name]
        mine, theirs = row.get("tandem", {}), row.get("triton", {})
        speed = number(ratio(row)) if "failed" not in mine else "fails: " + mine["failed"].split("\n")[0][:90].replace("|", "/")
        if "ms" in mine and not is_right(row):
            speed = "wrong"
        cells = [
            number(mine.get("ms")),
            number(theirs.get("ms")),
            speed,
            number(mine.get("error"), 2),
            number(theirs.get("error"), 2),
            number(mine.get("first_call_s")),
            number(theirs.get("first_call_s")),
        ]
        yield f"| {name} | {' | '.join(cells)} |"


def draw(rows, path):
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    ratios = sorted((r, name) for name, row in rows.items() if (r := ratio(row)))
    figure, axes = plt.subplots(figsize=(8, 0.16 * len(ratios) + 1))
    axes.barh([name for _, name in ratios], [r for r, _ in ratios], color=["#2a7" if r >= 0.95 else "#c73" for r, _ in ratios], log=True)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.tick_params(axis="y", labelsize=5)
    axes.set_xlabel("speed against Triton's")
    axes.margins(y=0.005)
    figure.tight_layout()
    figure.savefig(path)


def main():
    rows = json.loads(pathlib.Path(sys.argv[1]).read_text())["rows"]
    print(summary(rows) + "\n")
    print("\n".join(lines(rows)))
    if len(sys.argv) > 2:
        draw(rows, sys.argv[2])


if __name__ == "__main__":
    main()
