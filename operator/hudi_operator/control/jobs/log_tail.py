"""The end of a log as a text of bounded size for a status: without secrets and control characters. Pure.

A log holds whatever a driver, its libraries and its input wrote. What looks like a secret is replaced; values of rows
look like nothing and stay.
"""

import re

from hudi_jobs.contract.wording import REDACTED, SECRET_NAME, escaped, redact_text

_LOOKED_AT = 8 * 1024
"""The bytes at the end of a log that are looked at: twice what is kept, because redaction shortens it."""

_CUT = "..."
_LONGEST_SECRET = 1024
"""Characters to drop behind a cut: the part of a secret without its name is not recognized."""

_TERMINAL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
"""Escape sequences of terminals: colours, movements, titles."""

_KEYS = r"(?:passphrase|pwd|api[._-]?key|account[._-]?key)"
_NAME = rf"(?:{SECRET_NAME.pattern}|{_KEYS}|signature|user[._-]?info|(?<![a-z])sig(?![a-z]))[\w.-]{{0,64}}"
_ASSIGNS = r"\s{0,8}(?:->|=>|:=|=+|%3D|\\u003d)\s{0,8}"

_SHAPES = (
    re.compile(r"()-----BEGIN [A-Z ]{0,32}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,32}PRIVATE KEY-----|\Z)", re.DOTALL),
    re.compile(r"()\A.*-----END [A-Z ]{0,32}PRIVATE KEY-----", re.DOTALL),
    re.compile(r"(\b(?:authorization|cookie)\\{0,3}[\"']?\s{0,8}[:=]\s{0,8})[^\n\"']+", re.IGNORECASE),
    re.compile(
        rf"({_NAME}(?:\\{{0,3}}[\"'])?\s{{0,8}}(?:[:,]|{_ASSIGNS})\s{{0,8}})"
        r"(?:\[(?!redacted\])[^\]\n]*\]?|\{[^}\n]*\}?)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"({_NAME}(?:\\{{0,3}}[\"'])?\s{{0,8}}(?:[:,]|{_ASSIGNS})\s{{0,8}}\\{{0,3}}([\"']))(?:\\.|(?!\2)[^\n\\])+",
        re.IGNORECASE,
    ),
    re.compile(rf"({_NAME}(?:{_ASSIGNS}|[:,]))(?=[^\s\"'\\\[])[^\s,;&\"')]+", re.IGNORECASE),
    re.compile(rf"({_KEYS}:\s{{1,8}})[^\s,;&\"')]+", re.IGNORECASE),
    re.compile(rf"({_NAME}(?:</name>\s{{0,8}}<value)?>)[^<\n]+(?=</)", re.IGNORECASE),
    re.compile(rf"((?<!\S)--?[\w.-]{{0,64}}{_NAME}\s{{1,8}})[^\s-]\S*", re.IGNORECASE),
    re.compile(r"(\bs3[an]?://)[^\s/@:\"]+:[^\s@\"]+(?=@)"),
    re.compile(r"(\bbasic\s{1,8})[A-Za-z0-9+/=]{8,}", re.IGNORECASE),
    re.compile(r"()\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    re.compile(r"()(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"),
)
"""Secrets that logs of libraries show, beside those that the driver itself leaves out; the first group stays.

In order: private keys, keys cut at their beginning, HTTP's authorization and cookies, lists, quoted and other values of
telling names, elements of XML, options of commands, keys of S3 with a slash in a URL, HTTP's basic authorization,
identifiers of AWS keys, JSON Web Tokens.
"""


def log_tail(content: bytes, most_bytes: int) -> str:
    """Return the end of a log without secrets and control characters, at most `most_bytes` of UTF-8."""
    text = content[-_LOOKED_AT:].decode("utf-8", "replace")
    if len(content) > _LOOKED_AT:
        text = text[_LONGEST_SECRET:]
    text = _TERMINAL.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    for shape in _SHAPES:
        text = shape.sub(rf"\g<1>{REDACTED}", text)
    lines = (escaped(line.expandtabs(4)).rstrip() for line in redact_text(text).split("\n"))
    return _end("\n".join(lines).strip("\n"), most_bytes)


def _end(text: str, most_bytes: int) -> str:
    written = text.encode("utf-8", "replace")
    if len(written) <= most_bytes:
        return written.decode()
    # Not from the next line on: a driver writes the whole trace of a failure into one line.
    return _CUT + written[len(_CUT) - most_bytes :].decode("utf-8", "ignore")
