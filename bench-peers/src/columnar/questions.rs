//! The questions for layouts and DuckDB: the same text for all.

use super::bars::Bar;

/// A question.
pub struct Question {
    /// Its name in the report.
    pub name: String,
    /// Its text.
    pub sql: String,
    /// How long Rukh may take by DuckDB's time, if anything is wanted of it alone.
    pub bar: Option<Bar>,
    /// Whether it is measured cold, too, and of tables in rows.
    pub everywhere: bool,
}

/// A condition on each of thirteen columns.
const CONDITIONS: [(&str, &str); 13] = [
    ("sitecode", "sitecode = '1000000000'"),
    ("md5url", "md5url < '08'"),
    ("status", "status = 1"),
    ("code", "code = 404"),
    ("sdate", "sdate = DATE '2016-12-05'"),
    ("type", "type = 'script'"),
    ("free", "free = true"),
    ("close", "close = true"),
    ("queue", "queue = true"),
    ("scantype", "scantype = 3"),
    (
        "stime",
        "stime BETWEEN TIMESTAMP '2016-12-05 00:00:00' AND TIMESTAMP '2016-12-20 00:00:00'",
    ),
    ("ip", "ip = '10.0.0.7'"),
    ("port", "port = 8080"),
];

/// Questions with a name and a bar of their own.
const NAMED: &[(&str, Option<Bar>, &str)] = &[
    (
        "count: code, sdate",
        Some(Bar::Below(1.0)),
        "SELECT count(*) FROM scans WHERE code = 404 AND sdate = DATE '2016-12-05'",
    ),
    (
        "whole rows of two conditions",
        Some(Bar::Below(1.0)),
        "SELECT sitecode, md5url, status, code, sdate, type, free, close, queue, scantype, stime, url, ip, port, intime, scanmemo
         FROM scans WHERE code = 410 AND sdate = DATE '2016-12-05' ORDER BY stime",
    ),
    (
        "range, group by two columns",
        Some(Bar::AtMost(1.5)),
        "SELECT code, status, count(*), min(port), max(port) FROM scans
         WHERE sdate BETWEEN DATE '2016-06-01' AND DATE '2016-08-31' GROUP BY code, status ORDER BY code, status",
    ),
    (
        "min and max of columns",
        None,
        "SELECT min(port), max(port), min(scantype), max(code) FROM scans",
    ),
    (
        "first 10 by a column",
        None,
        "SELECT CAST(stime AS VARCHAR) FROM scans ORDER BY scans.stime DESC LIMIT 10",
    ),
    (
        "LIKE in the middle of a text",
        None,
        "SELECT count(*) FROM scans WHERE url LIKE '%00.example/12%' AND code = 200",
    ),
    (
        "TPC-H Q1",
        Some(Bar::AtMost(1.5)),
        "SELECT l_returnflag, l_linestatus, CAST(sum(l_quantity) AS DOUBLE), CAST(sum(l_extendedprice) AS DOUBLE),
         CAST(sum(l_extendedprice * (1 - l_discount)) AS DOUBLE),
         CAST(sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS DOUBLE),
         CAST(avg(l_quantity) AS DOUBLE), CAST(avg(l_extendedprice) AS DOUBLE), CAST(avg(l_discount) AS DOUBLE), count(*)
         FROM lineitem WHERE l_shipdate <= DATE '1998-09-02'
         GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus",
    ),
    (
        "TPC-H Q6",
        Some(Bar::AtMost(1.5)),
        "SELECT CAST(sum(l_extendedprice * l_discount) AS DOUBLE) FROM lineitem
         WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01'
         AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24",
    ),
];

/// Returns all questions: those with names, then a count for every two of the thirteen columns.
pub fn all() -> Vec<Question> {
    let named = NAMED.iter().map(|(name, bar, sql)| Question {
        name: name.to_string(),
        sql: sql.split_whitespace().collect::<Vec<_>>().join(" "),
        bar: *bar,
        everywhere: true,
    });
    let pairs = CONDITIONS.iter().enumerate().flat_map(|(at, (first, one))| {
        CONDITIONS[at + 1..].iter().map(move |(second, two)| Question {
            name: format!("count: {first}, {second}"),
            sql: format!("SELECT count(*) FROM scans WHERE {one} AND {two}"),
            bar: None,
            everywhere: false,
        })
    });
    named.chain(pairs).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_two_columns_are_asked_for_once() {
        let pairs = all().into_iter().filter(|question| !question.everywhere);
        let names: std::collections::BTreeSet<String> = pairs.map(|question| question.name).collect();
        assert_eq!(names.len(), 13 * 12 / 2);
    }
}
