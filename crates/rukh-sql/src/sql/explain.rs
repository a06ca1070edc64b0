//! EXPLAIN: the access paths of a statement, as text or JSON, with what really happened for ANALYZE.
//!
//! A statement that is one scan prints the scan. Others print a tree: DataFusion's operators by name,
//! plumbing between threads left out, and each scan below them.

use std::sync::Arc;
use std::time::Instant;

use datafusion::arrow::array::{ArrayRef, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::scalar::ScalarValue;
use rukh_syntax::sqlparser::ast;
use rukh_syntax::{ExplainFormat, Statement};
use serde_json::json;

use crate::exec::context::{QueryStats, StatementContext};
use crate::exec::plan_text::{ExplainOptions, Node, direct_node, physical_node};
use crate::exec::rows::Rows;
use crate::exec::text_batch::text_batch;
use crate::pg::pg_catalog;
use crate::sql::dml;
use crate::sql::locking;
use crate::sql::session::{Planned, Session};
use rukh_error::SqlError;
use rukh_kv::Traffic;

/// Returns the column of `FORMAT JSON`.
pub(crate) fn json_column() -> SchemaRef {
    Arc::new(Schema::new(vec![pg_catalog::Kind::Json.field("plan")]))
}

/// Explains a statement.
pub(crate) fn explain(
    session: &mut Session,
    statement: &Statement,
    options: ExplainOptions,
    params: &[ScalarValue],
) -> Result<Rows, SqlError> {
    let ExplainOptions { analyze, format, .. } = options;
    let (query, head) = explained_query(session, statement)?;
    let snapshot = session.snapshot();
    let context = session.context(snapshot, &query)?;
    let planned = session.plan(&query, params, &context)?;
    let mut totals = Vec::new();
    let tree = match head {
        Some(name) => {
            // Several plans read and write rows in turns: their counters are summed.
            let plan = ExplainOptions {
                analyze: false,
                ..options
            };
            let tree = tree_of(&planned, &context, plan)?;
            drop((planned, context));
            if analyze {
                totals = written(session, statement, params)?;
            }
            Node {
                name,
                detail: String::new(),
                scan: None,
                children: vec![tree],
            }
        }
        None => {
            if analyze {
                let mut rows = session.run(&planned, &context)?;
                while rows.next_batch()?.is_some() {}
                totals = analyzed(session);
            }
            tree_of(&planned, &context, options)?
        }
    };
    match format {
        ExplainFormat::Text => {
            let mut lines = Vec::new();
            tree.text(0, &mut lines);
            lines.extend(totals);
            Ok(Rows::ready(text_batch(&["plan"], [lines])?))
        }
        ExplainFormat::Json | ExplainFormat::JsonList => {
            let tree = match format {
                ExplainFormat::JsonList => json!([tree.json()]),
                _ => tree.json(),
            };
            let text =
                serde_json::to_string_pretty(&tree).map_err(|error| SqlError::internal(error.to_string()))?;
            let column: ArrayRef = Arc::new(StringArray::from(vec![text]));
            let batch = RecordBatch::try_new(json_column(), vec![column]);
            Ok(Rows::ready(
                batch.map_err(|error| SqlError::internal(error.to_string()))?,
            ))
        }
    }
}

/// Returns the query that a statement reads by, and the name of what it does with the rows.
fn explained_query(
    session: &Session,
    statement: &Statement,
) -> Result<(ast::Query, Option<String>), SqlError> {
    match statement {
        Statement::Query(query) => {
            let mut query = query.as_ref().clone();
            if !query.locks.is_empty() {
                locking::check(&session.catalog(), &query)?;
                query.locks.clear();
            }
            Ok((query, None))
        }
        Statement::Insert(insert) => {
            let query = insert.ast.source.clone();
            let query = query.ok_or_else(|| SqlError::unsupported("EXPLAIN of INSERT ... DEFAULT VALUES"))?;
            let verb = if insert.upsert { "upsert" } else { "insert" };
            Ok((*query, Some(format!("{verb} {}", insert.ast.table))))
        }
        Statement::Update(update) => {
            let (table, query) = dml::update_query(session, update)?;
            Ok((query, Some(format!("update {table}"))))
        }
        Statement::Delete(delete) => {
            let (table, query) = dml::delete_query(session, delete)?;
            Ok((query, Some(format!("delete {table}"))))
        }
        Statement::Merge(merge) => {
            let (table, query) = dml::merge_query(session, merge)?;
            Ok((query, Some(format!("merge {table}"))))
        }
        _ => Err(SqlError::syntax(
            "EXPLAIN takes a query or a statement that writes rows",
        )),
    }
}

/// Runs a statement that writes rows, and returns what it did.
fn written(
    session: &mut Session,
    statement: &Statement,
    params: &[ScalarValue],
) -> Result<Vec<String>, SqlError> {
    let started = Instant::now();
    let Some((tag, returned)) = session.write(statement, params)? else {
        return Ok(Vec::new());
    };
    if let Some(mut rows) = returned {
        while rows.next_batch()?.is_some() {}
    }
    let elapsed = started.elapsed();
    let reads = !matches!(statement, Statement::Insert(_));
    let read = session.last_stats().filter(|_| reads);
    let read = read.map(|stats| {
        let counters = stats.counters;
        format!(
            "read        {} ranges, {} seeks, {} keys examined, {} lookups, {} rows",
            counters.ranges, counters.seeks, counters.keys_examined, counters.lookups, counters.rows
        )
    });
    let rows = tag.rsplit(' ').next().unwrap_or_default();
    let mut lines = vec![format!("rows        {rows}")];
    lines.extend(read);
    lines.extend(session.last_stats().and_then(|stats| traffic_line(&stats)));
    lines.push(format!("elapsed     {:.3} ms", elapsed.as_secs_f64() * 1000.0));
    Ok(lines)
}

fn analyzed(session: &Session) -> Vec<String> {
    let Some(stats) = session.last_stats() else {
        return Vec::new();
    };
    let mut lines = vec![format!("rows        {}", stats.counters.rows)];
    lines.extend(traffic_line(&stats));
    lines.push(format!("planning    {:.3} ms", stats.planning_us as f64 / 1000.0));
    lines.push(format!("elapsed     {:.3} ms", stats.elapsed_us as f64 / 1000.0));
    lines
}

/// Says what a statement took of servers elsewhere, if anything.
fn traffic_line(stats: &QueryStats) -> Option<String> {
    let Traffic {
        requests,
        regions,
        bytes_sent,
        bytes_received,
    } = stats.traffic;
    let line = || {
        format!(
            "network     {requests} requests, {regions} regions, {bytes_sent} bytes sent, {bytes_received} received"
        )
    };
    (requests > 0).then(line)
}

fn tree_of(planned: &Planned, context: &StatementContext, options: ExplainOptions) -> Result<Node, SqlError> {
    match planned {
        Planned::Direct(plan) => direct_node(plan, context, &[], options)
            .ok_or_else(|| SqlError::internal("a direct plan holds when it was chosen")),
        Planned::General(plan) => Ok(physical_node(plan, context, options)),
    }
}
