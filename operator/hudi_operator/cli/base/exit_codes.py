"""Exit codes of the commands."""

OK = 0
"""The command did what was asked, and found nothing wrong."""

FOUND = 1
"""The command found what is unhealthy or failed, or what it asked for failed."""

USAGE = 2
"""The arguments make no sense."""

NO_ACCESS = 3
"""The cluster is unreachable, or does not allow it to this person."""

INTERRUPTED = 130
"""A person ended the command, as in shells."""

MEANINGS = {
    OK: "done, and nothing is wrong",
    FOUND: "something is unhealthy, missing or failed",
    USAGE: "the arguments make no sense",
    NO_ACCESS: "the cluster is unreachable, or refuses it",
}

READ_CODES = {
    OK: "printed",
    FOUND: "there is no such table",
    USAGE: "the arguments make no sense",
    NO_ACCESS: "no access",
}
"""The codes of commands that print what a table has."""

WRITE_CODES = {
    OK: "asked for; `wait` tells the end",
    FOUND: "there is no such table, or the API server refuses the request",
    USAGE: "the arguments make no sense",
    NO_ACCESS: "the cluster is unreachable, or does not allow it",
}
"""The codes of commands that ask for something."""
