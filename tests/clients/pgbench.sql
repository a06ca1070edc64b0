-- The tables of pgbench -i -s 1, with the primary keys that Rukh's tables have from their beginning.
CREATE TABLE pgbench_branches (bid int PRIMARY KEY, bbalance int, filler char(88));
CREATE TABLE pgbench_tellers (tid int PRIMARY KEY, bid int, tbalance int, filler char(84));
CREATE TABLE pgbench_accounts (aid int PRIMARY KEY, bid int, abalance int, filler char(84));
CREATE TABLE pgbench_history (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, tid int, bid int, aid int, delta int, mtime timestamp, filler char(22));
INSERT INTO pgbench_branches (bid, bbalance) VALUES (1, 0);
INSERT INTO pgbench_tellers (tid, bid, tbalance) SELECT value, 1, 0 FROM generate_series(1, 10) AS value;
INSERT INTO pgbench_accounts (aid, bid, abalance) SELECT value, 1, 0 FROM generate_series(1, 100000) AS value;
