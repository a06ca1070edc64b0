//! Which definitions are valid, what keys and layouts they give, and their stored form.

#![allow(clippy::unwrap_used)]

use rukh_catalog::{
    Catalog, CatalogError, Column, ColumnId, Domain, DomainCheck, FORMAT_VERSION, Family, FamilyId, Function,
    FunctionId, IndexDraft, IndexId, IndexPredicate, IndexState, KeyElement, KeyExpr, Parameter, Returns,
    SaltOptions, Table, TableDraft, TableId, Type, TypeId, TypeKind, ValueType, Volatility, decode_format,
    decode_object, decode_table, encode_object, encode_table, has_type, table_key, validate_index,
    validate_table, with_type,
};
use rukh_keys::{DataType, Datum, EnumDefinition, EnumType, SortOrder};

fn column(id: u32, name: &str, ty: DataType, family: u16) -> Column {
    Column {
        id: ColumnId(id),
        name: name.into(),
        ty,
        nullable: true,
        default: None,
        family: FamilyId(family),
        values: Default::default(),
    }
}

fn by(column: u32, order: SortOrder) -> KeyElement {
    KeyElement {
        expr: KeyExpr::Column(ColumnId(column)),
        order,
    }
}

fn hash(column: u32, bytes: u8) -> KeyElement {
    KeyElement {
        expr: KeyExpr::Hash {
            column: ColumnId(column),
            bytes,
        },
        order: SortOrder::Asc,
    }
}

fn expression(sql: &str, columns: &[u32]) -> KeyElement {
    let columns = columns.iter().map(|id| ColumnId(*id)).collect();
    let expr = KeyExpr::Expression {
        sql: sql.into(),
        ty: DataType::BigInt,
        nullable: true,
        columns,
    };
    KeyElement {
        expr,
        order: SortOrder::Asc,
    }
}

/// t (a INTEGER, b VARCHAR, c INTEGER, p VARBINARY IN payload), primary key (a, b DESC)
fn draft() -> TableDraft {
    TableDraft {
        schema: "public".into(),
        name: "t".into(),
        columns: vec![
            column(0, "a", DataType::Integer, 0),
            column(1, "b", DataType::Varchar(None), 0),
            column(2, "c", DataType::Integer, 0),
            column(3, "p", DataType::Varbinary(None), 1),
        ],
        primary_key: vec![by(0, SortOrder::Asc), by(1, SortOrder::Desc)],
        families: vec![Family {
            id: FamilyId(1),
            name: "payload".into(),
            options: Default::default(),
        }],
        ..TableDraft::default()
    }
}

fn table() -> Table {
    validate_table(draft(), TableId(7)).unwrap()
}

fn index_draft() -> IndexDraft {
    IndexDraft {
        name: "i".into(),
        unique: false,
        nulls_distinct: true,
        constraint: false,
        elements: vec![by(2, SortOrder::Desc)],
        include: Vec::new(),
        predicate: None,
        layout: Default::default(),
    }
}

type Change<D> = fn(&mut D);

const REFUSED_TABLES: &[(&str, Change<TableDraft>)] = &[
    ("column \"a\" specified more than once", |t| {
        t.columns[2].name = "a".into()
    }),
    (
        "table \"t\" needs a PRIMARY KEY: rows are kept in its order",
        |t| t.primary_key.clear(),
    ),
    ("column \"a\" specified more than once", |t| {
        t.primary_key[1] = by(0, SortOrder::Desc)
    }),
    ("HASH takes 4, 8 or 16 bytes, not 5", |t| {
        t.primary_key[0] = hash(0, 5)
    }),
    (
        "a primary key is made of columns and HASH(column, n), not of a + 1",
        |t| {
            t.primary_key[0] = expression("a + 1", &[0]);
        },
    ),
    ("SALT_BUCKETS must be between 2 and 256, not 1", |t| {
        t.salt = Some(SaltOptions {
            buckets: 1,
            columns: None,
        });
    }),
    (
        "SALT_BUCKETS ON names column \"c\", which is not part of the primary key",
        |t| {
            t.salt = Some(SaltOptions {
                buckets: 4,
                columns: Some(vec![ColumnId(2)]),
            });
        },
    ),
    ("family \"default\" specified more than once", |t| {
        t.families[0].name = "default".into()
    }),
    ("key column \"a\" cannot belong to a family", |t| {
        t.columns[0].family = FamilyId(1)
    }),
    ("a SPLIT ON key must be a prefix of the primary key", |t| {
        t.options.split_on = vec![vec![]]
    }),
    (
        "SPLIT ON: a value of type integer is expected but the value is text",
        |t| {
            t.options.split_on = vec![vec![Datum::Text("x".into())]];
        },
    ),
    ("length for type of column \"c\" must be at least 1", |t| {
        t.columns[2].ty = DataType::Char(0)
    }),
    ("tables can have at most 1600 columns", |t| {
        t.columns = (0..1601)
            .map(|n| column(n, &format!("c{n}"), DataType::Integer, 0))
            .collect();
    }),
];

const REFUSED_INDEXES: &[(&str, Change<IndexDraft>)] = &[
    ("a key has between 1 and 64 columns", |i| i.elements.clear()),
    ("column \"c\" specified more than once", |i| {
        i.elements.push(by(2, SortOrder::Asc))
    }),
    ("column \"c\" specified more than once", |i| {
        i.include = vec![ColumnId(2), ColumnId(2)]
    }),
    (
        "column \"p\" of another family cannot be included in an index",
        |i| i.include = vec![ColumnId(3)],
    ),
    ("column \"p\" of another family cannot be indexed", |i| {
        i.elements[0] = by(3, SortOrder::Asc)
    }),
    ("column \"p\" of another family cannot be indexed", |i| {
        i.predicate = Some(IndexPredicate {
            sql: "p IS NULL".into(),
            columns: vec![ColumnId(3)],
        });
    }),
    ("HASH takes 4, 8 or 16 bytes, not 6", |i| {
        i.elements[0] = hash(2, 6)
    }),
];

#[test]
fn drafts_that_break_a_rule_are_refused() {
    for (message, change) in REFUSED_TABLES {
        let mut draft = draft();
        change(&mut draft);
        assert_eq!(
            validate_table(draft, TableId(1)).unwrap_err().to_string(),
            *message
        );
    }
    for (message, change) in REFUSED_INDEXES {
        let mut draft = index_draft();
        change(&mut draft);
        assert_eq!(
            validate_index(draft, &table(), IndexId(1))
                .unwrap_err()
                .to_string(),
            *message
        );
    }
}

#[test]
fn key_columns_become_not_null_and_leave_the_value() {
    let table = table();
    let nullable: Vec<bool> = table.columns.iter().map(|column| column.nullable).collect();
    assert_eq!(nullable, [false, false, true, true]);
    let layout = table.row_layout();
    let in_family = |family| {
        table
            .value_columns(layout, family)
            .into_iter()
            .map(|(id, _)| id.0)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (in_family(FamilyId(0)), in_family(FamilyId(1))),
        (vec![2], vec![3])
    );
    assert_eq!(table.storage_name(FamilyId(0)), "t7");
    assert_eq!(table.storage_name(FamilyId(1)), "t7.f1");
    assert_eq!(table.display_name(FamilyId(1)), "t.payload");
}

#[test]
fn the_source_of_a_hash_stays_in_the_value() {
    let mut draft = draft();
    draft.primary_key = vec![hash(1, 8)];
    let table = validate_table(draft, TableId(1)).unwrap();
    assert!(!table.in_primary_key(ColumnId(1)));
    assert_eq!(table.row_layout().columns.len(), 4);
    assert_eq!(table.key_layout().columns()[0].ty, DataType::Binary(8));
}

#[test]
fn split_keys_come_in_key_order() {
    let mut draft = draft();
    let text = |text: &str| vec![Datum::Int(1), Datum::Text(text.into())];
    draft.options.split_on = vec![vec![Datum::Int(2)], text("a"), text("b"), vec![Datum::Int(2)]];
    let table = validate_table(draft, TableId(1)).unwrap();
    assert_eq!(
        table.options.split_on,
        [text("b"), text("a"), vec![Datum::Int(2)]]
    );
}

#[test]
fn index_keys_end_with_the_rest_of_the_primary_key() {
    let table = table();
    let check = |elements: Vec<KeyElement>, unique, expected: &[&str], searchable| {
        let index = validate_index(
            IndexDraft {
                elements,
                unique,
                nulls_distinct: true,
                ..index_draft()
            },
            &table,
            IndexId(9),
        )
        .unwrap();
        let shown: Vec<_> = index
            .key_elements(&table)
            .iter()
            .map(|e| e.expr.sql(&table))
            .collect();
        assert_eq!(
            (shown, index.searchable(&table)),
            (expected.iter().map(ToString::to_string).collect(), searchable)
        );
        assert_eq!(
            (index.storage_name().as_str(), index.state),
            ("i9", IndexState::Building)
        );
    };
    check(vec![by(2, SortOrder::Asc)], false, &["c", "a", "b"], 3);
    check(vec![by(2, SortOrder::Asc)], true, &["c", "a", "b"], 1);
    check(
        vec![by(1, SortOrder::Asc), hash(0, 4)],
        false,
        &["b", "HASH(a, 4)", "a"],
        3,
    );
    check(vec![expression("c + 1", &[2])], false, &["c + 1", "a", "b"], 3);
}

#[test]
fn an_index_covers_its_columns_and_the_key() {
    let table = table();
    let elements = vec![hash(2, 4)];
    let mut index = validate_index(
        IndexDraft {
            elements,
            ..index_draft()
        },
        &table,
        IndexId(1),
    )
    .unwrap();
    let covered = |index: &rukh_catalog::Index| {
        (0..4)
            .map(|id| index.covers(&table, ColumnId(id)))
            .collect::<Vec<_>>()
    };
    assert_eq!(covered(&index), [true, true, false, false]);
    index.include = vec![ColumnId(2)];
    assert_eq!(covered(&index), [true, true, true, false]);
    assert_eq!(
        index.columns_read(&table),
        [ColumnId(0), ColumnId(1), ColumnId(2)]
    );
}

#[test]
fn names_are_unique_within_a_schema() {
    let mut with_index = table();
    with_index
        .indexes
        .push(validate_index(index_draft(), &table(), IndexId(8)).unwrap());
    let catalog = Catalog::from_tables([with_index]);
    let taken = |name: &str| CatalogError::DuplicateRelation { name: name.into() };
    assert_eq!(catalog.check_name_free("public", "t"), Err(taken("t")));
    assert_eq!(catalog.check_name_free("public", "i"), Err(taken("i")));
    assert_eq!(catalog.check_name_free("other", "t"), Ok(()));
    assert_eq!(catalog.next_id(), 9);
    assert_eq!(catalog.without_table(TableId(7)).version, 2);
}

#[test]
fn definitions_survive_being_stored() {
    let mut draft = draft();
    draft.salt = Some(SaltOptions {
        buckets: 16,
        columns: Some(vec![ColumnId(0)]),
    });
    draft.options.split_on = vec![vec![Datum::Int(5)]];
    let mut table = validate_table(draft, TableId(7)).unwrap();
    let predicate = Some(IndexPredicate {
        sql: "c > 5".into(),
        columns: vec![ColumnId(2)],
    });
    let elements = vec![hash(2, 4), expression("c + 1", &[2])];
    let draft = IndexDraft {
        elements,
        predicate,
        unique: true,
        nulls_distinct: true,
        ..index_draft()
    };
    table
        .indexes
        .push(validate_index(draft, &table, IndexId(8)).unwrap());
    let key = table_key(table.id);
    assert_eq!(decode_table(&key, &encode_table(&table)), Ok(table));
}

const DAMAGED: &[(&str, Change<Table>)] = &[
    ("there is no column with id 9", |t| {
        t.primary_key[0] = by(9, SortOrder::Asc)
    }),
    ("a key has no elements", |t| t.primary_key.clear()),
    ("the primary key has an expression", |t| {
        t.primary_key[0] = expression("x", &[0])
    }),
    ("a hash of 7 bytes", |t| t.primary_key[0] = hash(0, 7)),
    ("0 salt buckets", |t| {
        t.salt = Some(SaltOptions {
            buckets: 0,
            columns: None,
        })
    }),
    ("there is no row layout", |t| t.layouts.clear()),
    ("layout 3 is at place 0", |t| t.layouts[0].version = 3),
    ("column \"c\" is 0 times in the row layout", |t| {
        t.layouts[0].columns.retain(|(id, _)| id.0 != 2)
    }),
    ("column \"p\" belongs to no family", |t| t.families.truncate(1)),
    ("the first family is not family 0", |t| t.families.clear()),
    ("column \"a\" is not in family 0", |t| {
        t.columns[0].family = FamilyId(1)
    }),
    ("column id 0 is given twice", |t| t.columns[1].id = ColumnId(0)),
    ("column \"p\" has an id not yet given", |t| t.next_column = 3),
    ("it has the definition of table 8", |t| t.id = TableId(8)),
    ("index \"i\": there is no column with id 9", |t| {
        t.indexes[0].elements = vec![by(9, SortOrder::Asc)]
    }),
    ("index \"i\": column \"p\" is not in family 0", |t| {
        t.indexes[0].include = vec![ColumnId(3)]
    }),
];

#[test]
fn damaged_definitions_are_refused() {
    for (message, change) in DAMAGED {
        let mut damaged = table();
        damaged
            .indexes
            .push(validate_index(index_draft(), &table(), IndexId(8)).unwrap());
        change(&mut damaged);
        let error = decode_table(&table_key(TableId(7)), &encode_table(&damaged)).unwrap_err();
        let expected = CatalogError::Corrupted {
            key: "table/00000007".into(),
            message: message.to_string(),
        };
        assert_eq!(error, expected);
    }
    assert!(decode_table(b"table/00000007", b"{").is_err());
}

#[test]
fn newer_formats_are_refused() {
    for known in 1..=FORMAT_VERSION {
        assert_eq!(decode_format(known.to_string().as_bytes()), Ok(known));
    }
    let found = FORMAT_VERSION + 1;
    assert_eq!(
        decode_format(found.to_string().as_bytes()),
        Err(CatalogError::NewerFormat {
            found,
            supported: FORMAT_VERSION
        })
    );
    assert!(decode_format(b"x").is_err());
}

fn domain(id: u32, name: &str, ty: DataType, below: Option<Domain>) -> Domain {
    Domain {
        id,
        schema: "public".into(),
        name: name.into(),
        ty,
        nullable: true,
        default: None,
        checks: vec![DomainCheck {
            name: format!("{name}_check"),
            sql: "value > 0".into(),
        }],
        domain: below.map(Box::new),
    }
}

/// A database of format 16 has its enums as they are now.
#[test]
fn types_are_stored_as_they_were() {
    let stored =
        br#"{"labels":{"id":7,"schema":"s","name":"mood","labels":[{"code":0,"text":"sad"}]},"comment":"c"}"#;
    let ty: Type = decode_object(b"type/7", stored).unwrap();
    assert_eq!((ty.id(), ty.schema(), ty.name()), (TypeId(7), "s", "mood"));
    assert_eq!(ty.labels().unwrap().labels[0].text, "sad");
    assert_eq!(ty.comment.as_deref(), Some("c"));
    assert_eq!(encode_object(&ty), stored);
    let ty = Type::new(TypeKind::Domain(domain(8, "d", DataType::Integer, None)));
    let again: Type = decode_object(b"type/8", &encode_object(&ty)).unwrap();
    assert_eq!(again, ty);
}

/// Functions have their types with them: those of the database change with the types.
#[test]
fn functions_are_stored_with_their_types() {
    let value = |ty| ValueType { ty, domain: None };
    let mood = EnumDefinition::new(5, "public", "mood", &["sad".to_string()]);
    let parameter = |name: &str, ty, default: Option<&str>| Parameter {
        name: Some(name.into()),
        ty,
        default: default.map(Into::into),
    };
    let function = Function {
        id: FunctionId(9),
        schema: "s".into(),
        name: "f".into(),
        parameters: vec![
            parameter("a", value(DataType::Enum(EnumType::of(mood.clone()))), None),
            parameter("b", value(DataType::Integer), Some("1")),
        ],
        returns: Returns::Table(vec![("x".into(), value(DataType::Varchar(None)))]),
        source: "select a || b".into(),
        is_expression: false,
        sql: "SELECT $1 || $2".into(),
        inlines: false,
        volatility: Volatility::Stable,
        strict: true,
        comment: None,
    };
    assert_eq!(function.arity(), 1..=2);
    assert_eq!(function.signature(), "f(mood,integer)");
    let again: Function = decode_object(b"function/9", &encode_object(&function)).unwrap();
    assert_eq!(again, function);
    let state = TypeKind::Enum(EnumDefinition {
        name: "state".into(),
        ..mood
    });
    let changed = with_type(&function, &state).unwrap();
    assert_eq!(changed.signature(), "f(state,integer)");
    let catalog = Catalog::default().with_function(function.clone());
    assert_eq!(catalog.functions_named("s", "f").count(), 1);
    assert_eq!(catalog.functions_named("public", "f").count(), 0);
    assert_eq!(catalog.next_id(), 10);
    assert_eq!(catalog.without_function(FunctionId(9)).functions().count(), 0);
}

/// A change of a type reaches its copies in columns, in domains made of it, and in columns of these.
#[test]
fn copies_of_a_type_change_with_it() {
    let labels = EnumDefinition::new(5, "public", "mood", &["sad".to_string()]);
    let mood = DataType::Enum(EnumType::of(labels.clone()));
    let of_mood = domain(6, "good", mood, None);
    let child = domain(7, "better", mood, Some(of_mood.clone()));
    let mut own = column(1, "m", mood, 0);
    own.values.domain = Some(Box::new(child.clone()));
    for id in [5, 6, 7] {
        assert!(has_type(&own, TypeId(id)), "{id}");
    }
    assert!(!has_type(&own, TypeId(8)));
    let renamed = TypeKind::Enum(EnumDefinition {
        name: "state".into(),
        ..labels
    });
    let changed = with_type(&own, &renamed).unwrap();
    for part in changed.values.domain.as_ref().unwrap().chain() {
        assert_eq!(part.ty, changed.ty, "{}", part.name);
    }
    assert_ne!(changed.ty, mood);
    let checked = TypeKind::Domain(Domain {
        checks: Vec::new(),
        ..of_mood
    });
    let changed = with_type(&own, &checked).unwrap();
    let checks = changed.values.domain.as_ref().unwrap().chain();
    let checks: Vec<usize> = checks.iter().map(|part| part.checks.len()).collect();
    assert_eq!(checks, [0, 1]);
}
