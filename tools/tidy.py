#!/usr/bin/env python3
"""The house rules, checked.

    tools/tidy.py              check the tree; exit 1 with `path:line: rule: sentence` lines
    tools/tidy.py --self-test  check the checks, on made-up files

Which module may include which, and which are pure, is read from the module table of
docs/ARCHITECTURE.md, so that page and code cannot part.
"""
import os
import re
import sys

ARCHITECTURE = "docs/ARCHITECTURE.md"
LINE_COLUMNS_MAX = 100
FUNCTION_LINES_MAX = 70
FILE_LINES_MAX = 500

SKIPPED = {".git", ".deps", ".cache", "build", "node_modules", "__pycache__", "corpus"}
CODE = (".cc", ".h")
WIDTH_CHECKED = (".cc", ".h", ".py", ".cmake", "CMakeLists.txt", ".html")
TEXT = WIDTH_CHECKED + (".mjs", ".md", ".txt", ".json", ".yaml", ".yml", ".sh", "Makefile", "setup",
                        ".clang-format", ".clang-tidy", ".gitignore", ".ci/run")

# Sources without a test file of their own, by the test that covers them.
COVERS = {
    "src/config/load_test.cc": ["src/config/settings.cc"],
    "src/core/core_test.cc": ["src/core/stats.cc"],
    "src/core/redrive_test.cc": ["src/core/rounds.cc"],
    "src/llama/runner_test.cc": ["src/llama/test_file.cc", "src/llama/test_model.cc"],
    "src/llama/worker_test.cc": ["src/llama/" + name for name in (
        "child.cc", "message_socket.cc", "model.cc", "system_memory.cc", "test_child.cc")],
    "src/server/server_http_test.cc": ["src/server/" + name for name in (
        "counters.cc", "http_answers.cc", "http_session.cc", "route.cc")],
    "src/server/server_test.cc": ["src/server/" + name for name in (
        "child.cc", "core_loop.cc", "edge.cc", "host.cc", "process_host.cc", "scripted_host.cc")],
    "src/server/server_ws_test.cc": ["src/server/" + name for name in (
        "connection.cc", "context.cc", "deadlines.cc", "ws_requests.cc", "ws_session.cc")],
    "tests/sim/simulation_test.cc": ["src/sim/" + name for name in (
        "client.cc", "edge.cc", "errand.cc", "event_session.cc", "guest.cc", "host.cc",
        "listener.cc", "native_session.cc", "referee.cc", "scenario.cc", "server.cc", "session.cc",
        "simulation.cc")],
    "src/stream/token_log_test.cc": ["src/stream/record.cc"],
}
COVERED_BY = {source: test for test, sources in COVERS.items() for source in sources}

PURE_HEADERS = re.compile(
    r"<(thread|fstream|random|mutex|shared_mutex|condition_variable|future|semaphore|iostream|"
    r"filesystem|unistd\.h|fcntl\.h|poll\.h|signal\.h|csignal|ctime|time\.h|sys/.*|boost/asio.*)>")
PURE_CALLS = re.compile(r"(?<!\w)((std::)?(getenv|rand)\(|std::time\(|\w+::now\(|thread_local\b)")
MUTABLE_STATIC = re.compile(r"^\s*static\s+(?!const\b|constexpr\b|consteval\b)[^()]*(=|;|\{)")
LLAMA_HEADERS = re.compile(r"^(llama|ggml|gguf|common|chat|sampling|json-schema|jinja)[\w.-]*"
                           r"\.h(pp)?$|^(jinja|minja|nlohmann)/")
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]')
UNFINISHED = re.compile(r"\b(" + "|".join(("TO" "DO", "FIX" "ME", "XX" "X")) + r")\b")
FOREIGN_PATH = re.compile(r"(?<![\w.])/(home|work|Users)/\w")
SCOPE_HEAD = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b")


class Modules:
    """The module table: what each may include, and which are pure."""

    def __init__(self, page):
        self.named, self.pure, pure = {}, set(), False
        for line in page.splitlines():
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if len(cells) != 3:
                continue
            if cells[0] in ("*pure*", "*I/O*"):
                pure = cells[0] == "*pure*"
            room = re.fullmatch(r"`src/(\w+)/`", cells[0])
            if room:
                self.named[room[1]] = cells[2].split()
                if pure:
                    self.pure.add(room[1])

    def visible(self, module):
        seen, rest = set(), [module]
        while rest:
            name = rest.pop()
            if name not in seen:
                seen.add(name)
                rest += self.named.get(name, [])
        return seen


def is_test(path):
    name = path.rpartition("/")[2]
    return name.endswith(("_test.cc", "_fuzz.cc")) or name.startswith("test_")


def module_of(path):
    parts = path.split("/")
    return parts[1] if parts[0] == "src" and len(parts) > 2 else None


# Everything in which braces and words do not count: comments, string and character literals. A
# quote after a letter or digit separates digits, unless it follows a literal's prefix.
NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"'
                   r"|(?<![0-9a-zA-Z])'(?:\\.|[^'\\\n])+'", re.DOTALL)


def bare(text):
    """The code of `text` alone, on the same lines."""
    return NOISE.sub(lambda found: '""' + "\n" * found[0].count("\n"), text)


def functions(text):
    """(first line, lines in the body) of each function, by its braces."""
    code = re.sub(r"^\s*#.*(\\\n.*)*$", lambda found: "\n" * found[0].count("\n"), bare(text),
                  flags=re.MULTILINE)
    stack, head, line = [], "", 1
    for char in code:
        line += char == "\n"
        if char == "{":
            inside = any(kind == "function" for kind, _ in stack)
            is_scope = SCOPE_HEAD.search(head.split("(")[0]) and not inside
            is_function = not inside and not is_scope and "(" in head
            stack.append(("function" if is_function else "scope", line))
        elif char == "}" and stack:
            kind, begin = stack.pop()
            if kind == "function":
                yield begin, line - begin
        head = "" if char in "{};" else head + char


def check_lines(path, text):
    if not path.endswith(TEXT):
        return
    for number, line in enumerate(text.splitlines(), 1):
        if line != line.rstrip():
            yield number, "space", "a space at the end of the line"
        if "\t" in line and not path.endswith(("Makefile", ".gitmodules")):
            yield number, "tab", "a tab: indent with spaces"
        if path.endswith(WIDTH_CHECKED) and len(line) > LINE_COLUMNS_MAX:
            yield number, "width", f"{len(line)} columns, at most {LINE_COLUMNS_MAX}"
        found = UNFINISHED.search(line)
        if found:
            yield number, "unfinished", f"{found[0]}: finish it, or file an issue"
        if FOREIGN_PATH.search(line):
            yield number, "path", "a path that only one machine has"
    if text and not text.endswith("\n"):
        yield text.count("\n") + 1, "newline", "the file does not end with a newline"


def check_size(path, text):
    if not path.endswith(CODE):
        return
    lines = text.count("\n")
    if lines > FILE_LINES_MAX:
        yield lines, "file", f"{lines} lines, at most {FILE_LINES_MAX}: split it"
    for number, length in functions(text):
        if length > FUNCTION_LINES_MAX:
            yield number, "function", f"{length} lines, at most {FUNCTION_LINES_MAX}: split it"
    if path.endswith(".h") and not re.search(r"^#pragma once$", text, re.MULTILINE):
        yield 1, "pragma", "a header without #pragma once"


def check_walls(path, text, modules):
    if not path.endswith(CODE):
        return
    module = module_of(path)
    if module and module not in modules.named:
        yield 1, "wall", f"src/{module}/ is not in the module table of {ARCHITECTURE}"
        return
    for number, line in enumerate(text.splitlines(), 1):
        include = INCLUDE.match(line)
        if not include:
            continue
        name = include[2]
        room = name.split("/")[0]
        if module and include[1] == '"' and room in modules.named:
            if room not in modules.visible(module):
                yield number, "wall", f"{module} may not include {room}"
        outside = path.startswith(("src/", "apps/")) and module != "llama"
        if outside and LLAMA_HEADERS.search(name):
            yield number, "wall", f"only src/llama may include {name}"


def check_purity(path, text, modules):
    if module_of(path) not in modules.pure or not path.endswith(CODE):
        return
    if is_test(path):
        return
    for number, line in enumerate(bare(text).splitlines(), 1):
        if PURE_HEADERS.search(line):
            yield number, "pure", "a pure module has no thread, file, clock or randomness"
        found = PURE_CALLS.search(line)
        if found:
            yield number, "pure", f"{found[0].rstrip('(')}: a pure module is told, it does not ask"
        if MUTABLE_STATIC.match(line):
            yield number, "pure", "a pure module has no mutable static"


def check_module_list(path, text, modules, paths):
    """A module's CMakeLists.txt: its DEPS and its files."""
    module = module_of(path)
    if not module or not path.endswith("CMakeLists.txt"):
        return
    deps = re.search(r"\bDEPS\s+([a-z_ \n]*)", text)
    for name in deps[1].split() if deps else []:
        if name not in modules.visible(module):
            yield 1, "wall", f"{module} may not depend on {name}"
    listed = set(re.findall(r"[\w.-]+\.(?:cc|h)\b", text))
    for other in sorted(paths):
        name = other.rpartition("/")[2]
        is_built = name in listed or (name.endswith(".h") and is_test(other))
        if module_of(other) == module and name.endswith(CODE) and not is_built:
            yield 1, "unlisted", f"{name} is not built: list it or delete it"


def check_tested(path, paths, covered_by):
    if not module_of(path) or not path.endswith(".cc") or is_test(path):
        return
    if covered_by.get(path, path[:-3] + "_test.cc") not in paths:
        yield 1, "test", "no test beside it (see COVERS in tools/tidy.py)"


def check_file(path, text, modules, paths, covered_by):
    yield from check_lines(path, text)
    yield from check_size(path, text)
    yield from check_walls(path, text, modules)
    yield from check_purity(path, text, modules)
    yield from check_module_list(path, text, modules, paths)
    yield from check_tested(path, paths, covered_by)


def check_tree(files, covered_by):
    """`files` is path -> text. Gives the complaints as lines."""
    modules = Modules(files.get(ARCHITECTURE, ""))
    if not modules.named:
        return [f"{ARCHITECTURE}:1: wall: the module table is missing"]
    complaints = [f"{source}:1: test: listed in COVERS, but there is no such file"
                  for source in covered_by if source not in files]
    for path in sorted(files):
        for number, rule, sentence in check_file(path, files[path], modules, files, covered_by):
            complaints.append(f"{path}:{number}: {rule}: {sentence}")
    return complaints


def read_tree():
    files = {}
    for directory, names, leaves in os.walk("."):
        names[:] = [name for name in names if name not in SKIPPED]
        for leaf in leaves:
            path = os.path.relpath(os.path.join(directory, leaf), ".")
            if path.endswith(TEXT) and leaf != "package-lock.json":
                with open(path, encoding="utf-8") as file:
                    files[path] = file.read()
    return files


SAMPLE = {
    ARCHITECTURE: "| *pure* | | |\n| `src/base/` | x | |\n| `src/wire/` | x | base |\n"
                  "| `src/core/` | x | wire |\n| *I/O* | | |\n| `src/io/` | x | base |\n"
                  "| `src/llama/` | x | io |\n",
}
CPP_TRAPS = """namespace a {
constexpr auto kText = R"(} } {)";
constexpr int kMany = 10'000;  // {
int f(int x) {
  const char c = '{';
  return x + c;
}
struct S {
  int g() const { return 1; }
};
}
"""
LONG = "void f() {\n" + "  g();\n" * FUNCTION_LINES_MAX + "}\n"
# path, text, the rule that must object (None: nothing may).
CASES = [
    ("docs/a.md", "fine\n", None),
    ("docs/a.md", "bad \n", "space"),
    ("src/io/a_test.cc", "\tint x;\n", "tab"),
    ("Makefile", "all:\n\ttrue\n", None),
    ("src/io/a_test.cc", "// " + "x" * 97 + "\n", None),
    ("src/io/a_test.cc", "// " + "x" * 98 + "\n", "width"),
    ("docs/a.md", "x" * 200 + "\n", None),
    ("docs/a.md", "TO" "DO: more\n", "unfinished"),
    ("docs/a.md", "see /home/" "me/x\n", "path"),
    ("docs/a.md", "no newline", "newline"),
    ("src/io/a_test.cc", "x;\n" * FILE_LINES_MAX, None),
    ("src/io/a_test.cc", "x;\n" * (FILE_LINES_MAX + 1), "file"),
    ("src/io/a_test.cc", LONG, "function"),
    ("src/io/a_test.cc", LONG.replace("  g();\n", "", 1), None),
    ("src/io/a_test.cc", "namespace a {\n" + "int x();\n" * 100 + "}\n", None),
    ("src/io/a_test.cc", CPP_TRAPS + "int x();\n" * 80, None),
    ("src/io/a.h", "#pragma once\n", None),
    ("src/io/a.h", "int x;\n", "pragma"),
    ("src/io/a_test.cc", '#include "base/a.h"\n', None),
    ("src/core/a_test.cc", '#include "base/a.h"\n', None),
    ("src/base/a_test.cc", '#include "io/a.h"\n', "wall"),
    ("src/io/a_test.cc", '#include "wire/a.h"\n', "wall"),
    ("src/nowhere/a_test.cc", "int x;\n", "wall"),
    ("apps/a.cc", '#include "wire/a.h"\n', None),
    ("apps/a.cc", '#include "llama/worker.h"\n', None),
    ("apps/a.cc", "#include <llama.h>\n", "wall"),
    ("src/io/a_test.cc", '#include "ggml-cpu.h"\n', "wall"),
    ("src/llama/a_test.cc", '#include "llama.h"\n', None),
    ("src/wire/a.h", "#pragma once\n#include <thread>\n", "pure"),
    ("src/wire/a.h", "#pragma once\n#include <sys/socket.h>\n", "pure"),
    ("src/wire/a.h", "#pragma once\n// getenv( is not for us\n", None),
    ("src/wire/a.h", "#pragma once\ninline auto t = Clock::now();\n", "pure"),
    ("src/wire/a.h", "#pragma once\ninline auto t = std::getenv(x);\n", "pure"),
    ("src/wire/a.h", "#pragma once\nint on_time(int);\nint run_time(int);\n", None),
    ("src/wire/a.h", "#pragma once\nstatic int count = 0;\n", "pure"),
    ("src/wire/a.h", "#pragma once\nstatic constexpr int kX = 0;\n", None),
    ("src/wire/a.h", "#pragma once\nstruct A {\n  static A make(int);\n};\n", None),
    ("src/io/a.h", "#pragma once\n#include <thread>\n", None),
    ("src/wire/CMakeLists.txt", "seedance_module(wire\n  DEPS base\n  LIBS x)\n", None),
    ("src/base/CMakeLists.txt", "seedance_module(base\n  DEPS wire)\n", "wall"),
    ("src/base/b.cc", "int x;\n", "test"),
    ("src/base/test_b.cc", "int x;\n", None),
]


def self_test():
    failed = 0
    for path, text, want in CASES:
        rules = {line.split(": ")[1] for line in check_tree({**SAMPLE, path: text}, {})}
        if rules != ({want} if want else set()):
            failed += 1
            print(f"{path} {text[:60]!r}: wanted {want}, got {sorted(rules)}")
    unlisted = {"src/base/CMakeLists.txt": "seedance_module(base TESTS a_test.cc)\n",
                "src/base/a_test.cc": "int x;\n", "src/base/b.h": "#pragma once\n"}
    tested = {"src/base/a.cc": "int x;\n", "src/base/a_test.cc": "int x;\n"}
    for files, want in ((unlisted, 1), (tested, 0), ({ARCHITECTURE: ""}, 1)):
        if len(check_tree({**SAMPLE, **files}, {})) != want:
            failed += 1
            print(f"{sorted(files)}: wanted {want} complaints")
    print(f"tidy self-test: {len(CASES) + 3 - failed} passed, {failed} failed")
    return failed


def main(arguments):
    if arguments == ["--self-test"]:
        return 1 if self_test() else 0
    if arguments:
        print(__doc__)
        return 2
    complaints = check_tree(read_tree(), COVERED_BY)
    print("\n".join(complaints) or "tidy: nothing to complain about")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
