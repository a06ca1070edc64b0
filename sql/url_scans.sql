-- URL scans: a crawler's results, asked by any combination of ten fields.
--
-- All ten fields are in the primary key, each at a fixed place: strings as hashes, flags as
-- single bits. Conditions on the first fields become key ranges; conditions on the others are
-- compared on the bytes of the key, without decoding a row.
--
--   md5url    sitecode  status  code  sdate  type    free close queue  scantype  stime
--   16 bytes  8         2       2     4      4       1 (three bits)    1         8
--
-- Two scans that agree in all ten fields differ by their time, the last key column.
--
-- Run it on any database: it drops and makes only its own table.

DROP TABLE IF EXISTS url_scans;

CREATE TABLE url_scans (
    md5url   CHAR(32)  NOT NULL,             -- MD5 of the URL, in hex digits
    sitecode VARCHAR   NOT NULL,
    status   SMALLINT  NOT NULL DEFAULT -1,
    code     SMALLINT  NOT NULL,             -- HTTP status
    sdate    DATE      NOT NULL,
    type     VARCHAR   NOT NULL DEFAULT '',
    free     BOOLEAN   NOT NULL DEFAULT false,
    close    BOOLEAN   NOT NULL DEFAULT false,
    queue    BOOLEAN   NOT NULL DEFAULT false,
    scantype TINYINT   NOT NULL DEFAULT -1,
    stime    TIMESTAMP NOT NULL,
    url      VARCHAR,
    ip       VARCHAR,
    port     INTEGER,
    intime   TIMESTAMP,
    scanmemo VARCHAR,
    PRIMARY KEY (HASH(md5url, 16), HASH(sitecode, 8), status, code, sdate, HASH(type, 4),
                 free, close, queue, scantype, stime)
);

INSERT INTO url_scans (md5url, sitecode, code, sdate, stime, ip, port) VALUES
    ('ea67a96f233d6fcfd7cabc9a6a389283', '1509250008', 404, '2016-12-09', '2016-12-09 09:31:07', '192.0.2.10', 80),
    ('e6bfa0a07e773e3bab27a37f36ff221a', '5226000038', 404, '2016-12-09', '2016-12-09 11:04:52', '192.0.2.14', 80);
INSERT INTO url_scans (md5url, sitecode, code, sdate, scantype, stime, ip, port) VALUES
    ('fd38c0fb8f6e839be56b67c69ad2baa5', '3203000002', 503, '2016-12-09', 0, '2016-12-09 10:15:00', '192.0.2.11', 8080);
INSERT INTO url_scans (md5url, sitecode, code, sdate, close, stime, ip, port) VALUES
    ('cbc2c0571464621024c89aa019cd09ef', 'BT10000001', 404, '2016-12-10', true, '2016-12-10 00:00:01', '192.0.2.12', 80);
INSERT INTO url_scans (md5url, sitecode, code, sdate, free, stime, ip, port) VALUES
    ('00a18048ed95f1c057fccc8928ddf610', '1101010059', 503, '2016-12-08', true, '2016-12-08 23:59:59', '192.0.2.13', 443);

-- All scans of one URL: the first key field is fixed, so one short range answers.
EXPLAIN SELECT sdate, code, ip, port FROM url_scans
    WHERE md5url = 'fd38c0fb8f6e839be56b67c69ad2baa5';
SELECT sdate, code, ip, port FROM url_scans
    WHERE md5url = 'fd38c0fb8f6e839be56b67c69ad2baa5';

-- One URL on one site with one status and code: four fields give the range.
SELECT sdate, stime FROM url_scans
    WHERE md5url = 'ea67a96f233d6fcfd7cabc9a6a389283' AND sitecode = '1509250008'
      AND status = -1 AND code = 404;

-- Missing pages of the first December days that are not free: no condition on the first field, so
-- every key is read, and only keys. Code, day and flag are compared on key bytes.
-- Expect the scans of sites 1509250008 and 5226000038.
EXPLAIN SELECT md5url, sitecode, sdate FROM url_scans
    WHERE code = 404 AND sdate > '2016-12-01' AND sdate < '2016-12-10' AND free = false
    ORDER BY sitecode;
SELECT md5url, sitecode, sdate FROM url_scans
    WHERE code = 404 AND sdate > '2016-12-01' AND sdate < '2016-12-10' AND free = false
    ORDER BY sitecode;

-- Flags alone: one bit each. Expect the free one of 8 December and the closed one of 10 December.
EXPLAIN SELECT sitecode, free, close, queue FROM url_scans WHERE free OR close ORDER BY sitecode;
SELECT sitecode, free, close, queue FROM url_scans WHERE free OR close ORDER BY sitecode;
SELECT sitecode FROM url_scans WHERE NOT free AND NOT close AND NOT queue ORDER BY sitecode;

-- IN and BETWEEN on fields in the middle of the key: four of the five scans.
SELECT sitecode, code, sdate FROM url_scans
    WHERE code IN (404, 503) AND sdate BETWEEN '2016-12-09' AND '2016-12-10'
    ORDER BY sdate, sitecode;

-- A type of scan: only the second record has one.
SELECT sitecode FROM url_scans WHERE scantype >= 0;

-- Order on a hashed string: the hash knows nothing of order, the stored value decides.
-- Expect 3203000002 and 5226000038.
EXPLAIN SELECT sitecode FROM url_scans WHERE sitecode >= '2' AND sitecode < '6' ORDER BY sitecode;
SELECT sitecode FROM url_scans WHERE sitecode >= '2' AND sitecode < '6' ORDER BY sitecode;
SELECT md5url FROM url_scans WHERE md5url LIKE 'e%' ORDER BY md5url;
SELECT min(sitecode) AS first, max(sitecode) AS last FROM url_scans;

-- Equality on a hashed field behind an open one: compared on the hash, then on the stored value.
EXPLAIN SELECT md5url, sdate FROM url_scans WHERE sitecode = 'BT10000001';
SELECT md5url, sdate FROM url_scans WHERE sitecode = 'BT10000001';

-- "What was missing on this day?" is asked often: another field order serves it.
CREATE INDEX url_scans_by_day ON url_scans (sdate, code, status, free, close, queue);

EXPLAIN SELECT md5url, sitecode FROM url_scans
    WHERE sdate = '2016-12-09' AND code = 404 ORDER BY sitecode;
SELECT md5url, sitecode FROM url_scans
    WHERE sdate = '2016-12-09' AND code = 404 ORDER BY sitecode;

-- Counting needs the entries of the index only.
EXPLAIN SELECT count(*) AS scans FROM url_scans WHERE sdate = '2016-12-09' AND code = 404;
SELECT count(*) AS scans FROM url_scans WHERE sdate = '2016-12-09' AND code = 404;

-- Scans per day and code.
SELECT sdate, code, count(*) AS scans FROM url_scans GROUP BY sdate, code ORDER BY sdate, code;

-- The same URL again, two hours later, all ten fields equal: a second row, told apart by stime.
INSERT INTO url_scans (md5url, sitecode, code, sdate, stime, ip, port) VALUES
    ('ea67a96f233d6fcfd7cabc9a6a389283', '1509250008', 404, '2016-12-09', '2016-12-09 11:31:07', '192.0.2.10', 80);
SELECT stime, ip FROM url_scans
    WHERE md5url = 'ea67a96f233d6fcfd7cabc9a6a389283' ORDER BY stime;

-- A note about the first of them; no key field changes.
UPDATE url_scans SET scanmemo = 'seen twice'
    WHERE md5url = 'ea67a96f233d6fcfd7cabc9a6a389283' AND stime = '2016-12-09 09:31:07';
SELECT stime, scanmemo FROM url_scans
    WHERE md5url = 'ea67a96f233d6fcfd7cabc9a6a389283' ORDER BY stime;

-- Old scans go: one row and its index entry.
DELETE FROM url_scans WHERE sdate < '2016-12-09';
SELECT sdate, count(*) AS scans FROM url_scans GROUP BY sdate ORDER BY sdate;

CHECK TABLE url_scans;
