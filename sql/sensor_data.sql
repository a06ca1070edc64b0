-- Sensor data: a reading per sensor and second, newest first.
--
-- The key is a salt byte, the sensor, and the time descending: writes of all sensors spread over
-- sixteen buckets, one sensor is one bucket, and its last reading is the first key of its range.
-- An index by time answers "all sensors, this hour".
--
-- Run it on any database: it drops and makes only its own tables.

DROP TABLE IF EXISTS sensor_data;
DROP TABLE IF EXISTS sensor_hours;
DROP TABLE IF EXISTS sensor_month;
DROP TABLE IF EXISTS sensor_cells;
DROP TABLE IF EXISTS moments;

CREATE TABLE sensor_data (
    sensor VARCHAR   NOT NULL,
    ts     TIMESTAMP NOT NULL,
    value  DOUBLE PRECISION,
    PRIMARY KEY (sensor, ts DESC)
) SALT_BUCKETS = 16 ON (sensor);

CREATE INDEX time_index ON sensor_data (ts);

-- Two hours of readings of four sensors: 28,800 rows, from midnight of 1 June 2024 on.
INSERT INTO sensor_data (sensor, ts, value)
    SELECT s.sensor, CAST(to_timestamp(1717200000 + g.value) AS TIMESTAMP),
           s.base + CAST((g.value * s.step) % 40 AS DOUBLE PRECISION) / 8
    FROM generate_series(0, 7199) AS g(value)
    CROSS JOIN (VALUES ('cellar', 8, 1), ('hall', 18, 3), ('roof', -4, 7), ('yard', 2, 11))
        AS s(sensor, base, step);

-- One sensor stops an hour early, and one reading of another is lost.
DELETE FROM sensor_data WHERE sensor = 'yard' AND ts >= '2024-06-01 01:00:00';
UPDATE sensor_data SET value = NULL WHERE sensor = 'hall' AND ts = '2024-06-01 01:59:58';

-- 25,200 rows are left. Counting reads keys only.
SELECT count(*) AS readings, count(value) AS measured FROM sensor_data;

-- The last reading of one sensor: one key of one bucket.
EXPLAIN SELECT ts, value FROM sensor_data WHERE sensor = 'roof' ORDER BY ts DESC LIMIT 1;
SELECT ts, value FROM sensor_data WHERE sensor = 'roof' ORDER BY ts DESC LIMIT 1;

-- The last reading of each sensor.
EXPLAIN SELECT DISTINCT ON (sensor) sensor, ts, value FROM sensor_data ORDER BY sensor, ts DESC;
SELECT DISTINCT ON (sensor) sensor, ts, value FROM sensor_data ORDER BY sensor, ts DESC;

-- The same in other words.
SELECT sensor, ts, value FROM (
        SELECT sensor, ts, value, row_number() OVER (PARTITION BY sensor ORDER BY ts DESC) AS place
        FROM sensor_data) AS r
    WHERE place = 1 ORDER BY sensor;
SELECT sensor, max(ts) AS last FROM sensor_data GROUP BY sensor ORDER BY sensor;

-- One sensor, the last hour: one range, newest first, no sort. Here its first five readings.
EXPLAIN SELECT ts, value FROM sensor_data
    WHERE sensor = 'hall' AND ts > '2024-06-01 01:00:00' AND ts <= '2024-06-01 02:00:00'
    ORDER BY ts DESC LIMIT 5;
SELECT ts, value FROM sensor_data
    WHERE sensor = 'hall' AND ts > '2024-06-01 01:00:00' AND ts <= '2024-06-01 02:00:00'
    ORDER BY ts DESC LIMIT 5;
SELECT count(*) AS readings, min(value) AS low, avg(value) AS mean, max(value) AS high
    FROM sensor_data
    WHERE sensor = 'hall' AND ts >= '2024-06-01 00:00:00' AND ts < '2024-06-01 01:00:00';

-- All sensors, five seconds: the index by time. The yard falls silent at one o'clock.
EXPLAIN SELECT sensor, ts FROM sensor_data
    WHERE ts >= '2024-06-01 00:59:57' AND ts < '2024-06-01 01:00:02' ORDER BY ts, sensor;
SELECT sensor, ts FROM sensor_data
    WHERE ts >= '2024-06-01 00:59:57' AND ts < '2024-06-01 01:00:02' ORDER BY ts, sensor;

-- All sensors, one hour: counts and means per sensor. The yard is silent after one o'clock.
EXPLAIN SELECT sensor, count(*) AS readings, avg(value) AS mean FROM sensor_data
    WHERE ts >= '2024-06-01 01:00:00' AND ts < '2024-06-01 02:00:00'
    GROUP BY sensor ORDER BY sensor;
SELECT sensor, count(*) AS readings, avg(value) AS mean FROM sensor_data
    WHERE ts >= '2024-06-01 01:00:00' AND ts < '2024-06-01 02:00:00'
    GROUP BY sensor ORDER BY sensor;

-- What did the cellar show at half past midnight and a half second? The latest reading up to then.
EXPLAIN SELECT ts, value FROM sensor_data
    WHERE sensor = 'cellar' AND ts <= '2024-06-01 00:30:00.5' ORDER BY ts DESC LIMIT 1;
SELECT ts, value FROM sensor_data
    WHERE sensor = 'cellar' AND ts <= '2024-06-01 00:30:00.5' ORDER BY ts DESC LIMIT 1;

-- Oldest first, from a moment on: the range is read backwards.
EXPLAIN SELECT ts, value FROM sensor_data
    WHERE sensor = 'cellar' AND ts >= '2024-06-01 00:10:00' ORDER BY ts LIMIT 4;
SELECT ts, value FROM sensor_data
    WHERE sensor = 'cellar' AND ts >= '2024-06-01 00:10:00' ORDER BY ts LIMIT 4;

-- One minute of a day, said by a function of the time: still a range of the key.
EXPLAIN SELECT count(*) AS readings FROM sensor_data
    WHERE sensor = 'roof' AND date_trunc('minute', ts) = TIMESTAMP '2024-06-01 00:07:00';
SELECT count(*) AS readings FROM sensor_data
    WHERE sensor = 'roof' AND date_trunc('minute', ts) = TIMESTAMP '2024-06-01 00:07:00';

-- Keys only: no value is touched.
SELECT sensor, ts FROM sensor_data WHERE sensor IN ('hall', 'yard')
    AND ts BETWEEN '2024-06-01 00:59:58' AND '2024-06-01 01:00:01' ORDER BY sensor, ts;

-- A random sample of one in a hundred: some 252 of 25,200; none and all at the ends.
SELECT count(*) BETWEEN 150 AND 380 AS is_about_a_hundredth FROM sensor_data TABLESAMPLE BERNOULLI (1);
SELECT (SELECT count(*) FROM sensor_data TABLESAMPLE BERNOULLI (0)) AS none,
       (SELECT count(*) FROM sensor_data TABLESAMPLE BERNOULLI (100)) AS all_of_them;

-- The change from one reading to the next.
SELECT ts, value, value - lag(value) OVER (ORDER BY ts) AS change FROM sensor_data
    WHERE sensor = 'roof' AND ts >= '2024-06-01 00:00:00' AND ts < '2024-06-01 00:00:08' ORDER BY ts;

-- Readings that are missing: 1.
SELECT sensor, ts FROM sensor_data WHERE value IS NULL;

-- Figures per hour, in a table that is split in advance by month.
CREATE TABLE sensor_hours (
    hour     TIMESTAMP NOT NULL,
    sensor   VARCHAR   NOT NULL,
    readings BIGINT    NOT NULL,
    low      DOUBLE PRECISION,
    high     DOUBLE PRECISION,
    PRIMARY KEY (hour, sensor)
) SPLIT ON (TIMESTAMP '2024-02-01', TIMESTAMP '2024-03-01', TIMESTAMP '2024-04-01',
            TIMESTAMP '2024-05-01', TIMESTAMP '2024-06-01', TIMESTAMP '2024-07-01');

INSERT INTO sensor_hours (hour, sensor, readings, low, high)
    SELECT date_trunc('hour', ts), sensor, count(*), min(value), max(value)
    FROM sensor_data GROUP BY date_trunc('hour', ts), sensor;
SELECT hour, sensor, readings, low, high FROM sensor_hours ORDER BY hour, sensor;

-- A month is kept: a reading is gone, from the table and the index, thirty days after its time. Of
-- sixty daily readings thirty are there from the start: today's, and those of the 29 days before.
CREATE TABLE sensor_month (
    sensor VARCHAR   NOT NULL,
    ts     TIMESTAMP NOT NULL,
    value  DOUBLE PRECISION,
    PRIMARY KEY (sensor, ts DESC)
) SALT_BUCKETS = 16 ON (sensor), TTL = INTERVAL '30 days' FROM ts;

CREATE INDEX month_index ON sensor_month (ts);

INSERT INTO sensor_month (sensor, ts, value)
    SELECT 'cellar', CAST(to_timestamp(CAST(extract(epoch FROM now()) AS BIGINT) - 86400 * g.value) AS TIMESTAMP),
           CAST(g.value AS DOUBLE PRECISION)
    FROM generate_series(0, 59) AS g(value);

SHOW CREATE TABLE sensor_month;
SELECT count(*) AS readings, max(value) AS oldest FROM sensor_month WHERE sensor = 'cellar' AND value < 30;
SELECT count(*) AS readings FROM sensor_month WHERE ts > TIMESTAMP '2000-01-01' AND value < 30;
SELECT value FROM sensor_month WHERE sensor = 'cellar' ORDER BY ts DESC LIMIT 2;

-- Cells that are measured again and again: the last ten versions of each are kept, and none longer than a month.
CREATE TABLE sensor_cells (
    sensor VARCHAR NOT NULL,
    day    DATE    NOT NULL,
    value  DOUBLE PRECISION,
    PRIMARY KEY (sensor, day DESC)
) SALT_BUCKETS = 16 ON (sensor), VERSIONS 10, TTL = INTERVAL '30 days';

CREATE INDEX cells_by_day ON sensor_cells (day);
CREATE TABLE moments (n INTEGER PRIMARY KEY, at TIMESTAMP WITH TIME ZONE NOT NULL);

INSERT INTO sensor_cells VALUES ('cellar', '2024-06-01', 0), ('hall', '2024-06-01', 50), ('hall', '2024-06-02', 60);
INSERT INTO moments VALUES (0, now());
UPDATE sensor_cells SET value = value + 1 WHERE sensor = 'cellar';
UPDATE sensor_cells SET value = value + 1 WHERE sensor = 'cellar';
UPDATE sensor_cells SET value = value + 1 WHERE sensor = 'cellar';
UPDATE sensor_cells SET value = value + 1 WHERE sensor = 'cellar';
UPDATE sensor_cells SET value = value + 1 WHERE sensor = 'cellar';
UPDATE sensor_cells SET value = value + 1 WHERE sensor = 'cellar';
DELETE FROM sensor_cells WHERE sensor = 'hall' AND day = '2024-06-02';
INSERT INTO moments VALUES (1, now());
UPDATE sensor_cells SET value = value + 1;
UPDATE sensor_cells SET value = value + 1 WHERE sensor = 'cellar';
UPDATE sensor_cells SET value = value + 1 WHERE sensor = 'cellar';
UPDATE sensor_cells SET value = value + 1 WHERE sensor = 'cellar';
UPDATE sensor_cells SET value = value + 1 WHERE sensor = 'cellar';
UPDATE sensor_cells SET value = value + 1 WHERE sensor = 'cellar';
INSERT INTO sensor_cells VALUES ('hall', '2024-06-02', 61);

-- What is there, and what was there as of two moments of the past. Of the cellar's cell the first values are gone.
SELECT sensor, day, value FROM sensor_cells ORDER BY sensor, day;
SELECT sensor, day, value FROM sensor_cells FOR SYSTEM_TIME AS OF (SELECT at FROM moments WHERE n = 0)
    ORDER BY sensor, day;
SELECT sensor, day, value FROM sensor_cells FOR SYSTEM_TIME AS OF (SELECT at FROM moments WHERE n = 1)
    ORDER BY sensor, day;

-- All versions of one row, the newest first: ten of the cellar's. Each ends when the next begins.
EXPLAIN SELECT value FROM sensor_cells FOR SYSTEM_TIME ALL
    WHERE sensor = 'cellar' AND day = '2024-06-01' ORDER BY row_start DESC;
SELECT value, row_end IS NULL AS stands FROM sensor_cells FOR SYSTEM_TIME ALL
    WHERE sensor = 'cellar' AND day = '2024-06-01' ORDER BY row_start DESC;
SELECT count(*) AS versions, count(row_end) AS former, count(DISTINCT row_start) AS starts FROM sensor_cells
    FOR SYSTEM_TIME FROM TIMESTAMP '2024-01-01' TO TIMESTAMP '9999-12-31' WHERE sensor = 'cellar';

-- What changed between two moments: of each cell the value then and now, also where it was gone.
SELECT coalesce(o.sensor, n.sensor) AS sensor, coalesce(o.day, n.day) AS day, o.value AS was, n.value AS is_now
    FROM sensor_cells FOR SYSTEM_TIME AS OF (SELECT at FROM moments WHERE n = 1) AS o
    FULL JOIN sensor_cells AS n ON o.sensor = n.sensor AND o.day = n.day
    ORDER BY 1, 2;

-- A past moment by the index of the day, which finds the present rows and the former ones.
EXPLAIN SELECT sensor, value FROM sensor_cells FOR SYSTEM_TIME AS OF '2024-06-03 12:00:00' WHERE day = '2024-06-01';

CHECK TABLE sensor_cells;
CHECK TABLE sensor_data;
CHECK TABLE sensor_hours;
CHECK TABLE sensor_month;
