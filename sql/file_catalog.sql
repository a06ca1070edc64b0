-- File catalog: files of users, asked by owner and time.
--
-- The key is owner, day, id: 12 bytes. A user's files of a month are one key range, and a page
-- of them starts where the last one ended.
--
-- Run it on any database: it drops and makes only its own tables.

DROP TABLE IF EXISTS files;
DROP TABLE IF EXISTS users;

CREATE TABLE users (
    id   INTEGER NOT NULL PRIMARY KEY,
    name VARCHAR NOT NULL
);

CREATE UNIQUE INDEX users_by_name ON users (name);

CREATE TABLE files (
    owner    INTEGER NOT NULL,
    created  DATE    NOT NULL,
    id       INTEGER NOT NULL,
    name     VARCHAR NOT NULL,
    category VARCHAR NOT NULL,
    cover    BYTEA,                          -- a picture or a document, up to 10 MB
    PRIMARY KEY (owner, created, id)
);

-- Ids are unique over all owners.
CREATE UNIQUE INDEX files_by_id ON files (id);

INSERT INTO users (id, name) VALUES
    (1, '浙江卫视'),
    (2, '好声音剧组'),
    (3, 'XX微博'),
    (4, '赞助商');

INSERT INTO files (id, created, name, category, owner) VALUES
    (1,  '2012-09-02', '中国好声音第1期',     '综艺',     1),
    (2,  '2012-09-04', '中国好声音第2期',     '综艺',     1),
    (3,  '2012-09-06', '中国好声音外卡赛',    '综艺',     1),
    (4,  '2012-09-08', '中国好声音第3期',     '综艺',     1),
    (5,  '2012-09-10', '中国好声音第4期',     '综艺',     1),
    (6,  '2012-09-12', '中国好声音选手采访',  '综艺花絮', 2),
    (7,  '2012-09-14', '中国好声音第5期',     '综艺',     1),
    (8,  '2012-09-16', '中国好声音录制花絮',  '综艺花絮', 2),
    (9,  '2012-09-18', '张玮独家专访',        '花絮',     3),
    (10, '2012-09-20', '加多宝凉茶广告',      '综艺广告', 4);

-- The question: 浙江卫视's files of September whose names start with 中国好声音 and whose
-- categories start with 综艺. The join gives the owner's number, the key gives the range, the
-- prefixes are checked on the rows of that range. Expect files 1, 2, 3, 4, 5, 7.
EXPLAIN SELECT f.id, f.created, f.name, f.category
    FROM files f JOIN users u ON u.id = f.owner
    WHERE u.name = '浙江卫视'
      AND f.created >= '2012-09-01' AND f.created < '2012-10-01'
      AND f.name LIKE '中国好声音%' AND f.category LIKE '综艺%'
    ORDER BY f.id;
SELECT f.id, f.created, f.name, f.category
    FROM files f JOIN users u ON u.id = f.owner
    WHERE u.name = '浙江卫视'
      AND f.created >= '2012-09-01' AND f.created < '2012-10-01'
      AND f.name LIKE '中国好声音%' AND f.category LIKE '综艺%'
    ORDER BY f.id;

-- With the owner's number known, one range.
EXPLAIN SELECT id, name FROM files
    WHERE owner = 1 AND created >= '2012-09-01' AND created < '2012-10-01'
      AND starts_with(name, '中国好声音') AND starts_with(category, '综艺')
    ORDER BY created, id;
SELECT id, name FROM files
    WHERE owner = 1 AND created >= '2012-09-01' AND created < '2012-10-01'
      AND starts_with(name, '中国好声音') AND starts_with(category, '综艺')
    ORDER BY created, id;

-- An inclusive end does not lose file 7, which was made on that day.
EXPLAIN SELECT id, created FROM files
    WHERE owner = 1 AND created BETWEEN '2012-09-08' AND '2012-09-14' ORDER BY created, id;
SELECT id, created FROM files
    WHERE owner = 1 AND created BETWEEN '2012-09-08' AND '2012-09-14' ORDER BY created, id;

-- An exclusive end does: 4 and 5 only.
SELECT id, created FROM files
    WHERE owner = 1 AND created >= '2012-09-08' AND created < '2012-09-14' ORDER BY created, id;

-- The newest three files of an owner: 7, 5, 4. The range is read backwards and stops.
EXPLAIN SELECT id, created, name FROM files WHERE owner = 1 ORDER BY created DESC, id DESC LIMIT 3;
SELECT id, created, name FROM files WHERE owner = 1 ORDER BY created DESC, id DESC LIMIT 3;

-- Paging: each page starts after the last key of the page before, wherever that was.
-- First page: files 1, 2, 3.
SELECT owner, created, id, name FROM files ORDER BY owner, created, id LIMIT 3;
-- Second page: files 4, 5, 7.
EXPLAIN SELECT owner, created, id, name FROM files
    WHERE (owner, created, id) > (1, DATE '2012-09-06', 3) ORDER BY owner, created, id LIMIT 3;
SELECT owner, created, id, name FROM files
    WHERE (owner, created, id) > (1, DATE '2012-09-06', 3) ORDER BY owner, created, id LIMIT 3;
-- Third page goes on to other owners: files 6, 8, 9.
SELECT owner, created, id, name FROM files
    WHERE (owner, created, id) > (1, DATE '2012-09-14', 7) ORDER BY owner, created, id LIMIT 3;

-- Whole rows in a batch, by global id.
EXPLAIN SELECT id, owner, created, name, category FROM files WHERE id IN (9, 1, 4, 77) ORDER BY id;
SELECT id, owner, created, name, category FROM files WHERE id IN (9, 1, 4, 77) ORDER BY id;

-- Everything whose category starts with 综艺, by an index on it: 1 to 8 and 10.
CREATE INDEX files_by_category ON files (category, created DESC) INCLUDE (name);
EXPLAIN SELECT category, created, name FROM files
    WHERE category LIKE '综艺%' ORDER BY category, created DESC;
SELECT category, created, name FROM files
    WHERE category LIKE '综艺%' ORDER BY category, created DESC;

-- Files per owner, owners without files would show 0.
SELECT u.name, count(f.id) AS files, min(f.created) AS first, max(f.created) AS last
    FROM users u LEFT JOIN files f ON f.owner = u.id
    GROUP BY u.id, u.name ORDER BY u.id;

-- Who has no file in the second half of the month? 浙江卫视.
SELECT u.id, u.name FROM users u
    WHERE NOT EXISTS (SELECT 1 FROM files f WHERE f.owner = u.id AND f.created > '2012-09-15')
    ORDER BY u.id;

-- Covers: bytes in, the same bytes out. Reading other columns does not touch them.
UPDATE files SET cover = '\x89504e470d0a1a0a00ff' WHERE id = 1;
UPDATE files SET cover = '\x255044462d312e3700' WHERE id = 10;
SELECT id, cover FROM files WHERE cover IS NOT NULL ORDER BY id;
SELECT id, octet_length(cover) AS bytes FROM files WHERE cover IS NOT NULL ORDER BY id;

-- A file changes hands: the key changes, the entry of every index follows.
UPDATE files SET owner = 4 WHERE id = 9;
SELECT owner, id, name FROM files WHERE owner IN (3, 4) ORDER BY id;
SELECT id, owner FROM files WHERE id = 9;

CHECK TABLE files;
CHECK TABLE users;
