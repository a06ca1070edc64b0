//! Random worlds: a table with a key of any shape, indexes of any shape, and rows.

use std::collections::BTreeSet;

use rukh_catalog::{
    Column, ColumnId, FamilyId, Index, IndexDraft, IndexId, IndexLayout, IndexPredicate, IndexState,
    KeyElement, KeyExpr, SaltOptions, Table, TableDraft, TableId, validate_index, validate_table,
};
use rukh_keys::{DataType, Datum, SortOrder, ValueError, hash_datum};
use rukh_planner::{IndexExpression, Predicate, Query, Source, TermId, TermKind, evaluate};

use crate::choices::Choices;
use crate::domains::{types, values};
use crate::predicates::leaf;

/// A row: one datum per column.
pub type Row = Vec<Datum>;

/// A table, its indexes and its rows.
#[derive(Debug)]
pub struct World {
    pub table: Table,
    pub expressions: Vec<IndexExpression>,
    pub index_predicates: Vec<(IndexId, Predicate)>,
    pub rows: Vec<Row>,
}

impl World {
    /// A world of definitions chosen by one list of choices and rows by another.
    pub fn random(choices: &mut Choices, rows: &mut Choices) -> World {
        let table = random_table(choices);
        let expressions = table.columns.iter().map(expression_of).collect();
        let mut world = World {
            table,
            expressions,
            index_predicates: Vec::new(),
            rows: Vec::new(),
        };
        for id in 0..1 + choices.below(2) {
            world.add_index(choices, IndexId(10 + id as u32));
        }
        world.add_rows(rows);
        world
    }

    pub fn query<'a>(&'a self, conjuncts: &'a [Predicate]) -> Query<'a> {
        Query {
            conjuncts,
            expressions: &self.expressions,
            index_predicates: &self.index_predicates,
            ..Query::new(&self.table)
        }
    }

    /// The table and all indexes.
    pub fn sources(&self) -> Vec<Source> {
        let indexes = self.table.indexes.iter().map(|index| Source::Index(index.id));
        [Source::Table].into_iter().chain(indexes).collect()
    }

    /// The value of a term in a row.
    pub fn value(&self, row: &Row, term: TermId) -> Datum {
        match term.kind() {
            TermKind::Column(id) => row[id.0 as usize].clone(),
            TermKind::Hash { column, bytes } => hash_datum(&row[column.0 as usize], bytes),
            TermKind::Expression(position) => expression_value(&row[position as usize]),
        }
    }

    /// Whether a row is kept; one for which the statement fails is not.
    pub fn passes(&self, row: &Row, predicate: &Predicate) -> bool {
        self.answer(row, predicate) == Ok(Some(true))
    }

    /// What a predicate is for a row.
    pub fn answer(&self, row: &Row, predicate: &Predicate) -> Result<Option<bool>, ValueError> {
        let query = self.query(&[]);
        evaluate(predicate, &query, &|term| self.value(row, term))
    }

    /// The key of a row in the table or an index; `None` if a partial index has no entry for it.
    pub fn key(&self, row: &Row, source: Source) -> Option<Vec<u8>> {
        let Source::Index(id) = source else {
            let datums = self.datums(row, &self.table.primary_key);
            return Some(
                self.table
                    .key_layout()
                    .encode(&datums)
                    .expect("rows hold checked values"),
            );
        };
        let index = self.table.index(id).expect("sources name indexes of the table");
        let partial = self.index_predicates.iter().find(|(of, _)| *of == id);
        if partial.is_some_and(|(_, predicate)| !self.passes(row, predicate)) {
            return None;
        }
        let layout = index.key_layout(&self.table);
        let datums = self.datums(row, &index.key_elements(&self.table));
        let own = &datums[..index.elements.len()];
        if index.unique && !own.iter().any(Datum::is_null) {
            let refs: Vec<_> = own.iter().map(Datum::as_ref).collect();
            let mut key = Vec::new();
            layout
                .encode_prefix_into(&refs, &mut key)
                .expect("rows hold checked values");
            return Some(key);
        }
        Some(layout.encode(&datums).expect("rows hold checked values"))
    }

    fn datums(&self, row: &Row, elements: &[KeyElement]) -> Vec<Datum> {
        let value = |element: &KeyElement| match &element.expr {
            KeyExpr::Column(id) => row[id.0 as usize].clone(),
            KeyExpr::Hash { column, bytes } => hash_datum(&row[column.0 as usize], *bytes),
            KeyExpr::Expression { columns, .. } => expression_value(&row[columns[0].0 as usize]),
        };
        elements.iter().map(value).collect()
    }

    fn add_index(&mut self, choices: &mut Choices, id: IndexId) {
        let elements = random_elements(choices, &self.table, true);
        let include = if choices.one_in(3) {
            vec![ColumnId(0)]
        } else {
            Vec::new()
        };
        let predicate = choices.one_in(5).then(|| leaf(choices, self));
        let columnar = predicate.is_none() && choices.one_in(3);
        let (layout, include) = match columnar {
            true => {
                let all = self.table.columns.iter().map(|column| column.id);
                (
                    IndexLayout::Columnar,
                    all.filter(|_| !choices.one_in(8)).collect(),
                )
            }
            false => (IndexLayout::Rows, include),
        };
        let draft = IndexDraft {
            name: format!("i{}", id.0),
            unique: choices.one_in(3) && !columnar,
            nulls_distinct: !choices.one_in(4),
            constraint: false,
            elements,
            include,
            predicate: predicate.as_ref().map(|_| IndexPredicate {
                sql: String::new(),
                columns: Vec::new(),
            }),
            layout,
        };
        let Ok(index) = validate_index(draft, &self.table, id) else {
            return;
        };
        self.table.indexes.push(Index {
            state: IndexState::Ready,
            ..index
        });
        self.index_predicates
            .extend(predicate.map(|predicate| (id, predicate)));
    }

    /// A row for which the condition of a partial index fails is not written: INSERT fails, too.
    fn can_be_written(&self, row: &Row) -> bool {
        self.index_predicates
            .iter()
            .all(|(_, predicate)| self.answer(row, predicate).is_ok())
    }

    fn add_rows(&mut self, choices: &mut Choices) {
        let mut taken: BTreeSet<(Source, Vec<u8>)> = BTreeSet::new();
        let count = 1 + choices.below(60);
        for _ in 0..count {
            let row: Row = self
                .table
                .columns
                .iter()
                .map(|column| random_value(choices, column))
                .collect();
            let keys: Vec<_> = self
                .sources()
                .into_iter()
                .filter_map(|source| Some((source, self.key(&row, source)?)))
                .collect();
            if self.can_be_written(&row) && keys.iter().all(|key| !taken.contains(key)) {
                taken.extend(keys);
                self.rows.push(row);
            }
        }
    }
}

fn random_value(choices: &mut Choices, column: &Column) -> Datum {
    if column.nullable && choices.one_in(6) {
        return Datum::Null;
    }
    choices.pick(&values(column.ty)).clone()
}

fn random_table(choices: &mut Choices) -> Table {
    let count = 2 + choices.below(3);
    let run = choices.one_in(6);
    let columns: Vec<Column> = (0..count)
        .map(|position| Column {
            id: ColumnId(position as u32),
            name: format!("c{position}"),
            ty: if run {
                DataType::Boolean
            } else {
                random_type(choices)
            },
            nullable: choices.one_in(3),
            default: None,
            family: FamilyId(0),
            values: Default::default(),
        })
        .collect();
    let mut draft = TableDraft {
        schema: "public".to_string(),
        name: "t".to_string(),
        columns,
        ..TableDraft::default()
    };
    let bare = validate_table(
        with_key(draft.clone(), vec![element(ColumnId(0), false)]),
        TableId(1),
    )
    .expect("a key of one column is valid");
    let elements = random_elements(choices, &bare, false);
    if choices.one_in(4) {
        let columns = choices.one_in(2).then(|| elements[0].expr.columns());
        draft.salt = Some(SaltOptions {
            buckets: 2 + choices.below(3) as u16,
            columns,
        });
    }
    validate_table(with_key(draft, elements), TableId(1)).expect("the draft is valid")
}

fn with_key(draft: TableDraft, primary_key: Vec<KeyElement>) -> TableDraft {
    TableDraft { primary_key, ..draft }
}

/// Mostly small integers: the shapes that matter most meet most often.
fn random_type(choices: &mut Choices) -> DataType {
    match choices.below(5) {
        0..=2 => DataType::Integer,
        _ => *choices.pick(&types()),
    }
}

fn element(column: ColumnId, descending: bool) -> KeyElement {
    let order = if descending {
        SortOrder::Desc
    } else {
        SortOrder::Asc
    };
    KeyElement {
        expr: KeyExpr::Column(column),
        order,
    }
}

/// Distinct key elements in random order.
fn random_elements(choices: &mut Choices, table: &Table, expressions: bool) -> Vec<KeyElement> {
    let mut elements: Vec<KeyElement> = Vec::new();
    for _ in 0..1 + choices.below(table.columns.len() + 2) {
        let column = choices.pick(&table.columns);
        let mut next = element(column.id, choices.one_in(3));
        if choices.one_in(8) {
            next.expr = KeyExpr::Hash {
                column: column.id,
                bytes: *choices.pick(&[4, 8, 16]),
            };
        } else if expressions && choices.one_in(8) {
            next.expr = expression_element(column);
        }
        if !elements.iter().any(|one| one.expr == next.expr) {
            elements.push(next);
        }
    }
    elements
}

fn expression_element(column: &Column) -> KeyExpr {
    let IndexExpression {
        sql,
        ty,
        nullable,
        columns,
    } = expression_of(column);
    KeyExpr::Expression {
        sql,
        ty,
        nullable,
        columns,
    }
}

/// The one expression of each column: a small number made of its value.
fn expression_of(column: &Column) -> IndexExpression {
    IndexExpression {
        sql: format!("small({})", column.name),
        ty: DataType::Integer,
        nullable: column.nullable,
        columns: vec![column.id],
    }
}

fn expression_value(datum: &Datum) -> Datum {
    match datum {
        Datum::Null => Datum::Null,
        Datum::Int(value) => Datum::Int(value.rem_euclid(3)),
        Datum::Text(text) => Datum::Int(text.len() as i64),
        _ => Datum::Int(1),
    }
}
