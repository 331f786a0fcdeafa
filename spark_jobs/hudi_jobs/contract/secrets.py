"""Which names hold secrets: one table for the logs of the operator and of the driver."""

import re

SECRET_NAME = re.compile(
    r"secret|passw|token|credential|access[._-]?key|private[._-]?key|authorization|jaas|sas[._-]", re.IGNORECASE
)
"""Found anywhere in the name of a setting, a variable or a field of a log event whose value is never written."""
