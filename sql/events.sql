-- Events with tiny keys: six bytes for a transaction event.
--
-- The key is a spread value from 0 to 65535 in two bytes, which keeps importers from writing to
-- one place, and the millisecond of the day in four; there is a table for each day.
--
-- A SMALLINT takes two bytes and goes from -32768 to 32767, so spread value n is stored as
-- n - 32768. Keys hold integers with the sign bit flipped: the two bytes of the key are those of
-- n itself, unsigned. TIME(3) takes four bytes.
--
-- Run it on any database: it drops and makes only its own tables.

DROP TABLE IF EXISTS events_20240601;
DROP TABLE IF EXISTS events_20240602;
DROP TABLE IF EXISTS event_statistics;

CREATE TABLE events_20240601 (
    spread SMALLINT NOT NULL,                -- spread value - 32768
    at     TIME(3)  NOT NULL,
    kind   VARCHAR  NOT NULL,
    amount DECIMAL(12, 2),
    PRIMARY KEY (spread, at)
);

CREATE TABLE events_20240602 (
    spread SMALLINT NOT NULL,
    at     TIME(3)  NOT NULL,
    kind   VARCHAR  NOT NULL,
    amount DECIMAL(12, 2),
    PRIMARY KEY (spread, at)
);

-- Figures of a day: a series number in four bytes and the minute of the day in two.
CREATE TABLE event_statistics (
    series INTEGER  NOT NULL,
    minute SMALLINT NOT NULL,                -- 0 to 1439
    events BIGINT   NOT NULL,
    amount DECIMAL(14, 2),
    PRIMARY KEY (series, minute)
);

CREATE INDEX events_20240601_by_time ON events_20240601 (at) INCLUDE (kind, amount);

INSERT INTO events_20240601 (spread, at, kind, amount) VALUES
    (0 - 32768,     '00:00:00.000', 'opened',  NULL),
    (1 - 32768,     '00:00:00.000', 'opened',  NULL),
    (40000 - 32768, '09:15:00.250', 'paid',    19.90),
    (40000 - 32768, '09:15:00.251', 'paid',    0.10),
    (65535 - 32768, '09:15:59.999', 'refused', 250.00),
    (12 - 32768,    '09:16:00.000', 'paid',    5.00),
    (513 - 32768,   '23:59:59.999', 'closed',  NULL);
INSERT INTO events_20240602 (spread, at, kind, amount) VALUES
    (40000 - 32768, '09:15:00.250', 'paid', 7.25),
    (7 - 32768,     '12:00:00.000', 'paid', 1.00);

-- One event by its whole key of six bytes.
EXPLAIN SELECT kind, amount FROM events_20240601
    WHERE spread = 40000 - 32768 AND at = '09:15:00.250';
SELECT kind, amount FROM events_20240601
    WHERE spread = 40000 - 32768 AND at = '09:15:00.250';

-- One spread value, in order of time.
SELECT at, kind, amount FROM events_20240601 WHERE spread = 40000 - 32768 ORDER BY at;

-- The ends of the spread: 0 and 65535.
SELECT spread + 32768 AS spread, at, kind FROM events_20240601
    WHERE spread <= 0 - 32768 OR spread >= 65535 - 32768 ORDER BY spread, at;

-- A quarter of the key space, as an importer would read it.
EXPLAIN SELECT spread + 32768 AS spread, at, kind FROM events_20240601
    WHERE spread >= 32768 - 32768 AND spread < 49152 - 32768 ORDER BY spread, at;
SELECT spread + 32768 AS spread, at, kind FROM events_20240601
    WHERE spread >= 32768 - 32768 AND spread < 49152 - 32768 ORDER BY spread, at;

-- All events of one minute, by the index.
EXPLAIN SELECT at, kind, amount FROM events_20240601
    WHERE at >= '09:15' AND at < '09:16' ORDER BY at;
SELECT at, kind, amount FROM events_20240601
    WHERE at >= '09:15' AND at < '09:16' ORDER BY at;

-- Two days in one question.
SELECT day, count(*) AS events, sum(amount) AS amount FROM (
        SELECT DATE '2024-06-01' AS day, amount FROM events_20240601 WHERE kind = 'paid'
        UNION ALL
        SELECT DATE '2024-06-02' AS day, amount FROM events_20240602 WHERE kind = 'paid') AS paid
    GROUP BY day ORDER BY day;

-- Figures per minute, from the events: series 1.
INSERT INTO event_statistics (series, minute, events, amount)
    SELECT 1, CAST(extract(hour FROM at) * 60 + extract(minute FROM at) AS SMALLINT),
           count(*), sum(amount)
    FROM events_20240601
    GROUP BY CAST(extract(hour FROM at) * 60 + extract(minute FROM at) AS SMALLINT);
SELECT minute, events, amount FROM event_statistics WHERE series = 1 ORDER BY minute;

-- The opening events were false. Figures are computed anew: the series' range of keys is deleted,
-- then the figures that still hold are written.
DELETE FROM events_20240601 WHERE at = '00:00:00';
DELETE FROM event_statistics WHERE series = 1;
INSERT INTO event_statistics (series, minute, events, amount)
    SELECT 1, CAST(extract(hour FROM at) * 60 + extract(minute FROM at) AS SMALLINT),
           count(*), sum(amount)
    FROM events_20240601
    GROUP BY CAST(extract(hour FROM at) * 60 + extract(minute FROM at) AS SMALLINT);
SELECT minute, events, amount FROM event_statistics WHERE series = 1 ORDER BY minute;

-- Office hours of the series: minutes 540 to 1019 are one range.
EXPLAIN SELECT sum(events) AS events, sum(amount) AS amount FROM event_statistics
    WHERE series = 1 AND minute BETWEEN 540 AND 1019;
SELECT sum(events) AS events, sum(amount) AS amount FROM event_statistics
    WHERE series = 1 AND minute BETWEEN 540 AND 1019;

CHECK TABLE events_20240601;
CHECK TABLE event_statistics;
