#!/usr/bin/env python3
"""Fails unless every line and every branch of the folders given was executed.

    .ci/coverage.py BUILD_DIR FOLDER...
    .ci/coverage.py --self-test          proves that it finds gaps

What cannot happen is not asked for: what a failed CHECK does; a case that is nothing but a CHECK;
and the way out of a switch over all values of an enum, which the compiler adds for values that the
enum does not have. A switch with a default gets no such pardon.
"""
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CHECK = re.compile(r"\bCHECK\(|\bcheck_fail\(")
SWITCH = re.compile(r"^(\s*)switch \(")


def measure(build_dir, folders):
    command = ["gcovr", "--root", ROOT, "--object-directory", build_dir, "--json", "-"]
    for folder in folders:
        command += ["--filter", os.path.join(ROOT, folder).rstrip("/") + "/"]
    report = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    return json.loads(report)["files"]


def impossible_cases(source, number):
    """Of the switch in this line: the lines of cases that lead straight to a CHECK, and how many
    ways out the compiler counts that are not to be taken."""
    indent = SWITCH.match(source[number - 1]).group(1)
    lines = set()
    has_default = False
    for position in range(number, len(source)):
        line = source[position]
        if line.startswith(indent + "}"):
            break
        if line.startswith(indent + "default:"):
            has_default = True
        following = source[position + 1] if position + 1 < len(source) else ""
        if line.startswith(indent + "case ") and re.match(r"\s*CHECK\(", following):
            lines.add(position + 1)
    return lines, len(lines) + (0 if has_default else 1)


def gaps(source, lines):
    """Yields (line, what) for all that was not executed; the branches of a line come together."""
    impossible = set()
    ways_out = {}
    for number, text in enumerate(source, 1):
        if SWITCH.match(text):
            cases, ways_out[number] = impossible_cases(source, number)
            impossible |= cases
    for line in lines:
        number = line["line_number"]
        if line.get("gcovr/noncode") or number in impossible or CHECK.search(source[number - 1]):
            continue
        branches = line.get("branches", [])
        untaken = sum(1 for branch in branches if branch["count"] == 0)
        if line["count"] == 0:
            yield number, "never executed"
        elif untaken > ways_out.get(number, 0):
            yield number, f"{untaken} of {len(branches)} branches never taken"


SAMPLE = """\
int f(enum letter letter, int a) {
    switch (letter) {
    case A:
        return 1;
    case B:
        CHECK(!"never asked for");
    }
    if (a) return 2;
    return 3;
}
""".splitlines()


def sample(*counts):
    """(line, count of the line, counts of its branches...) as gcovr reports it."""
    return [{"line_number": line, "count": count,
             "branches": [{"count": taken} for taken in branches]}
            for line, count, *branches in counts]


def self_test():
    complete = [(2, 9, 9, 0, 0), (3, 9), (4, 9), (5, 0), (6, 0), (8, 1, 1, 1), (9, 1)]
    cases = [
        (complete, []),
        (complete[:5] + [(8, 1, 1, 0)], [8]),
        (complete[:5] + [(8, 0, 0, 0), (9, 0)], [8, 9]),
        ([(2, 9, 0, 0, 0), (3, 0)], [2, 3]),
    ]
    failures = 0
    for counts, wanted in cases:
        found = [number for number, _ in gaps(SAMPLE, sample(*counts))]
        if found != wanted:
            print(f"self-test: {counts}: wanted gaps at {wanted}, found {found}")
            failures += 1
    print(f"coverage self-test: {len(cases)} cases, {failures} failures")
    return failures


def main():
    if sys.argv[1:] == ["--self-test"]:
        return 1 if self_test() else 0
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    folders = sys.argv[2:]
    files = measure(sys.argv[1], folders)
    line_count = branch_count = found = 0
    for file in files:
        with open(os.path.join(ROOT, file["file"]), encoding="utf-8") as opened:
            source = opened.read().splitlines()
        line_count += len(file["lines"])
        branch_count += sum(len(line.get("branches", [])) for line in file["lines"])
        for number, what in gaps(source, file["lines"]):
            print(f"{file['file']}:{number}: {what}: {source[number - 1].strip()}")
            found += 1
    print(f"coverage of {', '.join(folders)}: {len(files)} files, {line_count} lines, "
          f"{branch_count} branches, {found} gaps")
    measured = {os.path.dirname(file["file"]) for file in files}
    for folder in folders:
        if folder.rstrip("/") not in measured:
            print(f"nothing of {folder} was measured")
            found += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
