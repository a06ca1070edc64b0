//! Tables of `pg_catalog` that have rows.

use rukh_catalog::{
    Catalog, Domain, DomainCheck, ForeignAction, ForeignKey, ForeignTiming, Identity, KeyElement, Table,
};
use rukh_keys::{DataType, Datum, SortOrder};
use rukh_syntax::is_reserved;
use rukh_syntax::sqlparser::keywords::ALL_KEYWORDS;

use crate::exec::session_settings::cursors::ShownCursor;

use super::default_text::{default_of_type, default_text};
use super::lookup::{self, schemas, settings};
use super::relations::{Attribute, Relation, relations};
use super::source::{DATABASE, Maker, Source};
use super::table::{Cell, row};
use super::texts::{commented, constraints, domain_check, in_parentheses, index_definition, place, places};
use super::types::{self, collation_of, length_of};
use super::{casts, defined, opclasses, operators, procs, view_text};
use crate::bind::names::functions::is_temporary;
use crate::bind::system::oids;
use crate::bind::system::system_tables::{KEYWORDS, SystemTable};
use crate::pg::sequence_values::last_value;

/// Makers of rows, by the name of the table.
const MAKERS: &[(&str, Maker)] = &[
    ("pg_am", |_| {
        vec![
            row![oids::HEAP, "heap", 0, "t"],
            row![oids::BTREE, "btree", 0, "i"],
            row![oids::COLUMNAR, "columnar", 0, "i"],
        ]
    }),
    ("pg_attrdef", |source| {
        let tables = source.catalog().tables();
        tables
            .flat_map(|table| defaults(source.catalog(), table))
            .collect()
    }),
    ("pg_attribute", |source| {
        let all = relations(source.catalog());
        all.flat_map(|relation| {
            let object = match relation {
                Relation::Table(_) | Relation::View(_) => relation.object(),
                _ => None,
            };
            let numbers = object.map_or_else(Vec::new, |object| source.catalog().columns_of(object));
            let attributes = relation.attributes().into_iter().enumerate();
            attributes
                .map(|(at, attribute)| {
                    let column = object.zip(numbers.get(at).map(|(number, _)| *number));
                    let acl = column.map_or(Cell::Null, |(object, column)| {
                        lookup::acl(source, object, Some(column))
                    });
                    attribute_row(&relation, at, &attribute, acl)
                })
                .collect::<Vec<_>>()
        })
        .collect()
    }),
    ("pg_aggregate", |_| operators::aggregates()),
    ("pg_auth_members", |source| {
        let roles = source.catalog().roles();
        let rows = roles.flat_map(|role| {
            let of = role.member_of.iter();
            of.map(|of| row![oids::role(of.role), oids::role(role.id), oids::OWNER, of.admin])
        });
        rows.collect()
    }),
    ("pg_authid", roles),
    ("pg_cast", |_| casts::rows()),
    ("pg_class", |source| {
        relations(source.catalog())
            .map(|relation| class_row(source, &relation))
            .collect()
    }),
    ("pg_operator", |_| operators::rows()),
    ("pg_collation", |_| {
        let collation = |oid: i64, name: &str, provider: &str| {
            let (schema, owner) = (oids::PG_CATALOG, oids::OWNER);
            row![
                oid,
                name,
                schema,
                owner,
                provider,
                true,
                -1,
                "C",
                "C",
                Cell::Null,
                Cell::Null
            ]
        };
        vec![
            collation(100, "default", "d"),
            collation(950, "C", "c"),
            collation(951, "POSIX", "c"),
        ]
    }),
    ("pg_constraint", |source| {
        let catalog = source.catalog();
        let tables = catalog.tables();
        let of_tables = tables.flat_map(|table| constraint_rows(catalog, table));
        of_tables.chain(domain_constraint_rows(catalog)).collect()
    }),
    ("pg_database", |_| {
        let (oid, owner, space) = (oids::DATABASE, oids::OWNER, oids::TABLESPACE);
        let null = || Cell::Null;
        vec![row![
            oid,
            DATABASE,
            owner,
            6,
            "c",
            false,
            true,
            -1,
            0,
            0,
            space,
            "C",
            "C",
            null(),
            null(),
            null(),
        ]]
    }),
    ("pg_depend", owned_sequences),
    ("pg_enum", |source| types::pg_enum(source.catalog())),
    ("pg_description", |source| {
        let tables = source.catalog().tables();
        let tables = tables.flat_map(|table| descriptions(source.catalog(), table));
        tables.chain(other_descriptions(source)).collect()
    }),
    (KEYWORDS, |_| {
        let row = |word: &&str| {
            let word = word.to_ascii_lowercase();
            let reserved = is_reserved(&word);
            let (code, about) = if reserved {
                ("R", "reserved")
            } else {
                ("U", "unreserved")
            };
            row![
                word,
                code,
                !reserved,
                about,
                if reserved {
                    "requires AS"
                } else {
                    "can be bare label"
                }
            ]
        };
        ALL_KEYWORDS.iter().map(row).collect()
    }),
    ("pg_cursors", |source| {
        let row = |(name, cursor): &(String, ShownCursor)| {
            row![
                name,
                &cursor.statement,
                cursor.holds,
                false,
                cursor.scrolls,
                Cell::Int(cursor.declared)
            ]
        };
        source.context.client.cursors.all().iter().map(row).collect()
    }),
    ("pg_group", |_| Vec::new()),
    ("pg_index", |source| {
        relations(source.catalog())
            .filter_map(|relation| index_row(source.catalog(), &relation))
            .collect()
    }),
    ("pg_indexes", |source| {
        let indexes = relations(source.catalog()).filter_map(|relation| {
            let table = match relation {
                Relation::PrimaryKey(table) | Relation::Index(table, _) => table,
                _ => return None,
            };
            let definition = index_definition(&relation, false);
            Some(row![
                &table.schema,
                &table.name,
                relation.name(),
                Cell::Null,
                definition
            ])
        });
        indexes.collect()
    }),
    ("pg_language", |_| {
        vec![
            row![12, "internal", oids::OWNER, false, false, 0, 0, 0, Cell::Null],
            row![14, "sql", oids::OWNER, false, true, 0, 0, 0, Cell::Null],
        ]
    }),
    ("pg_namespace", |source| {
        let schemas = schemas(source.catalog());
        let owner_of = |name: &String| match source.catalog().schema_named(name) {
            Some(schema) => lookup::owner(source, schema.id.0),
            None => oids::OWNER,
        };
        let row = |name: &String| row![oids::schema(name), name, owner_of(name), Cell::Null];
        schemas.iter().map(row).collect()
    }),
    ("pg_opclass", |_| opclasses::rows()),
    ("pg_opfamily", |_| opclasses::families()),
    ("pg_proc", |source| {
        let mut rows = procs::rows();
        rows.append(&mut defined::rows(source));
        rows
    }),
    ("pg_roles", roles),
    ("pg_sequence", |source| {
        let sequences = source.catalog().sequences();
        let row = |sequence: &std::sync::Arc<rukh_catalog::Sequence>| {
            row![
                oids::object(sequence.id.0),
                types::oid_of(&sequence.ty),
                sequence.start,
                sequence.increment,
                sequence.max,
                sequence.min,
                i64::from(sequence.cache),
                sequence.cycle,
            ]
        };
        sequences.map(row).collect()
    }),
    ("pg_sequences", |source| {
        let sequences = source.catalog().sequences();
        let row = |sequence: &std::sync::Arc<rukh_catalog::Sequence>| {
            let given = last_value(&source.context.engine, sequence).ok();
            row![
                &sequence.schema,
                &sequence.name,
                lookup::owner_name(source, sequence.id.0),
                sequence.ty.postgres_name(),
                sequence.start,
                sequence.min,
                sequence.max,
                sequence.increment,
                sequence.cycle,
                i64::from(sequence.cache),
                given.and_then(|(last, is_called)| is_called.then_some(last)),
            ]
        };
        sequences.map(row).collect()
    }),
    ("pg_settings", |source| {
        let row = |[name, value, about]: [String; 3]| {
            let null = || Cell::Null;
            row![
                name,
                &value,
                null(),
                "Client",
                about,
                null(),
                "user",
                "string",
                "session",
                null(),
                null(),
                null(),
                &value,
                &value,
                null(),
                null(),
                false,
            ]
        };
        settings(source).into_iter().map(row).collect()
    }),
    ("pg_shadow", users),
    // What is not counted is NULL.
    ("pg_stat_database", |_| {
        let mut row = row![oids::DATABASE, DATABASE];
        row.resize(17, Cell::Null);
        vec![row]
    }),
    ("pg_stat_user_tables", |source| {
        let row = |table: &std::sync::Arc<Table>| {
            let mut row = row![oids::object(table.id.0), &table.schema, &table.name];
            row.resize(11, Cell::Null);
            row.push(lookup::rows_of(source, table).into());
            row
        };
        source.catalog().tables().map(row).collect()
    }),
    ("pg_tables", |source| {
        let tables = source.catalog().tables();
        let row = |table: &std::sync::Arc<Table>| {
            row![
                &table.schema,
                &table.name,
                lookup::owner_name(source, table.id.0),
                Cell::Null,
                true,
                false,
                false,
                false
            ]
        };
        tables.map(row).collect()
    }),
    ("pg_tablespace", |_| {
        vec![row![
            oids::TABLESPACE,
            "pg_default",
            oids::OWNER,
            Cell::Null,
            Cell::Null
        ]]
    }),
    ("pg_timezone_names", |_| {
        vec![row!["UTC", "UTC", "00:00:00", false]]
    }),
    ("pg_type", |source| types::pg_type(source, default_of_type)),
    ("pg_user", users),
    ("pg_matviews", |source| {
        let path = source.path();
        let materialized = source.catalog().materialized();
        materialized
            .map(|(table, query)| {
                let owner = lookup::owner_name(source, table.id.0);
                let text = view_text::definition(&query.sql, &path);
                let has_indexes = !table.indexes.is_empty();
                let is_there = !table.is_unpopulated();
                row![
                    &table.schema,
                    &table.name,
                    owner,
                    Cell::Null,
                    has_indexes,
                    is_there,
                    text
                ]
            })
            .collect()
    }),
    ("pg_views", |source| {
        let (views, path) = (source.catalog().views(), source.path());
        views
            .map(|view| {
                let owner = lookup::owner_name(source, view.id.0);
                let text = view_text::definition(&view.sql, &path);
                row![&view.schema, &view.name, owner, text]
            })
            .collect()
    }),
];

/// Returns what makes the rows of a table; `None` if it never has any.
pub(super) fn maker(table: &SystemTable) -> Option<Maker> {
    let found = MAKERS.iter().find(|(name, _)| *name == table.name);
    found.map(|(_, maker)| *maker)
}

fn defaults(catalog: &Catalog, table: &Table) -> Vec<Vec<Cell>> {
    let columns = table.columns.iter();
    columns
        .filter_map(|column| {
            let generated = column
                .values
                .generated
                .as_ref()
                .map(|generated| in_parentheses(&generated.sql));
            let text = generated.or_else(|| default_text(catalog, column))?;
            let oid = oids::default(table, column.id);
            Some(row![oid, oids::object(table.id.0), place(table, column.id), text])
        })
        .collect()
}

fn attribute_row(relation: &Relation<'_>, at: usize, attribute: &Attribute<'_>, acl: Cell) -> Vec<Cell> {
    let length = length_of(attribute.type_oid);
    let is_table = matches!(relation, Relation::Table(_));
    let column = attribute.column.filter(|_| is_table);
    let generated = column.is_some_and(|column| column.values.generated.is_some());
    let identity = match column.and_then(|column| column.values.identity.as_ref()) {
        Some(Identity::Always) => "a",
        Some(Identity::ByDefault) => "d",
        None => "",
    };
    let has_default =
        identity.is_empty() && (generated || column.is_some_and(|column| column.default.is_some()));
    row![
        relation.oid(),
        &attribute.name,
        attribute.type_oid,
        -1,
        length,
        at + 1,
        0,
        -1,
        attribute.modifier,
        (1..=8).contains(&length),
        if length == 8 { "d" } else { "i" },
        if length < 0 { "x" } else { "p" },
        "",
        attribute.not_null && is_table,
        has_default,
        false,
        identity,
        if generated { "s" } else { "" },
        false,
        true,
        0,
        collation_of(attribute.type_oid),
        acl,
        Cell::Null,
        Cell::Null,
        Cell::Null,
    ]
}

fn class_row(source: &Source<'_>, relation: &Relation<'_>) -> Vec<Cell> {
    let (method, rows) = match relation {
        Relation::Table(table) => (oids::HEAP, lookup::rows_of(source, table)),
        Relation::PrimaryKey(_) => (oids::BTREE, None),
        Relation::Index(_, index) if index.is_columnar() => (oids::COLUMNAR, None),
        Relation::Index(..) => (oids::BTREE, None),
        _ => (0, None),
    };
    let (checks, has_index) = match relation {
        Relation::Table(table) => (table.checks.len(), true),
        _ => (0, false),
    };
    row![
        relation.oid(),
        relation.name(),
        oids::schema(relation.schema()),
        relation.row_type().unwrap_or(0),
        0,
        relation
            .object()
            .map_or(oids::OWNER, |object| lookup::owner(source, object)),
        method,
        relation.oid(),
        0,
        0,
        rows.unwrap_or(-1),
        0,
        0,
        has_index,
        false,
        if is_temporary(relation.schema()) { "t" } else { "p" },
        relation.kind(),
        relation.attributes().len(),
        checks,
        matches!(relation, Relation::View(_)),
        // PostgreSQL keeps foreign keys by triggers.
        matches!(relation, Relation::Table(table) if has_foreign_keys(source, table)),
        false,
        false,
        false,
        !matches!(relation, Relation::Table(table) if table.is_unpopulated()),
        if has_index { "d" } else { "n" },
        false,
        0,
        0,
        0,
        relation
            .object()
            .map_or(Cell::Null, |object| lookup::acl(source, object, None)),
        Cell::Null,
        Cell::Null,
    ]
}

/// Whether a table has foreign keys, or others refer to it.
fn has_foreign_keys(source: &Source<'_>, table: &Table) -> bool {
    !table.foreign_keys.is_empty() || source.catalog().references_to(table.id).next().is_some()
}

fn domain_constraint_rows(catalog: &Catalog) -> Vec<Vec<Cell>> {
    let domains = types::domains(catalog);
    let checks =
        domains.flat_map(|domain| domain.checks.iter().enumerate().map(move |check| (domain, check)));
    let row = |(domain, (at, check)): (&Domain, (usize, &DomainCheck))| {
        let null = || Cell::Null;
        row![
            oids::domain_check(domain.id, at),
            &check.name,
            oids::schema(&domain.schema),
            "c",
            false,
            false,
            true,
            0,
            oids::object(domain.id),
            0,
            0,
            0,
            " ",
            " ",
            " ",
            true,
            0,
            false,
            null(),
            null(),
            null(),
            null(),
            null(),
            null(),
            null(),
            domain_check(check),
        ]
    };
    checks.map(row).collect()
}

fn constraint_rows(catalog: &Catalog, table: &Table) -> Vec<Vec<Cell>> {
    constraints(catalog, table)
        .into_iter()
        .map(|constraint| {
            let null = || Cell::Null;
            let foreign = constraint.foreign;
            let key = foreign.map(|(_, key)| key);
            let letter = |action: fn(&ForeignKey) -> ForeignAction| {
                key.map_or(" ", |key| match action(key) {
                    ForeignAction::NoAction => "a",
                    ForeignAction::Restrict => "r",
                    ForeignAction::Cascade => "c",
                    ForeignAction::SetNull => "n",
                    ForeignAction::SetDefault => "d",
                })
            };
            let referenced = foreign.map(|(referenced, key)| {
                let columns = key.referenced_columns.iter();
                columns.map(|id| place(referenced, *id)).collect::<Vec<i64>>()
            });
            row![
                constraint.oid,
                constraint.name,
                oids::schema(&constraint.table.schema),
                constraint.kind,
                key.is_some_and(|key| key.timing != ForeignTiming::NotDeferrable),
                key.is_some_and(|key| key.timing == ForeignTiming::Deferred),
                constraint.valid,
                oids::object(constraint.table.id.0),
                0,
                constraint.index,
                0,
                foreign.map_or(0, |(referenced, _)| oids::object(referenced.id.0)),
                letter(|key| key.on_update),
                letter(|key| key.on_delete),
                key.map_or(" ", |key| if key.match_full { "f" } else { "s" }),
                true,
                0,
                constraint.kind != "c",
                constraint.columns,
                referenced,
                null(),
                null(),
                null(),
                null(),
                null(),
                constraint.check,
            ]
        })
        .collect()
}

/// A sequence that was made for a column goes with it.
fn owned_sequences(source: &Source<'_>) -> Vec<Vec<Cell>> {
    let catalog = source.catalog();
    let class = oids::system_table("pg_class", 0);
    let owned = catalog.sequences().filter_map(|sequence| {
        let (table, column) = sequence.owner?;
        let table = catalog.table(table)?;
        let identity = table.column(column)?.values.identity.is_some();
        let (sequence, owner) = (oids::object(sequence.id.0), oids::object(table.id.0));
        let kind = if identity { "i" } else { "a" };
        Some(row![class, sequence, 0, class, owner, place(table, column), kind])
    });
    owned.collect()
}

fn descriptions(catalog: &Catalog, table: &Table) -> Vec<Vec<Cell>> {
    let class = oids::system_table("pg_class", 0);
    let oid = oids::object(table.id.0);
    let own = table.comments.table.iter().map(|text| row![oid, class, 0, text]);
    let columns = table.comments.columns.iter();
    let columns = columns.map(|(id, text)| row![oid, class, place(table, *id), text]);
    let indexes = table.comments.indexes.iter();
    let indexes = indexes.map(|(id, text)| row![oids::object(id.0), class, 0, text]);
    let constraints = commented(catalog, table);
    let of_constraints = oids::system_table("pg_constraint", 0);
    let constraints = constraints.map(|(constraint, text)| row![constraint.oid, of_constraints, 0, text]);
    own.chain(columns).chain(indexes).chain(constraints).collect()
}

/// Returns the comments of views, sequences, schemas, types and functions.
fn other_descriptions(source: &Source<'_>) -> Vec<Vec<Cell>> {
    let catalog = source.catalog();
    let class = oids::system_table("pg_class", 0);
    let namespace = oids::system_table("pg_namespace", 0);
    let views = catalog
        .views()
        .map(|view| (oids::object(view.id.0), class, &view.comment));
    let sequences = catalog.sequences();
    let sequences = sequences.map(|sequence| (oids::object(sequence.id.0), class, &sequence.comment));
    let schemas = catalog.schemas();
    let schemas = schemas.map(|schema| (oids::schema(&schema.name), namespace, &schema.comment));
    let types = catalog.types();
    let types = types.map(|ty| {
        (
            oids::object(ty.id().0),
            oids::system_table("pg_type", 0),
            &ty.comment,
        )
    });
    let functions = catalog.functions().map(|function| {
        let class = oids::system_table("pg_proc", 0);
        (oids::object(function.id.0), class, &function.comment)
    });
    let all = views
        .chain(sequences)
        .chain(schemas)
        .chain(types)
        .chain(functions);
    all.filter_map(|(oid, class, comment)| Some(row![oid, class, 0, comment.as_ref()?]))
        .collect()
}

fn index_row(catalog: &Catalog, relation: &Relation<'_>) -> Option<Vec<Cell>> {
    let (table, elements, include, index): (_, &[KeyElement], &[_], _) = match relation {
        Relation::PrimaryKey(table) => (table, &table.primary_key, &[], None),
        Relation::Index(table, index) => (table, &index.elements, &index.include, Some(index)),
        _ => return None,
    };
    let mut keys = places(table, elements);
    keys.extend(include.iter().map(|id| place(table, *id)));
    let attributes = relation.attributes();
    let collations = attributes
        .iter()
        .map(|attribute| collation_of(attribute.type_oid));
    let classes = attributes.iter().take(elements.len());
    let classes = classes.map(|attribute| opclasses::of_type(catalog, attribute.type_oid));
    let options = elements.iter().map(|element| match element.order {
        SortOrder::Asc => 0,
        // DESC, NULLS FIRST.
        SortOrder::Desc => 3,
    });
    let expressions: Vec<String> = elements
        .iter()
        .filter(|element| !matches!(element.expr, rukh_catalog::KeyExpr::Column(_)))
        .map(|element| element.expr.sql(table))
        .collect();
    let ready = index.is_none_or(|index| index.state == rukh_catalog::IndexState::Ready);
    let maintained = index.is_none_or(|index| index.state.is_maintained());
    Some(row![
        relation.oid(),
        oids::object(table.id.0),
        keys.len(),
        elements.len(),
        index.is_none_or(|index| index.unique),
        index.is_some_and(|index| !index.nulls_distinct),
        index.is_none(),
        false,
        true,
        false,
        ready,
        false,
        maintained,
        true,
        false,
        keys.clone(),
        collations.collect::<Vec<i64>>(),
        classes.collect::<Vec<i64>>(),
        options.collect::<Vec<i64>>(),
        Some(expressions.join(", ")).filter(|text| !text.is_empty()),
        index
            .and_then(|index| index.predicate.as_ref())
            .map(|predicate| in_parentheses(&predicate.sql)),
    ])
}

fn roles(source: &Source<'_>) -> Vec<Vec<Cell>> {
    let role = |role: lookup::Role| {
        let null = || Cell::Null;
        row![
            role.name,
            role.superuser,
            role.inherits,
            role.superuser,
            role.superuser,
            role.login,
            false,
            -1,
            "********",
            role.valid_until.map_or_else(null, |until| DataType::TIMESTAMP_TZ
                .format_text(&Datum::Timestamp(until))
                .into()),
            role.superuser,
            null(),
            role.oid,
        ]
    };
    lookup::roles(source).into_iter().map(role).collect()
}

fn users(source: &Source<'_>) -> Vec<Vec<Cell>> {
    let user = |role: lookup::Role| {
        let (oid, all) = (role.oid, role.superuser);
        row![
            role.name,
            oid,
            all,
            all,
            false,
            all,
            "********",
            Cell::Null,
            Cell::Null
        ]
    };
    lookup::roles(source).into_iter().map(user).collect()
}
