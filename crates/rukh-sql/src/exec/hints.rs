//! Planner hints: `/*+ INDEX(t i) NO_INDEX FULL_SCAN SKIP_SCAN RANGE_SCAN */` behind SELECT.
//!
//! A hint may name a table, by name or alias, in parentheses; without a name it holds for every
//! table of the query. What is not understood gives a notice, never silence.

use std::ops::ControlFlow;

use rukh_planner::Hint;
use rukh_syntax::Walk;
use rukh_syntax::sqlparser::ast::{Query, Select, TableFactor, TableWithJoins, Visitor};

use crate::exec::session_settings::notice::Notice;

/// A hint for one table, or for all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TableHint {
    /// Name of the table (aliases are resolved); `None` for all tables.
    pub(crate) table: Option<String>,
    /// The hint.
    pub(crate) hint: Hint,
}

/// Returns all hints of a query, its subqueries included, with notices for those not understood.
pub(crate) fn hints_of(query: &Query) -> (Vec<TableHint>, Vec<Notice>) {
    let mut collector = Collector::default();
    let _ = query.walk(&mut collector);
    (collector.hints, collector.notices)
}

#[derive(Default)]
struct Collector {
    hints: Vec<TableHint>,
    notices: Vec<Notice>,
}

impl Visitor for Collector {
    type Break = ();

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        for comment in &select.optimizer_hints {
            for (name, arguments) in words(&comment.text) {
                self.hint(&name, &arguments, &select.from);
            }
        }
        ControlFlow::Continue(())
    }
}

impl Collector {
    fn hint(&mut self, name: &str, arguments: &[String], from: &[TableWithJoins]) {
        let (hint, table) = match (name, arguments) {
            ("full_scan", rest) => (Hint::FullScan, rest.first()),
            ("no_index", rest) => (Hint::NoIndex, rest.first()),
            ("skip_scan", rest) => (Hint::SkipScan, rest.first()),
            ("range_scan", rest) => (Hint::RangeScan, rest.first()),
            ("index", [table, index]) => (Hint::Index(index.clone()), Some(table)),
            ("index", _) => {
                self.notices.push(Notice::warning(
                    "hint INDEX needs a table and an index: INDEX(t i)",
                ));
                return;
            }
            _ => {
                self.notices.push(Notice::warning(format!(
                    "hint \"{name}\" is not known and has no effect"
                )));
                return;
            }
        };
        match table.map(|given| (given, resolve(given, from))) {
            None => self.hints.push(TableHint { table: None, hint }),
            Some((_, Some(table))) => self.hints.push(TableHint {
                table: Some(table),
                hint,
            }),
            Some((given, None)) => self.notices.push(Notice::warning(format!(
                "hint {} names \"{given}\", which is no table of the query",
                name.to_uppercase()
            ))),
        }
    }
}

/// Returns the table that a name or alias stands for in FROM.
fn resolve(given: &str, from: &[TableWithJoins]) -> Option<String> {
    let factors = from
        .iter()
        .flat_map(|t| std::iter::once(&t.relation).chain(t.joins.iter().map(|j| &j.relation)));
    factors
        .filter_map(named_table)
        .find(|(name, alias)| given == name || alias.as_deref() == Some(given))
        .map(|(name, _)| name)
}

fn named_table(factor: &TableFactor) -> Option<(String, Option<String>)> {
    let TableFactor::Table { name, alias, .. } = factor else {
        return None;
    };
    let name = name.0.last()?.as_ident()?.value.to_lowercase();
    Some((name, alias.as_ref().map(|alias| alias.name.value.to_lowercase())))
}

/// Splits `INDEX(t i) NO_INDEX` into words with arguments, folded to lower case.
fn words(text: &str) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let end = rest
            .find(|c: char| c == '(' || c == ',' || c.is_whitespace())
            .unwrap_or(rest.len());
        let name = rest[..end].to_lowercase();
        rest = rest[end..].trim_start_matches(|c: char| c == ',' || c.is_whitespace());
        let mut arguments = Vec::new();
        if let Some(inner) = rest.strip_prefix('(') {
            let close = inner.find(')').unwrap_or(inner.len());
            arguments = inner[..close]
                .split(|c: char| c == ',' || c.is_whitespace())
                .filter(|word| !word.is_empty())
                .map(|word| word.trim_matches('"').to_lowercase())
                .collect();
            rest = inner[close..].trim_start_matches(|c: char| c == ')' || c == ',' || c.is_whitespace());
        }
        if !name.is_empty() {
            found.push((name, arguments));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_arguments() {
        let expected = vec![
            ("index".to_string(), vec!["t".to_string(), "i".to_string()]),
            ("no_index".to_string(), vec![]),
            ("full_scan".to_string(), vec!["u".to_string()]),
        ];
        assert_eq!(words(" INDEX(t i) NO_INDEX, FULL_SCAN ( u ) "), expected);
        assert_eq!(words(""), vec![]);
        assert_eq!(words("((("), vec![]);
    }
}
