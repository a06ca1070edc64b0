//! SHOW TABLES, SHOW INDEXES, SHOW CREATE TABLE and DESCRIBE: definitions as rows.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{Field, Schema};
use rukh_catalog::{
    Catalog, CheckOption, Column, ColumnId, Identity, Index, IndexId, IndexState, KeyElement, KeyExpr,
    Materialized, Sequence, Table, View,
};
use rukh_engine::{BuildPhase, BuildProgress, ColumnarDebt, EngineError};
use rukh_keys::{DataType, Datum, NUMERIC_NAN, SortOrder};

use crate::bind::spelling::definition_text::{
    column_list, element_list, foreign_key_sql, index_sql, lifetime_sql, qualified_name, ttl_sql,
};
use crate::pg::sequences::default_of;
use rukh_error::SqlError;
use rukh_syntax::{quoted, quoted_string};

/// Returns one row per table or view: schema, name, kind, how many columns and indexes it has, and its layout.
///
/// The layout of a columnar table shows its blocks, changes and size, as the state of a columnar index does; that of a table whose rows are
/// lost says so.
pub(crate) fn tables(
    catalog: &Catalog,
    lost: impl Fn(&Table) -> Option<String>,
    debt: impl Fn(&Table) -> Result<Option<ColumnarDebt>, EngineError>,
) -> Result<RecordBatch, SqlError> {
    let layout = |table: &Table| -> Result<Option<String>, EngineError> {
        if let Some(storage) = lost(table) {
            return Ok(Some(format!("lost: storage \"{storage}\" is not there")));
        }
        Ok(match table.is_columnar() {
            // A table that was dropped meanwhile has none.
            true => debt(table)?.map(|debt| debt_text(table, &debt)),
            false => Some("rows".to_string()),
        })
    };
    let tables = catalog.tables().map(|table| {
        let (schema, name) = (table.schema.clone(), table.name.clone());
        let (columns, indexes) = (table.declared_columns().len(), table.indexes.len());
        Ok((schema, name, "table", columns, indexes, layout(table)?))
    });
    let views = catalog.views().map(|view| {
        let (schema, name) = (view.schema.clone(), view.name.clone());
        Ok((schema, name, "view", view.columns.len(), 0, None))
    });
    let rows = tables.chain(views).collect::<Result<Vec<_>, EngineError>>()?;
    batch([
        ("schema", texts(rows.iter().map(|row| Some(row.0.clone())))),
        ("name", texts(rows.iter().map(|row| Some(row.1.clone())))),
        ("kind", texts(rows.iter().map(|row| Some(row.2.to_string())))),
        ("columns", numbers(rows.iter().map(|row| row.3))),
        ("indexes", numbers(rows.iter().map(|row| row.4))),
        ("layout", texts(rows.iter().map(|row| row.5.clone()))),
    ])
}

/// Returns one row per index of a table, or of all tables.
///
/// The state of a columnar index shows its blocks, changes and size, too.
pub(crate) fn indexes(
    catalog: &Catalog,
    builds: &[BuildProgress],
    table: Option<&Table>,
    debt: impl Fn(IndexId) -> Result<Option<ColumnarDebt>, EngineError>,
) -> Result<RecordBatch, SqlError> {
    let wanted = |owner: &Table| table.is_none_or(|table| table.id == owner.id);
    let indexes: Vec<_> = catalog.indexes().filter(|(owner, _)| wanted(owner)).collect();
    let debts = indexes.iter().map(|(_, index)| match index.is_columnar() {
        true => debt(index.id),
        false => Ok(None),
    });
    let debts: Vec<Option<ColumnarDebt>> = debts.collect::<Result<_, _>>()?;
    batch([
        (
            "table",
            texts(indexes.iter().map(|(table, _)| Some(table.name.clone()))),
        ),
        (
            "name",
            texts(indexes.iter().map(|(_, index)| Some(index.name.clone()))),
        ),
        ("unique", booleans(indexes.iter().map(|(_, index)| index.unique))),
        (
            "columns",
            texts(
                indexes
                    .iter()
                    .map(|(table, index)| Some(element_list(table, &index.elements))),
            ),
        ),
        (
            "include",
            texts(
                indexes
                    .iter()
                    .map(|(table, index)| non_empty(column_list(table, &index.include))),
            ),
        ),
        (
            "where",
            texts(
                indexes
                    .iter()
                    .map(|(_, index)| index.predicate.as_ref().map(|p| p.sql.clone())),
            ),
        ),
        (
            "state",
            texts(indexes.iter().zip(&debts).map(|((table, index), debt)| {
                Some(match debt {
                    Some(debt) => format!("{}, {}", state(index, builds), debt_text(table, debt)),
                    None if table.keeps_former(index) && !index.former => {
                        format!("{}, without former images", state(index, builds))
                    }
                    None => state(index, builds),
                })
            })),
        ),
    ])
}

/// Says what a columnar index or table has stored, and by which compression if that was chosen.
fn debt_text(table: &Table, debt: &ColumnarDebt) -> String {
    let chosen = table.options.compression.as_ref();
    let chosen = chosen.map_or(String::new(), |name| format!(" by {name}"));
    let compressed = match debt.block_file_bytes {
        0 => String::new(),
        bytes => format!(
            ", compressed {:.1} to 1{chosen}",
            debt.block_raw_bytes as f64 / bytes as f64
        ),
    };
    format!(
        "columnar: {} blocks of {} rows, {} delta rows, {} bytes{compressed}",
        debt.blocks, debt.block_rows, debt.delta_rows, debt.bytes
    )
}

/// Returns one row per column of a table: type, nullability, default or how it is computed, place in the key, family.
pub(crate) fn columns(table: &Table) -> Result<RecordBatch, SqlError> {
    let columns = table.declared_columns();
    batch([
        (
            "column",
            texts(columns.iter().map(|column| Some(column.name.clone()))),
        ),
        (
            "type",
            texts(columns.iter().map(|column| Some(type_name(column)))),
        ),
        ("nullable", booleans(columns.iter().map(|column| column.nullable))),
        (
            "default",
            texts(
                columns
                    .iter()
                    .map(|column| column.default.clone().or_else(|| generated_sql(column))),
            ),
        ),
        (
            "key",
            texts(columns.iter().map(|column| key_place(table, column.id))),
        ),
        (
            "family",
            texts(columns.iter().map(|column| Some(family_name(table, column)))),
        ),
    ])
}

/// Returns one row with the statements that make the same table and its indexes again.
pub(crate) fn create_table(catalog: &Catalog, table: &Table) -> Result<RecordBatch, SqlError> {
    let mut sql = match &table.materialized {
        Some(materialized) => materialized_sql(table, materialized),
        None => table_sql(catalog, table),
    };
    for index in &table.indexes {
        let made = constraint_sql(table, index).unwrap_or_else(|| index_sql(table, index));
        sql += &format!("\n{made}");
    }
    let unvalidated = table.checks.iter().filter(|check| check.not_valid);
    let unvalidated = unvalidated.map(|check| (&check.name, format!("CHECK ({}) NOT VALID", check.sql)));
    let keys = table.foreign_keys.iter();
    let keys = keys.map(|key| (&key.name, foreign_key_sql(catalog, table, key)));
    for (name, constraint) in unvalidated.chain(keys) {
        sql += &format!(
            "\nALTER TABLE {} ADD CONSTRAINT {} {constraint};",
            qualified_name(table),
            quoted(name)
        );
    }
    for comment in comments_sql(table) {
        sql += &format!("\n{comment}");
    }
    batch([
        ("table", texts([Some(table.name.clone())].into_iter())),
        ("statement", texts([Some(sql)].into_iter())),
    ])
}

/// Returns `COMMENT ON …;` for everything of a table that has a comment.
fn comments_sql(table: &Table) -> Vec<String> {
    let comment = |what: String, text: &String| format!("COMMENT ON {what} IS {};", quoted_string(text));
    let name = qualified_name(table);
    let comments = &table.comments;
    let of_table = comments
        .table
        .iter()
        .map(|text| comment(format!("TABLE {name}"), text));
    let of_columns = comments
        .columns
        .iter()
        .map(|(id, text)| comment(format!("COLUMN {name}.{}", quoted(table.column_name(*id))), text));
    let of_indexes = comments.indexes.iter().filter_map(|(id, text)| {
        let index = table.index(*id)?;
        Some(comment(format!("INDEX {}", quoted(&index.name)), text))
    });
    let of_constraints = comments.constraints.iter().map(|(constraint, text)| {
        let constraint = match constraint.as_str() {
            "" => table.key_name().unwrap_or_default(),
            constraint => constraint.to_string(),
        };
        comment(format!("CONSTRAINT {} ON {name}", quoted(&constraint)), text)
    });
    let of_parts = of_columns.chain(of_indexes).chain(of_constraints);
    of_table.chain(of_parts).collect()
}

/// Returns one row with the statement that makes the same view again.
pub(crate) fn create_view(view: &View) -> Result<RecordBatch, SqlError> {
    let names: Vec<String> = view.columns.iter().map(|column| quoted(&column.name)).collect();
    let sql = format!(
        "CREATE VIEW {} ({}) AS {}{};",
        quoted(&view.name),
        names.join(", "),
        view.sql,
        match view.check {
            None => "",
            Some(CheckOption::Local) => " WITH LOCAL CHECK OPTION",
            Some(CheckOption::Cascaded) => " WITH CASCADED CHECK OPTION",
        }
    );
    batch([
        ("view", texts([Some(view.name.clone())].into_iter())),
        ("statement", texts([Some(sql)].into_iter())),
    ])
}

/// Returns one row per column of a view: name and type.
pub(crate) fn view_columns(view: &View) -> Result<RecordBatch, SqlError> {
    let columns = &view.columns;
    batch([
        (
            "column",
            texts(columns.iter().map(|column| Some(column.name.clone()))),
        ),
        (
            "type",
            texts(columns.iter().map(|column| Some(column.ty.to_string()))),
        ),
    ])
}

/// Returns `CREATE MATERIALIZED VIEW …;`.
fn materialized_sql(table: &Table, materialized: &Materialized) -> String {
    let columns = table.declared_columns().iter().map(|column| quoted(&column.name));
    format!(
        "CREATE MATERIALIZED VIEW {} ({}){} AS\n    {}{};",
        qualified_name(table),
        columns.collect::<Vec<_>>().join(", "),
        options_sql(table),
        materialized.query.sql,
        if materialized.populated {
            ""
        } else {
            " WITH NO DATA"
        }
    )
}

/// Returns `CREATE TABLE …;`, one line per column and constraint.
pub(crate) fn table_sql(catalog: &Catalog, table: &Table) -> String {
    let column = |column| column_sql(column, own_sequence(catalog, table, column));
    let mut lines: Vec<String> = table.declared_columns().iter().map(column).collect();
    if table.row_id().is_none() {
        let named = table.named_key.as_ref();
        lines.push(format!(
            "{}PRIMARY KEY ({})",
            named.map_or(String::new(), |name| format!("CONSTRAINT {} ", quoted(name))),
            element_list(table, &table.primary_key)
        ));
    }
    lines.extend(
        table
            .checks
            .iter()
            .filter(|check| !check.not_valid)
            .map(|check| format!("CONSTRAINT {} CHECK ({})", quoted(&check.name), check.sql)),
    );
    lines.extend(
        table
            .families
            .iter()
            .filter(|family| family.id.0 != 0)
            .map(|family| {
                let of_family = table.columns.iter().filter(|column| column.family == family.id);
                let names: Vec<String> = of_family.map(|column| quoted(&column.name)).collect();
                let ttl = family.options.ttl_micros;
                let ttl = ttl.map_or(String::new(), |micros| format!(" TTL = {}", ttl_sql(micros)));
                let kept = family.options.versions;
                let kept = kept.map_or(String::new(), |kept| format!(" VERSIONS = {kept}"));
                let compression = family.options.compression.as_ref();
                let compression =
                    compression.map_or(String::new(), |name| format!(" COMPRESSION = '{name}'"));
                format!(
                    "FAMILY {} ({}){ttl}{kept}{compression}",
                    quoted(&family.name),
                    names.join(", ")
                )
            }),
    );
    format!(
        "CREATE TABLE {} (\n    {}\n){};",
        qualified_name(table),
        lines.join(",\n    "),
        options_sql(table)
    )
}

/// Returns `ALTER TABLE … ADD CONSTRAINT …;` of an index that is a constraint, if that says all of it.
fn constraint_sql(table: &Table, index: &Index) -> Option<String> {
    let plain = |element: &KeyElement| match element.expr {
        KeyExpr::Column(id) if element.order == SortOrder::Asc => Some(id),
        _ => None,
    };
    let columns: Option<Vec<ColumnId>> = index.elements.iter().map(plain).collect();
    let is_constraint = index.unique && index.constraint;
    (is_constraint && index.predicate.is_none() && !index.is_columnar()).then_some(())?;
    let include = match index.include.is_empty() {
        true => String::new(),
        false => format!(" INCLUDE ({})", column_list(table, &index.include)),
    };
    let nulls = if index.nulls_distinct {
        ""
    } else {
        "NULLS NOT DISTINCT "
    };
    Some(format!(
        "ALTER TABLE {} ADD CONSTRAINT {} UNIQUE {nulls}({}){include};",
        qualified_name(table),
        quoted(&index.name),
        column_list(table, &columns?)
    ))
}

/// Returns the sequence that was made for a column.
fn own_sequence<'a>(catalog: &'a Catalog, table: &Table, column: &Column) -> Option<&'a Sequence> {
    let owner = Some((table.id, column.id));
    let mut own = catalog
        .sequences_of(table.id)
        .filter(|sequence| sequence.owner == owner);
    own.next().map(|sequence| sequence.as_ref())
}

/// Returns a column that takes its values from a sequence of its own.
fn identity_sql(column: &Column, sequence: &Sequence) -> String {
    let name = quoted(&column.name);
    let kind = match column.values.identity {
        Some(Identity::Always) => "ALWAYS",
        Some(Identity::ByDefault) => "BY DEFAULT",
        None => {
            let serial = match column.ty {
                DataType::SmallInt => "SMALLSERIAL",
                DataType::Integer => "SERIAL",
                _ => "BIGSERIAL",
            };
            return format!("{name} {serial}");
        }
    };
    format!(
        "{name} {} GENERATED {kind} AS IDENTITY ({})",
        column.ty,
        sequence_options(sequence)
    )
}

/// Returns the options of a sequence.
fn sequence_options(sequence: &Sequence) -> String {
    let Sequence {
        start,
        increment,
        min,
        max,
        cache,
        ..
    } = sequence;
    let cycle = if sequence.cycle { "CYCLE" } else { "NO CYCLE" };
    format!("START {start} INCREMENT {increment} MINVALUE {min} MAXVALUE {max} CACHE {cache} {cycle}")
}

fn column_sql(column: &Column, own: Option<&Sequence>) -> String {
    if let Some(sequence) = own
        && column.default.as_deref() == Some(&default_of(&sequence.schema, &sequence.name))
    {
        return identity_sql(column, sequence);
    }
    // A counter is NOT NULL DEFAULT 0 as it stands.
    let is_counter = column.values.counter;
    let not_null = match column.nullable {
        false if !is_counter => " NOT NULL",
        _ => "",
    };
    let default = column.default.as_ref();
    let default = default
        .filter(|sql| !(is_counter && *sql == "0"))
        .map_or(String::new(), |sql| format!(" DEFAULT {sql}"));
    let generated = generated_sql(column).map_or(String::new(), |sql| format!(" {sql}"));
    format!(
        "{} {}{not_null}{default}{generated}",
        quoted(&column.name),
        type_name(column)
    )
}

/// Returns how a column is computed of others, as CREATE TABLE takes it.
fn generated_sql(column: &Column) -> Option<String> {
    let generated = column.values.generated.as_ref()?;
    Some(format!("GENERATED ALWAYS AS ({}) STORED", generated.sql))
}

/// Returns the type of a column as CREATE TABLE takes it.
fn type_name(column: &Column) -> String {
    match &column.values.domain {
        _ if column.values.counter => "COUNTER".to_string(),
        Some(domain) => domain.sql_name(),
        None => column.type_sql(),
    }
}

fn options_sql(table: &Table) -> String {
    let layout = if table.is_columnar() {
        " USING columnar"
    } else {
        ""
    };
    let mut options = Vec::new();
    if let Some(salt) = &table.salt {
        let on = salt
            .columns
            .as_ref()
            .map_or(String::new(), |on| format!(" ON ({})", column_list(table, on)));
        options.push(format!("SALT_BUCKETS = {}{on}", salt.buckets));
    }
    if table.options.immutable {
        options.push("IMMUTABLE_ROWS = true".to_string());
    }
    options.extend(lifetime_sql(table));
    let compression = table.options.compression.as_ref();
    options.extend(compression.map(|name| format!("COMPRESSION = '{name}'")));
    options.extend(
        table
            .options
            .versions
            .map(|versions| format!("VERSIONS = {}", versions.kept)),
    );
    let mut sql = options.join(", ");
    if !table.options.split_on.is_empty() {
        let keys: Vec<String> = table
            .options
            .split_on
            .iter()
            .map(|key| split_key(table, key))
            .collect();
        sql += &format!(" SPLIT ON ({})", keys.join(", "));
    }
    match sql.trim() {
        "" => layout.to_string(),
        options => format!("{layout} {options}"),
    }
}

fn split_key(table: &Table, key: &[Datum]) -> String {
    let typed = key.iter().zip(&table.primary_key);
    let constants: Vec<_> = typed
        .map(|(datum, element)| constant(datum, &table.key_column(element).ty))
        .collect();
    match constants.as_slice() {
        [constant] => constant.clone(),
        many => format!("({})", many.join(", ")),
    }
}

/// Returns a value as a literal that its type reads back.
fn constant(datum: &Datum, ty: &DataType) -> String {
    let text = ty.format_text(datum);
    match datum {
        Datum::Null => "NULL".to_string(),
        Datum::Numeric(form) if *form == NUMERIC_NAN => quoted_string(&text),
        Datum::Int(_) | Datum::Decimal(_) | Datum::Numeric(_) => text,
        Datum::Bytes(_) => format!("x'{}'", text.trim_start_matches("\\x")),
        _ => quoted_string(&text),
    }
}

/// Returns the place of a column in the primary key: `2 DESC`, or `1 ASC HASH(8)`.
fn key_place(table: &Table, column: ColumnId) -> Option<String> {
    let places = table
        .primary_key
        .iter()
        .enumerate()
        .filter(|(_, element)| element.expr.columns() == [column]);
    let place = |(position, element): (usize, &KeyElement)| {
        let direction = if element.order == SortOrder::Desc {
            "DESC"
        } else {
            "ASC"
        };
        match &element.expr {
            KeyExpr::Hash { bytes, .. } => format!("{} {direction} HASH({bytes})", position + 1),
            _ => format!("{} {direction}", position + 1),
        }
    };
    non_empty(places.map(place).collect::<Vec<_>>().join(", "))
}

fn family_name(table: &Table, column: &Column) -> String {
    let family = table.families.iter().find(|family| family.id == column.family);
    family.map_or_else(|| "default".to_string(), |family| family.name.clone())
}

/// Returns the state of an index, with how far it is while it is being filled.
fn state(index: &Index, builds: &[BuildProgress]) -> String {
    let state = match index.state {
        IndexState::Building => "building",
        IndexState::Ready => "ready",
        IndexState::Disabled => "disabled",
        IndexState::Broken => "broken",
    };
    let Some(build) = builds.iter().find(|build| build.index == index.id) else {
        return state.to_string();
    };
    let again = match index.state {
        IndexState::Building => "",
        _ => ", rebuilding",
    };
    let percent = (100 * build.done).checked_div(build.total).unwrap_or(0).min(99);
    match build.phase {
        BuildPhase::Reading => format!("{state}{again}, reading {percent} %"),
        BuildPhase::Writing => format!("{state}{again}, writing {percent} %"),
        BuildPhase::CatchingUp => format!("{state}{again}, catching up"),
    }
}

fn non_empty(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

/// Makes a batch of named columns.
pub(crate) fn batch<const N: usize>(columns: [(&str, ArrayRef); N]) -> Result<RecordBatch, SqlError> {
    let field = |(name, array): &(&str, ArrayRef)| Field::new(*name, array.data_type().clone(), true);
    let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    RecordBatch::try_new(Arc::new(schema), arrays).map_err(|error| SqlError::internal(error.to_string()))
}

/// Makes a column of texts.
pub(crate) fn texts(values: impl Iterator<Item = Option<String>>) -> ArrayRef {
    Arc::new(values.collect::<StringArray>())
}

/// Makes a column of counts.
pub(crate) fn numbers(values: impl Iterator<Item = usize>) -> ArrayRef {
    Arc::new(values.map(|value| Some(value as i64)).collect::<Int64Array>())
}

/// Makes a column of truth values.
pub(crate) fn booleans(values: impl Iterator<Item = bool>) -> ArrayRef {
    Arc::new(values.map(Some).collect::<BooleanArray>())
}
