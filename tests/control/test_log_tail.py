"""The end of a hostile log: bounded, printable, and without what looks like a secret."""

from __future__ import annotations

import time

import pytest

from hudi_jobs.contract.wording import REDACTED
from hudi_operator.control.jobs.log_tail import log_tail

MOST = 4096
SECRET = "hunter2Hunter2"


def tail(text: str | bytes) -> str:
    return log_tail(text if isinstance(text, bytes) else text.encode(), MOST)


def test_a_short_log_is_kept_whole() -> None:
    assert tail("first\n\tat Frame.of(Frame.java)\r\nlast\n") == "first\n    at Frame.of(Frame.java)\nlast"


def test_of_a_long_log_the_last_lines_are_kept() -> None:
    text = tail("".join(f"line {number}\n" for number in range(100_000)))
    first, *lines = text.split("\n")
    assert first.startswith("...")
    assert lines == [f"line {number}" for number in range(100_000 - len(lines), 100_000)]
    assert len(text) == MOST


def test_the_end_of_a_long_trace_in_one_line_is_kept_beside_the_lines_behind_it() -> None:
    text = tail(f"{'frame ' * 5_000}Caused by: the reason\ntask ends\n")
    assert text.endswith("frame Caused by: the reason\ntask ends")
    assert len(text) == MOST


@pytest.mark.parametrize(
    "log",
    [
        b"x" * 1_000_000,
        "é€😀".encode() * 100_000,
        "\u202e".encode() * 10_000,
        bytes(range(256)) * 4_000,
        b"\x00" * 100_000,
        b"\n" * 1_000_000,
        b"\x1b]" * 100_000,
        b"token" * 100_000,
        b"token=" * 100_000,
        b'token:"' * 100_000,
        b"eyJ-----------" * 100_000,
        b"-----BEGIN RSA PRIVATE KEY-----" * 10_000,
        b"a://b:c@" * 100_000,
        b'password="\\' * 100_000,
        b"-" * 1_000_000,
        b" --token" * 100_000,
        b"token=[" * 100_000,
        b"token>" * 100_000,
    ],
    ids=lambda log: repr(log[:10]),
)
def test_any_log_is_bounded_and_printable_in_little_time(log: bytes) -> None:
    began = time.process_time()
    text = tail(log)
    assert time.process_time() - began < 1
    assert len(text.encode()) <= MOST
    assert all(line.isprintable() for line in text.split("\n"))


def test_the_end_of_one_endless_line_is_kept() -> None:
    assert tail("x" * 1_000_000 + "the reason").endswith("xthe reason")


def test_sequences_of_a_terminal_are_removed() -> None:
    assert tail("\x1b[1;31mred\x1b[0m \x1b]0;title\x07text\x1b[2J \x1b(B\x07") == "red text \\x1b(B\\x07"


@pytest.mark.parametrize(
    "line",
    [
        f"AWS_SECRET_ACCESS_KEY={SECRET}",
        f"fs.s3a.secret.key -> {SECRET}, b -> c",
        f"(spark.hadoop.fs.s3a.secret.key,{SECRET})",
        f'{{"password": "{SECRET}", "b": 1}}',
        f'{{"password": "a\\"{SECRET}"}}',
        f"password='a\"{SECRET}'",
        f'{{\\"token\\": \\"{SECRET}\\"}}',
        f'sasl.jaas.config=org.example.Login required username="u" password="{SECRET}";',
        f"Authorization: AWS4-HMAC-SHA256 Credential={SECRET}/20260310/us, Signature={SECRET}",
        f"authorization: Bearer {SECRET}",
        f"sent Basic {SECRET}==",
        f"GET /lake?X-Amz-Signature={SECRET}&X-Amz-Security-Token={SECRET}",
        f"https://user:{SECRET}@registry/subjects",
        f"https://account.blob/x?sas-token={SECRET}",
        f"pass\x1b[0mword={SECRET}",
        f"https://account.blob/x?sv=2020&sig={SECRET}&se=1",
        f"x-api-key: {SECRET}",
        f"Set-Cookie: a=b; session={SECRET}",
        f"basic.auth.user.info=user:{SECRET}",
        f"password => {SECRET}, b => c",
        f"password := {SECRET}",
        f'{{"url":"jdbc:x?password\\u003d{SECRET}"}}',
        f"redirect?password%3D{SECRET}",
        f"tokens: [a, {SECRET}]",
        f"password={{'v': '{SECRET}'}}",
        f"<password>{SECRET}</password>",
        f"<name>fs.s3a.secret.key</name> <value>{SECRET}</value>",
        f"java -cp x Main --password {SECRET} --user me",
        f"s3n://key:se/{SECRET}@lake/x",
        f"-----BEGIN RSA PRIVATE KEY-----\n{SECRET}\n{SECRET}\n-----END RSA PRIVATE KEY-----",
        f"{SECRET}\n{SECRET}\n-----END PRIVATE KEY-----",
    ],
)
def test_what_looks_like_a_secret_is_replaced(line: str) -> None:
    text = tail(f"{line}\nthe end\n")
    assert "hunter2" not in text.lower()
    assert REDACTED in text
    assert text.endswith("the end")


def test_everything_behind_a_private_key_without_an_end_is_replaced() -> None:
    assert tail(f"start\n-----BEGIN PRIVATE KEY-----\n{SECRET}\nthe end") == f"start\n{REDACTED}"


@pytest.mark.parametrize("value", ["AKIAIOSFODNN7EXAMPLE", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"])
def test_a_secret_of_a_known_form_is_replaced_anywhere(value: str) -> None:
    assert tail(f"with {value} here") == f"with {REDACTED} here"


@pytest.mark.parametrize("before", range(4_080, 4_120))
def test_a_secret_is_not_cut_before_it_is_recognized(before: int) -> None:
    assert "hunter2" not in tail(f"start password={SECRET}{SECRET} " + "x" * before).lower()


@pytest.mark.parametrize("behind", range(8_160, 8_200, 3))
def test_the_rest_of_a_secret_behind_the_first_cut_is_dropped(behind: int) -> None:
    noise = "\x1b[0m" * (behind // 4) + " " * (behind % 4)
    assert "hunter2" not in tail(f"password={SECRET}{noise}").lower()


def test_a_stack_trace_stays_readable() -> None:
    trace = (
        "Caused by: java.io.FileNotFoundException: No such file or directory: s3a://landing/team-a/a.csv\n"
        "    at org.apache.hadoop.fs.s3a.S3AFileSystem.s3GetFileStatus(S3AFileSystem.java:4102)\n"
        "No AWS Credentials provided by SimpleAWSCredentialsProvider : none\n"
        "SignatureDoesNotMatch: The request signature we calculated does not match: List<Token> of TokenFilter"
    )
    assert tail(trace) == trace
