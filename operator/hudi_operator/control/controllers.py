"""The registry of controllers: a line per kind. See docs/contributing/control-loop.md for adding a kind."""

from hudi_operator.control.class_reporter import TABLE_CLASSES
from hudi_operator.control.operations import OPERATIONS
from hudi_operator.control.parts import Parts
from hudi_operator.control.savepoints import SAVEPOINTS
from hudi_operator.control.tables import TABLES
from hudi_operator.runtime.controller import Controller

CONTROLLERS: tuple[Controller[Parts], ...] = (
    TABLES,
    TABLE_CLASSES,
    SAVEPOINTS,
    OPERATIONS,
)
