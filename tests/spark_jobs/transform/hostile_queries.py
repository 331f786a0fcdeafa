"""What does more than compute rows from `source`: fragments for each place of a query, and whole statements.

`Places` names what a test watches: a script that leaves a trace, a file and a table that must not be read, and a folder
that must not be written.
"""

from dataclasses import dataclass
from pathlib import Path

PROPERTY = "hudi.trace"
"""Property of the JVM that hostile functions set."""


@dataclass(frozen=True)
class Places:
    """Where the effects of a hostile query would show."""

    script: Path
    secret: Path
    folder: Path
    table: str

    def scripts(self) -> tuple[str, ...]:
        """Rows (id, name, v) that come out of a script."""
        using = f"USING '{self.script}' AS (id INT, name STRING, v DOUBLE)"
        return (
            f"SELECT TRANSFORM(id, name, v) {using} FROM source",
            f"FROM source SELECT TRANSFORM(id, name, v) {using}",
            f"FROM source MAP id, name, v {using}",
            f"FROM source REDUCE id, name, v {using}",
            f"SELECT TRANSFORM(*) ROW FORMAT DELIMITED FIELDS TERMINATED BY ',' {using} FROM source",
            f"FROM (SELECT * FROM source DISTRIBUTE BY id) x SELECT TRANSFORM(x.id, x.name, x.v) {using}",
        )

    def relations(self) -> tuple[str, ...]:
        """What may stand in FROM and gives rows (id, name, v)."""
        path = self.secret
        return (
            *(f"({script})" for script in self.scripts()),
            *(f"{kind}.`{path}`" for kind in ("csv", "text", "json", "parquet", "orc", "avro", "hudi", "binaryFile")),
            f"`csv`.`file://{path}`",
            self.table,
            f"default.{self.table}",
            f"spark_catalog.default.{self.table}",
            f"`{self.table.upper()}`",
            f"(TABLE {self.table})",
            f"(SELECT * FROM {self.table})",
            f"IDENTIFIER('default.{self.table}')",
            f"IDENTIFIER('{self.table}')",
            f"{self.table} VERSION AS OF 1",
            f"{self.table} TIMESTAMP AS OF '2020-01-01'",
            f"{self.table} TABLESAMPLE (100 PERCENT)",
            f"hudi_query('{path}', 'latest_state')",
            f"hudi_table_changes('{path}', 'latest_state', 'earliest')",
            f"hudi_query_timeline('{path}', 'true')",
            f"hudi_filesystem_view('{path}')",
            f"hudi_metadata('{path}')",
            "sql_keywords()",
            f"explode(TABLE({self.table}))",
        )

    def expressions(self) -> tuple[str, ...]:
        """Expressions, of type string where they have one."""
        call = f"('java.lang.System', 'setProperty', '{PROPERTY}', 'set')"
        return (
            f"reflect{call}",
            f"java_method{call}",
            f"REFLECT{call}",
            f"`reflect`{call}",
            f"system.builtin.reflect{call}",
            f"spark_catalog.default.reflect{call}",
            f"IDENTIFIER('reflect'){call}",
            f"transform(array(1), x -> reflect{call})[0]",
            f"aggregate(array(1), '', (a, x) -> java_method{call})",
            f"max(reflect{call}) OVER (ORDER BY 1)",
            f"CASE WHEN reflect{call} IS NULL THEN 'a' END",
            f"element_at(map('a', reflect{call}), 'a')",
            f"read_blob(named_struct('external_path', '{self.secret}'))",
            f"xpath_string('<!DOCTYPE a [<!ENTITY e SYSTEM \"file://{self.secret}\">]><a>&e;</a>', 'a')",
            "input_file_name()",
            "CAST(input_file_block_start() AS STRING)",
            "current_user()",
            "CURRENT_USER",
            "user()",
            "current_catalog()",
            "current_database()",
            "current_schema()",
            "version()",
            "IDENTIFIER('current_user')()",
            "some_function('x')",
            "default.some_function('x')",
            ":parameter",
            *(f"(SELECT max(name) FROM ({script}))" for script in self.scripts()),
            *(f"CAST(EXISTS ({script}) AS STRING)" for script in self.scripts()[:3]),
            *(f"CAST(1 IN (SELECT id FROM ({script})) AS STRING)" for script in self.scripts()[:3]),
            f"(SELECT max(value) FROM text.`{self.secret}`)",
            f"(SELECT first(name) FROM {self.table})",
        )

    def before(self) -> tuple[str, ...]:
        """What may stand before a whole query."""
        to = f"INSERT OVERWRITE DIRECTORY '{self.folder}'"
        return (
            f"{to} USING csv ",
            f"{to} USING csv OPTIONS (header 'true') ",
            f"INSERT OVERWRITE DIRECTORY USING csv OPTIONS (path '{self.folder}') ",
            f"INSERT OVERWRITE DIRECTORY 'file://{self.folder}' USING parquet ",
            f"INSERT OVERWRITE LOCAL DIRECTORY '{self.folder}' USING json ",
            f"INSERT OVERWRITE LOCAL DIRECTORY '{self.folder}' STORED AS textfile ",
            f"INSERT OVERWRITE LOCAL DIRECTORY '{self.folder}' ROW FORMAT DELIMITED FIELDS TERMINATED BY ',' ",
            f"WITH q AS (SELECT * FROM source) {to} USING csv ",
            f"FROM source {to} USING csv SELECT * UNION ALL ",
            f"FROM source {to} USING csv SELECT * {to} USING json SELECT * --",
            f"INSERT INTO {self.table} ",
            f"INSERT OVERWRITE {self.table} ",
            f"INSERT OVERWRITE TABLE default.{self.table} ",
            f"CREATE TABLE planted USING csv LOCATION '{self.folder}/planted' AS ",
            "CREATE OR REPLACE TEMPORARY VIEW planted AS ",
            "CREATE VIEW planted AS ",
            "CACHE TABLE planted AS ",
            "EXPLAIN ",
            "EXPLAIN EXTENDED ",
            "DESCRIBE QUERY ",
        )

    def statements(self) -> tuple[str, ...]:
        """Whole statements."""
        return (
            f"DROP TABLE {self.table}",
            "DROP VIEW source",
            f"TRUNCATE TABLE {self.table}",
            f"DELETE FROM {self.table}",
            f"UPDATE {self.table} SET id = 1",
            f"MERGE INTO {self.table} t USING source s ON t.id = s.id WHEN MATCHED THEN DELETE",
            f"ALTER TABLE {self.table} RENAME TO planted",
            f"LOAD DATA INPATH '{self.secret}' INTO TABLE {self.table}",
            f"CREATE EXTERNAL TABLE planted (id INT) STORED AS textfile LOCATION '{self.folder}'",
            "CREATE FUNCTION planted AS 'java.lang.System'",
            "CREATE TEMPORARY FUNCTION upper AS 'java.lang.System'",
            f"ADD JAR '{self.secret}'",
            f"ADD FILE '{self.secret}'",
            "LIST JARS",
            f"SET {PROPERTY}=set",
            "SET spark.sql.runSQLOnFiles=true",
            "RESET",
            "USE default",
            "SHOW TABLES",
            f"DESCRIBE EXTENDED {self.table}",
            f"ANALYZE TABLE {self.table} COMPUTE STATISTICS",
            f"REFRESH TABLE {self.table}",
            f"REFRESH '{self.secret}'",
            f"CALL show_commits(table => '{self.table}')",
            f"CALL run_clean(table => '{self.table}')",
            f"FROM source INSERT OVERWRITE DIRECTORY '{self.folder}' USING csv SELECT id",
            f"FROM source INSERT OVERWRITE DIRECTORY '{self.folder}' USING csv SELECT id "
            f"INSERT INTO {self.table} SELECT *",
            "SELECT 1; DROP TABLE source",
        )
