-- Social networks: usage per user, in families with lifetimes of their own, and counters per period.
--
-- What is known of a user on each network is a family: a column family of its own, so that a query on one network
-- never reads the other, and each is forgotten after its own time. Usage per period is open-ended: a period is no column
-- but a row of another table, whose counters are added to without being read.
--
-- Run it on any database: it drops and makes only its own tables.

DROP TABLE IF EXISTS social_users;
DROP TABLE IF EXISTS social_periods;

CREATE TABLE social_users (
    user_name      VARCHAR NOT NULL,
    facebook_id    VARCHAR,
    facebook_total BIGINT,
    twitter_id     VARCHAR,
    twitter_total  BIGINT,
    PRIMARY KEY (user_name),
    FAMILY facebook (facebook_id, facebook_total) TTL = 180 COMPRESSION = lz4,
    FAMILY twitter  (twitter_id, twitter_total)   TTL = 240
);

CREATE TABLE social_periods (
    user_name VARCHAR NOT NULL,
    network   VARCHAR NOT NULL,
    period    INTEGER NOT NULL,
    minutes   COUNTER,
    visits    COUNTER,
    PRIMARY KEY (user_name, network, period)
) SALT_BUCKETS = 8 ON (user_name);

INSERT INTO social_users VALUES
    ('dave',  'dave.f',  300, 'dave_t', 20),
    ('elton', 'elton.f', 120, NULL,     NULL),
    ('fred',  NULL,      NULL, 'fred_t', 45),
    ('mary',  'mary.f',  NULL, 'mary_t', NULL);

SHOW CREATE TABLE social_users;

-- One network: a range of one key, and one family. The other is not read.
EXPLAIN SELECT facebook_id, facebook_total FROM social_users WHERE user_name = 'dave';
SELECT facebook_id, facebook_total FROM social_users WHERE user_name = 'dave';
EXPLAIN SELECT user_name, twitter_id FROM social_users WHERE twitter_total > 10 ORDER BY user_name;
SELECT user_name, twitter_id FROM social_users WHERE twitter_total > 10 ORDER BY user_name;

-- Who is on one network only? Both families.
SELECT user_name FROM social_users WHERE (facebook_id IS NULL) <> (twitter_id IS NULL) ORDER BY user_name;

-- A family changes alone; the other keeps its time.
UPDATE social_users SET twitter_id = 'elton_t', twitter_total = 1 WHERE user_name = 'elton';
SELECT user_name, facebook_total, twitter_total FROM social_users ORDER BY user_name;

-- Usage comes in from several importers, by 1 where nothing else is said; the first of a period makes its row.
UPSERT INTO social_periods (user_name, network, period, minutes, visits)
    VALUES ('dave', 'facebook', 201510, 30, 1), ('dave', 'twitter', 201510, 5, 1), ('elton', 'facebook', 201510, 12, 1);
INSERT INTO social_periods (user_name, network, period, minutes, visits) VALUES ('dave', 'facebook', 201511, 7, 1)
    ON CONFLICT (user_name, network, period)
    DO UPDATE SET minutes = social_periods.minutes + 7, visits = social_periods.visits + 1;
INSERT INTO social_periods (user_name, network, period, minutes, visits) VALUES ('dave', 'facebook', 201511, 7, 1)
    ON CONFLICT (user_name, network, period)
    DO UPDATE SET minutes = social_periods.minutes + 7, visits = social_periods.visits + 1;
UPDATE social_periods SET visits = visits + 1
    WHERE user_name = 'dave' AND network = 'facebook' AND period = 201510;
UPDATE social_periods SET minutes = minutes + 100, visits = visits + 1
    WHERE user_name = 'dave' AND network = 'facebook' AND period = 201510;

-- A user on a network: one range, in order of the periods, however many there are.
EXPLAIN SELECT period, minutes, visits FROM social_periods
    WHERE user_name = 'dave' AND network = 'facebook' ORDER BY period;
SELECT period, minutes, visits FROM social_periods
    WHERE user_name = 'dave' AND network = 'facebook' ORDER BY period;

-- Totals go to the families, from the periods.
UPDATE social_users SET facebook_total = p.minutes
    FROM (SELECT user_name, sum(minutes) AS minutes FROM social_periods WHERE network = 'facebook'
          GROUP BY user_name) AS p
    WHERE social_users.user_name = p.user_name;
SELECT user_name, facebook_total, twitter_total FROM social_users ORDER BY user_name;

-- All users, one period, by network.
SELECT network, sum(minutes) AS minutes, sum(visits) AS visits FROM social_periods WHERE period = 201510
    GROUP BY network ORDER BY network;

CHECK TABLE social_users;
CHECK TABLE social_periods;
