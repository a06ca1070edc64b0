//! Short texts for statements, to compare with.

use crate::StatementError;
use rukh_keys::SortOrder;

use crate::read::parse::AsItIs;
pub(crate) use crate::tree::*;

pub(crate) fn parse(sql: &str) -> Result<Statement, StatementError> {
    crate::parse(sql, &AsItIs)
}

pub(crate) fn read(sql: &str) -> Statement {
    parse(sql).unwrap_or_else(|error| panic!("{sql}: {error:?}"))
}

pub(crate) fn check(cases: &[(&str, &str)]) {
    for (sql, expected) in cases {
        assert_eq!(summary(&read(sql)), *expected, "{sql}");
    }
}

/// Checks (statement, SQLSTATE, message, place).
pub(crate) fn check_errors(cases: &[(&str, &str, &str, usize)]) {
    for (sql, sqlstate, message, position) in cases {
        let error = parse(sql).expect_err(sql);
        let found = (error.sqlstate, error.message.as_str(), error.position);
        assert_eq!(found, (*sqlstate, *message, Some(*position)), "{sql}");
    }
}

/// Prints what was read in one line.
pub(crate) fn summary(statement: &Statement) -> String {
    match statement {
        Statement::Query(query) => format!("query {query}"),
        Statement::Insert(insert) => {
            format!("{}{}", if insert.upsert { "upsert as " } else { "" }, insert.ast)
        }
        Statement::Update(update) => with_before(&update.with, &update.ast),
        Statement::Delete(delete) => with_before(&delete.with, &delete.ast),
        Statement::Merge(statement) => merge(statement),
        Statement::Writes(writes) => {
            let parts = writes.parts.iter().chain([&writes.statement]);
            parts.map(summary).collect::<Vec<_>>().join("; ")
        }
        Statement::CreateTable(table) => create_table(table),
        Statement::CreateIndex(index) => create_index(index),
        Statement::AlterTable(alter) => {
            let maybe = if alter.if_exists { " if exists" } else { "" };
            let actions: Vec<_> = alter.actions.iter().map(action).collect();
            format!("alter {}{maybe}: {}", object(&alter.name), actions.join("; "))
        }
        Statement::AlterIndex {
            name,
            if_exists,
            action,
        } => {
            let maybe = if *if_exists { " if exists" } else { "" };
            match action {
                IndexAction::RenameTo(new) => {
                    format!("alter index {}{maybe}: to {}", object(name), new.text)
                }
                other => format!("alter index {}{maybe}: {other:?}", object(name)),
            }
        }
        Statement::ReindexIndex { name } => format!("reindex index {}", object(name)),
        Statement::ReindexTable { name } => format!("reindex table {}", object(name)),
        Statement::Comment { on, text } => format!("comment {on:?} {text:?}"),
        Statement::CreateView(view) => {
            let replace = if view.or_replace { " or replace" } else { "" };
            let columns = list(&view.columns, text);
            format!("view {}{replace} ({columns}) {}", object(&view.name), view.query)
        }
        Statement::DropView {
            names,
            if_exists,
            cascade,
            materialized,
        } => {
            let kind = if *materialized {
                "materialized view"
            } else {
                "view"
            };
            format!("{}{}", drop(kind, names, *if_exists), cascaded(*cascade))
        }
        Statement::Refresh {
            name,
            concurrently,
            with_data,
        } => {
            let how = if *concurrently { " concurrently" } else { "" };
            let data = if *with_data { "" } else { " without data" };
            format!("refresh{how} {}{data}", object(name))
        }
        Statement::CreateSequence { name, options, .. } => format!("sequence {} {options:?}", object(name)),
        Statement::DropSequence {
            names,
            if_exists,
            cascade,
        } => format!("{}{}", drop("sequence", names, *if_exists), cascaded(*cascade)),
        Statement::DropTable {
            names,
            if_exists,
            cascade,
        } => format!("{}{}", drop("table", names, *if_exists), cascaded(*cascade)),
        Statement::DropIndex { names, if_exists } => drop("index", names, *if_exists),
        Statement::Truncate { tables, .. } => format!("truncate {}", list(tables, object)),
        Statement::Explain {
            analyze,
            alternatives,
            format,
            statement,
        } => {
            let analyze = if *analyze { " analyze" } else { "" };
            let alternatives = if *alternatives { " alternatives" } else { "" };
            format!(
                "explain{analyze}{alternatives} {format:?}: {}",
                summary(statement)
            )
        }
        Statement::Show(show) => match show {
            ShowStatement::Tables => "show tables".to_string(),
            ShowStatement::Indexes { table } => {
                format!(
                    "show indexes of {}",
                    table.as_ref().map_or("all".to_string(), object)
                )
            }
            ShowStatement::CreateTable { name } => format!("show create {}", object(name)),
            ShowStatement::Columns { name } => format!("show columns of {}", object(name)),
            ShowStatement::LastQueryStats => "show stats".to_string(),
            ShowStatement::Stats { table } => {
                format!(
                    "show usage of {}",
                    table.as_ref().map_or("all".to_string(), object)
                )
            }
            ShowStatement::DatabaseStats => "show usage".to_string(),
            ShowStatement::File { file, options } => format!("describe {file} as {:?}", options.format),
            ShowStatement::Backups { directory } => format!("show backups in {directory}"),
            ShowStatement::Setting(name) => format!("show {name}"),
            ShowStatement::All => "show all".to_string(),
        },
        Statement::CheckTable { name } => format!("check table {}", object(name)),
        Statement::CheckIndex { name } => format!("check index {}", object(name)),
        Statement::Analyze { table } => {
            format!("analyze {}", table.as_ref().map_or("all".to_string(), object))
        }
        Statement::Copy(copy) => format!("{copy:?}"),
        Statement::Backup { directory, keep } => format!("backup to {directory} keep {keep:?}"),
        Statement::Checkpoint { directory } => format!("checkpoint to {directory:?}"),
        Statement::Compact { table } => {
            format!("compact {}", table.as_ref().map_or("all".to_string(), object))
        }
        Statement::Vacuum(vacuum) => format!("{vacuum:?}"),
        Statement::Do(block) => format!("do {} statements", block.body.len()),
        Statement::Lock(lock) => format!("{lock:?}"),
        Statement::Set { name, value, local } => {
            let local = if *local { "local " } else { "" };
            format!("set {local}{name} = {value:?}")
        }
        Statement::Reset { name } => format!("reset {}", name.as_deref().unwrap_or("all")),
        Statement::Extension(extension) => format!("{extension:?}"),
        Statement::Transaction(statement) => transaction(statement),
        Statement::Role(role) => format!("{role:?}"),
        Statement::Schema(schema) => format!("{schema:?}"),
        Statement::Type(statement) => type_statement(statement),
        Statement::Function(statement) => function_statement(statement),
        Statement::Kept(kept) => format!("{kept:?}"),
        Statement::AlterSequence(alter) => format!("{alter:?}"),
        Statement::Rename { kind, name, new, .. } => {
            format!("rename {kind:?} {} to {}", object(name), new.text)
        }
        Statement::SetSchema {
            kind, name, schema, ..
        } => format!("move {kind:?} {} to {}", object(name), schema.text),
    }
}

fn cascaded(cascade: bool) -> &'static str {
    if cascade { " cascade" } else { "" }
}

fn transaction(statement: &TransactionStatement) -> String {
    let chained = |verb: &str, chain: &bool| format!("{verb}{}", if *chain { " and chain" } else { "" });
    match statement {
        TransactionStatement::Begin { start, modes: how } => {
            format!("{}{}", if *start { "start" } else { "begin" }, modes(how))
        }
        TransactionStatement::Commit { chain } => chained("commit", chain),
        TransactionStatement::Rollback { chain } => chained("rollback", chain),
        TransactionStatement::Savepoint(name) => format!("savepoint {}", text(name)),
        TransactionStatement::Release(name) => format!("release {}", text(name)),
        TransactionStatement::RollbackTo(name) => format!("rollback to {}", text(name)),
        TransactionStatement::SetConstraints { names, deferred } => {
            format!(
                "constraints {}{}",
                list(names, object),
                maybe(deferred, "deferred")
            )
        }
        TransactionStatement::SetTransaction(how) => format!("set transaction{}", modes(how)),
        TransactionStatement::SetCharacteristics(how) => format!("set characteristics{}", modes(how)),
    }
}

fn modes(modes: &TransactionModes) -> String {
    let isolation = if modes.isolation.is_some() {
        " isolation"
    } else {
        ""
    };
    let access = match modes.read_only {
        None => "",
        Some(true) => " read only",
        Some(false) => " read write",
    };
    format!("{isolation}{access}")
}

pub(crate) fn list<T>(items: &[T], print: impl Fn(&T) -> String) -> String {
    items.iter().map(print).collect::<Vec<_>>().join(" ")
}

pub(crate) fn object(name: &ObjectName) -> String {
    match &name.schema {
        Some(schema) => format!("{schema}.{}", name.name),
        None => name.name.clone(),
    }
}

pub(crate) fn text(name: &Name) -> String {
    name.text.clone()
}

pub(crate) fn drop(kind: &str, names: &[ObjectName], if_exists: bool) -> String {
    format!(
        "drop {kind}{} {}",
        if if_exists { " if exists" } else { "" },
        list(names, object)
    )
}

pub(crate) fn element(element: &KeyElementDefinition) -> String {
    let expr = match &element.expr {
        KeyExprDefinition::Column(column) => column.text.clone(),
        KeyExprDefinition::Hash { column, bytes } => format!("hash({},{bytes})", column.text),
        KeyExprDefinition::Expression(expr) => format!("[{expr}]"),
    };
    match element.order {
        SortOrder::Asc => expr,
        SortOrder::Desc => format!("{expr}-"),
    }
}

pub(crate) fn create_index(index: &CreateIndexStatement) -> String {
    let mut out = format!("{}index", if index.unique { "unique " } else { "" });
    out += index.name.as_ref().map_or("", |name| &name.text).trim();
    out += &format!(
        " on {} ({})",
        object(&index.table),
        list(&index.elements, element)
    );
    if !index.include.is_empty() {
        out += &format!(" include {}", list(&index.include, text));
    }
    if !index.nulls_distinct {
        out += " nulls not distinct";
    }
    if let Some(predicate) = &index.predicate {
        out += &format!(" where {}", predicate.expr);
    }
    if index.columnar {
        out += " columnar";
    }
    if index.if_not_exists {
        out += " if not exists";
    }
    out
}

fn action(action: &AlterAction) -> String {
    match action {
        AlterAction::AddIdentity { column, identity } => {
            format!("add identity {} {:?}", column.text, identity.kind)
        }
        AlterAction::DropComputed {
            column,
            computed,
            if_exists,
        } => format!("drop {computed:?} {} {if_exists}", column.text),
        AlterAction::SetIdentity { column, kind } => format!("set identity {} {kind:?}", column.text),
        AlterAction::AlterNumbers { column, sequence, .. } => {
            format!(
                "alter numbers {} {:?} {:?}",
                column.text, sequence.options, sequence.restart
            )
        }
        AlterAction::Repack => "repack".to_string(),
        AlterAction::Storage {
            column,
            index,
            notices,
        } => {
            let of: Vec<&str> = column
                .iter()
                .chain(index)
                .map(|name| name.text.as_str())
                .collect();
            format!("storage {} {}", of.join(" "), notices.join(", "))
        }
        AlterAction::AddPrimaryKey {
            name,
            elements,
            position,
        } => {
            let name = name.as_ref().map_or("", |name| &name.text);
            format!("primary key {name} of {} at {position}", elements.len())
        }
        AlterAction::RenameTo(name) => format!("to {}", name.text),
        AlterAction::RenameColumn { old, new } => format!("{} to {}", old.text, new.text),
        AlterAction::RenameConstraint { old, new } => format!("constraint {} to {}", old.text, new.text),
        AlterAction::AddColumn {
            column: added,
            checks,
            uniques,
            foreign_keys,
            if_not_exists,
        } => {
            let keys: Vec<_> = foreign_keys.iter().map(foreign_key).collect();
            let checks: Vec<_> = checks.iter().map(constraint).collect();
            let unique = if uniques.is_empty() { "" } else { " unique" };
            let maybe = maybe(if_not_exists, "if not exists");
            let (checks, keys) = (checks.concat(), keys.concat());
            format!("add {}{unique}{checks}{keys}{maybe}", column(added))
        }
        AlterAction::DropColumn {
            name,
            if_exists,
            cascade,
        } => {
            let (exists, cascade) = (maybe(if_exists, "if exists"), maybe(cascade, "cascade"));
            format!("drop {}{exists}{cascade}", name.text)
        }
        AlterAction::AddCheck(definition) => format!("add{}", constraint(definition)),
        AlterAction::AddUnique(unique) => {
            let nulls = if unique.nulls_distinct {
                ""
            } else {
                "nulls not distinct "
            };
            format!("add unique {nulls}{}", list(&unique.columns, text))
        }
        AlterAction::UseIndex { name, index } => {
            format!(
                "add unique {} {}",
                name.as_ref().map_or("", |name| &name.text),
                index.text
            )
        }
        AlterAction::AddForeignKey(key) => format!("add{}", foreign_key(key)),
        AlterAction::ValidateConstraint(name) => format!("validate {}", name.text),
        AlterAction::AlterConstraint { name, timing } => format!("{} {timing:?}", name.text),
        AlterAction::DropConstraint {
            name,
            if_exists,
            cascade,
        } => {
            let (exists, cascade) = (maybe(if_exists, "if exists"), maybe(cascade, "cascade"));
            format!("drop constraint {}{exists}{cascade}", name.text)
        }
        AlterAction::SetDefault { column, default } => match default {
            Some(default) => format!("{} default {}", column.text, default.expr),
            None => format!("{} no default", column.text),
        },
        AlterAction::SetFamily {
            family,
            ttl_micros,
            versions,
        } => format!("set family {} {ttl_micros:?} {versions:?}", family.text),
        AlterAction::SetType { column, ty, using } => match using {
            None => format!("{} type {ty}", column.text),
            Some(using) => format!("{} type {ty} using {}", column.text, using.expr),
        },
        AlterAction::SetLifetime(lifetime) => match lifetime.ttl_micros {
            None => "ttl none".to_string(),
            Some(micros) => {
                let from = lifetime.from.as_ref();
                let from = from.map_or(String::new(), |column| format!(" from {}", column.text));
                format!("ttl {micros}{from}")
            }
        },
        AlterAction::SetVersions(kept) => match kept {
            None => "versions none".to_string(),
            Some(kept) => format!("versions {kept}"),
        },
        AlterAction::SetNullable { column, nullable } => {
            format!("{} {}", column.text, if *nullable { "null" } else { "not null" })
        }
    }
}

fn type_statement(statement: &TypeStatement) -> String {
    match statement {
        TypeStatement::CreateEnum { name, labels } => {
            let labels: Vec<String> = labels.iter().map(text).collect();
            format!("enum {} ({})", object(name), labels.join(", "))
        }
        TypeStatement::CreateRecord { name, fields } => {
            let fields = fields.iter().map(|(name, ty)| format!("{} {ty}", name.text));
            format!(
                "record {} ({})",
                object(name),
                fields.collect::<Vec<_>>().join(", ")
            )
        }
        TypeStatement::AlterRecord { name, actions } => {
            let action = |action: &AttributeAction| match action {
                AttributeAction::Add { name, ty } => format!("add {} {ty}", name.text),
                AttributeAction::Drop { name, if_exists } => {
                    format!("drop {}{}", if *if_exists { "if exists " } else { "" }, name.text)
                }
                AttributeAction::Type { name, ty } => format!("type {} {ty}", name.text),
                AttributeAction::Rename { name, new } => format!("rename {} to {}", name.text, new.text),
            };
            let actions: Vec<String> = actions.iter().map(action).collect();
            format!("record {} {}", object(name), actions.join(", "))
        }
        TypeStatement::AddValue {
            name,
            if_not_exists,
            label,
            place,
        } => {
            let maybe = if *if_not_exists { " if not exists" } else { "" };
            let place = match place {
                AddedPlace::Last => String::new(),
                AddedPlace::Before(other) => format!(" before {}", other.text),
                AddedPlace::After(other) => format!(" after {}", other.text),
            };
            format!("type {} add{maybe} {}{place}", object(name), label.text)
        }
        TypeStatement::RenameValue { name, old, new } => {
            format!("type {} rename {} to {}", object(name), old.text, new.text)
        }
        TypeStatement::CreateDomain(domain) => {
            let nullable = match domain.nullable {
                Some(true) => " null",
                Some(false) => " not null",
                None => "",
            };
            let default = domain.default.as_ref();
            let default = default.map_or(String::new(), |default| format!(" default {}", default.expr));
            let checks: String = domain.checks.iter().map(constraint).collect();
            format!(
                "domain {} {}{nullable}{default}{checks}",
                object(&domain.name),
                domain.ty
            )
        }
        TypeStatement::AlterDomain { name, action } => {
            let action = match action.as_ref() {
                DomainAction::Default(Some(default)) => format!("default {}", default.expr),
                DomainAction::Default(None) => "no default".to_string(),
                DomainAction::Nullable(true) => "null".to_string(),
                DomainAction::Nullable(false) => "not null".to_string(),
                DomainAction::Add(check) => format!("add{}", constraint(check)),
                DomainAction::DropConstraint { name, if_exists } => {
                    format!("drop {}{}", name.text, if *if_exists { " if exists" } else { "" })
                }
                DomainAction::RenameConstraint { old, new } => format!("rename {} to {}", old.text, new.text),
                DomainAction::Validate(name) => format!("validate {}", name.text),
            };
            format!("domain {} {action}", object(name))
        }
        TypeStatement::Drop {
            domains,
            names,
            if_exists,
            cascade,
        } => format!(
            "drop {} {}{}{}",
            if *domains { "domains" } else { "types" },
            names.iter().map(object).collect::<Vec<_>>().join(", "),
            if *if_exists { " if exists" } else { "" },
            if *cascade { " cascade" } else { "" }
        ),
    }
}

fn constraint(check: &CheckDefinition) -> String {
    let name = check.name.as_ref().map_or(String::new(), text);
    format!(
        " check {name}({}){}",
        check.condition.expr,
        maybe(&check.not_valid, "not valid")
    )
}

pub(crate) fn column(column: &ColumnDefinition) -> String {
    let mut out = format!("{}:{}", column.name.text, column.ty);
    match column.nullable {
        Some(true) => out += " null",
        Some(false) => out += " not null",
        None => {}
    }
    if let Some(default) = &column.default {
        out += &format!(" default {}", default.expr);
    }
    if let Some(generated) = &column.generated {
        out += &format!(" as {}", generated.expr);
    }
    if let Some(family) = &column.family {
        out += &format!(" in {}", family.text);
    }
    out
}

/// Returns words behind a space, if they are given.
fn maybe(given: &bool, words: &str) -> String {
    match given {
        true => format!(" {words}"),
        false => String::new(),
    }
}

fn foreign_key(key: &ForeignKeyDefinition) -> String {
    let name = key.name.as_ref().map_or(String::new(), text);
    let (of, to) = (list(&key.columns, text), list(&key.referenced_columns, text));
    let full = maybe(&key.match_full, "full");
    let (delete, update) = (key.on_delete.name(), key.on_update.name());
    let (timing, valid) = (key.timing, maybe(&key.not_valid, "not valid"));
    let referenced = object(&key.referenced);
    format!(" fk {name}({of}) to {referenced}({to}){full} {delete} {update} {timing:?}{valid}")
}

pub(crate) fn create_table(table: &CreateTableStatement) -> String {
    let columns: Vec<_> = table.columns.iter().map(column).collect();
    let mut out = format!("{} ({})", object(&table.name), columns.join(", "));
    if let Some(key) = &table.primary_key {
        let name = table
            .key_name
            .as_ref()
            .map_or(String::new(), |name| format!("{}: ", name.text));
        out += &format!(" pk {name}{}", list(key, element));
    }
    for unique in &table.uniques {
        let name = unique.name.as_ref().map_or(String::new(), text);
        out += &format!(" unique {name}({})", list(&unique.columns, text));
    }
    out += &table.checks.iter().map(constraint).collect::<String>();
    out += &table.foreign_keys.iter().map(foreign_key).collect::<String>();
    for family in &table.families {
        out += &format!(" family {}({})", family.name.text, list(&family.columns, text));
        out += &family
            .compression
            .as_ref()
            .map_or(String::new(), |name| format!(" {name}"));
    }
    if let Some(salt) = &table.options.salt {
        out += &format!(" salt {}", salt.buckets);
        out += &salt
            .columns
            .as_ref()
            .map_or(String::new(), |on| format!(" on {}", list(on, text)));
    }
    if table.options.columnar == Some(true) {
        out += " columnar";
    }
    if table.options.immutable {
        out += " immutable";
    }
    if let Some(compression) = &table.options.compression {
        out += &format!(" {compression}");
    }
    for key in &table.options.split_on {
        out += &format!(" split {}", list(key, |constant| constant.expr.to_string()));
    }
    if let Some(source) = &table.source {
        out += &format!(" as {}", source.query);
        out += if source.with_data { "" } else { " without rows" };
    }
    out
}

fn with_before(with: &Option<sqlparser::ast::With>, ast: &impl std::fmt::Display) -> String {
    match with {
        Some(with) => format!("{with} {ast}"),
        None => ast.to_string(),
    }
}

fn merge(merge: &MergeStatement) -> String {
    let clause = |clause: &MergeClause| {
        let condition = clause.condition.iter().map(|c| format!(" and {c}"));
        let action = match &clause.action {
            MergeAction::Update(assignments) => format!("update {}", list(assignments, ToString::to_string)),
            MergeAction::Insert {
                columns,
                overriding,
                values,
            } => {
                let (columns, values) = (
                    list(columns, ToString::to_string),
                    list(values, ToString::to_string),
                );
                let overriding = overriding.map_or(String::new(), |which| format!(" overriding {which:?}"));
                format!("insert ({columns}){overriding} ({values})")
            }
            action => format!("{action:?}").to_lowercase(),
        };
        format!(" {:?}{}: {action};", clause.kind, condition.collect::<String>())
    };
    let clauses: String = merge.clauses.iter().map(clause).collect();
    let returning = merge.returning.iter();
    let returning = returning.map(|items| format!(" returning {}", list(items, ToString::to_string)));
    format!(
        "merge {} using {} on {}:{clauses}{}",
        merge.table,
        merge.source,
        merge.on,
        returning.collect::<String>()
    )
}

fn function_statement(statement: &FunctionStatement) -> String {
    let named = |function: &FunctionName| {
        let types = function.parameters.as_ref();
        let types = types.map(|types| {
            types
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(", ")
        });
        let types = types.map_or(String::new(), |types| format!("({types})"));
        format!("{}{types}", object(&function.name))
    };
    match statement {
        FunctionStatement::Create(function) => {
            let parameter = |parameter: &ParameterDefinition| {
                let name = parameter.name.as_ref();
                let name = name.map_or(String::new(), |name| format!("{} ", name.text));
                let default = parameter.default.as_ref();
                let default = default.map_or(String::new(), |default| format!(" = {}", default.expr));
                format!("{name}{}{default}", parameter.ty)
            };
            let parameters: Vec<String> = function.parameters.iter().map(parameter).collect();
            let returns = match &function.returns {
                ReturnsDefinition::Type {
                    is_set: false, ty, ..
                } => ty.to_string(),
                ReturnsDefinition::Type { ty, .. } => format!("set of {ty}"),
                ReturnsDefinition::Table(columns) => {
                    let columns = columns.iter().map(|(name, ty)| format!("{} {ty}", name.text));
                    format!("table {}", columns.collect::<Vec<_>>().join(", "))
                }
            };
            format!(
                "{}function {}({}) -> {returns} {:?}{} {}",
                if function.or_replace { "replace " } else { "" },
                object(&function.name),
                parameters.join(", "),
                function.volatility,
                if function.strict { " strict" } else { "" },
                function.body.query,
            )
        }
        FunctionStatement::Drop {
            functions,
            if_exists,
            cascade,
        } => format!(
            "drop functions {}{}{}",
            functions.iter().map(named).collect::<Vec<_>>().join(", "),
            if *if_exists { " if exists" } else { "" },
            if *cascade { " cascade" } else { "" },
        ),
        FunctionStatement::Alter { function, action } => {
            let action = match action {
                FunctionAction::RenameTo(name) => format!("rename {}", name.text),
                FunctionAction::SetSchema(name) => format!("schema {}", name.text),
                FunctionAction::OwnerTo(name) => format!("owner {}", name.text),
            };
            format!("function {} {action}", named(function))
        }
    }
}
