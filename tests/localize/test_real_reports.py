"""Answers to reports as people write them: with forms, logs, traces, links and commands.

Files and texts are made up; each shows what went wrong in an answer to a real report.
"""

import random

import pytest

from tosloc import Localizer


@pytest.fixture
def answer_to(repository, monkeypatch, tmp_path):
    """Return a function that commits files and answers a report about them."""
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))

    def answer(files, report, **options):
        if files:
            repository.commit(files)
        with Localizer.open(repository.path) as localizer:
            return localizer.localize(report, **options)

    return answer


def paths(answer):
    return [hit.path for hit in answer.hits]


# ---- names and words in Chinese, Japanese and Korean texts

SHOP = {
    "renewal.py": "class SessionManager: pass\n",
    "mail.py": "def send(): pass\n",
    "cart.py": "def add(): pass\n",
}


@pytest.mark.parametrize("report", ["登录时SessionManager报错\n", "SessionManagerでエラー\n"])
def test_name_between_letters_without_blanks_is_found(answer_to, report):
    answer = answer_to(SHOP, report)
    assert paths(answer)[0] == "renewal.py"
    assert answer.hits[0].reasons[0].text == "Defines SessionManager, which the report names"


def test_chinese_words_match_parts_of_chinese_comments(answer_to):
    files = SHOP | {"list.py": "# 挂载以后的顺序\ndef sort(): pass\n"}
    assert paths(answer_to(files, "文件顺序乱了\n"))[0] == "list.py"


# ---- the form, the environment and diagnostics

DEPOT = {
    ".github/ISSUE_TEMPLATE/bug.yml": (
        "body:\n"
        "  - type: checkboxes\n"
        "    attributes:\n"
        "      label: Depot rules that everybody reads\n"
        "      options:\n"
        "        - label: I mount with the latest version of depot\n"
        "  - type: textarea\n"
        "    attributes:\n"
        "      label: Which builder of depot do you run\n"
    ),
    "build.sh": "# builds the latest version of depot for linux macos windows; builder\n",
    "list.go": "package a\nfunc List(a []string) { sort.Strings(a) }\n",
    "mount.go": "package a\nfunc Mount() {}\n",
}
FORM = (
    "- [x] I am sure I use the latest version of depot\n"
    "### Operating system\n- [ ] Linux\n- [ ] macOS\n- [ ] Windows\n"
    "### Describe what went wrong\n"
)


def test_form_alone_is_no_evidence(answer_to):
    answer = answer_to(DEPOT, f"# 挂载以后顺序乱了\n{FORM}挂载以后顺序乱了\n")
    assert any(note.startswith("no word of the report occurs") for note in answer.notes)
    assert {hit.confidence for hit in answer.hits} == {0.0}
    assert answer.others == ()


def test_form_does_not_outweigh_what_the_reporter_says(answer_to):
    answer = answer_to(
        DEPOT, f"# Wrong order\n{FORM}The strings of the list have the wrong order\n"
    )
    assert paths(answer)[0] == "list.go"


def test_lines_of_the_projects_own_form_are_no_evidence(answer_to):
    report = (
        "# Wrong order\n\nWhich builder of depot do you run\n\n"
        "Depot rules that everybody reads\n\nStrings of the list have the wrong order\n"
    )
    answer = answer_to(DEPOT, report)
    assert paths(answer)[0] == "list.go"
    assert "depot" not in str(answer.hits[1:])


DIAGNOSE = {
    "Diagnose.php": (
        "<?php class Diagnose { function execute($o) {\n"
        "foreach (['platform settings', 'git settings', 'http connectivity',\n"
        "  'disk free space'] as $w)\n"
        '  $o->write("Checking $w: ");\n'
        "$o->write('PHP version: '); $o->write('PHP binary path: ');\n"
        "$o->write('OpenSSL version: '); $o->write('curl version: '); } }\n"
    ),
    "CloneCommand.php": (
        "<?php class CloneCommand { function execute($i) { $target = $i->get('target');\n"
        "chdir($target); return $this->copy($i->get('from'), $target); } }\n"
    ),
    "ListCommand.php": "<?php class ListCommand { function execute($o) { $o->write(1); } }\n",
}


def test_printed_diagnostics_do_not_find_the_file_that_prints_them(answer_to):
    report = (
        "# Source path is not found since 2.1\nOutput of `tool diagnose`:\n```\n"
        "Checking platform settings: OK\nChecking git settings: OK\n"
        "Checking http connectivity: OK\nChecking disk free space: OK\n"
        "PHP version: 8.2\nPHP binary path: /usr/bin/php\nOpenSSL version: 3.0\n"
        "curl version: 7.88\n```\nWhen I run this command:\n```\ntool clone --from ./lib out\n```\n"
    )
    assert paths(answer_to(DIAGNOSE, report))[0] == "CloneCommand.php"


# ---- logs, builds and traces

FLAGS = "-DQT_NO_CAST_FROM_ASCII -DQT_STRICT_ITERATORS"
NUMBERS = {
    "cmake/Flags.cmake": (
        f"add_compile_options(-Wall -Wextra -Wcast-align)\nadd_definitions({FLAGS})\n"
    ),
    "src/base/utils/number.cpp": "int roundUp(double x) { return std::ceil(x); }\n",
    "src/base/utils/number.h": "int roundUp(double x);\n",
    **{f"src/gui/{name}.cpp": f"void {name}() {{ build(); }} // Qt\n" for name in ("tray", "menu")},
}


def test_failed_object_names_its_source(answer_to):
    report = (
        "# Build fails on Alpine\n```\n"
        "FAILED: src/base/CMakeFiles/app_base.dir/utils/number.cpp.o\n"
        f"/usr/bin/c++ {FLAGS} -isystem /usr/include/qt6 -Wall -Wextra -Wcast-align\n```\n"
    )
    answer = answer_to(NUMBERS, report)
    assert paths(answer)[:2] == ["src/base/utils/number.cpp", "src/base/utils/number.h"]
    assert answer.hits[0].reasons[0].text == "The report names src/base/utils/number.cpp"


SERVER = {
    "stream.py": "class StreamController: pass\n",
    "scan.py": "class LibraryScan: pass\n",
    "runner.py": "class MigrationRunner: pass\n",
    "main.py": "def main(): pass\n",
}


def test_error_line_outweighs_many_info_lines(answer_to):
    lines = [f"[20:00:00] [INF] [7] StreamController: segment {n} sent" for n in range(100, 200)]
    error = "[20:59:59] [ERR] [1] MigrationRunner: could not be applied"
    report = "\n".join(["# Server stops at its second start", "```", *lines, error, "```"])
    assert paths(answer_to(SERVER, report))[0] == "runner.py"


PANIC = """panic
```
panic: runtime error: invalid memory address or nil pointer dereference
goroutine 54 [running]:
x.com/shop/web.errValues(0xefe620)
\t/home/u/shop/web/server.go:12 +0xca
x.com/shop/web.(*Server).ServeHTTP(0xc0001de820)
\t/home/u/shop/web/server.go:5 +0x7a7
```
"""
WEB = {
    "web/server.go": (
        "package web\nfunc (s *Server) ServeHTTP(w Writer, r *Request) {\n\terr := s.handle(w, r)\n"
        "\tif err != nil {\n\t\tstatus, msg := errValues(err)\n"
        "\t\ts.log.Error(status, msg)\n\t}\n}\n\n"
        "func errValues(err error) (int, string) {\n\the := err.(HandlerError)\n"
        "\treturn he.Status, he.Err.Error()\n}\n"
    ),
    "web/listen.go": "package web\nfunc Listen() error { return nil }\n",
}


def test_function_of_the_innermost_frame_is_first(answer_to):
    answer = answer_to(WEB, PANIC)
    names = [function.name for function in answer.hits[0].functions]
    assert names == ["errValues", "Server.ServeHTTP"]


# ---- changes, commands and links that a report names


def test_commit_that_the_report_blames(answer_to, repository):
    repository.commit(
        {f"{name}.py": f"def {name}(x): return x\n" for name in ("cart", "mail", "tax")}
        | {"page.py": "def page(x): return x\n# the totals of a page\n"}
    )
    commit = repository.commit({"tax.py": "def tax(x): return x+2\n"})[:7]
    repository.commit({"mail.py": "# mail\n"})
    repository.commit({"page.py": "# the totals of a page\n"})
    answer = answer_to(
        {}, f"Totals are wrong since commit {commit}\nBefore {commit} all was right.\n"
    )
    assert paths(answer)[0] == "tax.py"
    reason = answer.hits[0].reasons[0]
    assert reason.text.startswith(f"Changed by {commit}, which the report blames (")
    assert reason.commit.startswith(commit)


COMMANDS = {
    **{
        f"cmd-{name}.c": "int cmd_exec(struct args *a)\n{\n\treturn spawn(a);\n}\n"
        for name in ("new-window", "kill-window", "list-keys")
    },
    "tool.h": "struct args { int window; };\n",
    "spawn.c": "int spawn(struct args *a) { return a->window; }\n",
}


def test_command_with_hyphens_names_its_file(answer_to):
    report = (
        "Crash when a command runs in its own place\n`new-window -k -t 3` crashes the server.\n"
    )
    answer = answer_to(COMMANDS, report)
    assert paths(answer)[0] == "cmd-new-window.c"
    assert answer.hits[0].reasons[0].text == "The report names new-window"


OPTIONS = {
    "media.py": "def run(ffmpeg_location): return ffmpeg_location\n",
    "place.py": "def locate(location): return location\n",
    "encode.py": "def ffmpeg(args): return args\n",
}


@pytest.mark.parametrize("option", ["--ffmpeg-location", "ffmpeg_location", "ffmpegLocation"])
def test_option_is_found_in_every_spelling(answer_to, option):
    assert paths(answer_to(OPTIONS, f"{option} is ignored\n"))[0] == "media.py"


def test_command_in_a_sentence_names_its_file(answer_to):
    answer = answer_to(COMMANDS, "Crash in its own place\nThe server crashes in `new-window`.\n")
    assert paths(answer)[0] == "cmd-new-window.c"
    assert answer.hits[0].reasons[0].text == "The report names new-window"


@pytest.mark.parametrize("name", ["new_window", "newWindow"])
def test_identifier_leads_to_the_file_of_a_command(answer_to, name):
    """Most identifiers are names of functions, so files that have their words may come before."""
    answer = answer_to(COMMANDS, f"Crash in its own place\nThe server crashes in `{name}`.\n")
    commands = [hit for hit in answer.hits if hit.path.startswith("cmd-")]
    assert commands[0].path == "cmd-new-window.c"
    assert commands[0].reasons[0].text == f"The report names {name}"


def test_linked_file_of_another_project_is_not_named(answer_to, repository):
    repository.git("remote", "add", "origin", "https://github.com/a/shop.git")
    files = {f"core/{name}.py": "def merge(frame): return frame\n" for name in ("join", "merge")}
    report = "merge fails\nSee https://github.com/a/bank/blob/main/core/join.py#L1 for it.\n"
    answer = answer_to(files, report)
    assert paths(answer)[0] == "core/merge.py"
    reasons = [reason.text for hit in answer.hits for reason in hit.reasons]
    assert not any(reason.startswith("The report names") for reason in reasons)


def test_linked_file_of_a_fork_is_first(answer_to, repository):
    repository.git("remote", "add", "origin", "https://github.com/a/shop.git")
    files = {f"core/{name}.py": "def merge(frame): return frame\n" for name in ("join", "merge")}
    report = "merge fails\nSee https://github.com/me/shop/blob/main/core/join.py#L1 for it.\n"
    assert paths(answer_to(files, report))[0] == "core/join.py"


def test_linked_file_is_first(answer_to):
    files = {f"core/{name}.py": "def merge(frame): return frame\n" for name in ("join", "merge")}
    report = "merge fails\nSee https://github.com/a/b/blob/main/core/join.py#L1 for it.\n"
    assert paths(answer_to(files, report))[0] == "core/join.py"


# ---- files that people did not write

TRANSLATION = "".join(
    f"<context><name>Pane{n}</name><message><source>Show the password in the preview pane {n}"
    "</source><translation>x</translation></message></context>"
    for n in range(300)
)
PREVIEW = {
    "src/preview.cpp": "void Preview::reveal() { m_label->setMaximumHeight(12); }\n",
    "src/main.cpp": "int main() { return 0; }\n",
    "src/tray.cpp": "int tray() { return 0; }\n",
}
CUT_OFF = "Password in the preview pane is cut off\nWhen I show the password, its half is hidden.\n"


def qt_translations():
    text = f'<?xml version="1.0"?><!DOCTYPE TS><TS version="2.1">{TRANSLATION}</TS>\n'
    return {f"lang/app_{language}.ts": text for language in ("de", "fr", "it")}


def test_qt_translations_are_hidden_and_counted(answer_to):
    answer = answer_to(PREVIEW | qt_translations(), CUT_OFF)
    assert paths(answer)[0] == "src/preview.cpp"
    assert not any(path.startswith("lang/") for path in paths(answer))
    assert answer.searched.hidden_files == 3
    assert answer.as_dict()["searched"]["hidden_files"] == 3


def test_all_shows_hidden_files(answer_to):
    answer = answer_to(PREVIEW | qt_translations(), CUT_OFF, all_files=True)
    assert "lang/app_de.ts" in paths(answer)
    assert answer.searched.hidden_files == 0


def test_hidden_file_that_the_report_names_is_shown(answer_to):
    answer = answer_to(PREVIEW | qt_translations(), f"{CUT_OFF}See lang/app_de.ts, too.\n")
    assert "lang/app_de.ts" in paths(answer)
    assert answer.searched.hidden_files == 2


def minified(seed):
    words = "element form mode system light date period option render style color value".split()
    choose = random.Random(seed).choice
    calls = ",".join(
        f"{n}:(e,t,n)=>{{var r=n({n});r.{choose(words)}(t.{choose(words)})}}" for n in range(600)
    )
    return f"/*! For license information see app.js.LICENSE.txt */\n(()=>{{var e={{{calls}}};}})();"


def test_minified_bundles_are_hidden(answer_to):
    files = {
        "js/create.js": minified(1),
        "js/edit.js": minified(2),
        "src/Preferences.php": (
            "<?php class Preferences { function store($r) { $this->set('darkMode'); } }\n"
        ),
        "src/Account.php": "<?php class Account { function name() { return 1; } }\n",
    }
    report = "Dark mode system with light mode has some form elements rendered wrongly\n"
    answer = answer_to(files, report)
    assert paths(answer) == ["src/Preferences.php", "src/Account.php"]


def test_minified_bundle_has_no_functions(answer_to):
    files = {"js/app.js": minified(1), "a.js": "function light() {}\n"}
    answer = answer_to(files, "light element in js/app.js\n", functions=3)
    functions = {hit.path: hit.functions for hit in answer.hits}
    assert functions["js/app.js"] == ()


def test_hidden_files_do_not_flatten_the_features_of_others(answer_to):
    alone = answer_to(PREVIEW, CUT_OFF)
    beside = answer_to(qt_translations(), CUT_OFF)
    assert paths(alone)[0] == paths(beside)[0] == "src/preview.cpp"
    assert beside.hits[0].confidence > 0.7 * alone.hits[0].confidence


def test_build_script_with_the_name_of_the_app_is_not_first(answer_to, repository):
    repository.git("remote", "add", "origin", "https://github.com/a/tubepad.git")
    files = {
        "app/build.gradle": (
            'android { applicationId "org.tubepad"; resValue "string", "app_name", "TubePad" }\n'
            "// report issues of this project with the latest version of its services\n"
            'dependencies { implementation "org.tubepad:media:0.26.0" }\n'
        ),
        "app/java/ChannelTab.java": (
            "class ChannelTab { void show(Handler h) { list = h.factory().tabs(h.id()); } }\n"
        ),
        "app/java/Player.java": "class Player { void play(String url) { start(url); } }\n",
        "app/java/Feed.java": "class Feed { int size() { return 1; } }\n",
    }
    report = (
        "# TubePad 2.22 doesn't open channels of a media service\n"
        "- [x] I have searched for related issues in the issues list.\n"
        "- [x] This is an issue with the TubePad project itself, with the latest version.\n"
        "It goes back to the start instead.\n"
    )
    assert paths(answer_to(files, report))[0] == "app/java/ChannelTab.java"


def test_sibling_of_the_first_file_is_among_the_other_files(answer_to):
    files = {
        "PreviewPane.html": '<ui><widget class="QLabel" name="secret"/></ui>\n',
        "PreviewPane.cpp": "void PreviewPane::reveal() { m_ui->secret->setText(text()); }\n",
        "PreviewPane.h": "class PreviewPane { void reveal(); };\n",
        **{f"notes{n}.xml": f"password text preview hidden linux {n}\n" for n in range(3)},
    }
    answer = answer_to(files, "Text in the preview pane is cut off\nHidden password on Linux.\n")
    assert paths(answer)[0] == "PreviewPane.cpp"
    assert answer.others[0].path == "PreviewPane.html"
    assert (
        answer.others[0].reasons[0].text
        == "In the same folder as PreviewPane.cpp, with the same name"
    )


# ---- messages in string literals

GATE = {
    "gate.py": "def open_gate(gate):\n    raise ValueError('gate %s is not ready yet' % gate)\n",
    "ready.py": "def is_ready(gate):\n    # the gate is ready, not yet\n    return gate.ready\n",
}


def test_file_that_writes_the_message_has_it_as_a_reason(answer_to):
    answer = answer_to(
        GATE, "Crash at start\n\nValueError: gate 7 is not ready yet\n", code="lines"
    )
    hit = next(hit for hit in answer.hits if hit.path == "gate.py")
    assert 'A string in the file contains "gate … is not ready yet"' in [
        reason.text for reason in hit.reasons
    ]
    assert 2 in [line.line for line in hit.code]


# ---- what says nothing

INVOICES = {
    **{f"src/{name}.py": f"def {name}(x): return x\n" for name in "invoice mail cart tax".split()},
    "src/pictures.py": "def containsImage(url): return url.endswith('png')\n",
    "src/report.py": "def report(x): return x\n",
    "src/settings.py": "HOST = header = cache = cookie = proxy = blank = target = href = None\n",
    "src/screenshot.py": "def screenshot(): pass\n",
    "utils/collect_env.py": "def collect_env(): print('collecting the environment')\n",
    "install-paperless-ngx.sh": "echo paperless ngx\n",
}
PICTURE = "![image](https://user-images.githubusercontent.com/1/2-3.png)"


@pytest.mark.parametrize("report", [f"{PICTURE}\n", f"See screenshot\n\n{PICTURE}\n"])
def test_picture_alone_gives_no_confidence_and_asks_for_words(answer_to, report):
    answer = answer_to(INVOICES, report)
    assert {hit.confidence for hit in answer.hits} == {0.0}
    assert answer.notes[-1].startswith("the report has no words of its own")
    assert answer.notes[-1].endswith("add an error message, an identifier or a file name")


NGINX = """
server {
    server_name x.org;
    location / {
        proxy_set_header Host $host;
        proxy_cookie_path / /app;
        proxy_cache off;
    }
}"""


@pytest.mark.parametrize(
    ("report", "other"),
    [
        ("# [Bug Report] Invoice shows a wrong sum", "src/report.py"),
        ('The invoice is wrong\n\n<a href="x" target="_blank">here</a>', "src/settings.py"),
        (f"Invoice shows a wrong sum\n\n```\n{NGINX}\n```", "src/settings.py"),
        ("The invoice is wrong\n```\npython collect_env.py\n```", "utils/collect_env.py"),
        ("Paperless-ngx shows a wrong invoice", "install-paperless-ngx.sh"),
    ],
    ids=["tag", "attributes", "configuration", "diagnosis", "own name"],
)
def test_words_that_say_nothing_lift_no_file(answer_to, repository, report, other):
    repository.git("remote", "add", "origin", "https://github.com/a/paperless-ngx.git")
    answer = answer_to(INVOICES, f"{report}\n")
    hits = {hit.path: hit for hit in answer.hits}
    assert answer.hits[0].path == "src/invoice.py"
    assert hits[other].reasons[0].text.startswith("No matching words")
