import tomllib
from pathlib import Path

import yaml

from hudi_operator import __version__

ROOT = Path(__file__).parents[2]


def test_the_package_the_project_and_the_chart_have_one_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    chart = yaml.safe_load((ROOT / "charts" / "hudi-operator" / "Chart.yaml").read_text())
    assert {__version__, project["version"], chart["version"], chart["appVersion"]} == {__version__}
