"""A small project, and what must not change the answer to one of its reports.

These are the future, the order of the data and the labels.
"""

from tests.lab.baselines.by_hand import Bug, Commit, make_context, score_files

FILES = {
    "src/org/app/TreeViewer.java": """package org.app;
/** Shows trees. */
public class TreeViewer {
    private int itemCount;
    void expandAll(int level) { itemCount += level; refreshTable(); }
    void refreshTable() { /* the table flickers */ }
}
""",
    "src/org/app/TableViewer.java": """package org.app;
import org.app.TreeViewer;
import org.app.Color;
class TableViewer {
    Color shade; // colour of the table
    void paintTable(Color shade) { paintTable(shade); }
}
""",
    "src/org/app/Color.java": "package org.app;\n/* Copyright of colors */\nenum Color { RED }\n",
    "src/org/app/io/Socket.java": """package org.app.io;
class Socket { void openSocket(String host) {} }
""",
    "src/org/app/io/Cookie.java": "package org.app.io;\nclass Cookie { int level; }\n",
}
TREE, TABLE, COLOR, SOCKET, COOKIE = FILES
OLD = [
    Bug("1", "Bug 1 table flickers when painted", opened=1, fixed_at=2, paths=[TABLE, COLOR]),
    Bug("6", "Bug 6 cookies are lost", opened=4, fixed_at=5, paths=[COOKIE]),
    Bug("2", "Bug 2 socket is never closed", opened=3, fixed_at=8, paths=[SOCKET]),
]
ASKED = Bug(
    "3",
    "Bug 3 Table flickers",
    opened=10,
    fixed_at=20,
    paths=[TREE],
    description="TreeViewer.expandAll paints cookies",
)
COMMITS = [
    Commit("c", 9, message="Fix the tree", touched=[TREE]),
    Commit("d", 9.5, message="polish", touched=[COOKIE]),
]
BETWEEN = Bug(
    "4", "Bug 4 table flickers, paints cookies", opened=4, fixed_at=15, paths=[COOKIE, TREE]
)
"""Fixed after the report was opened, before its own fix."""
LATER = Bug("5", "Bug 5 expandAll paints cookies", opened=21, fixed_at=22, paths=[COOKIE])


def make_project(bugs=(*OLD, ASKED)):
    """Return the context of the project."""
    return make_context(FILES, bugs, COMMITS)


def score_asked(make_technique, bugs=(*OLD, ASKED)):
    """Return the score of each path for the report ``ASKED``."""
    return score_files(make_technique(make_project(bugs)), ASKED.id)
