"""The dashboards of the chart, written as code and generated as JSON by `dev/generate.py`."""
