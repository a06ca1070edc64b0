//! FOR SYSTEM_TIME: queries of the past, spelled as queries of what is and of what was.
//!
//! ```text
//! t FOR SYSTEM_TIME AS OF x             rows as they stood at x
//! t FOR SYSTEM_TIME FROM a TO b         images that stood at some time from a on and before b
//! t FOR SYSTEM_TIME BETWEEN a AND b     … or at b
//! t FOR SYSTEM_TIME ALL                 all images
//! ```
//!
//! Each becomes a subquery that unites the present rows of the table and those of its history (`rukh_catalog::Versions`)
//! whose period, from `row_start` on and before `row_end`, meets the wanted one. Conditions of the query reach the keys
//! and indexes of both. All forms but AS OF show the period as two more columns.

use std::ops::ControlFlow;
use std::sync::Arc;

use rukh_catalog::{Catalog, ROW_END, ROW_START, Table};
use rukh_engine::Snapshot;
use rukh_syntax::sqlparser::ast::{Ident, Query, TableAlias, TableFactor, VisitorMut};

use crate::bind::names::outer_names::names_of_with;
use crate::bind::spelling::parsing::parse;
use rukh_error::SqlError;
use rukh_syntax::HIDDEN;
use rukh_syntax::{Period, Statement, WalkMut, folded, place_of, quoted};

/// What follows the name of a table where its rows show when they were written.
const STANDING: &str = "standing";

/// What follows the name of a table where its former images are meant.
const HISTORY: &str = "history";

/// Returns the table that the name of an expanded query stands for.
pub(crate) fn table_named(snapshot: &Snapshot, schema: &str, name: &str) -> Option<Arc<Table>> {
    let (name, kind) = name.split_once(HIDDEN)?;
    let table = snapshot.catalog.table_named(schema, name).ok()?;
    match kind {
        STANDING => table.standing().map(Arc::new),
        HISTORY => snapshot.history(table.id),
        _ => None,
    }
}

/// Spells out what a query asks of the past; views are in their places already.
pub(crate) fn expand(query: &mut Query, catalog: &Catalog) -> Result<(), SqlError> {
    let mut expander = Expander {
        catalog,
        scopes: Vec::new(),
    };
    match query.walk_mut(&mut expander) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// Makes the error for FOR SYSTEM_TIME of what is no table.
pub(crate) fn no_table(name: &Ident) -> SqlError {
    let message = format!("\"{}\" is not a table, which alone has versions", folded(name));
    let error = SqlError::statement("42809", message);
    match place_of(name.span) {
        Some(place) => error.at(place),
        None => error,
    }
}

struct Expander<'a> {
    catalog: &'a Catalog,
    /// Names that WITH gives to queries, by the query that it stands before.
    scopes: Vec<Vec<String>>,
}

impl VisitorMut for Expander<'_> {
    type Break = SqlError;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<SqlError> {
        self.scopes.push(names_of_with(query));
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<SqlError> {
        self.scopes.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<SqlError> {
        match self.past(factor) {
            Ok(None) => {}
            Ok(Some(subquery)) => *factor = subquery,
            Err(error) => return ControlFlow::Break(error),
        }
        ControlFlow::Continue(())
    }
}

impl Expander<'_> {
    /// Returns what replaces a FROM item with FOR SYSTEM_TIME.
    fn past(&self, factor: &TableFactor) -> Result<Option<TableFactor>, SqlError> {
        let TableFactor::Table {
            name,
            alias,
            version: Some(version),
            ..
        } = factor
        else {
            return Ok(None);
        };
        let Some(period) = Period::of(version) else {
            return Err(SqlError::unsupported(format!("{version} is not supported")));
        };
        let parts: Vec<&Ident> = name.0.iter().filter_map(|part| part.as_ident()).collect();
        let (schema, ident) = match parts.as_slice() {
            [ident] if self.scopes.iter().flatten().any(|known| *known == folded(ident)) => {
                return Err(no_table(ident));
            }
            [ident] => ("public".to_string(), *ident),
            [schema, ident] => (folded(schema), *ident),
            _ => return Err(SqlError::unsupported("a table has a name of one or two parts")),
        };
        let bare = folded(ident);
        let place = |error: SqlError| match place_of(ident.span) {
            Some(place) => error.at(place),
            None => error,
        };
        let table = self.catalog.table_named(&schema, &bare);
        let table = table.map_err(|error| place(error.into()))?;
        if table.options.versions.is_none() {
            let message = format!("table \"{bare}\" keeps no versions");
            let hint = "ALTER TABLE … SET (versions = n) keeps them from then on.";
            return Err(place(SqlError::statement("55000", message).with_hint(hint)));
        }
        let Statement::Query(subquery) = parse(&union_sql(table, &schema, &period))? else {
            return Err(SqlError::internal("the past is a query"));
        };
        let mut alias = alias.clone().unwrap_or_else(|| TableAlias {
            explicit: true,
            name: ident.clone(),
            columns: Vec::new(),
            at: None,
        });
        alias.name = Ident::with_quote('"', folded(&alias.name));
        Ok(Some(TableFactor::Derived {
            lateral: false,
            subquery,
            alias: Some(alias),
            sample: None,
        }))
    }
}

/// Writes the query that stands for a table at some time.
fn union_sql(table: &Table, schema: &str, period: &Period<'_>) -> String {
    let columns: Vec<String> = table.columns.iter().map(|column| quoted(&column.name)).collect();
    let columns = columns.join(", ");
    let (standing_period, former_period) = match period {
        Period::AsOf(_) => (String::new(), String::new()),
        _ => (
            format!(", {ROW_START}, CAST(NULL AS TIMESTAMPTZ) AS {ROW_END}"),
            format!(", {ROW_START}, {ROW_END}"),
        ),
    };
    let source = |kind: &str| {
        format!(
            "{}.{}",
            quoted(schema),
            quoted(&format!("{}{HIDDEN}{kind}", table.name))
        )
    };
    let began = began(period);
    format!(
        "SELECT {columns}{standing_period} FROM {} WHERE {began} \
         UNION ALL SELECT {columns}{former_period} FROM {} WHERE {began} AND {}",
        source(STANDING),
        source(HISTORY),
        not_ended(period),
    )
}

/// Returns the condition that an image began before the period was over.
fn began(period: &Period<'_>) -> String {
    match period {
        Period::AsOf(time) => format!("{ROW_START} <= ({time})"),
        Period::FromTo(from, to) => format!("{ROW_START} < ({to}) AND ({from}) < ({to})"),
        Period::Between(from, to) => format!("{ROW_START} <= ({to}) AND ({from}) <= ({to})"),
        Period::All => "true".to_string(),
    }
}

/// Returns the condition that an image ended after the period began.
fn not_ended(period: &Period<'_>) -> String {
    match period {
        Period::AsOf(from) | Period::FromTo(from, _) | Period::Between(from, _) => {
            format!("{ROW_END} > ({from})")
        }
        Period::All => "true".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use rukh_catalog::{Index, Table, encode_table, table_key};
    use rukh_keys::Datum;
    use rukh_kv::{Durability, KvStore, MemoryStore, WriteBatch};

    use super::*;
    use crate::Session;
    use crate::Shared;

    fn run(session: &mut Session, sql: &str) -> Vec<Vec<Datum>> {
        let outcome = session.execute(sql);
        let outcome = outcome.unwrap_or_else(|error| panic!("{sql}: {error}"));
        let Some(mut rows) = outcome.rows else {
            return Vec::new();
        };
        let next = || rows.next_row().expect("rows can be read");
        std::iter::from_fn(next).collect()
    }

    /// A database whose index was made before format 9, when indexes had nothing of former images.
    fn older() -> Session {
        let store = Arc::new(MemoryStore::new());
        let shared = Shared::open(store.clone(), false).expect("a new database");
        let mut session = shared.session();
        for sql in [
            "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER) VERSIONS 5",
            "CREATE INDEX by_a ON t (a)",
            "INSERT INTO t SELECT n, n % 10 FROM generate_series(1, 100) AS s(n)",
            "UPDATE t SET a = a + 1 WHERE id <= 50",
        ] {
            run(&mut session, sql);
        }
        let catalog = shared.engine().catalog();
        let table = catalog.table_named("public", "t").expect("a table");
        let mut table = Table::clone(table);
        table.indexes[0].former = false;
        let former = Index::storage_name_of(table.indexes[0].id.history());
        drop((session, shared));
        store.drop_table(&former).expect("there is one");
        let mut batch = WriteBatch::new();
        batch.put("catalog", b"format", b"8");
        batch.put("catalog", &table_key(table.id), &encode_table(&table));
        store.write(batch, Durability::Synced).expect("memory");
        Shared::open(store, false).expect("the older database").session()
    }

    #[test]
    fn an_index_of_an_older_database_answers_for_the_past_once_it_is_rebuilt() {
        let mut session = older();
        let state = |session: &mut Session| match run(session, "SHOW INDEXES").remove(0).pop() {
            Some(Datum::Text(state)) => state,
            other => panic!("{other:?}"),
        };
        let question = "SELECT /*+ INDEX(t by_a) */ count(*) FROM t FOR SYSTEM_TIME ALL WHERE a = 3";
        let reads = |session: &mut Session| {
            let plan = run(session, &format!("EXPLAIN {question}"));
            format!("{plan:?}").contains("range scan on index t:history@by_a")
        };
        assert_eq!(state(&mut session), "ready, without former images");
        assert!(!reads(&mut session));
        // Five that stand and were not changed, five that were made so, and what those were that are no longer.
        assert_eq!(run(&mut session, question), [[Datum::Int(15)]]);
        run(&mut session, "UPDATE t SET a = 3 WHERE id = 100");
        assert_eq!(run(&mut session, question), [[Datum::Int(16)]]);
        run(&mut session, "ALTER INDEX by_a REBUILD");
        assert_eq!(state(&mut session), "ready");
        assert!(reads(&mut session));
        assert_eq!(run(&mut session, question), [[Datum::Int(16)]]);
        run(&mut session, "UPDATE t SET a = 4 WHERE id = 100");
        assert_eq!(run(&mut session, question), [[Datum::Int(16)]]);
        let report = run(&mut session, "CHECK TABLE t");
        assert!(
            report[2..].iter().all(|row| row[1] == Datum::Text("0".into())),
            "{report:?}"
        );
    }
}
