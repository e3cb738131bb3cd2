#!/usr/bin/env python3
"""The tools that people and CI rely on, each on a small tree of its own."""
import importlib.util
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
GOOD = "int Two() { return 2; }\n"
BAD = "int   Two( ){return 2 ;}\n"


class ToolTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.tree = pathlib.Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def put(self, name, text):
        path = self.tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def take(self, *names):
        """The same files as here."""
        for name in names:
            (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.tree / name)

    def run_here(self, *command):
        return subprocess.run(command, cwd=self.tree, capture_output=True, text=True, check=False)


@unittest.skipUnless(shutil.which("clang-format-19") and shutil.which("git"), "clang-format-19 and git are not installed")
class FormatTest(ToolTest):
    def setUp(self):
        super().setUp()
        self.take("tools/format", ".clang-format")
        self.run_here("git", "init", "--quiet")
        self.put(".gitignore", "/build/\n")
        self.put("src/kept.cc", GOOD)
        self.run_here("git", "add", "src/kept.cc")

    def test_a_file_that_git_does_not_know_yet_is_looked_at_and_laid_out(self):
        self.put("src/new/fresh.cc", BAD)
        looked = self.run_here("tools/format", "--check")
        self.assertNotEqual(looked.returncode, 0)
        self.assertIn("src/new/fresh.cc", looked.stderr)
        self.assertEqual((self.tree / "src/new/fresh.cc").read_text(), BAD)
        self.assertEqual(self.run_here("tools/format").returncode, 0)
        self.assertEqual((self.tree / "src/new/fresh.cc").read_text(), GOOD)
        self.assertEqual(self.run_here("tools/format", "--check").returncode, 0)

    def test_what_git_ignores_and_what_is_gone_is_left_alone(self):
        self.put("build/made.cc", BAD)
        (self.tree / "src/kept.cc").unlink()
        self.put("src/other.cc", GOOD)
        looked = self.run_here("tools/format", "--check")
        self.assertEqual(looked.returncode, 0, looked.stderr)

    def test_files_that_are_named_are_the_only_ones(self):
        self.put("src/fresh.cc", BAD)
        self.assertEqual(self.run_here("tools/format", "--check", "src/kept.cc").returncode, 0)
        self.assertNotEqual(self.run_here("tools/format", "--check", "src/fresh.cc").returncode, 0)


    def test_what_is_no_cxx_is_refused_and_stays_as_it_is(self):
        text = "# a title: with words\n\n- one\n- two\n"
        self.put("src/README.md", text)
        self.put("src/fresh.cc", BAD)
        for command in (["src/README.md"], ["src/fresh.cc", "src/README.md"], ["--check", "src/README.md"]):
            refused = self.run_here("tools/format", *command)
            self.assertEqual(refused.returncode, 2, command)
            self.assertIn("src/README.md is no C++", refused.stderr)
        self.assertEqual((self.tree / "src/README.md").read_text(), text)
        self.assertEqual((self.tree / "src/fresh.cc").read_text(), BAD, "nothing at all was laid out")


class CheckSizesTest(ToolTest):
    def setUp(self):
        super().setUp()
        self.take("tools/check_sizes")

    def found(self):
        return self.run_here("tools/check_sizes").stdout

    def test_a_long_function_is_found_in_tests_too(self):
        for name in ("src/a/a.cc", "src/a/a_test.cc", "plugins/k/n/plugin_test.cc", "test/b/b_test.cc"):
            self.put(name, "TEST_F(ATest,\n       Works) {\n" + "  Call();\n" * 79 + "}\n")
            self.assertIn(f"{name}:1: a function of 82 lines", self.found())
            self.put(name, "TEST_F(ATest,\n       Works) {\n" + "  Call();\n" * 77 + "}\n")
            self.assertNotIn(name, self.found())

    def test_a_table_is_no_function_nor_is_a_class(self):
        self.put("src/a/a_test.cc",
                 "INSTANTIATE_TEST_SUITE_P(\n    Rows, ATest,\n    testing::Values(\n" + "        1,\n" * 90 + "        2));\n\n"
                 "class ATest {\n" + "  int more;\n" * 90 + "};\n\nvoid Declared(int one,\n              int two);\n\nstruct Other {\n" +
                 "  int more;\n" * 90 + "};\n")
        self.assertNotIn("a_test.cc", self.found())

    def test_a_long_file_says_why(self):
        self.put("src/a/a.h", "// Nothing.\n" * 401)
        self.assertIn("src/a/a.h: 401 lines", self.found())
        self.put("src/a/a.h", "// Long because of much.\n" * 401)
        self.assertNotIn("a.h", self.found())


class BenchBuildTest(unittest.TestCase):
    LOG = ("# ninja log v5\n"
           "0\t4000\t1\tsrc/CMakeFiles/coppice_web.dir/web/site.cc.o\tab\n"
           "500\t2000\t1\tsrc/CMakeFiles/coppice_web.dir/web/board.cc.o\tab\n"
           "100\t400\t1\tsrc/CMakeFiles/web_test.dir/web/site_test.cc.o\tab\n"
           "400\t900\t1\tsrc/web_test\tab\n"
           "7000\t8000\t2\tsrc/CMakeFiles/coppice_web.dir/web/site.cc.o\tcd\n"
           "7000\t80")  # a line that a killed ninja left

    def test_of_each_object_the_last_compilation_counts(self):
        spec = importlib.util.spec_from_file_location("bench_build", ROOT / "tools/bench_build.py")
        bench_build = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(bench_build)
        self.assertEqual(bench_build.compile_seconds(self.LOG), {"web": (2.5, 2), "web_test": (0.3, 1)})
        for file, _ in bench_build.CHANGES:
            self.assertTrue((ROOT / file).exists(), file)


class BenchLinesTest(ToolTest):
    """tools/bench_lines.py on a program that behaves like one of google-benchmark's, or does not."""
    GOOD = """#!/usr/bin/env python3
import json, sys
if "--benchmark_list_tests=true" in sys.argv:
    print("BM_One/5\\nBM_One/50\\nBM_Other")
    sys.exit(0)
wanted = next(a for a in sys.argv if a.startswith("--benchmark_filter="))
open("asked", "w").write(wanted)
rows = [{"run_name": "BM_One/5", "run_type": "iteration", "time_unit": "ms", "real_time": t} for t in (3.0, 1.0, 2.0)]
rows += [{"run_name": "BM_One/5", "run_type": "aggregate", "time_unit": "ms", "real_time": 99.0}]
rows += [{"run_name": "BM_One/50", "run_type": "iteration", "time_unit": "us", "real_time": 7.5}]
print(json.dumps({"benchmarks": rows}))
"""

    def lines(self, program, wanted="BM_One"):
        self.take("tools/bench_lines.py")
        self.put("bench", program)
        (self.tree / "bench").chmod(0o755)
        return self.run_here(sys.executable, "tools/bench_lines.py", "./bench", wanted, "3")

    def test_of_each_benchmark_the_median_of_its_runs_is_a_line(self):
        done = self.lines(self.GOOD)
        self.assertEqual([line.split()[:3] for line in done.stdout.splitlines()], [["BM_One/5", "2.000", "ms"], ["BM_One/50", "7.500", "us"]])
        self.assertTrue(all(line.split()[4] == "MiB" for line in done.stdout.splitlines()), done.stdout)
        self.assertEqual((self.tree / "asked").read_text(), "--benchmark_filter=^(BM_One/5|BM_One/50)$")

    def test_a_program_without_that_benchmark_is_passed_over(self):
        done = self.lines(self.GOOD, "BM_Nothing")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertFalse((self.tree / "asked").exists(), "it was not run")

    def test_a_program_that_prints_nothing_or_fails_is_named_and_does_not_end_the_others(self):
        for end in ("sys.exit(0)", "print('a bad day', file=sys.stderr); sys.exit(3)"):
            done = self.lines(self.GOOD.replace("wanted = next", end + "\nwanted = next"))
            self.assertEqual((done.returncode, done.stdout), (0, ""))
            self.assertIn("./bench: measured nothing", done.stderr)
        self.assertIn("(exit 3): a bad day", done.stderr)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    unittest.main()
