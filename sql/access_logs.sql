-- Access logs: the minutes a user spent on a system in a month.
--
-- Kept as (system, user, period), the log answers "this user on this system" at once, and "who
-- used anything in October 2015" only by reading every row. Indexes keep the same rows in the
-- two other orders; a row and its index entries always change together.
--
-- Run it on any database: it drops and makes only its own tables.

DROP TABLE IF EXISTS access_logs;
DROP TABLE IF EXISTS access_logs_hashed;
DROP TABLE IF EXISTS access_logs_salted;

CREATE TABLE access_logs (
    system_id VARCHAR NOT NULL,
    user_id   VARCHAR NOT NULL,
    period    INTEGER NOT NULL,             -- year and month: 201510
    minutes   BIGINT  NOT NULL DEFAULT 0,
    PRIMARY KEY (system_id, user_id, period)
);

-- "Who used anything in this month?" The entry holds the minutes too, so no row is looked up.
CREATE INDEX access_logs_by_period ON access_logs (period, system_id, user_id) INCLUDE (minutes);

-- "What did this user do?" The minutes come from the rows: one lookup for each entry found.
CREATE INDEX access_logs_by_user ON access_logs (user_id, period DESC);

UPSERT INTO access_logs (system_id, user_id, period, minutes) VALUES
    ('jericho', 'dave',  201510, 35),
    ('jericho', 'elton', 201510, 100),
    ('discus',  'elton', 201511, 1),
    ('jericho', 'fred',  201510, 7);

-- How long was dave on jericho in October? A point lookup by the primary key: 35.
EXPLAIN SELECT minutes FROM access_logs
    WHERE system_id = 'jericho' AND user_id = 'dave' AND period = 201510;
SELECT minutes FROM access_logs
    WHERE system_id = 'jericho' AND user_id = 'dave' AND period = 201510;

-- Who uses jericho? One range of the primary key: dave, elton, fred.
SELECT user_id, period, minutes FROM access_logs
    WHERE system_id = 'jericho' ORDER BY user_id, period;

-- Who used anything in October 2015? One range of access_logs_by_period, which covers the
-- question: dave, elton and fred, all on jericho.
EXPLAIN SELECT system_id, user_id, minutes FROM access_logs
    WHERE period = 201510 ORDER BY system_id, user_id;
SELECT system_id, user_id, minutes FROM access_logs
    WHERE period = 201510 ORDER BY system_id, user_id;

-- The same rows without help of keys: every row is read.
EXPLAIN SELECT /*+ FULL_SCAN */ system_id, user_id, minutes FROM access_logs
    WHERE period = 201510 ORDER BY system_id, user_id;
SELECT /*+ FULL_SCAN */ system_id, user_id, minutes FROM access_logs
    WHERE period = 201510 ORDER BY system_id, user_id;

-- Everything elton did, latest first: discus in November, jericho in October.
SELECT period, system_id, minutes FROM access_logs
    WHERE user_id = 'elton' ORDER BY period DESC, system_id;

-- Autumn, for two users: two ranges of an index.
EXPLAIN SELECT user_id, period, system_id FROM access_logs
    WHERE user_id IN ('dave', 'elton') AND period BETWEEN 201509 AND 201511
    ORDER BY user_id, period DESC, system_id;
SELECT user_id, period, system_id FROM access_logs
    WHERE user_id IN ('dave', 'elton') AND period BETWEEN 201509 AND 201511
    ORDER BY user_id, period DESC, system_id;

-- How many users has each month? 3 in October, 1 in November. Keys alone answer.
SELECT period, count(*) AS users FROM access_logs GROUP BY period ORDER BY period;

-- How busy is each system? discus 1 minute, jericho 142.
SELECT system_id, sum(minutes) AS minutes, count(DISTINCT user_id) AS users
    FROM access_logs GROUP BY system_id ORDER BY system_id;

-- Each user's share of a system's minutes.
SELECT system_id, user_id, minutes,
       sum(minutes) OVER (PARTITION BY system_id) AS system_minutes
    FROM access_logs ORDER BY system_id, user_id;

-- Fred worked on: an UPSERT replaces the minutes of the row with the same key.
UPSERT INTO access_logs (system_id, user_id, period, minutes) VALUES ('jericho', 'fred', 201510, 107);
SELECT minutes FROM access_logs
    WHERE system_id = 'jericho' AND user_id = 'fred' AND period = 201510;

-- The index changed with the row: 107 here too.
SELECT user_id, minutes FROM access_logs WHERE period = 201510 AND user_id = 'fred';

-- A month moves: the key changes, and with it both index entries.
UPDATE access_logs SET period = 201512 WHERE system_id = 'discus' AND user_id = 'elton';
SELECT period, system_id, user_id FROM access_logs ORDER BY period, system_id, user_id;
UPDATE access_logs SET period = 201511 WHERE system_id = 'discus' AND user_id = 'elton';

-- Rows and entries agree: nothing missing, nothing dangling.
CHECK TABLE access_logs;

-- The same log behind a hash of the user. Users are spread over the key space by the first bytes
-- of their MD5, so new rows do not all land in one place, and each of sixteen ranges, split in
-- advance by the first hex digit, takes its share.
CREATE TABLE access_logs_hashed (
    user_id   VARCHAR NOT NULL,
    system_id VARCHAR NOT NULL,
    period    INTEGER NOT NULL,
    minutes   BIGINT  NOT NULL DEFAULT 0,
    PRIMARY KEY (HASH(user_id, 4), user_id, system_id, period)
) SPLIT ON (x'10', x'20', x'30', x'40', x'50', x'60', x'70', x'80',
            x'90', x'a0', x'b0', x'c0', x'd0', x'e0', x'f0');

INSERT INTO access_logs_hashed (user_id, system_id, period, minutes)
    SELECT user_id, system_id, period, minutes FROM access_logs;

-- The hashes: dave 16108, elton d5fe7, fred 570a9.
SELECT DISTINCT user_id, substr(md5(user_id), 1, 5) AS hash FROM access_logs_hashed ORDER BY user_id;

-- One user is still one range: the hash follows from the name.
EXPLAIN SELECT system_id, period, minutes FROM access_logs_hashed
    WHERE user_id = 'elton' ORDER BY system_id, period;
SELECT system_id, period, minutes FROM access_logs_hashed
    WHERE user_id = 'elton' ORDER BY system_id, period;

-- A range of names says nothing about hashes: all rows are read, and the answer is right.
EXPLAIN SELECT user_id, system_id, period FROM access_logs_hashed
    WHERE user_id > 'dave' ORDER BY user_id, system_id, period;
SELECT user_id, system_id, period FROM access_logs_hashed
    WHERE user_id > 'dave' ORDER BY user_id, system_id, period;

-- The same log, salted: one leading byte, computed from the user, spreads rows over 16 buckets.
CREATE TABLE access_logs_salted (
    period    INTEGER NOT NULL,
    system_id VARCHAR NOT NULL,
    user_id   VARCHAR NOT NULL,
    minutes   BIGINT  NOT NULL DEFAULT 0,
    PRIMARY KEY (period, system_id, user_id)
) SALT_BUCKETS = 16 ON (user_id);

INSERT INTO access_logs_salted (period, system_id, user_id, minutes)
    SELECT period, system_id, user_id, minutes FROM access_logs;

-- With the user, one bucket is read.
EXPLAIN SELECT minutes FROM access_logs_salted WHERE period = 201510 AND user_id = 'elton';
SELECT minutes FROM access_logs_salted WHERE period = 201510 AND user_id = 'elton';

-- Without it, sixteen short ranges; the rows come back in key order all the same.
EXPLAIN SELECT system_id, user_id FROM access_logs_salted
    WHERE period = 201510 ORDER BY system_id, user_id;
SELECT system_id, user_id FROM access_logs_salted
    WHERE period = 201510 ORDER BY system_id, user_id;

CHECK TABLE access_logs_hashed;
CHECK TABLE access_logs_salted;
