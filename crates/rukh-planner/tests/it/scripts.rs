//! Golden scripts: conditions and the plans they give.
//!
//! | command                         | does                                                          |
//! |---------------------------------|---------------------------------------------------------------|
//! | `columns "a INTEGER, b DATE NULL"` | names the columns of the tables to come                    |
//! | `keys "(a, b DESC)" …`          | the keys that conditions are shown on, side by side            |
//! | `table "(a, b) SALT 4 ON (a)"`  | makes the table of `plan`, by its primary key                  |
//! | `index i "(b)" [unique=true] [include=c] [where="c = 1"] [state=building]` | adds an index to it |
//! | `history`                       | makes the table its history, with the columns `row_start` and `row_end` |
//! | `statistics rows=10 a=5`        | sets rows and distinct values                                 |
//! | `values a min=1 max=9 nulls=0.1 bounds="1, 5, 9" common="7: 0.2"` | sets how values lie        |
//! | `> condition`                   | shows kind, ranges, masked compares and residual for each key  |
//! | `[plan] > condition`            | EXPLAIN of the cheapest path, with notices                     |
//! | `[paths] > condition`           | one line for each path that could be used                      |
//! | `[alternatives] > condition`    | EXPLAIN (ALTERNATIVES) of the cheapest path                   |
//! | `[json] > condition`            | EXPLAIN (FORMAT JSON) of the cheapest path                     |
//!
//! Keys of NOT NULL columns are primary keys; others are indexes on a table with the key `id`.

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;

use rukh_catalog::{
    Column, ColumnId, FamilyId, Index, IndexDraft, IndexId, IndexPredicate, IndexState, KeyElement, KeyExpr,
    SaltOptions, Table, TableDraft, TableId, Versions, validate_index, validate_table,
};
use rukh_keys::{DataType, SortOrder};
use rukh_planner::{
    AccessPath, CommonValues, Histogram, IndexExpression, Predicate, Query, Source, Statistics, TermId,
    TermStatistics, access_path, alternatives, alternatives_text, bind, explain_json, explain_text, plan,
    with_alternatives_json,
};

use crate::syntax::{Parsed, parse};

test_each_file::test_each_path! { in "./crates/rukh-planner/tests/scripts" as golden => run_script }

fn run_script(path: &Path) {
    goldenscript::run(&mut Runner::default(), path).expect("the script runs as recorded");
}

#[derive(Default)]
struct Runner {
    columns: Vec<Column>,
    /// Tables or indexes that conditions are shown on, by their key as text.
    keys: Vec<(String, Table)>,
    table: Option<Table>,
    needed: Vec<ColumnId>,
    expressions: Vec<IndexExpression>,
    index_predicates: Vec<(IndexId, Predicate)>,
    statistics: Statistics,
    parameters: Vec<rukh_planner::Constant>,
}

impl goldenscript::Runner for Runner {
    type Command = goldenscript::Command;

    fn run(
        &mut self,
        command: &goldenscript::Command,
        context: &goldenscript::Context,
    ) -> Result<String, Box<dyn Error>> {
        let mut arguments = command.consume_args();
        match command.name.as_str() {
            "columns" => {
                let text = arguments.next_pos().ok_or("columns are missing")?;
                self.columns = parse_columns(text)?;
            }
            "keys" => {
                self.keys.clear();
                while let Some(key) = arguments.next_pos() {
                    let table = self.keyed_table(key)?;
                    self.keys.push((key.to_string(), table));
                }
            }
            "table" => {
                let key = arguments.next_pos().ok_or("a key is missing")?;
                self.table = Some(self.primary_table(key)?);
                self.index_predicates.clear();
                self.statistics = Statistics::UNKNOWN;
            }
            "index" => self.add_index(command)?,
            "history" => self.make_history()?,
            "needed" => {
                let names = positional(command).into_iter().map(|name| self.column(name));
                self.needed = names.collect::<Result<_, _>>()?;
            }
            "statistics" => self.set_statistics(command)?,
            "values" => self.set_values(command)?,
            "parameters" => {
                let table = self.any_table()?;
                let values = positional(command).into_iter().map(|text| constant(text, table));
                self.parameters = values.collect::<Result<_, _>>()?;
            }
            line => return Ok(below(line, &self.show(line, context)?)),
        }
        Ok(String::new())
    }
}

/// A line, and the answer below it.
fn below(line: &str, answer: &str) -> String {
    let indented = answer
        .lines()
        .map(|line| format!("    {line}").trim_end().to_string() + "\n");
    [format!("{line}\n")].into_iter().chain(indented).collect()
}

/// The arguments without a key.
fn positional(command: &goldenscript::Command) -> Vec<&str> {
    let mut arguments = command.consume_args();
    std::iter::from_fn(|| arguments.next_pos()).collect()
}

/// The value of a `key=value` argument.
fn keyed<'a>(command: &'a goldenscript::Command, key: &str) -> Option<&'a str> {
    command.consume_args().take_key(key)
}

fn constant(text: &str, table: &Table) -> Result<rukh_planner::Constant, String> {
    let parsed = parse(&format!("{} = {text}", table.columns[0].name), table, &[])?;
    match parsed.conjuncts.into_iter().next() {
        Some(Predicate::Compare {
            right: rukh_planner::Operand::Constant(constant),
            ..
        }) => Ok(constant),
        _ => Err("not a constant".to_string()),
    }
}

impl Runner {
    fn show(&self, line: &str, context: &goldenscript::Context) -> Result<String, Box<dyn Error>> {
        let has = |tag: &str| context.tags.contains(tag);
        let known = ["plan", "paths", "json", "alternatives"];
        if !known.into_iter().any(has) {
            return self.show_keys(line);
        }
        let table = self.table.as_ref().ok_or("no table yet")?;
        let parsed = self.parse(line, table)?;
        let query = self.query(table, &parsed);
        let plan = plan(&query);
        let mut text = String::new();
        if has("plan") {
            text.push_str(&explain_text(&query, &plan.path, None));
        }
        if has("paths") {
            for path in [&plan.path].into_iter().chain(&plan.alternatives) {
                writeln!(text, "{}", path_line(&query, path))?;
            }
        }
        let others = alternatives(&query, &plan.path, quoted);
        if has("alternatives") && !has("json") {
            text.push_str(&explain_text(&query, &plan.path, None));
            text.push_str(&alternatives_text(&query, &plan.path, &others));
        }
        if has("json") {
            let json = explain_json(&query, &plan.path, None);
            let json = match has("alternatives") {
                true => with_alternatives_json(&query, json, &others),
                false => json,
            };
            writeln!(text, "{json:#}")?;
        }
        for notice in &plan.notices {
            writeln!(text, "notice: {notice}")?;
        }
        Ok(text)
    }

    /// Shows a condition on each of the keys.
    fn show_keys(&self, line: &str) -> Result<String, Box<dyn Error>> {
        let width = self.keys.iter().map(|(key, _)| key.len()).max().unwrap_or(0);
        let mut text = String::new();
        for (key, table) in &self.keys {
            let parsed = self.parse(line, table)?;
            let query = self.query(table, &parsed);
            let source = table
                .indexes
                .first()
                .map_or(Source::Table, |index| Source::Index(index.id));
            let path = access_path(&query, source).ok_or("the key cannot be used")?;
            for (at, line) in compact(&query, &path).iter().enumerate() {
                let key = if at == 0 { key.as_str() } else { "" };
                writeln!(text, "{key:<width$}  {line}")?;
            }
        }
        Ok(text)
    }

    fn parse(&self, line: &str, table: &Table) -> Result<Parsed, String> {
        let mut parsed = parse(line, table, &self.expressions)?;
        for conjunct in &mut parsed.conjuncts {
            *conjunct = bind(conjunct, &self.parameters);
        }
        Ok(parsed)
    }

    fn query<'a>(&'a self, table: &'a Table, parsed: &'a Parsed) -> Query<'a> {
        Query {
            table,
            conjuncts: &parsed.conjuncts,
            needed: &self.needed,
            order: &parsed.order,
            limit: parsed.limit,
            groups: parsed.groups.as_ref(),
            hints: &parsed.hints,
            intersect: true,
            statistics: &self.statistics,
            expressions: &self.expressions,
            index_predicates: &self.index_predicates,
            opaque: &parsed.opaque,
        }
    }

    fn any_table(&self) -> Result<&Table, String> {
        let first = self.keys.first().map(|(_, table)| table);
        self.table.as_ref().or(first).ok_or("no table yet".to_string())
    }

    /// A table with this primary key, or with the key `id` and an index of this key if it has
    /// columns that may be NULL.
    fn keyed_table(&self, key: &str) -> Result<Table, Box<dyn Error>> {
        let (elements, _) = self.parse_key(key)?;
        let nullable = elements.iter().flat_map(|element| element.expr.columns());
        let nullable = nullable
            .into_iter()
            .any(|id| self.columns[id.0 as usize].nullable);
        if !nullable {
            return self.primary_table(key);
        }
        let mut table = self.table_with_id()?;
        let include = self.columns.iter().map(|column| column.id).collect();
        let draft = IndexDraft {
            name: "i".to_string(),
            unique: false,
            nulls_distinct: true,
            constraint: false,
            elements,
            include,
            predicate: None,
            layout: Default::default(),
        };
        let index = validate_index(draft, &table, IndexId(10))?;
        table.indexes.push(Index {
            state: IndexState::Ready,
            ..index
        });
        Ok(table)
    }

    /// A table with the key `id`, a column of its own unless the script named one.
    fn table_with_id(&self) -> Result<Table, Box<dyn Error>> {
        let mut columns = self.columns.clone();
        let named = columns.iter().find(|column| column.name == "id");
        let id = named.map_or(ColumnId(columns.len() as u32), |column| column.id);
        if named.is_none() {
            columns.push(not_null_column(id, "id", DataType::Integer));
        }
        let key = KeyElement {
            expr: KeyExpr::Column(id),
            order: SortOrder::Asc,
        };
        table_of(columns, vec![key], None)
    }

    fn primary_table(&self, key: &str) -> Result<Table, Box<dyn Error>> {
        let (primary_key, salt) = self.parse_key(key)?;
        table_of(self.columns.clone(), primary_key, salt)
    }

    /// Reads `(a, b DESC, HASH(c, 8)) SALT 4 ON (a)`.
    fn parse_key(&self, key: &str) -> Result<(Vec<KeyElement>, Option<SaltOptions>), Box<dyn Error>> {
        let (key, salt) = match key.split_once(" SALT ") {
            None => (key, None),
            Some((key, salt)) => (key, Some(self.parse_salt(salt)?)),
        };
        let inside = key
            .strip_prefix('(')
            .and_then(|key| key.strip_suffix(')'))
            .ok_or("a key has brackets")?;
        let elements = split_outside_brackets(inside)
            .into_iter()
            .map(|part| self.parse_element(part));
        Ok((elements.collect::<Result<_, _>>()?, salt))
    }

    fn parse_salt(&self, text: &str) -> Result<SaltOptions, Box<dyn Error>> {
        let (buckets, on) = match text.split_once(" ON ") {
            None => (text, None),
            Some((buckets, on)) => (buckets, Some(on.trim_matches(['(', ')']))),
        };
        let columns = on.map(|on| {
            on.split(", ")
                .map(|name| self.column(name))
                .collect::<Result<_, _>>()
        });
        Ok(SaltOptions {
            buckets: buckets.parse()?,
            columns: columns.transpose()?,
        })
    }

    fn parse_element(&self, text: &str) -> Result<KeyElement, String> {
        let (text, order) = match text.trim().strip_suffix(" DESC") {
            Some(text) => (text, SortOrder::Desc),
            None => (text.trim(), SortOrder::Asc),
        };
        let expr = if let Some(hash) = text.strip_prefix("HASH(") {
            let (column, bytes) = hash
                .trim_end_matches(')')
                .split_once(", ")
                .ok_or("HASH(column, bytes)")?;
            let bytes = bytes.parse().map_err(|_| "bytes are a number")?;
            KeyExpr::Hash {
                column: self.column(column)?,
                bytes,
            }
        } else if let Some(expression) = self.expressions.iter().find(|one| one.sql == text) {
            let IndexExpression {
                sql,
                ty,
                nullable,
                columns,
            } = expression.clone();
            KeyExpr::Expression {
                sql,
                ty,
                nullable,
                columns,
            }
        } else {
            KeyExpr::Column(self.column(text)?)
        };
        Ok(KeyElement { expr, order })
    }

    fn column(&self, name: &str) -> Result<ColumnId, String> {
        let column = self.columns.iter().find(|column| column.name == name);
        column.map(|column| column.id).ok_or(format!("no column {name}"))
    }

    fn make_history(&mut self) -> Result<(), Box<dyn Error>> {
        let table = self.table.as_mut().ok_or("no table yet")?;
        let before = table.clone();
        table.options.timed = true;
        table.options.versions = Some(Versions {
            kept: 5,
            since_micros: 0,
        });
        table.settle_former(&before);
        *table = table.history().ok_or("a table with versions has a history")?;
        let predicates = self.index_predicates.iter_mut();
        predicates.for_each(|(index, _)| *index = index.history());
        let expressions = self.expressions.iter_mut();
        expressions.for_each(|expression| expression.nullable = true);
        self.columns.clone_from(&table.columns);
        Ok(())
    }

    fn add_index(&mut self, command: &goldenscript::Command) -> Result<(), Box<dyn Error>> {
        let mut arguments = command.consume_args();
        let name = arguments.next_pos().ok_or("a name is missing")?.to_string();
        let key = arguments.next_pos().ok_or("a key is missing")?;
        let unique = keyed(command, "unique").is_some();
        let state = match keyed(command, "state") {
            None => IndexState::Ready,
            Some("building") => IndexState::Building,
            Some("disabled") => IndexState::Disabled,
            Some("broken") => IndexState::Broken,
            Some(other) => return Err(format!("an index is not {other}").into()),
        };
        let include = keyed(command, "include")
            .into_iter()
            .map(|name| self.column(name));
        let include = include.collect::<Result<_, _>>()?;
        let condition = keyed(command, "where");
        if let Some(text) = key.strip_prefix('(').and_then(|key| key.strip_suffix(')'))
            && text.starts_with("lower")
        {
            self.expressions = vec![IndexExpression {
                sql: text.to_string(),
                ty: DataType::Varchar(None),
                nullable: false,
                columns: vec![self.column(text[6..].trim_end_matches(')'))?],
            }];
        }
        let (elements, _) = self.parse_key(key)?;
        let table = self.table.as_mut().ok_or("no table yet")?;
        let id = IndexId(10 + table.indexes.len() as u32);
        let predicate = match condition {
            None => None,
            Some(text) => {
                let parsed = parse(text, table, &self.expressions)?;
                self.index_predicates.push((id, Predicate::And(parsed.conjuncts)));
                Some(IndexPredicate {
                    sql: text.to_string(),
                    columns: Vec::new(),
                })
            }
        };
        let draft = IndexDraft {
            name,
            unique,
            nulls_distinct: true,
            constraint: false,
            elements,
            include,
            predicate,
            layout: Default::default(),
        };
        let index = validate_index(draft, table, id)?;
        table.indexes.push(Index { state, ..index });
        Ok(())
    }

    fn set_statistics(&mut self, command: &goldenscript::Command) -> Result<(), Box<dyn Error>> {
        self.statistics = Statistics::UNKNOWN;
        for argument in &command.args {
            let goldenscript::Argument::KeyValue(key, value) = argument else {
                return Err("name=number".into());
            };
            match key.as_str() {
                "rows" => self.statistics.rows = Some(value.parse()?),
                column => {
                    let term = TermId::column(self.column(column)?);
                    let distinct = Some(value.parse()?);
                    let known = TermStatistics {
                        distinct,
                        ..TermStatistics::default()
                    };
                    self.statistics.terms.insert(term, known);
                }
            }
        }
        Ok(())
    }

    /// Sets how the values of a column lie.
    fn set_values(&mut self, command: &goldenscript::Command) -> Result<(), Box<dyn Error>> {
        let mut arguments = command.consume_args();
        let name = arguments.next_pos().ok_or("a column is missing")?;
        let column = self.column(name)?;
        let ty = self.columns[column.0 as usize].ty;
        let listed = |key: &str| {
            let text = keyed(command, key).unwrap_or_default();
            text.split(", ")
                .filter(|part| !part.is_empty())
                .map(str::to_string)
                .collect::<Vec<_>>()
        };
        let value = |text: &str| ty.parse_text(text).map_err(|error| error.to_string());
        let common = |text: String| -> Result<_, Box<dyn Error>> {
            let (common, share) = text.rsplit_once(": ").ok_or("value: share")?;
            Ok((value(common)?, share.parse::<f64>()?))
        };
        let bounds: Result<Vec<_>, String> = listed("bounds").iter().map(|text| value(text)).collect();
        let common: Result<Vec<_>, _> = listed("common").into_iter().map(common).collect();
        let known = self.statistics.terms.entry(TermId::column(column)).or_default();
        known.min = keyed(command, "min").map(value).transpose()?;
        known.max = keyed(command, "max").map(value).transpose()?;
        known.null_share = keyed(command, "nulls").map(str::parse).transpose()?;
        known.histogram = Histogram::new(bounds?);
        known.common = CommonValues::new(common?);
        Ok(())
    }
}

/// A name in quotes where it has capital letters.
fn quoted(name: &str) -> String {
    match name.chars().any(char::is_uppercase) {
        true => format!("\"{name}\""),
        false => name.to_string(),
    }
}

fn not_null_column(id: ColumnId, name: &str, ty: DataType) -> Column {
    Column {
        id,
        name: name.to_string(),
        ty,
        nullable: false,
        default: None,
        family: FamilyId(0),
        values: Default::default(),
    }
}

fn table_of(
    columns: Vec<Column>,
    primary_key: Vec<KeyElement>,
    salt: Option<SaltOptions>,
) -> Result<Table, Box<dyn Error>> {
    let draft = TableDraft {
        schema: "public".to_string(),
        name: "t".to_string(),
        columns,
        primary_key,
        salt,
        ..TableDraft::default()
    };
    Ok(validate_table(draft, TableId(1))?)
}

/// Reads `a INTEGER, b DATE NULL`; columns are NOT NULL unless they say so.
fn parse_columns(text: &str) -> Result<Vec<Column>, Box<dyn Error>> {
    let column = |(position, text): (usize, &str)| {
        let (name, ty) = text.trim().split_once(' ').ok_or("a column has a type")?;
        let (ty, nullable) = match ty.strip_suffix(" NULL") {
            Some(ty) => (ty, true),
            None => (ty, false),
        };
        Ok(Column {
            nullable,
            ..not_null_column(ColumnId(position as u32), name, ty.parse()?)
        })
    };
    split_outside_brackets(text)
        .into_iter()
        .enumerate()
        .map(column)
        .collect()
}

fn split_outside_brackets(text: &str) -> Vec<&str> {
    let mut depth = 0;
    let split = text.split(move |character| {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        character == ',' && depth == 0
    });
    split.collect()
}

/// Kind and ranges, then masked compares, residual and order, if any.
fn compact(query: &Query<'_>, path: &AccessPath) -> Vec<String> {
    let text = explain_text(query, path, None);
    let shown = [
        "ranges", "buckets", "masked", "residual", "", "group", "merge", "order",
    ];
    let mut lines = Vec::new();
    let mut word = String::new();
    for line in text.lines().skip(1) {
        let (own, rest) = (line[2..13].trim().to_string(), &line[13..]);
        if !own.is_empty() {
            word.clone_from(&own);
        }
        if !shown.contains(&word.as_str()) || (word == "order" && query.order.is_empty()) {
            continue;
        }
        let head = match own.as_str() {
            "ranges" => path.kind_name(),
            other => other,
        };
        lines.push(format!("{head:<13} {rest}").trim_end().to_string());
    }
    if !path.ordered {
        lines.push("needs a sort".to_string());
    }
    lines
}

/// One line about a path: what it is and what it costs.
fn path_line(query: &Query<'_>, path: &AccessPath) -> String {
    let text = explain_text(query, path, None);
    let head = text.lines().next().unwrap_or_default().to_string();
    let estimate = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("estimate"))
        .unwrap_or_default();
    format!("{head:<36} {:>10.0} µs  {}", path.estimate.cost, estimate.trim())
}
