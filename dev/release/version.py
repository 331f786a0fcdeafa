"""The version of the release, which `operator/hudi_operator/__init__.py` alone states, and the texts that repeat it."""

import re

from hudi_operator import __version__

_CHART = re.compile(r"^(?P<before>(?:appVersion|version): ).*$", re.MULTILINE)
_NAMED = re.compile(
    r"(?P<before>hudi[_-]operator(?:-spark)?[-_:]|--version |--set (?:sparkI|i)mage\.tag=)\d+\.\d+\.\d+"
)


def current_version() -> str:
    """Return the version of the code."""
    return __version__


def chart_with_version(text: str, version: str) -> str:
    """Return a Chart.yaml with the version of the chart and of the operator in it."""
    return _CHART.sub(rf"\g<before>{version}", text)


def page_with_version(text: str, version: str) -> str:
    """Return a page whose commands name the files and images of this version."""
    return _NAMED.sub(rf"\g<before>{version}", text)
