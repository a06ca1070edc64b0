-- Flights: three million departures in the United States, January to June 2001.
--
-- The data are flights-3m.parquet of vega-datasets; `make data` puts it into data/. A record has
-- no name of its own: a few are there twice, equal in every field. So each gets the number of its
-- row in the file, and the key is departure, route, number. Two more orders serve the questions
-- about routes and arrivals, and a partial index holds the very late ones only.
--
-- Run it from the directory that holds data/. It drops and makes only its own table.

DROP TABLE IF EXISTS flights;

CREATE TABLE flights (
    id          INTEGER   NOT NULL,          -- row of the file, from 1
    date        TIMESTAMP NOT NULL,          -- departure, to the minute
    delay       SMALLINT  NOT NULL,          -- minutes at arrival, negative when early
    distance    SMALLINT  NOT NULL,          -- miles
    origin      CHAR(3)   NOT NULL,
    destination CHAR(3)   NOT NULL,
    PRIMARY KEY (date, origin, destination, id)
);

COPY flights (date, delay, distance, origin, destination)
    FROM 'data/flights-3m.parquet' WITH (FORMAT parquet, ROW_NUMBER id);

CREATE INDEX flights_by_route ON flights (origin, destination, date) INCLUDE (delay);
CREATE INDEX flights_by_arrival ON flights (destination, date) INCLUDE (delay);
CREATE INDEX flights_very_late ON flights (delay DESC) WHERE delay >= 180;

ANALYZE flights;

-- 1. How many, from when to when? 3,000,000 from the first minute of the year to 1 July.
SELECT count(*) AS flights, min(date) AS first, max(date) AS last FROM flights;

-- 2. One route in one week: a range of flights_by_route.
EXPLAIN SELECT date, delay FROM flights
    WHERE origin = 'LAX' AND destination = 'LAS' AND date >= '2001-03-05' AND date < '2001-03-12'
    ORDER BY date, id LIMIT 10;
SELECT date, delay FROM flights
    WHERE origin = 'LAX' AND destination = 'LAS' AND date >= '2001-03-05' AND date < '2001-03-12'
    ORDER BY date, id LIMIT 10;
SELECT count(*) AS flights, min(delay) AS earliest, max(delay) AS latest FROM flights
    WHERE origin = 'LAX' AND destination = 'LAS' AND date >= '2001-03-05' AND date < '2001-03-12';

-- 3. All departures in one hour, the one after midnight: a range of the primary key.
EXPLAIN SELECT date, origin, destination, delay FROM flights
    WHERE date >= '2001-05-01 00:00' AND date < '2001-05-01 01:00'
    ORDER BY date, origin, destination, id;
SELECT date, origin, destination, delay FROM flights
    WHERE date >= '2001-05-01 00:00' AND date < '2001-05-01 01:00'
    ORDER BY date, origin, destination, id;

-- 4. The busiest airports of one hour.
SELECT origin, count(*) AS departures FROM flights
    WHERE date >= '2001-05-01 08:00' AND date < '2001-05-01 09:00'
    GROUP BY origin ORDER BY departures DESC, origin LIMIT 10;

-- 5. The worst delays of a day.
EXPLAIN SELECT delay, date, origin, destination FROM flights
    WHERE date >= '2001-02-14' AND date < '2001-02-15' ORDER BY delay DESC, date, id LIMIT 10;
SELECT delay, date, origin, destination FROM flights
    WHERE date >= '2001-02-14' AND date < '2001-02-15' ORDER BY delay DESC, date, id LIMIT 10;

-- 6. The worst delays of all: the partial index has them in order, and the scan stops after ten.
EXPLAIN SELECT delay, date, origin, destination FROM flights
    WHERE delay >= 180 ORDER BY delay DESC, date, origin, destination, id LIMIT 10;
SELECT delay, date, origin, destination FROM flights
    WHERE delay >= 180 ORDER BY delay DESC, date, origin, destination, id LIMIT 10;

-- 7. How many were very late, by origin?
SELECT origin, count(*) AS flights FROM flights
    WHERE delay >= 600 GROUP BY origin ORDER BY flights DESC, origin LIMIT 5;

-- 8. Arrivals at one airport of flights that left in one half hour.
EXPLAIN SELECT date, origin, delay FROM flights
    WHERE destination = 'SEA' AND date >= '2001-06-30 12:00' AND date < '2001-06-30 12:30'
    ORDER BY date, origin, id;
SELECT date, origin, delay FROM flights
    WHERE destination = 'SEA' AND date >= '2001-06-30 12:00' AND date < '2001-06-30 12:30'
    ORDER BY date, origin, id;

-- 9. The last departure on a route: one key, read from the end of the range.
EXPLAIN SELECT date, delay FROM flights
    WHERE origin = 'SFO' AND destination = 'LAX' ORDER BY date DESC, id DESC LIMIT 1;
SELECT date, delay FROM flights
    WHERE origin = 'SFO' AND destination = 'LAX' ORDER BY date DESC, id DESC LIMIT 1;

-- 10. Three routes on one morning.
EXPLAIN SELECT origin, destination, date, delay FROM flights
    WHERE origin = 'JFK' AND destination IN ('SEA', 'SFO', 'LAX')
      AND date >= '2001-04-02' AND date < '2001-04-02 09:00'
    ORDER BY origin, destination, date, id;
SELECT origin, destination, date, delay FROM flights
    WHERE origin = 'JFK' AND destination IN ('SEA', 'SFO', 'LAX')
      AND date >= '2001-04-02' AND date < '2001-04-02 09:00'
    ORDER BY origin, destination, date, id;

-- 11. Where can one fly to from Anchorage?
EXPLAIN SELECT DISTINCT destination FROM flights WHERE origin = 'ANC' ORDER BY destination;
SELECT DISTINCT destination FROM flights WHERE origin = 'ANC' ORDER BY destination;

-- 12. Flights a day in the first week of June.
SELECT date_trunc('day', date) AS day, count(*) AS flights FROM flights
    WHERE date >= '2001-06-01' AND date < '2001-06-08'
    GROUP BY date_trunc('day', date) ORDER BY day;

-- 13. Delays by hour of departure at one airport, in whole minutes.
SELECT CAST(extract(hour FROM date) AS INTEGER) AS hour, count(*) AS flights,
       sum(delay) / count(*) AS mean_delay
    FROM flights WHERE origin = 'ORD'
    GROUP BY CAST(extract(hour FROM date) AS INTEGER) ORDER BY hour;

-- 14. The ten busiest routes.
SELECT origin, destination, count(*) AS flights FROM flights
    GROUP BY origin, destination ORDER BY flights DESC, origin, destination LIMIT 10;

-- 15. Punctuality of the routes out of Juneau: per cent of flights at most 15 minutes late.
SELECT destination, count(*) AS flights,
       100 * sum(CASE WHEN delay <= 15 THEN 1 ELSE 0 END) / count(*) AS punctual
    FROM flights WHERE origin = 'JNU' GROUP BY destination ORDER BY destination;

-- 16. There and back on one day: the second flight leaves after the first has.
SELECT count(*) AS pairs FROM flights a
    JOIN flights b ON b.origin = a.destination AND b.destination = a.origin AND b.date > a.date
    WHERE a.origin = 'BOS' AND a.destination = 'ORD'
      AND a.date >= '2001-01-15' AND a.date < '2001-01-16'
      AND b.date >= '2001-01-15' AND b.date < '2001-01-16';

-- 17. A page of departures, after the last key of the page before.
EXPLAIN SELECT date, origin, destination, id FROM flights
    WHERE (date, origin, destination, id) > (TIMESTAMP '2001-01-01 00:01', 'LAS', 'PHL', 1)
    ORDER BY date, origin, destination, id LIMIT 5;
SELECT date, origin, destination, id FROM flights
    WHERE (date, origin, destination, id) > (TIMESTAMP '2001-01-01 00:01', 'LAS', 'PHL', 1)
    ORDER BY date, origin, destination, id LIMIT 5;

-- 18. The long ones among the departures of a night: distance is compared on the rows.
SELECT date, origin, destination, distance FROM flights
    WHERE date >= '2001-03-01 00:00' AND date < '2001-03-01 05:00' AND distance > 2500
    ORDER BY date, origin, destination, id;

-- 19. One origin at the turn of a month: the range is given by time, the origin compared by mask.
EXPLAIN SELECT date, destination FROM flights
    WHERE date >= '2001-05-31 23:30' AND date < '2001-06-01 00:30' AND origin = 'PHX'
    ORDER BY date, destination, id;
SELECT date, destination FROM flights
    WHERE date >= '2001-05-31 23:30' AND date < '2001-06-01 00:30' AND origin = 'PHX'
    ORDER BY date, destination, id;

-- 20. Records that are there twice, whatever their number in the file.
SELECT count(*) AS doubles FROM (
    SELECT date, origin, destination, delay, distance FROM flights
    GROUP BY date, origin, destination, delay, distance HAVING count(*) > 1) AS d;
