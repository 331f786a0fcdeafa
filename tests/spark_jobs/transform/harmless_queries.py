"""Queries of every common kind over `source (id INT, name STRING, v DOUBLE)`, which stay allowed."""

HARMLESS = (
    "SELECT * FROM source",
    "SELECT id, upper(name) AS name, v * 2 + 1 AS v FROM source WHERE id > 1 AND v IS NOT NULL OR name = 'a'",
    "SELECT s.id, t.name FROM source s JOIN source t ON s.id = t.id",
    "SELECT s.id, t.name FROM source s LEFT OUTER JOIN source AS t USING (id)",
    "SELECT * FROM source s CROSS JOIN source t",
    "SELECT id FROM source NATURAL JOIN source t",
    "SELECT id FROM source s LEFT SEMI JOIN source t ON s.id=t.id",
    "SELECT id FROM source s LEFT ANTI JOIN source t ON s.id=t.id",
    "SELECT s.id FROM source s FULL JOIN source t ON s.id = t.id RIGHT JOIN source u ON u.id = s.id",
    (
        "WITH a AS (SELECT * FROM source), b AS (SELECT id FROM a WHERE v > 1) SELECT * FROM b UNION ALL "
        "SELECT id FROM a"
    ),
    "WITH a(x, y, z) AS (SELECT * FROM source) SELECT x, y FROM a",
    "WITH a AS (WITH b AS (SELECT * FROM source) SELECT * FROM b) SELECT * FROM a",
    "WITH source AS (SELECT id, name FROM source) SELECT * FROM source",
    "SELECT id FROM source UNION SELECT id FROM source INTERSECT SELECT id FROM source EXCEPT SELECT 2",
    "SELECT id FROM source MINUS SELECT 1",
    "SELECT id FROM source EXCEPT ALL SELECT 1",
    "SELECT id FROM source INTERSECT ALL SELECT id FROM source",
    "SELECT DISTINCT name FROM source ORDER BY name DESC NULLS LAST LIMIT 10 OFFSET 1",
    (
        "SELECT name, count(*) AS n, count(DISTINCT id), sum(v) FILTER (WHERE v > 1), avg(v), min(v), max(v) "
        "FROM source GROUP BY name HAVING count(*) > 0"
    ),
    "SELECT name, id, sum(v) FROM source GROUP BY ROLLUP(name, id)",
    "SELECT name, id, sum(v), grouping(name), grouping_id() FROM source GROUP BY CUBE(name, id)",
    "SELECT name, id, sum(v) FROM source GROUP BY GROUPING SETS ((name), (id), ())",
    "SELECT name, sum(v) FROM source GROUP BY name WITH ROLLUP",
    "SELECT name, sum(v) FROM source GROUP BY ALL",
    "SELECT name, sum(v) FROM source GROUP BY 1 ORDER BY 2",
    (
        "SELECT id, row_number() OVER (PARTITION BY name ORDER BY v DESC) AS rn, lag(v, 1) OVER (ORDER BY "
        "id), sum(v) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM source"
    ),
    (
        "SELECT sum(v) OVER (ORDER BY id RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING), avg(v) "
        "OVER w, first_value(v) IGNORE NULLS OVER w FROM source WINDOW w AS (PARTITION BY name ORDER BY id)"
    ),
    "SELECT max(v) OVER (ORDER BY id RANGE BETWEEN 2 PRECEDING AND 1 FOLLOWING) FROM source",
    ("SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY id ORDER BY v DESC) AS rn FROM source) WHERE rn = 1"),
    "SELECT CASE name WHEN 'a' THEN 1 WHEN 'b' THEN 2 ELSE 3 END, CASE WHEN v > 1 THEN 'x' END FROM source",
    (
        "SELECT count(*) AS n FROM (SELECT CAST(id AS STRING), TRY_CAST(name AS INT), bigint(id), CAST(v AS "
        "DECIMAL(10,2)), CAST(NULL AS ARRAY<STRUCT<a: INT>>), DATE '2020-01-01', TIMESTAMP '2020-01-01 "
        "00:00:00', INTERVAL 1 DAY, INTERVAL '1-2' YEAR TO MONTH, X'1F', 1L, 2S, 3Y, 1.5D, 1.5BD, 1e3, -id, "
        "+id, ~id FROM source)"
    ),
    (
        "SELECT id = 1, id <> 1, id != 1, id <=> 1, id < 1, id >= 2, id % 2, id DIV 2, id / 2, id & 1, id | "
        "1, id ^ 1, NOT true, !true, id BETWEEN 1 AND 2, id NOT IN (1, 2), name LIKE 'a%', name NOT LIKE 'a',"
        " name RLIKE 'a', name ILIKE 'A', name LIKE ANY ('a', 'b'), name LIKE ALL ('a'), name NOT LIKE ALL "
        "('a'), name NOT LIKE ANY ('a','b'), name ILIKE ANY ('a','b'), name IS NULL, id IS DISTINCT FROM 2, "
        "(id > 1) IS TRUE, (id > 1) IS NOT UNKNOWN, name || 'x' FROM source"
    ),
    "SELECT id + INTERVAL 1 DAY FROM (SELECT timestamp'2020-01-01' AS id FROM source)",
    (
        "SELECT count(*) AS n FROM (SELECT date'2020-01-02' - date'2020-01-01', timestamp'2020-01-02' - "
        "timestamp'2020-01-01', date'2020-01-01' + 1, date'2020-01-01' - 1, date'2020-01-01' + INTERVAL 1 "
        "MONTH, timestamp'2020-01-01' + INTERVAL 1 MONTH, timestamp'2020-01-01' - INTERVAL 1 HOUR, INTERVAL 1"
        " DAY * 2, INTERVAL 1 MONTH / 2, INTERVAL 1 DAY / v, 2 * INTERVAL 1 MONTH, date'2020-01-01' - "
        "INTERVAL 1 DAY, -INTERVAL 1 DAY, INTERVAL 1 DAY + INTERVAL 2 DAY, abs(INTERVAL -1 DAY), "
        "date'2020-01-01' + make_interval(1), timestamp'2020-01-01' + make_interval(1), make_interval(1) * 2,"
        " make_interval(1) / 2, timestamp_ntz'2020-01-01' + INTERVAL 1 DAY FROM source)"
    ),
    (
        "SELECT count(*) AS n FROM (SELECT sum(INTERVAL 1 DAY), avg(INTERVAL 1 MONTH), extract(YEAR FROM "
        "INTERVAL '1-2' YEAR TO MONTH), extract(DAY FROM INTERVAL 1 DAY), extract(HOUR FROM "
        "make_interval(1)), extract(MONTH FROM date'2020-01-01'), extract(YEAR FROM "
        "make_interval(1)),extract(MONTH FROM make_interval(1)),extract(DAY FROM "
        "make_interval(1)),extract(MINUTE FROM make_interval(1)),extract(SECOND FROM "
        "make_interval(1)),extract(HOUR FROM INTERVAL 1 HOUR),extract(MINUTE FROM INTERVAL 1 "
        "MINUTE),extract(SECOND FROM INTERVAL 1 SECOND), extract(MONTH FROM INTERVAL 1 MONTH), extract(WEEK "
        "FROM date'2020-01-01'),extract(DOW FROM date'2020-01-01'),extract(DOY FROM "
        "date'2020-01-01'),extract(QUARTER FROM date'2020-01-01'),extract(YEAROFWEEK FROM "
        "date'2020-01-01'),extract(DOW_ISO FROM date'2020-01-01'),extract(SECOND FROM "
        "timestamp'2020-01-01'),extract(MINUTE FROM timestamp'2020-01-01') FROM source)"
    ),
    (
        "SELECT struct(id, name) AS s, named_struct('a', id).a, array(1, 2)[0], map('a', 1)['a'], "
        "array(struct(id))[0].id, array(named_struct('a',1)).a, map_keys(map('a', 1)), element_at(array(1), "
        "1), size(array(1)), (id, name) FROM source"
    ),
    (
        "SELECT transform(array(1, 2), x -> x + 1), filter(array(1), x -> x > 0), aggregate(array(1), 0, (a, "
        "x) -> a + x, a -> a * 2), exists(array(1), x -> x = id), transform(array(1), (x, i) -> x * i), "
        "zip_with(array(1), array(2), (x, y) -> x + y), array_sort(array(2, 1), (l, r) -> CASE WHEN l < r "
        "THEN -1 ELSE 1 END), map_filter(map('a', 1), (k, v) -> v > 0), transform_values(map('a', 1), (k, v) "
        "-> v + 1), forall(array(1), x -> x > 0) FROM source"
    ),
    (
        "SELECT from_json('{\"a\": 1}', 'a INT').a, to_json(struct(id)), get_json_object('{}', '$.a'), "
        "schema_of_json('{}'), from_csv('1', 'a INT'), json_object_keys('{}') FROM source"
    ),
    "SELECT json_tuple('{\"a\": 1}', 'a', 'b') AS (a, b) FROM source",
    "SELECT explode(array(1, 2)) AS e FROM source",
    "SELECT posexplode(array(1)) FROM source",
    "SELECT explode(map('a', 1)) AS (k, w) FROM source",
    "SELECT inline(array(struct(1, 2))) FROM source",
    "SELECT stack(2, 1, 2) FROM source",
    "SELECT explode_outer(array(id)) FROM source",
    "SELECT id, e FROM source LATERAL VIEW explode(array(1, 2)) t AS e",
    (
        "SELECT id, p, e FROM source LATERAL VIEW OUTER posexplode(array(1, 2)) t AS p, e LATERAL VIEW "
        "json_tuple('{}', 'a') u AS a"
    ),
    "SELECT id, e.col FROM source, LATERAL explode(array(id)) e",
    "SELECT id, x FROM source, LATERAL (SELECT source.id + 1 AS x)",
    ("SELECT id, x FROM source LEFT JOIN LATERAL (SELECT max(s.id) AS x FROM source s WHERE s.id = source.id) ON true"),
    "SELECT * FROM explode(array(1))",
    "SELECT * FROM range(3) JOIN source USING (id)",
    "SELECT * FROM range(1, 10, 2, 1) AS t(x)",
    "SELECT * FROM stack(1, 2) AS t(a)",
    "SELECT * FROM inline(array(struct(1, 2))) t",
    "SELECT * FROM VALUES (1, 'a'), (2, 'b') AS t(id, code) JOIN source USING (id)",
    "VALUES (1, 2)",
    "SELECT * FROM (VALUES (1)) AS t(a)",
    "TABLE source",
    "FROM source SELECT id",
    "SELECT * FROM source PIVOT (sum(v) AS s FOR name IN ('a' AS a, 'b' AS b))",
    "SELECT * FROM source PIVOT (sum(v) AS s, max(v) FOR (name, id) IN (('a', 1), ('b', 2)))",
    "SELECT * FROM source UNPIVOT (x FOR k IN (id, v))",
    "SELECT * FROM source UNPIVOT INCLUDE NULLS ((x) FOR k IN ((id) AS a, (v) AS b))",
    "SELECT id FROM source WHERE id = (SELECT max(id) FROM source)",
    "SELECT id FROM source s WHERE EXISTS (SELECT 1 FROM source t WHERE t.id = s.id)",
    "SELECT id FROM source WHERE NOT EXISTS (SELECT * FROM source WHERE id > 9)",
    "SELECT id FROM source WHERE (id, name) IN (SELECT id, name FROM source)",
    "SELECT id FROM source WHERE id NOT IN (SELECT id FROM source WHERE id > 1)",
    "SELECT (SELECT max(v) FROM source t WHERE t.id = s.id) AS m FROM source s",
    "SELECT /*+ BROADCAST(t) */ s.id FROM source s JOIN source t ON s.id = t.id",
    "SELECT /*+ REPARTITION(3), COALESCE(2) */ * FROM source",
    "SELECT /*+ REPARTITION(3, id) */ * FROM source",
    "SELECT /*+ REBALANCE(id) */ * FROM source",
    "SELECT /*+ REPARTITION_BY_RANGE(3, id) */ * FROM source",
    "SELECT /*+ SHUFFLE_HASH(t), MERGE(s) */ * FROM source s JOIN source t USING (id)",
    "SELECT /*+ COALESCE(1) */ * FROM source",
    "SELECT * FROM source TABLESAMPLE (50 PERCENT)",
    "SELECT * FROM source TABLESAMPLE (5 ROWS)",
    "SELECT * FROM source TABLESAMPLE (BUCKET 1 OUT OF 2)",
    "SELECT * FROM source DISTRIBUTE BY id SORT BY v",
    "SELECT * FROM source CLUSTER BY id",
    "SELECT s.*, s.id AS other FROM source AS s",
    "SELECT struct(*) FROM source",
    "SELECT t.a FROM (SELECT id, name FROM source) AS t(a, b)",
    "SELECT a + 1 AS b, b + 1 AS c FROM (SELECT id AS a FROM source)",
    "SELECT id AS a, a + 1 AS b FROM source",
    "SELECT window(timestamp'2020-01-01', '1 hour') AS w, count(*) FROM source GROUP BY w",
    "SELECT window.start, count(*) FROM source GROUP BY window(timestamp_seconds(id), '10 minutes', '5 minutes')",
    "SELECT session_window(timestamp_seconds(id), '5 minutes'), count(*) FROM source GROUP BY 1",
    (
        "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY v), percentile_disc(0.5) WITHIN GROUP (ORDER BY v"
        " DESC), percentile_approx(v, 0.5), median(v), mode(name), max_by(id, v), collect_list(name), "
        "collect_set(name), array_agg(id), any_value(id), first(id), last(id, true), "
        "approx_count_distinct(id), stddev(v), corr(v, id), count_if(id > 1), bool_and(id > 0), any(id > 1), "
        "some(id > 1), every(id > 1) FROM source"
    ),
    (
        "SELECT current_date, current_timestamp, current_date(), now(), current_timestamp(), "
        "localtimestamp(), curdate(), current_timezone() FROM source"
    ),
    (
        "SELECT timestampadd(DAY, 1, timestamp'2020-01-01'), timestampdiff(HOUR, timestamp'2020-01-01', "
        "timestamp'2020-01-02'), date_add(date'2020-01-01', 1), dateadd(MONTH, 1, date'2020-01-01'), "
        "datediff(DAY, date'2020-01-01', date'2020-01-02'), to_date('2020-01-01'), to_timestamp('2020', "
        "'yyyy'), date_format(now(), 'yyyy'), date_trunc('HOUR', now()), trunc(date'2020-01-01', 'MM'), "
        "from_unixtime(1), unix_timestamp(), timestamp_millis(1), make_date(2020, 1, 1), "
        "months_between(date'2020-01-01', date'2020-01-02'), last_day(date'2020-01-01'), "
        "from_utc_timestamp(now(), 'Europe/Berlin') FROM source"
    ),
    (
        "SELECT substring('abc', 1, 2), substring('abc' FROM 1 FOR 2), trim(BOTH 'a' FROM name), trim(LEADING"
        " FROM name), position('a' IN name), overlay('abc' PLACING 'x' FROM 1), regexp_replace(name, '(a)', "
        "'$1'), regexp_extract(name, 'a', 0), split(name, ','), concat_ws(',', name, 'x'), "
        "format_string('%s', name), lpad(name, 3, '0'), md5(name), sha2(name, 256), xxhash64(id), "
        "base64(name), hex(id), uuid(), rand(), levenshtein('a', 'b'), initcap(name), reverse(name), "
        "translate(name, 'a', 'b'), split_part('a,b', ',', 1), nvl(name, ''), coalesce(name, ''), "
        "nullif(name, ''), ifnull(name, ''), nvl2(name, 1, 2), if(id > 1, 1, 2), greatest(id, 1), least(id, "
        "1), ceil(v), floor(v, 1), round(v, 1), bround(v), abs(v), pmod(id, 2), try_divide(1, 0), try_add(1, "
        "2), isnull(id), equal_null(id, 1), monotonically_increasing_id(), spark_partition_id(), typeof(id), "
        "mask(name, upperChar => 'Q') FROM source"
    ),
    (
        "SELECT decode(id, 1, 'a', 'b'), decode(X'61', 'UTF-8'), encode('a', 'UTF-8'), to_binary('61', "
        "'hex'), aes_encrypt('abc', '0000111122223333'), url_encode('a'), parse_url('http://a/b', 'HOST'), "
        "to_char(1, '9'), to_number('1', '9'), luhn_check('1'), try_to_timestamp('x'), "
        "array_contains(array(1), id), sort_array(array(2, 1)), array_join(array('a'), ','), "
        "flatten(array(array(1))), sequence(1, 3), slice(array(1), 1, 1), arrays_zip(array(1), array(2)), "
        "map_from_entries(array(struct(1, 2))), str_to_map('a:1'), map_concat(map(1, 2)), "
        "array_insert(array(1), 1, 2), try_element_at(array(1), 1), cardinality(array(1)), shuffle(array(1)),"
        " array_except(array(1), array(2)), array_repeat(1, 2), concat(array(1), array(2)), reverse(array(1))"
        " FROM source"
    ),
    "SELECT id FROM (SELECT id FROM source ORDER BY v LIMIT 1) UNION ALL (SELECT id FROM source LIMIT 1)",
    "SELECT id FROM source LIMIT ALL",
    "SELECT `id` AS `odd name` FROM `source`",
    "select ID from SOURCE",
    (
        "SELECT first(id) OVER (ORDER BY id), last(v) OVER (ORDER BY id), nth_value(v, 2) OVER (ORDER BY id),"
        " ntile(2) OVER (ORDER BY id), cume_dist() OVER (ORDER BY id), percent_rank() OVER (ORDER BY id), "
        "rank() OVER (ORDER BY id), dense_rank() OVER (ORDER BY id), lead(v) OVER (ORDER BY id), sum(sum(v)) "
        "OVER (ORDER BY id) FROM source GROUP BY id, v"
    ),
    ("SELECT id FROM source WHERE name IN ('a','b','c','d','e','f','g','h','i','j','k','l') AND v BETWEEN 0 AND 10"),
    "SELECT (id > 1) IS UNKNOWN, (id > 1) IS NOT FALSE FROM source",
    "SELECT s.b.c AS x, s.b[0].c AS y FROM (SELECT named_struct('a', 1, 'b', array(named_struct('c', 2))) AS s)",
    "SELECT sha2(concat_ws('|', *), 256) AS h, xxhash64(*) AS x FROM source",
    "SELECT id FROM source s FULL JOIN source t USING (id)",
    "SELECT CAST(name AS CHAR(5)) AS a, CAST(name AS VARCHAR(3)) AS b FROM source",
)
