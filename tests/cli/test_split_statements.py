from __future__ import annotations

import pytest

from panes.cli.split_statements import in_transactions, split


@pytest.mark.parametrize(
    ("text", "statements", "rest"),
    [
        ("", (), ""),
        (" ; ;\n", (), ""),
        ("-- only a remark;", (), ""),
        ("SHOW STREAMS", (), "SHOW STREAMS"),
        ("SHOW STREAMS;", ("SHOW STREAMS",), ""),
        ("SELECT ';';", ("SELECT ';'",), ""),
        ("SELECT 'it''s; so';", ("SELECT 'it''s; so'",), ""),
        ('SELECT ";";', ('SELECT ";"',), ""),
        ("SELECT 1 -- one; two\n;", ("SELECT 1 -- one; two\n",), ""),
        ("SELECT /* ; */ 1;", ("SELECT /* ; */ 1",), ""),
        ("SELECT 'open;", (), "SELECT 'open;"),
        ("SELECT /* open;", (), "SELECT /* open;"),
        ("SELECT 1 - 1 / 2;", ("SELECT 1 - 1 / 2",), ""),
        ("SELECT `a;b`; SHOW", ("SELECT `a;b`",), "              SHOW"),
        ("SELECT `a; SHOW STREAMS;", (), "SELECT `a; SHOW STREAMS;"),
    ],
)
def test_only_a_semicolon_outside_of_strings_and_comments_ends_a_statement(
    text: str, statements: tuple[str, ...], rest: str
):
    assert split(text).statements == statements
    assert split(text).rest == rest


def test_a_statement_keeps_its_line_and_column():
    text = "INVOKE a;\nINVOKE b; INVOKE c;\n  INVOKE d"
    pieces = split(text)
    for piece in (*pieces.statements, pieces.rest):
        start = len(piece) - len(piece.lstrip())
        assert text[start : len(piece)] == piece.strip()
        assert piece[:start].count("\n") == text[:start].count("\n")


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("INSERT INTO a VALUES (1); UPDATE a SET b = 1; DELETE FROM a; COPY a FROM 'x';", 1),
        ("INSERT INTO a VALUES (1); SHOW TABLES; DELETE FROM a;", 3),
        ("/* DELETE */ insert INTO a VALUES (';');\n -- SELECT 1;\n delete FROM a;", 1),
        ("INVOKE a; INVOKE b;", 2),
        ("INSERTED; DELETE FROM a;", 2),
        ('"INSERT"; DELETE FROM a;', 2),
    ],
)
def test_statements_that_change_tables_and_stand_together_are_one_text(text: str, count: int):
    texts = in_transactions(split(text).statements)
    assert len(texts) == count
    for piece in texts:
        start = len(piece) - len(piece.lstrip())
        assert text[start : len(piece)] == piece.strip()
