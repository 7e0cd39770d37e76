"""Which part of a report each line of its description is."""

import pytest

from tosloc.reports.text import (
    MAX_ERROR_LINES,
    MAX_QUIET_LINES,
    Command,
    commands,
    condense_logs,
    is_issue_template,
    repeatable_lines,
    split_report_text,
    template_key,
    template_keys,
)


def kind_of(line, description=None, template=()):
    """Return the names of the parts that contain a line of a description."""
    parts = split_report_text(line if description is None else description, template)
    return [name for name, text in parts._asdict().items() if line in text.splitlines()]


# ---- prose and code


def test_an_indented_first_line_is_prose():
    parts = split_report_text("    It hangs\nafter a while")
    assert parts.prose == "    It hangs\nafter a while"


def test_an_indented_line_after_code_is_code():
    parts = split_report_text("x = open(path);\n    and then it hangs")
    assert parts.code == "x = open(path);\n    and then it hangs"
    assert parts.prose == ""


def test_an_indented_line_after_a_blank_line_of_code_is_code():
    parts = split_report_text("x = open(path);\n\n    and then it hangs")
    assert parts.code == "x = open(path);\n    and then it hangs"


def test_an_indented_line_after_a_heading_of_the_form_is_prose():
    parts = split_report_text("x = open(path);\n## To Reproduce\n    and then it hangs")
    assert parts.code == "x = open(path);"
    assert parts.prose == "    and then it hangs"


def test_each_block_between_fences_begins_without_code():
    parts = split_report_text("x = open(path);\n```\nrun(3)\n```\n    and then it hangs")
    assert parts.code == "x = open(path);\nrun(3)"
    assert parts.prose == "    and then it hangs"


def test_lines_of_dashes_are_left_out_of_prose():
    assert split_report_text("It hangs\n-----\nafter a while").prose == "It hangs\nafter a while"


def test_quoted_lines_are_a_part_of_their_own():
    parts = split_report_text("I read\n> it is fixed\n> since long\nbut no")
    assert parts.quoted == "it is fixed\nsince long"
    assert parts.prose == "I read\nbut no"


def test_pictures_and_comments_are_left_out():
    text = "It hangs ![the cart](https://x.org/a.png) here <img src='b.png'>\n<!-- Fill in -->"
    assert split_report_text(text).prose.split() == ["It", "hangs", "here"]


def test_settings_are_data():
    assert split_report_text("```yaml\nserver:\n  port: 1\n```").data == "server:\n  port: 1"


def test_line_without_breaks_is_prose_whatever_it_begins_with():
    text = "2020-01-02 10:11:12 INFO " + "it hangs and then " * 99
    assert split_report_text(text).prose == text


# ---- the form


@pytest.mark.parametrize(
    "line",
    [
        "## Describe the bug",
        "**To Reproduce**",
        "### Describe what went wrong",
        "- [x] I use the latest version",
        "- [ ] Windows",
        "A clear and concise description of what the bug is.",
        "_No response_",
        "Please include a minimal example.",
        "Before submitting an issue, read this.",
    ],
)
def test_lines_of_forms(line):
    assert kind_of(line) == ["form"]


@pytest.mark.parametrize(
    "line", ["# Cart is empty", "**The cart is empty**", "- the cart [x] hangs"]
)
def test_headings_of_reporters_are_prose(line):
    assert kind_of(line) == ["prose"]


TEMPLATE = """name: Bug
body:
  - type: input
    attributes:
      label: Which depot do you run
      description: Look at the sign above its door.
  - type: dropdown
    attributes:
      label: Which part is broken
      options:
        - Cart
        - Bill of the depot
  - type: checkboxes
    attributes:
      options:
        - label: I mounted nothing else
"""


@pytest.mark.parametrize(
    "line",
    [
        "### Which depot do you run",
        "Look at the sign above its door.",
        "Which part is broken?",
        "I mounted nothing else",
    ],
)
def test_lines_of_the_projects_template_are_its_form(line):
    assert kind_of(line) == ["prose"]
    assert kind_of(line, template=template_keys(TEMPLATE)) == ["form"]


def test_a_line_of_the_template_with_an_address_is_its_form():
    line = "See [our guide](https://depot.example/guide) before you write"
    assert kind_of(line, template=template_keys(line)) == ["form"]


@pytest.mark.parametrize(
    "line",
    ["Which depot do you run", "- **Which depot**: none", "## Depot", "See https://x.org/a b"],
)
def test_lines_that_a_form_may_have(line):
    assert repeatable_lines(f"It hangs\n{line}") == {"it hangs", template_key(line)}


@pytest.mark.parametrize(
    "line",
    [
        "Depot",
        "java.lang.NullPointerException",
        "1 2 3",
        "import depot as shop",
        "> which depot",
        "12:00:01 INFO the depot is open",
        "- OS: Linux",
        "```\nwhich depot\n```",
        "    at shop.Depot.open(Depot.java:3)",
        "which depot " * 90,
    ],
    ids=["word", "name", "digits", "code", "quoted", "log", "system", "fence", "frame", "long"],
)
def test_lines_that_repeat_for_other_reasons(line):
    assert repeatable_lines(line) == set()


def test_option_that_the_reporter_chose_is_prose():
    assert kind_of("Bill of the depot", template=template_keys(TEMPLATE)) == ["prose"]


def test_a_heading_of_a_form_in_two_scripts_is_form():
    keys = template_keys("## DEPOTのバージョン\n")
    assert kind_of("## DEPOT のバージョン", template=keys) == ["form"]


def test_template_in_markdown():
    keys = template_keys("## Which depot do you run?\n\n- [ ] I mounted nothing else\n")
    assert keys == {"which depot do you run", "i mounted nothing else"}


@pytest.mark.parametrize(
    "path",
    [
        ".github/ISSUE_TEMPLATE/bug.yml",
        ".github/ISSUE_TEMPLATE.md",
        "ISSUE_TEMPLATE.md",
        "docs/issue_template.md",
        ".gitlab/issue_templates/Bug.md",
    ],
)
def test_paths_of_templates(path):
    assert is_issue_template(path)


@pytest.mark.parametrize("path", [".github/workflows/a.yml", "src/issue_template.py", "a.md"])
def test_other_paths_are_no_templates(path):
    assert not is_issue_template(path)


# ---- what is installed


@pytest.mark.parametrize(
    "line",
    [
        "- OS: Ubuntu 18.04",
        "Python version: 3.7",
        "numpy==1.18.5",
        "v1.2.3",
        "numpy  1.18.5  pypi_0",
    ],
)
def test_lines_about_what_is_installed(line):
    assert kind_of(line) == ["environment"]


def test_short_lines_below_a_heading_for_the_environment():
    parts = split_report_text("### Depot version\n\nnightly build\n\n### What happened\n\nIt hangs")
    assert parts.environment == "nightly build"
    assert parts.prose == "It hangs"


def test_block_below_a_heading_for_the_environment():
    parts = split_report_text("## Environment\n```\nDepot nightly on arm\n```\nIt hangs")
    assert parts.environment == "Depot nightly on arm"


def test_output_of_a_command_of_diagnosis():
    text = "Output of `tool diagnose`:\n```\nChecking disk: all is well\n```\nIt hangs"
    parts = split_report_text(text)
    assert parts.environment == "Checking disk: all is well"
    assert parts.form == "Output of `tool diagnose`:"


def test_output_of_another_command_is_code():
    assert split_report_text("Output of `tool run`:\n```\nno cart\n```").code == "no cart"


def test_traceback_below_a_heading_for_the_environment_is_no_environment():
    text = "## Environment\n```\nTraceback (most recent call last):\nKeyError\n```"
    assert split_report_text(text).environment == ""


@pytest.mark.parametrize(
    "block",
    [
        "Collecting environment information...\nIs debug build: no",
        "INSTALLED VERSIONS\n------\npandas : 1.0",
        "a==1.0\nb==2.0\nc==3.0",
        "Checking git: OK\ncurl version: 7.88\nzip: not available",
    ],
    ids=["collect_env", "show_versions", "pip freeze", "diagnose"],
)
def test_dumps_of_what_is_installed(block):
    parts = split_report_text(f"```\n{block}\n```")
    assert parts.environment
    assert parts.code == ""


def test_table_of_versions():
    parts = split_report_text("| Software | Version |\n|---|---|\n| Depot | 3 |\n\nIt hangs")
    assert "| Depot | 3 |" in parts.environment
    assert parts.prose == "It hangs"


def test_assignment_that_begins_like_a_key_is_code():
    assert split_report_text("```\nkernel = RBF(3)\n```").code == "kernel = RBF(3)"


# ---- logs


def test_errors_of_a_log_and_the_lines_beside_them():
    lines = [
        "10:00:01 INFO open a",
        "10:00:02 INFO open b",
        "10:00:03 ERROR no door",
        "10:00:04 INFO shut",
        "10:00:05 INFO end",
    ]
    parts = split_report_text("\n".join(lines))
    assert parts.errors == lines[2]
    assert parts.near_errors.splitlines() == [lines[1], lines[3]]
    assert parts.log.splitlines() == [lines[0], lines[4]]


def test_repeated_lines_of_a_log_count_once():
    text = "\n".join(f"10:00:0{n} ERROR no door {n}" for n in range(5))
    assert split_report_text(text).errors == "10:00:00 ERROR no door 0"


@pytest.mark.parametrize(
    "line",
    [
        "[20:59:59] [ERR] [1] Runner: no",
        '{"level":"error","msg":"no"}',
        "E0102 10:11:12 no",
        "2020-01-02 10:11:12 it failed",
    ],
)
def test_lines_that_say_what_failed_are_errors(line):
    log = "[20:00:00] [INF] [7] up\n[20:00:01] [INF] [7] on"
    assert kind_of(line, f"```\n{log}\n{line}\n{log}\n```") == ["errors"]


def test_quiet_level_goes_before_words_of_failures():
    assert split_report_text("10:00:01 DEBUG it failed").log == "10:00:01 DEBUG it failed"


def test_line_of_a_log_without_time_goes_on_with_the_line_before():
    text = "```\n10:00:01 ERROR no door\n  because of the key\n10:00:02 INFO up\n```"
    assert split_report_text(text).errors.splitlines()[1] == "  because of the key"


def log_line(number, level="INFO"):
    """Return a line of a log that differs from others in more than digits."""
    word = "".join(chr(ord("a") + int(digit)) for digit in str(number))
    return f"10:00:00 {level} {word}\n"


def test_quiet_lines_of_long_logs_are_left_out():
    text = "".join(map(log_line, range(3 * MAX_QUIET_LINES)))
    condensed = condense_logs(text)
    assert condensed.text == "".join(map(log_line, range(MAX_QUIET_LINES)))


def test_lines_beside_errors_stay_in_long_logs():
    lines = [*map(log_line, range(3 * MAX_QUIET_LINES))]
    error = "10:00:09 ERROR no door\n"
    lines[-2:-2] = [error]
    kept = condense_logs("".join(lines)).text.splitlines(keepends=True)
    assert kept[MAX_QUIET_LINES:] == lines[-4:-1]


def test_errors_of_long_logs_are_bounded():
    text = "".join(log_line(number, "ERROR") for number in range(2 * MAX_ERROR_LINES))
    assert condense_logs(text).text.count("\n") == MAX_ERROR_LINES


def test_other_lines_stay_beside_long_logs():
    log = "".join(map(log_line, range(3 * MAX_QUIET_LINES)))
    condensed = condense_logs(f"It hangs\n{log}Why?")
    assert condensed.text.startswith("It hangs\n")
    assert condensed.text.endswith("Why?")


def test_short_texts_are_not_condensed():
    text = "10:00:00 INFO up\n" * 9
    assert condense_logs(text).text == text


@pytest.mark.parametrize("word", ["It", "Why", "there"])
def test_offsets_in_the_original_text(word):
    log = "".join(map(log_line, range(3 * MAX_QUIET_LINES)))
    text = f"It hangs\n{log}Why?\n{log}Is it there?"
    condensed = condense_logs(text)
    offset = condensed.original_offset(condensed.text.index(word))
    assert text[offset:].startswith(word)


# ---- builds and traces


def test_failed_object_is_an_error_with_the_path_of_its_source():
    parts = split_report_text(
        "```\nFAILED: src/CMakeFiles/a.dir/b.cpp.o\nninja: build stopped\n```"
    )
    assert parts.errors == "src/b.cpp"


def test_command_that_compiles_counts_by_its_sources():
    parts = split_report_text("```\n/usr/bin/c++ -DA_B -Wall -Iinc -c src/b.cpp -o b.o\n```")
    assert parts.log == "src/b.cpp"
    assert parts.code == ""


def test_command_of_the_reporter_keeps_its_options():
    line = "ffmpeg -i a.mp4 -vf scale -c:v copy -f mp4 b.mp4"
    assert kind_of(line, f"```\n{line}\n```") == ["code"]


@pytest.mark.parametrize(
    "line",
    [
        "src/b.cpp:3:7: error: no member named 'c'",
        "src/b.rs:3: error: no",
        "/usr/bin/ld: b.o: undefined reference to `c'",
    ],
)
def test_errors_of_linkers_and_compilers_beside_a_build_are_errors(line):
    log = "[1/9] Building a.o\n[2/9] Building b.o\nFAILED: b.o"
    assert kind_of(line, f"```\n{log}\n{line}\n```") == ["errors"]


@pytest.mark.parametrize(
    "line",
    [
        r"C:\src\b.cpp(14,9): error C2065: 'key': undeclared identifier",
        "Shop/Door.cs(14,9): error CS0103: The name 'key' does not exist",
        "src/b.ts(14,9): error TS2339: Property 'turn' does not exist",
        "src/b.ts:14:9 - error TS2339: Property 'turn' does not exist",
        "./web/b.go:12:9: undefined: key",
        "vet: web/b.go:12:9: undefined: key",
        "[ERROR] /a/src/main/java/B.java:[14,9] cannot find symbol",
        "[error] /a/src/main/scala/B.scala:14:9: value turn is not a member of Key",
        "e: file:///a/src/main/kotlin/B.kt:14:9 Unresolved reference: turn",
        "error[E0425]: cannot find value `key` in this scope",
        "  --> src/b.rs:14:9",
        "ERROR in ./src/b.js 14:9",
        "b.cpp:(.text+0x14): undefined reference to `Key::turn()'",
        "/a/b.swift:14:9: error: cannot find 'key' in scope",
        "src/main/java/B.java:14: error: cannot find symbol",
    ],
)
@pytest.mark.parametrize("begin", ["It fails:\n", "```\n"])
def test_what_compilers_say_is_an_error(line, begin):
    assert kind_of(line, f"{begin}{line}\n") == ["errors"]


@pytest.mark.parametrize(
    "line",
    [
        "x.org/shop/web.(*Server).Serve(0xc0001de820)",
        "\t/home/u/shop/web/server.go:5 +0x7a7",
        "goroutine 54 [running]:",
        "#1  0x0000555 in main () at main.c:3",
        "#0 /app/src/Cart.php(12): total()",
        "    (shop 0.1.0) lib/cart.ex:12: Cart.total/1",
        "   1: shop::cart::total",
        "             at ./src/cart.rs:12:9",
        "    from app/main.rb:3:in `run'",
        "3   Shop    0x0000000100003f2a total + 52",
        "0 [inlined] Cart.total() in shop at /a/Cart.swift:12:9",
        "1 0x000055 main in shop at /a/main.swift:3:1",
        "    frame #1: 0x0000000101 shop`main at main.c:3:1",
        "    at 1   shop.kexe  0x10a3d kfun:org.shop.Cart#total(){} + 96 (/a/Cart.kt:14:9)",
        "#0      Cart.total (package:shop/cart.dart:14:9)",
        "\tsrc/cart.lua:12: in function 'total'",
        "\tShop::Cart::total('x') called at bin/shop.pl line 3",
        "   @ Shop ~/shop/src/cart.jl:14",
        "   @ ~/.julia/packages/Shop/x1Yz2/src/cart.jl:14 [inlined]",
        "   @ REPL[2]:1",
        "  [1] total(x::Vector{Int64}; tax::Bool)",
        " [2] total at ./cart.jl:14 [inlined]",
        " [12] (::Shop.Cart{T})(x::T) where T",
        " [3] top-level scope",
        " in total(::Int64) at ./cart.jl:14",
        "total@webpack-internal:///./src/cart.js:12:9",
        "        lib/shop/cart.ex:14: Shop.Cart.total/1",
        "\tfrom bin/shop:3:in `<main>'",
    ],
)
def test_frames_of_other_languages_are_traces(line):
    assert kind_of(line, f"```\npanic\n{line}\n```") == ["trace"]


@pytest.mark.parametrize("line", ["[12] cart opened", "[12] Cart::open(x) done"])
def test_numbered_lines_of_logs_are_no_frames_of_julia(line):
    assert kind_of(line, f"```\n{line}\n```") == ["log"]


@pytest.mark.parametrize(
    "line", ["ray.init()", "f(x)", "#1 is the cart", "at last", "from me", "me@x.org"]
)
def test_code_and_prose_are_no_traces(line):
    assert "trace" not in kind_of(line, f"```\n{line}\n```")


# ---- commands, options and keys


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("`new-window -k` crashes", [(("new", "window"), True)]),
        ("use --ffmpeg-location", [(("ffmpeg", "location"), True)]),
        ("`server.port` is ignored", [(("server", "port"), True)]),
        ("server.port = 8080", [(("server", "port"), True)]),
        ("a well-known bug", [(("well", "known"), False)]),
        ("`shop new-cart -k` crashes", [(("new", "cart"), True)]),
        ("`shop` has no new-cart", [(("new", "cart"), False)]),
        ("`cart.py` and a/b-c.py, 2020-01-02", []),
        ("use - or -- alone", []),
    ],
)
def test_commands_options_and_keys(text, found):
    assert commands(text) == [Command(parts, is_certain) for parts, is_certain in found]
