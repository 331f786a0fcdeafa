"""The tables and classes that the operator knows: just enough to find what an event concerns."""

from dataclasses import dataclass, field

from hudi_operator.control.fields import text
from hudi_operator.control.keys import TableKey
from hudi_operator.handlers.documents import condition_of_child, fingerprint, has_ended, is_held
from hudi_operator.jobs.names import TABLE_LABEL, TABLE_UID_LABEL


@dataclass(frozen=True, kw_only=True)
class KnownTable:
    """What is remembered of a table; `class_name` is None where the table takes the default class.

    `held` says whether it had the operator's finalizer: that it has one now is no news, that it lost it is.
    """

    uid: str | None
    class_name: str | None
    fingerprint: int
    held: bool = field(default=False, compare=False)


class KnownObjects:
    """An index of tables by class and by uid. It may be out of date, so it never decides anything but when to look."""

    def __init__(self) -> None:
        self._tables: dict[TableKey, KnownTable] = {}
        self._by_uid: dict[str, TableKey] = {}
        self._classes: dict[str, int] = {}
        self._children: dict[str, int] = {}  # the uid of a Job or pod -> its condition

    def __len__(self) -> int:
        return len(self._tables)

    def __contains__(self, key: TableKey) -> bool:
        """Whether a table is known under this key."""
        return key in self._tables

    @property
    def tables(self) -> frozenset[TableKey]:
        """The keys of all known tables."""
        return frozenset(self._tables)

    @property
    def classes(self) -> frozenset[str]:
        """The names of all known classes."""
        return frozenset(self._classes)

    def learn_table(self, key: TableKey, document: object) -> bool:
        """Remember a table; return whether it is new or its declaration has changed."""
        table = KnownTable(
            uid=text(document, "metadata", "uid"),
            class_name=text(document, "spec", "tableClassName"),
            fingerprint=fingerprint(document),
            held=is_held(document),
        )
        before = self._tables.get(key)
        if before == table and not (before.held and not table.held):
            self._tables[key] = table
            return False
        self.forget_table(key)
        self._tables[key] = table
        if table.uid:
            self._by_uid[table.uid] = key
        return True

    def forget_table(self, key: TableKey) -> None:
        """Forget a table that is gone."""
        table = self._tables.pop(key, None)
        if table is not None and table.uid:
            self._by_uid.pop(table.uid, None)

    def learn_class(self, name: str, document: object) -> bool:
        """Remember a class; return whether it is new or has changed."""
        now = fingerprint(document)
        changed = self._classes.get(name) != now
        self._classes[name] = now
        return changed

    def forget_class(self, name: str) -> None:
        """Forget a class that is gone."""
        self._classes.pop(name, None)

    def of_class(self, name: str) -> list[TableKey]:
        """Return the tables of a class, and those that name none: the class may be, or have been, the default."""
        return [key for key, table in self._tables.items() if table.class_name in (name, None)]

    def learn_child(self, document: object) -> bool:
        """Remember a Job or pod; return whether it tells anything new.

        One that had ended when it was first seen does not: its table's status says so, or asks for it.
        """
        uid = text(document, "metadata", "uid") or ""
        before, now = self._children.get(uid), condition_of_child(document)
        self._children[uid] = now
        return not has_ended(document) if before is None else before != now

    def forget_child(self, document: object) -> bool:
        """Forget a Job or pod that is gone; return whether that is news: it is unless it had ended."""
        self._children.pop(text(document, "metadata", "uid") or "", None)
        return not has_ended(document)

    def of_child(self, document: object) -> TableKey | None:
        """Return the table that a Job or pod belongs to, by its labels."""
        uid = text(document, "metadata", "labels", TABLE_UID_LABEL)
        known = self._by_uid.get(uid) if uid else None
        if known is not None:
            return known
        # The label is the whole name unless that is longer than a label may be; then the uid has to be known.
        namespace, name = text(document, "metadata", "namespace"), text(document, "metadata", "labels", TABLE_LABEL)
        return TableKey(namespace, name) if namespace and name else None
