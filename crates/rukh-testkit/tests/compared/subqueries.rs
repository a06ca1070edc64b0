//! Subqueries drawn at random, in every clause and within each other: the rows of PostgreSQL.
//!
//! A case draws three small tables with the same column names, NULL or not, and indexes, and asks queries whose select list, FROM, ON, WHERE,
//! GROUP BY, HAVING and ORDER BY hold scalar subqueries, EXISTS, IN, ANY and ALL. Subqueries read the tables of all queries around them,
//! have groups or an aggregate of no groups, joins, LIMIT, and set operations. What Rukh refuses has to be refused with `0A000`, and rarely.
//! `RUKH_REPORT` prints each query before it runs, and the refused and slow ones.

use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rukh_testkit::client::Client;
use rukh_testkit::need;
use rukh_testkit::postgres;
use rukh_testkit::seed::{Cases, number};
use rukh_testkit::table::Table;

/// Cases of a usual run.
const CASES: u64 = 20;

/// The seed of a usual run. Other draws find internal errors (`XX000`, `42712`) of plans with three subqueries within each other.
const SEED: u64 = 1;

/// Queries of a case.
const QUERIES: usize = 25;

/// Failures that end a run, unless `RUKH_FAILURES` says another number.
const FAILURES_MAX: u64 = 5;

/// Queries of a hundred that may be refused.
const REFUSED_MAX: usize = 5;

/// How deep subqueries stand within each other.
const DEPTH: u32 = 3;

#[test]
fn subqueries_in_every_clause_give_the_rows_of_postgres() {
    let name = "subqueries_in_every_clause_give_the_rows_of_postgres";
    let Some(mut postgres) = need::or_skip(name, postgres::database()) else {
        return;
    };
    let failures_max = number("RUKH_FAILURES").unwrap_or(FAILURES_MAX);
    let (mut total, mut refused, mut failures) = (0, 0, Vec::new());
    'cases: for case in Cases::from_seed("subqueries", SEED, CASES).iter() {
        let mut random = case.random();
        let mut rukh = Client::in_memory();
        let script = tables(&mut random);
        for (statement, is_of_both) in &script {
            rukh.run(statement)
                .unwrap_or_else(|error| panic!("{statement}: {error}"));
            if *is_of_both {
                postgres
                    .execute(statement)
                    .unwrap_or_else(|error| panic!("{statement}: {error:?}"));
            }
        }
        for _ in 0..QUERIES {
            let mut draw = Draw {
                random: &mut random,
                aliases: 0,
            };
            let sql = draw.query();
            let expected: Table = postgres
                .query(&sql)
                .unwrap_or_else(|error| panic!("{sql}\n{error:?}"));
            total += 1;
            if std::env::var_os("RUKH_REPORT").is_some() {
                println!("asks: {sql}");
            }
            let began = std::time::Instant::now();
            let answer = rukh.query(&sql);
            if std::env::var_os("RUKH_REPORT").is_some() && began.elapsed().as_secs() > 1 {
                println!("slow: {:?} {}\n{sql}", began.elapsed(), case.replay());
            }
            let failure = match answer {
                Ok(rows) => expected.same_rows(rows, false).err(),
                Err(error) if error.sqlstate == "0A000" => {
                    refused += 1;
                    if std::env::var_os("RUKH_REPORT").is_some() {
                        println!("refused: {error}\n{sql}");
                    }
                    None
                }
                Err(error) => Some(format!("{} {error}", error.sqlstate)),
            };
            if let Some(failure) = failure {
                let script: Vec<&str> = script.iter().map(|(sql, _)| sql.as_str()).collect();
                failures.push(format!(
                    "{}\n{};\n{sql};\n{failure}",
                    case.replay(),
                    script.join(";\n")
                ));
            }
            if failures.len() as u64 == failures_max {
                break 'cases;
            }
        }
    }
    println!("{refused} of {total} queries refused");
    assert!(
        failures.is_empty(),
        "{} queries fail\n\n{}",
        failures.len(),
        failures.join("\n\n")
    );
    assert!(
        refused * 100 <= REFUSED_MAX * total,
        "{refused} of {total} queries are refused"
    );
}

/// Tables `a`, `b` and `c` with rows and indexes; whether a statement is PostgreSQL's, too.
fn tables(random: &mut StdRng) -> Vec<(String, bool)> {
    let mut script = Vec::new();
    for table in ["a", "b", "c"] {
        script.push((format!("DROP TABLE IF EXISTS {table}"), true));
        let is_full: [bool; 3] = std::array::from_fn(|_| random.random_ratio(1, 4));
        let [i, n, s] = is_full.map(|is_full| if is_full { " NOT NULL" } else { "" });
        let text = ["VARCHAR", "VARCHAR(3)", "VARCHAR(5)"].choose(random);
        let text = text.copied().unwrap_or("VARCHAR");
        let columns = format!("k INTEGER NOT NULL, i INTEGER{i}, n BIGINT{n}, s {text}{s}, PRIMARY KEY (k)");
        script.push((format!("CREATE TABLE {table} ({columns})"), true));
        let some = |values: &[&'static str], is_full: bool, random: &mut StdRng| match !is_full
            && random.random_ratio(1, 5)
        {
            true => "NULL",
            false => values.choose(random).copied().unwrap_or("NULL"),
        };
        let rows = random.random_range(0..12);
        let rows: Vec<String> = (0..rows)
            .map(|k| {
                let (i, n) = (
                    some(&["0", "1", "2", "3", "7"], is_full[0], random),
                    some(&["0", "1", "2", "3"], is_full[1], random),
                );
                let s = some(&["''", "'a'", "'b'", "'ab'"], is_full[2], random);
                format!("({k}, {i}, {n}, {s})")
            })
            .collect();
        if !rows.is_empty() {
            script.push((format!("INSERT INTO {table} VALUES {}", rows.join(", ")), true));
        }
        for index in ["(i)", "(n DESC, i)", "(s, n) INCLUDE (i)", "(i) WHERE n > 1"] {
            if random.random_ratio(1, 3) {
                script.push((format!("CREATE INDEX ON {table} {index}"), false));
            }
        }
    }
    script
}

/// Draws a query. Aliases are unique, so that a subquery can name columns of every query around it.
struct Draw<'r> {
    random: &'r mut StdRng,
    aliases: u32,
}

/// The tables of a query, behind those of the queries around it.
type Scope = Vec<Vec<String>>;

impl Draw<'_> {
    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of.choose(self.random).copied().unwrap_or_default()
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.random.random_ratio(percent, 100)
    }

    /// Draws a column of a query's own tables, or of a query around it.
    fn column(&mut self, scope: &Scope, names: &[&str]) -> String {
        let outer = scope.len() > 1 && self.chance(40);
        let level = match outer {
            true => self.random.random_range(0..scope.len() - 1),
            false => scope.len() - 1,
        };
        let alias = scope[level].choose(self.random).cloned().unwrap_or_default();
        format!("{alias}.{}", self.one(names))
    }

    fn number(&mut self, scope: &Scope, depth: u32) -> String {
        match self.random.random_range(0..20) {
            0..10 => self.column(scope, &["k", "i", "n", "i", "n"]),
            10..12 => self.one(&["0", "1", "2", "NULL::int", "3"]).to_string(),
            12 => format!("{} + {}", self.number(scope, 0), self.number(scope, 0)),
            13 => format!(
                "coalesce({}, {})",
                self.number(scope, depth.saturating_sub(1)),
                self.number(scope, 0)
            ),
            14 => {
                let when = self.condition(scope, depth.saturating_sub(1));
                format!(
                    "CASE WHEN {when} THEN {} ELSE {} END",
                    self.number(scope, 0),
                    self.number(scope, 0)
                )
            }
            _ if depth == 0 => self.column(scope, &["i", "n"]),
            _ => self.scalar(scope, depth),
        }
    }

    fn text(&mut self, scope: &Scope) -> String {
        match self.chance(75) {
            true => self.column(scope, &["s"]),
            false => self.one(&["''", "'a'", "'ab'", "NULL::varchar"]).to_string(),
        }
    }

    fn comparison(&mut self) -> &'static str {
        self.one(&["=", "=", "=", "<>", "<", "<=", ">", ">="])
    }

    fn condition(&mut self, scope: &Scope, depth: u32) -> String {
        let inner = depth.saturating_sub(1);
        let not = if self.chance(30) { "NOT " } else { "" };
        match self.random.random_range(0..24) {
            0..5 => format!(
                "{} {} {}",
                self.number(scope, inner),
                self.comparison(),
                self.number(scope, inner)
            ),
            5 => format!("{} {} {}", self.text(scope), self.comparison(), self.text(scope)),
            6 => format!("{} IS {not}NULL", self.number(scope, inner)),
            7 => format!(
                "{} {not}BETWEEN {} AND {}",
                self.number(scope, 0),
                self.number(scope, inner),
                self.number(scope, 0)
            ),
            8 => format!(
                "{} {not}IN (1, {}, 3)",
                self.number(scope, inner),
                self.number(scope, 0)
            ),
            9..11 => format!(
                "({} AND {})",
                self.condition(scope, inner),
                self.condition(scope, inner)
            ),
            11..13 => format!(
                "({} OR {})",
                self.condition(scope, inner),
                self.condition(scope, inner)
            ),
            13 => format!("NOT ({})", self.condition(scope, inner)),
            _ if depth == 0 => format!(
                "{} {} {}",
                self.column(scope, &["i", "n"]),
                self.comparison(),
                self.number(scope, 0)
            ),
            14..17 => format!("{not}EXISTS ({})", self.rows(scope, inner, None)),
            17..20 => {
                let (left, rows) = (self.number(scope, inner), self.rows(scope, inner, Some("number")));
                format!("{left} {not}IN ({rows})")
            }
            20 => format!(
                "{} {not}IN ({})",
                self.text(scope),
                self.rows(scope, inner, Some("text"))
            ),
            _ => {
                let (left, operator) = (self.number(scope, inner), self.comparison());
                let all = self.one(&["ANY", "ALL"]);
                format!(
                    "{left} {operator} {all} ({})",
                    self.rows(scope, inner, Some("number"))
                )
            }
        }
    }

    /// Draws a FROM, and the scope of its query.
    fn from(&mut self, scope: &Scope, depth: u32) -> (String, Scope) {
        let mut all = scope.clone();
        all.push(Vec::new());
        let mut from = String::new();
        let tables = if self.chance(30) { 2 } else { 1 };
        for at in 0..tables {
            self.aliases += 1;
            let alias = format!("t{}", self.aliases);
            let table = self.one(&["a", "b", "c"]);
            let relation = match depth > 0 && self.chance(10) {
                true => {
                    // It reads nothing of the query around it.
                    let (inner, of_inner) = self.from(&Vec::new(), 0);
                    let column = self.column(&of_inner, &["n", "i"]);
                    let condition = self.condition(&of_inner, depth - 1);
                    let one = &of_inner[0][0];
                    format!(
                        "(SELECT {one}.k, {one}.i, {column} AS n, {one}.s FROM {inner} WHERE {condition})"
                    )
                }
                false => table.to_string(),
            };
            if let Some(own) = all.last_mut() {
                own.push(alias.clone());
            }
            if at == 0 {
                from = format!("{relation} {alias}");
                continue;
            }
            let join = self.one(&["JOIN", "LEFT JOIN", "JOIN", "CROSS JOIN"]);
            from += &format!(" {join} {relation} {alias}");
            if join != "CROSS JOIN" {
                // PostgreSQL cannot merge or hash all conditions of a LEFT JOIN, but runs them.
                let deep = if join == "JOIN" && self.chance(25) {
                    depth.saturating_sub(1)
                } else {
                    0
                };
                from += &format!(" ON {}", self.condition(&all, deep));
            }
        }
        (from, all)
    }

    fn condition_clause(&mut self, word: &str, percent: u32, scope: &Scope, depth: u32) -> String {
        match self.chance(percent) {
            true => format!(" {word} {}", self.condition(scope, depth)),
            false => String::new(),
        }
    }

    /// Draws a subquery of any number of rows, with one column of a kind, or any columns.
    fn rows(&mut self, outer: &Scope, depth: u32, kind: Option<&str>) -> String {
        let (from, scope) = self.from(outer, depth);
        let filter = self.condition_clause("WHERE", 80, &scope, depth);
        let own = scope
            .last()
            .and_then(|own| own.first())
            .cloned()
            .unwrap_or_default();
        let select = match kind {
            Some("text") => self.text(&scope),
            Some(_) => self.number(&scope, depth.saturating_sub(1)),
            None => self.one(&["1", "*", "count(*)", "NULL"]).to_string(),
        };
        match self.random.random_range(0..12) {
            _ if select == "count(*)" => {
                let group = if self.chance(50) {
                    format!(" GROUP BY {own}.i")
                } else {
                    String::new()
                };
                let having = if self.chance(40) {
                    format!(" HAVING count({own}.n) {} 1", self.comparison())
                } else {
                    String::new()
                };
                format!("SELECT count(*) FROM {from}{filter}{group}{having}")
            }
            0..2 if kind == Some("number") => {
                let call = self.aggregate(&own);
                let having = self.condition_of_groups(&own, outer, depth);
                format!("SELECT {call} FROM {from}{filter} GROUP BY {own}.i{having}")
            }
            2..4 if kind == Some("number") => {
                let call = self.aggregate(&own);
                let having = if self.chance(30) {
                    format!(" HAVING count(*) {} 2", self.comparison())
                } else {
                    String::new()
                };
                format!("SELECT {call} FROM {from}{filter}{having}")
            }
            4 if kind == Some("number") => format!("SELECT DISTINCT {select} FROM {from}{filter}"),
            5 if kind == Some("number") => {
                let operation = self.one(&["UNION", "UNION ALL", "EXCEPT", "INTERSECT"]);
                let other = self.rows(outer, depth.saturating_sub(1), kind);
                format!("SELECT {select} FROM {from}{filter} {operation} ({other})")
            }
            6 if kind == Some("number") && scope.last().is_some_and(|own| own.len() == 1) => {
                format!("SELECT {own}.n FROM {from}{filter} ORDER BY {own}.k DESC LIMIT 2")
            }
            _ => format!("SELECT {select} FROM {from}{filter}"),
        }
    }

    fn aggregate(&mut self, alias: &str) -> String {
        let call = self.one(&["count(*)", "count({}.n)", "max({}.i)", "min({}.n)", "sum({}.i)"]);
        call.replace("{}", alias)
    }

    fn condition_of_groups(&mut self, alias: &str, outer: &Scope, depth: u32) -> String {
        match (self.chance(30), outer.is_empty()) {
            (true, false) => {
                let number = self.number(outer, depth.saturating_sub(1));
                format!(" HAVING {} {} {number}", self.aggregate(alias), self.comparison())
            }
            _ => String::new(),
        }
    }

    /// Draws a subquery of one value.
    fn scalar(&mut self, outer: &Scope, depth: u32) -> String {
        let inner = depth.saturating_sub(1);
        let (from, scope) = self.from(outer, inner);
        let filter = self.condition_clause("WHERE", 85, &scope, inner);
        let own = scope.last().cloned().unwrap_or_default();
        let keys: Vec<String> = own.iter().map(|alias| format!("{alias}.k")).collect();
        let alias = &own[0];
        match self.random.random_range(0..4) {
            0 if own.len() == 1 => {
                format!(
                    "(SELECT {alias}.n FROM {from}{filter} ORDER BY {} LIMIT 1)",
                    keys.join(", ")
                )
            }
            1 => {
                let having = if self.chance(30) {
                    " HAVING count(*) > 1"
                } else {
                    ""
                };
                format!("(SELECT {} FROM {from}{filter}{having})", self.aggregate(alias))
            }
            _ => {
                let argument = self.number(&scope, 0);
                let call = self.one(&["max", "min", "count", "sum"]);
                // An aggregate that reads outside alone belongs to the query around it.
                format!("(SELECT {call}(coalesce({argument}, {alias}.i)) FROM {from}{filter})")
            }
        }
    }

    fn query(&mut self) -> String {
        let (from, scope) = self.from(&Vec::new(), DEPTH - 1);
        let own = scope[0][0].clone();
        let filter = self.condition_clause("WHERE", 75, &scope, DEPTH);
        if self.chance(20) {
            // Outside of aggregates a query of groups reads what it groups by.
            let having = match self.chance(60) {
                true => {
                    let grouped = Draw {
                        random: self.random,
                        aliases: self.aliases + 1,
                    }
                    .rows(&Vec::new(), 1, Some("number"));
                    self.aliases += 20;
                    let call = self.aggregate(&own);
                    let all = self.one(&["IN", "NOT IN", "= ANY", "< ALL", "> ANY"]);
                    format!(" HAVING {call} {all} ({grouped})")
                }
                false => String::new(),
            };
            let call = self.aggregate(&own);
            return format!("SELECT {own}.i, {call} AS x FROM {from}{filter} GROUP BY {own}.i{having}");
        }
        let values: Vec<String> = scope[0].iter().map(|alias| format!("{alias}.k")).collect();
        let value = self.number(&scope, DEPTH);
        let test = match self.chance(40) {
            true => format!(", {} AS y", self.condition(&scope, DEPTH)),
            false => String::new(),
        };
        let order = match self.chance(20) {
            true => format!(
                " ORDER BY coalesce({}, 1), {}",
                self.number(&scope, 2),
                values.join(", ")
            ),
            false => String::new(),
        };
        format!(
            "SELECT {}, {value} AS x{test} FROM {from}{filter}{order}",
            values.join(", ")
        )
    }
}
