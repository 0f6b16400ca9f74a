#!/usr/bin/env python3
"""Checks the rules of the house that no compiler knows: who may include whom, where a library may
be used, what may not be called, how long things may be.

    .ci/tidy.py               checks the tree; prints path:line: rule: what is wrong
    .ci/tidy.py --self-test   proves that each rule can fire, and that clean files pass

A rule is a function of a File that yields (line, message). There is no way to silence one in the
code: where a rule is wrong, change it here and say why.
"""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# The folders of server/, each with what it may include besides itself.
MAY_INCLUDE = {
    "base": set(),
    "core": {"base"},
    "codec": {"base", "core"},
    "store": {"base", "core", "codec"},
    "commit": {"base", "core", "codec"},
    "engine": {"base", "core", "codec", "store", "commit"},
    "rpc": {"base", "core", "codec", "store", "commit", "engine"},
    "ops": {"base", "core", "codec", "store", "commit", "engine"},
    "config": {"base"},  # and is included by main.c alone
}

# External headers: the folders that may use them, so that each library can be replaced. A unit test
# may use what the folder that it mirrors may use; other tests use what they like.
HOMES = [
    (re.compile(r"rocksdb/"), {"server/store"}),
    (re.compile(r"grpc/|.*\.pb-c\.h$|.*protobuf-c"), {"server/rpc", "client/c"}),
    (re.compile(r"nettle/"), {"server/base"}),
    (re.compile(r"isa-l"), {"server/codec"}),
    (re.compile(r"microhttpd"), {"server/ops"}),
    (re.compile(r"raft"), {"server/commit"}),
]

# Calls: where they are banned (a path prefix), the files that wrap them, and what to use.
BANNED = [
    (r"strto(l|ll|ul|ull|imax|umax|d|f)|ato(i|l|ll|f)", ("server/", "client/", "tests/"), (),
     "accepts junk; parse the digits"),
    (r"v?sprintf", ("server/", "client/", "tests/", "examples/"), (), "has no bound; use snprintf"),
    (r"strcpy|strcat|stpcpy|strncpy|strncat|gets",
     ("server/", "client/", "tests/", "examples/"), (),
     "has no useful bound; use struct buf or memcpy with a checked length"),
    (r"rand|srand|random|srandom|rand_r|drand48|getrandom", ("server/",), ("server/base/rand.c",),
     "use base/rand.h"),
    (r"rand|srand|rand_r|drand48", ("client/", "tests/"), (), "differs between C libraries"),
    # A line of the log is stamped where it is written.
    (r"time|gettimeofday|clock_gettime|clock", ("server/",),
     ("server/base/time.c", "server/base/log.c"), "use base/time.h"),
    (r"time|gettimeofday", ("client/", "tests/"), (), "is not monotonic; use clock_gettime"),
    (r"malloc|calloc|realloc|reallocarray|free|strdup|strndup|asprintf", ("server/",),
     ("server/base/mem.c",), "use base/mem.h, so that tests can let it fail"),
    (r"exit|_exit|quick_exit", ("server/",), ("server/main.c", "server/base/log.c"),
     "only main ends the process (log_fatal for failures)"),
    (r"(mem|log|rand)_\w+|v?(f|sn|d)?printf|v?fputs|puts|time_(wall|boot|source_real)|clock\w*",
     ("server/core/",), (), "core is pure: no allocation, logging, clock or randomness"),
    (r"sleep|usleep|nanosleep|clock_nanosleep|thrd_sleep", ("tests/",), (),
     "tests wait for events, never for time"),
]
IMPURE_HEADERS = {"base/mem.h", "base/log.h", "base/rand.h", "base/arena.h", "base/scope.h",
                  "stdio.h", "stdlib.h", "time.h", "unistd.h"}

COLUMNS_MAX = 100
HEADER_LINES_MAX = 200
SOURCE_LINES_MAX = 800
MAIN_LINES_MAX = 199
VAGUE_NAMES = {"common", "util", "utils", "types", "helper", "helpers", "misc"}
# The words are put together here so that this file does not find itself.
LEFT_OVER = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X")) + r")\b")

GENERATED = re.compile(r"_pb2(_grpc)?\.pyi?$")
SKIPPED_FOLDERS = re.compile(r"^(\.git|\.cache|build.*|data|__pycache__|third_party)$")
TEXT = re.compile(r"\.(c|h|proto|py|sh|cmake|md|yaml|yml|txt|sql|json|supp)$"
                  r"|(^|/)(CMakeLists\.txt|LICENSE|\.clang-(format|tidy)|\.gitignore)$"
                  r"|^(script|\.ci)/[^.]+$")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def blank_comments_and_strings(text):
    """C text with comments, strings and character constants blanked; lines keep their numbers."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
    return pattern.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)


class File:
    def __init__(self, path, text):
        self.path = path
        self.text = text
        self.lines = text.splitlines()
        self.is_c = path.endswith((".c", ".h"))
        self.code = blank_comments_and_strings(text).splitlines() if self.is_c else []
        # (line, quote, header) of each include; from the text, since a header's name is a string.
        self.includes = []
        for number, line in enumerate(self.lines, 1):
            found = INCLUDE.match(line)
            if self.is_c and found:
                self.includes.append((number, found.group(1), found.group(2)))

    def folder(self):
        return os.path.dirname(self.path)

    def server_folder(self):
        """base, core, ... for a file directly below server/; main for server/main.c; else None."""
        parts = self.path.split("/")
        if parts[0] != "server":
            return None
        return parts[1] if len(parts) > 2 else "main"


def include_direction(file):
    own = file.server_folder()
    for number, _, header in file.includes:
        target = header.split("/")[0] if "/" in header else None
        if target not in MAY_INCLUDE:
            continue
        if file.path.startswith(("client/", "examples/", "tests/unit/client/")):
            yield number, f"clients know nothing of the server's {header}"
        elif own in MAY_INCLUDE and target != own and target not in MAY_INCLUDE[own]:
            yield number, f"{own} may not include {header}: dependencies point the other way"


def include_form(file):
    own = file.server_folder()
    for number, quote, header in file.includes:
        if own and quote == '"' and "/" not in header:
            yield number, f'write "folder/{header}"'
        if header.startswith("../") or "/../" in header:
            yield number, "no .. in an include"


def external_home(file):
    parts = file.path.split("/")
    if parts[:2] == ["tests", "unit"] and len(parts) > 3 and parts[2] in MAY_INCLUDE:
        folder = "server/" + parts[2]
    elif parts[0] == "tests":
        return
    else:
        folder = "/".join(parts[:2]) if len(parts) > 2 else parts[0]
    for number, _, header in file.includes:
        for pattern, homes in HOMES:
            if pattern.match(header) and folder not in homes and header.split("/")[0] != "base":
                yield number, f"{header} is for {' and '.join(sorted(homes))} only"


def own_header_first(file):
    if not file.path.endswith(".c") or file.server_folder() in (None, "main"):
        return
    own = file.path[len("server/"):-2] + ".h"
    for position, (number, _, header) in enumerate(file.includes):
        if header == own and position > 0:
            yield number, "a module includes its own header first, which proves it self-contained"


def pragma_once(file):
    if not file.path.endswith(".h"):
        return
    code = [line for line in file.code if line.strip()]
    guarded = len(code) > 1 and code[0].startswith("#ifndef") and code[1].startswith("#define")
    if code and code[0].strip() == "#pragma once":
        return
    # The public header is for any C99 compiler.
    if not (guarded and file.path.startswith("client/c/include/")):
        yield 1, "a header starts with #pragma once after its comment"


def too_long(file):
    if file.path == "server/main.c":
        limit = MAIN_LINES_MAX
    elif file.path.endswith(".c"):
        limit = SOURCE_LINES_MAX
    elif file.path.endswith(".h"):
        limit = HEADER_LINES_MAX
    else:
        return
    if len(file.lines) > limit:
        yield len(file.lines), f"has {len(file.lines)} lines, at most {limit}: split it"


def too_wide(file):
    if not file.path.endswith((".c", ".h", ".proto", ".py")):
        return
    for number, line in enumerate(file.lines, 1):
        if len(line) > COLUMNS_MAX:
            yield number, f"is {len(line)} columns wide, at most {COLUMNS_MAX}"


def banned_call(file):
    for names, places, wrappers, why in BANNED:
        if not file.is_c or not file.path.startswith(places) or file.path in wrappers:
            continue
        # Not a member's name, nor the tail of a longer name.
        pattern = re.compile(r"(?<![\w.>])(" + names + r")\s*\(")
        for number, line in enumerate(file.code, 1):
            found = pattern.search(line)
            if found:
                yield number, f"{found.group(1)}() {why}"


def impure_core(file):
    if file.server_folder() == "core":
        for number, _, header in file.includes:
            if header in IMPURE_HEADERS:
                yield number, f"core is pure and has no use for {header}"


def sleeping_test(file):
    if not file.path.startswith("tests/") or not file.path.endswith((".py", ".sh")):
        return
    if file.path.startswith("tests/bench/"):  # no test, and may poll
        return
    pattern = re.compile(r"\btime\.sleep\b|\basyncio\.sleep\b|^\s*sleep\s|\bimport\s+sleep\b")
    for number, line in enumerate(file.lines, 1):
        if pattern.search(line.split("#")[0]):
            yield number, "tests wait for events, never for time"


def left_over(file):
    for number, line in enumerate(file.lines, 1):
        if LEFT_OVER.search(line):
            yield number, "finish it, or write down why not in plain words"


def white_space(file):
    for number, line in enumerate(file.lines, 1):
        if line != line.rstrip():
            yield number, "white space at the end"
        if file.is_c and "\t" in line:
            yield number, "a tab; indent with spaces"
    if file.text and not file.text.endswith("\n"):
        yield len(file.lines), "no newline at the end of the file"


def vague_name(file):
    stem = os.path.splitext(os.path.basename(file.path))[0]
    if file.is_c and stem in VAGUE_NAMES:
        yield 1, f"{stem} says nothing; name it by what it owns"


RULES = [include_direction, include_form, external_home, own_header_first, pragma_once, too_long,
         too_wide, banned_call, impure_core, sleeping_test, left_over, white_space, vague_name]


def check(file):
    for rule in RULES:
        for number, message in rule(file):
            yield rule.__name__, number, message


def tree():
    for folder, folders, names in os.walk(ROOT):
        folders[:] = sorted(name for name in folders if not SKIPPED_FOLDERS.match(name))
        for name in sorted(names):
            path = os.path.relpath(os.path.join(folder, name), ROOT)
            if TEXT.search(path) and not GENERATED.search(path):
                with open(os.path.join(folder, name), encoding="utf-8") as opened:
                    yield File(path, opened.read())


# --- self-test ------------------------------------------------------------------------------------
# (rule that must fire and no other, path, text)
MUST_FIRE = [
    ("include_direction", "server/base/a.c", '#include "core/claim.h"\n'),
    ("include_direction", "server/core/a.c", '#include "codec/keyspace.h"\n'),
    ("include_direction", "server/store/a.c", '#include "commit/commit.h"\n'),
    ("include_direction", "server/commit/a.c", '#include "store/store.h"\n'),
    ("include_direction", "server/engine/a.c", '#include "rpc/rpc_server.h"\n'),
    ("include_direction", "server/rpc/a.c", '#include "ops/ops_http.h"\n'),
    ("include_direction", "server/engine/a.c", '#include "config/config.h"\n'),
    ("include_direction", "client/c/a.c", '#include "base/bytes.h"\n'),
    ("include_direction", "tests/unit/client/a_test.c", '#include "base/bytes.h"\n'),
    ("include_form", "server/core/a.c", '#include "claim.h"\n'),
    ("include_form", "tests/unit/core/a_test.c", '#include "../lib/clock.h"\n'),
    ("external_home", "server/engine/a.c", "#include <rocksdb/c.h>\n"),
    ("external_home", "server/engine/a.c", "#include <grpc/grpc.h>\n"),
    ("external_home", "server/engine/a.c", '#include "claimd/v1/claims.pb-c.h"\n'),
    ("external_home", "server/codec/a.c", "#include <nettle/sha2.h>\n"),
    ("external_home", "server/base/a.c", "#include <isa-l.h>\n"),
    ("external_home", "server/rpc/a.c", "#include <microhttpd.h>\n"),
    ("external_home", "server/engine/a.c", "#include <raft.h>\n"),
    ("external_home", "client/cli/a.c", "#include <grpc/grpc.h>\n"),
    ("external_home", "tests/unit/engine/a_test.c", "#include <rocksdb/c.h>\n"),
    ("own_header_first", "server/core/a.c", '#include <stdint.h>\n\n#include "core/a.h"\n'),
    ("pragma_once", "server/core/a.h", "// Says so.\n#ifndef A_H\n#define A_H\n#endif\n"),
    ("too_long", "server/core/a.h", "#pragma once\n" + "\n" * 200),
    ("too_long", "server/core/a.c", "\n" * 801),
    ("too_long", "server/main.c", "\n" * 200),
    ("too_wide", "server/core/a.c", "// " + "a" * 98 + "\n"),
    ("banned_call", "server/rpc/a.c", "long n = strtol(text, NULL, 10);\n"),
    ("banned_call", "client/cli/a.c", "int n = atoi(text);\n"),
    ("banned_call", "tests/lib/a.c", "sprintf(text, one);\n"),
    ("banned_call", "server/rpc/a.c", "strcpy(a, b);\n"),
    ("banned_call", "server/rpc/a.c", "strcat(a, b);\n"),
    ("banned_call", "server/rpc/a.c", "gets(a);\n"),
    ("banned_call", "server/rpc/a.c", "int r = rand();\n"),
    ("banned_call", "server/rpc/a.c", "x = time(NULL);\n"),
    ("banned_call", "client/c/a.c", "x = time(NULL);\n"),
    ("banned_call", "server/rpc/a.c", "x = malloc(1);\n"),
    ("banned_call", "server/rpc/a.c", "exit(1);\n"),
    ("banned_call", "server/core/a.c", "x = mem_alloc(1);\n"),
    ("banned_call", "server/core/a.c", 'log_info("x");\n'),
    ("banned_call", "server/core/a.c", 'printf("x");\n'),
    ("banned_call", "server/core/a.c", "x = time_wall(source);\n"),
    ("banned_call", "tests/lib/a.c", "usleep(10);\n"),
    ("banned_call", "tests/lib/a.c", "sleep(10);\n"),
    ("banned_call", "tests/lib/a.c", "nanosleep(&a, &b);\n"),
    ("impure_core", "server/core/a.c", '#include "base/mem.h"\n'),
    ("impure_core", "server/core/a.c", "#include <stdio.h>\n"),
    ("sleeping_test", "tests/crash/a_test.py", "time.sleep(1)\n"),
    ("sleeping_test", "tests/lib/a.py", "from time import sleep\n"),
    ("left_over", "server/core/a.c", "// TO" "DO: later\n"),
    ("left_over", "docs/a.md", "FIX" "ME\n"),
    ("white_space", "server/core/a.c", "int a; \n"),
    ("white_space", "server/core/a.c", "\tint a;\n"),
    ("white_space", "server/core/a.c", "int a;"),
    ("vague_name", "server/base/util.h", "#pragma once\n"),
    ("vague_name", "server/base/common.c", "int a;\n"),
    ("vague_name", "client/c/types.h", "#pragma once\n"),
]

MUST_PASS = [
    ("server/core/claim.c", '#include "core/claim.h"\n\n#include <string.h>\n\n'
                            '#include "base/limits.h"\n#include "base/time.h"\n'),
    ("server/base/rand.c", "x = getrandom(&a, 1, 0);\n"),
    ("server/base/time.c", "clock_gettime(CLOCK_BOOTTIME, &t);\n"),
    ("server/base/mem.c", "x = malloc(1);\n"),
    ("server/store/a.c", "#include <rocksdb/c.h>\n"),
    ("server/store/b.c", "rocksdb_free(x);\n"),
    ("server/rpc/a.c", '#include <grpc/grpc.h>\n#include "claimd/v1/claims.pb-c.h"\n'),
    ("server/rpc/b.c", '// strcpy(a, b) is banned\nx = "strtol(";\nsource->time(self);\n'),
    ("server/main.c", '#include "config/config.h"\n#include "rpc/rpc_server.h"\nexit(1);\n'),
    ("client/c/include/claimd.h", "// Says so.\n#ifndef CLAIMD_H\n#define CLAIMD_H\n#endif\n"),
    ("client/c/a.c", "#include <grpc/grpc.h>\nx = malloc(1);\n"),
    ("tests/unit/engine/a_test.c", '#include "engine/engine.h"\n#include "core/claim.h"\n'),
    ("tests/unit/store/a_test.c", "#include <rocksdb/c.h>\n"),
    ("tests/crash/a_test.py", "ready.wait(1)  # no time.sleep\n"),
    ("tests/bench/a.py", "time.sleep(0.02)\n"),
    ("server/core/b.c", "snapshot(a); runtime(b); x.free(c);\n"),
    ("server/core/c.c", "// " + "a" * 97 + "\n"),
]


def self_test():
    failures = 0
    for rule, path, text in MUST_FIRE:
        fired = {name for name, _, _ in check(File(path, text))}
        if fired != {rule}:
            print(f"self-test: {path} {text!r:.60}: wanted {rule}, got {sorted(fired)}")
            failures += 1
    for path, text in MUST_PASS:
        for name, number, message in check(File(path, text)):
            print(f"self-test: {path}:{number}: {name} must not fire: {message}")
            failures += 1
    for rule in RULES:
        if rule.__name__ not in {name for name, _, _ in MUST_FIRE}:
            print(f"self-test: nothing makes {rule.__name__} fire")
            failures += 1
    print(f"tidy self-test: {len(MUST_FIRE)} violations and {len(MUST_PASS)} clean files, "
          f"{failures} failures")
    return failures


def main():
    if sys.argv[1:] == ["--self-test"]:
        return 1 if self_test() else 0
    if sys.argv[1:]:
        print("usage: .ci/tidy.py [--self-test]", file=sys.stderr)
        return 2
    findings = files = 0
    for file in tree():
        files += 1
        for name, number, message in check(file):
            print(f"{file.path}:{number}: {name}: {message}")
            findings += 1
    print(f"tidy: {files} files, {findings} findings")
    return 1 if findings or files == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
