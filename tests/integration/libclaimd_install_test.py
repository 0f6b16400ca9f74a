"""libclaimd as a stranger meets it: installed somewhere, found by pkg-config, compiled against as
C99 and as C++, linked shared and static, exporting what its headers declare and nothing else."""
import os
import re
import shutil
import subprocess
import unittest

import live_claimd

PROGRAM = r"""
#include <claimd.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    const char *parts[] = {"pi_1", "100%:x"};
    char *key = claimd_key_join(parts, 2);
    struct claimd_options options = CLAIMD_OPTIONS_INIT;
    struct claimd_begin_request begin = CLAIMD_BEGIN_REQUEST_INIT;
    struct claimd_complete_request complete = CLAIMD_COMPLETE_REQUEST_INIT;
    claimd_client *client = NULL;
    claimd_begin_result *claim = NULL;
    struct claimd_error error;
    if (argc != 3 || strcmp(claimd_version(), CLAIMD_VERSION_STRING) != 0) return 2;
    options.target = argv[1];
    if (claimd_client_open(&options, &client, &error) != CLAIMD_OK) return 3;
    begin.consumer = argv[2];
    begin.message_id = key;
    if (claimd_begin(client, &begin, &claim, &error) != CLAIMD_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 4;
    }
    if (claimd_begin_result_outcome(claim) != CLAIMD_BEGIN_CLAIMED) return 5;
    complete.consumer = begin.consumer;
    complete.message_id = begin.message_id;
    complete.token = claimd_begin_result_token(claim);
    complete.result = claimd_bytes_of("done");
    if (claimd_complete(client, &complete, NULL, &error) != CLAIMD_OK) return 6;
    claimd_begin_result_free(claim);
    claimd_client_close(client);
    printf("%s\n", key);
    claimd_free(key);
    return 0;
}
"""

STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]
SANITIZERS = {"address": ["-fsanitize=address,undefined"], "thread": ["-fsanitize=thread"]}.get(
    os.environ.get("CLAIMD_SANITIZE", ""), [])


def output_of(*command, **environment):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True,
                          env={**os.environ, **environment}).stdout


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = live_claimd.temp_dir()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.prefix = cls.folder / "prefix"
        output_of("cmake", "--install", str(live_claimd.BUILD), "--component", "libclaimd",
                  "--prefix", str(cls.prefix))
        # An installed tree can be moved: distributions and staging directories do.
        cls.prefix = cls.prefix.rename(cls.folder / "moved")
        cls.library = next(cls.prefix.glob("**/libclaimd.so")).parent

    def pkg_config(self, *words):
        return output_of("pkg-config", *words, "claimd",
                         PKG_CONFIG_PATH=str(self.library / "pkgconfig")).split()

    def compile(self, name, compiler, *flags):
        """Compiles the program; flags after "--" go to the end, where libraries belong."""
        source = self.folder / f"{name}.{'cc' if compiler == 'c++' else 'c'}"
        source.write_text(PROGRAM)
        program = self.folder / name
        split = flags.index("--")
        output_of(compiler, *STRICT, *SANITIZERS, *flags[:split], str(source), "-o", str(program),
                  *flags[split + 1:])
        return program

    def test_programs(self):
        server = live_claimd.Claimd(self.folder / "data").create()
        self.addCleanup(server.close)
        server.start()
        shared = self.pkg_config("--cflags", "--libs")
        static = ["-Wl,-Bstatic", "-lclaimd", "-Wl,-Bdynamic"]
        private = [flag for flag in self.pkg_config("--static", "--libs") if flag != "-lclaimd"]
        programs = {
            "c99": self.compile("c99", "cc", "-std=c99", "--", *shared),
            "static": self.compile("static", "cc", "-std=c99", "--",
                                   *self.pkg_config("--cflags"), f"-L{self.library}", *static,
                                   *private),
        }
        if shutil.which("c++"):  # claimd itself needs none
            programs["cxx"] = self.compile("cxx", "c++", "-std=c++11", "--", *shared)
        for name, program in programs.items():
            with self.subTest(name):
                self.assertEqual(output_of(str(program), server.address, name,
                                           LD_LIBRARY_PATH=str(self.library)),
                                 "pi_1:100%25%3Ax\n")
        needed = output_of("readelf", "-d", str(programs["c99"]))
        self.assertIn("[libclaimd.so.0]", needed)
        self.assertNotIn("libclaimd", output_of("readelf", "-d", str(programs["static"])))

    def test_version(self):
        header = (self.prefix / "include" / "claimd" / "base.h").read_text()
        version = re.search(r'CLAIMD_VERSION_STRING "(.*)"', header).group(1)
        self.assertEqual(self.pkg_config("--modversion"), [version])

    def test_each_header_stands_alone(self):
        for header in sorted((self.prefix / "include").glob("**/*.h")):
            name = header.relative_to(self.prefix / "include")
            source = self.folder / "alone.c"
            source.write_text(f"#include <{name}>\n#include <{name}>\n")
            output_of("cc", "-std=c99", *STRICT, "-fsyntax-only", *self.pkg_config("--cflags"),
                      str(source))

    def test_exports_are_what_the_headers_declare(self):
        declared = set()
        for header in (self.prefix / "include").glob("**/*.h"):
            text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
            for declaration in re.findall(r"CLAIMD_API\s([^;{]*);", text):
                declared.add(re.search(r"(claimd_\w+)\(", declaration).group(1))
        self.assertGreater(len(declared), 100)
        lines = output_of("nm", "-D", "--defined-only",
                          str(self.library / "libclaimd.so")).splitlines()
        exported = {line.split()[2].split("@")[0] for line in lines if " T " in line}
        self.assertEqual(exported, declared)

    def test_the_archive_pollutes_no_names(self):
        lines = output_of("nm", "--defined-only", "-g", str(self.library / "libclaimd.a"),
                          LC_ALL="C").splitlines()
        names = {line.split()[2] for line in lines if len(line.split()) == 3}
        generated = re.compile(r"(google__(protobuf|rpc)|grpc__health__v1)__\w+$")
        others = {name for name in names
                  if not name.startswith("claimd_") and not generated.match(name)
                  and not name.startswith(("__asan", "__odr_asan", "__tsan"))}
        self.assertEqual(others, set())


if __name__ == "__main__":
    unittest.main()
