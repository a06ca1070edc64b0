//! From DataFusion's expressions to the planner's predicates.
//!
//! What has no word in [`Predicate`] becomes [`Predicate::Opaque`], with the columns it reads; it is never
//! lost, because the scan checks the original expression of every conjunct that is not proven.

use std::borrow::Cow;

use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::{InList, Like, Placeholder, ScalarFunction};
use datafusion::logical_expr::{Between, BinaryExpr, Expr, Operator};
use rukh_catalog::{KeyExpr, Table};
use rukh_keys::{DAY_MICROS, DataType, Datum, Inet, Jsonb, JsonbKind, NUMERIC_NAN, ZONE_OFFSET_MAX};
use rukh_planner::{
    CompareOp, Constant, Function, IndexExpression, OpaquePredicate, Operand, Predicate, TermId, TermKind,
};

use crate::bind::types::expressions::{has_other_digits, normalise, typed_sql};
use crate::bind::types::index_terms::matched_text;
use crate::bind::types::operators::documents;
use crate::exec::regex_prefix::regex_prefixes;
use rukh_functions::casts::numbers::number_cast;
use rukh_functions::casts::texts::CAST_VARCHAR;
use rukh_functions::casts::times::time_cast;
use rukh_functions::functions::common::declared::declared_value;
use rukh_functions::functions::lists::array_order::{ARRAY_ORDER, are_equal};
use rukh_functions::functions::networks::TO_INET;
use rukh_functions::functions::numbers::arithmetic::checked_operator;
use rukh_functions::functions::times::date_trunc::time_unit;
use rukh_functions::functions::times::extract::{DATE_PART, EXTRACT, is_whole_part};
use rukh_functions::functions::times::time_zones::{TIMEZONE, in_zone, is_utc, moved_from_zone};
use rukh_functions::scalars::{datum_from_scalar, datum_of_scalar, scalar_from_datum};
use rukh_functions::types::data_type_of_arrow;

/// Translates the conditions on one table, and remembers what it did not understand.
pub(crate) struct Translator<'t> {
    table: &'t Table,
    expressions: &'t [String],
    /// What it did not understand, by position.
    pub(crate) opaque: Vec<OpaquePredicate>,
}

/// Returns the expressions of a table's indexes, numbered in order of appearance, and the texts by which
/// expressions of a query are compared.
pub(crate) fn index_expressions(table: &Table) -> (Vec<IndexExpression>, Vec<String>) {
    let mut found: Vec<IndexExpression> = Vec::new();
    let mut normalised = Vec::new();
    for element in table.indexes.iter().flat_map(|index| &index.elements) {
        if let KeyExpr::Expression {
            sql,
            ty,
            nullable,
            columns,
        } = &element.expr
            && !found.iter().any(|known| known.sql == *sql)
        {
            // Two spellings of one expression are recognised by their typed form.
            normalised.push(match typed_sql(table, sql) {
                Ok(typed) if has_other_digits(typed.ty, *ty) => format!("{sql} of before"),
                Ok(typed) => matched_text(table, &typed.expr),
                Err(_) => sql.clone(),
            });
            let (sql, columns) = (sql.clone(), columns.clone());
            found.push(IndexExpression {
                sql,
                ty: *ty,
                nullable: *nullable,
                columns,
            });
        }
    }
    (found, normalised)
}

impl<'t> Translator<'t> {
    /// Makes a translator for conditions on `table`.
    pub(crate) fn new(table: &'t Table, expressions: &'t [String]) -> Self {
        Translator {
            table,
            expressions,
            opaque: Vec::new(),
        }
    }

    /// Translates one condition.
    pub(crate) fn predicate(&mut self, expr: &Expr) -> Predicate {
        match self.understood(expr) {
            Some(predicate) => predicate,
            None => self.opaque(expr),
        }
    }

    fn opaque(&mut self, expr: &Expr) -> Predicate {
        let columns = expr
            .column_refs()
            .into_iter()
            .filter_map(|column| self.table.column_named(&column.name));
        let columns = columns.map(|column| column.id).collect();
        self.opaque.push(OpaquePredicate {
            sql: normalise(expr),
            columns,
        });
        Predicate::Opaque(self.opaque.len() as u32 - 1)
    }

    fn understood(&mut self, expr: &Expr) -> Option<Predicate> {
        match expr {
            Expr::Alias(alias) => self.understood(&alias.expr),
            Expr::Literal(ScalarValue::Boolean(Some(true)), _) => Some(Predicate::True),
            Expr::Literal(ScalarValue::Boolean(Some(false)), _) => Some(Predicate::False),
            Expr::Literal(ScalarValue::Boolean(None) | ScalarValue::Null, _) => Some(unknown()),
            Expr::BinaryExpr(binary) => self.binary(binary),
            Expr::Not(inner) => Some(Predicate::Not(Box::new(self.predicate(inner)))),
            Expr::IsNull(inner) => Some(Predicate::IsNull {
                operand: self.operand(inner)?,
                negated: false,
            }),
            Expr::IsNotNull(inner) => Some(Predicate::IsNull {
                operand: self.operand(inner)?,
                negated: true,
            }),
            Expr::IsTrue(inner) => Some(match self.operand(inner) {
                Some(operand) => Predicate::IsTrue {
                    operand,
                    negated: false,
                },
                None => is_true(self.predicate(inner)),
            }),
            Expr::IsNotTrue(inner) => Some(match self.operand(inner) {
                Some(operand) => Predicate::IsTrue {
                    operand,
                    negated: true,
                },
                None => Predicate::NotTrue(Box::new(self.predicate(inner))),
            }),
            Expr::IsFalse(inner) => Some(match self.operand(inner) {
                Some(operand) => Predicate::IsFalse {
                    operand,
                    negated: false,
                },
                None => is_true(Predicate::Not(Box::new(self.predicate(inner)))),
            }),
            Expr::IsNotFalse(inner) => Some(match self.operand(inner) {
                Some(operand) => Predicate::IsFalse {
                    operand,
                    negated: true,
                },
                None => Predicate::NotTrue(Box::new(Predicate::Not(Box::new(self.predicate(inner))))),
            }),
            Expr::IsUnknown(inner) => Some(Predicate::IsNull {
                operand: self.operand(inner)?,
                negated: false,
            }),
            Expr::IsNotUnknown(inner) => Some(Predicate::IsNull {
                operand: self.operand(inner)?,
                negated: true,
            }),
            Expr::Between(between) => self.between(between),
            Expr::InList(list) => self.in_list(list),
            Expr::Like(like) => self.like(like),
            Expr::ScalarFunction(call)
                if let ("textregexeq", [text, pattern]) = (call.name(), call.args.as_slice()) =>
            {
                self.regex(text, pattern, expr)
            }
            Expr::ScalarFunction(call) if call.name() == "starts_with" => self.starts_with(&call.args),
            Expr::ScalarFunction(call) => self.networks(call).or_else(|| self.contains(call)),
            // Not IS TRUE: `NOT flag` is NULL where the flag is.
            Expr::Column(_) if self.is_boolean(expr) => Some(Predicate::Compare {
                op: CompareOp::Eq,
                left: self.operand(expr)?,
                right: Operand::Constant(Constant::new(Datum::Boolean(true), DataType::Boolean)),
            }),
            _ => None,
        }
    }

    fn is_boolean(&self, expr: &Expr) -> bool {
        let Expr::Column(column) = expr else { return false };
        self.table
            .column_named(&column.name)
            .is_some_and(|column| column.ty == DataType::Boolean)
    }

    fn binary(&mut self, binary: &BinaryExpr) -> Option<Predicate> {
        let BinaryExpr { left, op, right } = binary;
        let op = match op {
            Operator::And => return Some(Predicate::And(vec![self.predicate(left), self.predicate(right)])),
            Operator::Or => return Some(Predicate::Or(vec![self.predicate(left), self.predicate(right)])),
            Operator::IsDistinctFrom | Operator::IsNotDistinctFrom => {
                let negated = *op == Operator::IsNotDistinctFrom;
                return Some(Predicate::IsDistinct {
                    left: self.operand(left)?,
                    right: self.operand(right)?,
                    negated,
                });
            }
            Operator::RegexMatch => {
                return self.regex(&binary.left, &binary.right, &Expr::BinaryExpr(binary.clone()));
            }
            Operator::Eq => CompareOp::Eq,
            Operator::NotEq => CompareOp::NotEq,
            Operator::Lt => CompareOp::Lt,
            Operator::LtEq => CompareOp::LtEq,
            Operator::Gt => CompareOp::Gt,
            Operator::GtEq => CompareOp::GtEq,
            _ => return None,
        };
        if let Some(composed) = self.composed(op, left, right) {
            return Some(composed);
        }
        if let Some(about) = self.about_in_zone(op, binary) {
            return Some(about);
        }
        Some(Predicate::compare(op, self.operand(left)?, self.operand(right)?))
    }

    /// A comparison of a column of arrays or rows with a constant: `a = k`, or `array_order(a, k) < 0`.
    fn composed(&self, op: CompareOp, left: &Expr, right: &Expr) -> Option<Predicate> {
        let (left, right) = match (left, right) {
            (Expr::ScalarFunction(call), Expr::Literal(ScalarValue::Int32(Some(0)), _))
                if call.name() == ARRAY_ORDER =>
            {
                (call.args.first()?, call.args.get(1)?)
            }
            both => both,
        };
        let (op, column, value) = match (left, right) {
            (Expr::Column(column), Expr::Literal(value, _)) => (op, column, value),
            (Expr::Literal(value, _), Expr::Column(column)) => (op.flipped(), column, value),
            _ => return None,
        };
        let column = self.table.column_named(&column.name)?;
        if !column.ty.is_composed() || value.is_null() {
            return None;
        }
        // A value that the type of the column has not, such as 1.005 in a DECIMAL(5,2), lies between two that it has.
        let datum = datum_from_scalar(value, &column.ty, &column.name).ok()?;
        let kept = are_equal(&scalar_from_datum(&datum, &column.ty), value).ok()?;
        let constant = Operand::Constant(Constant::new(datum, column.ty));
        kept.then(|| Predicate::compare(op, Operand::column(column.id), constant))
    }

    /// A comparison of what clocks of some zone show: about when that is, since no zone is far from UTC and no
    /// function that keeps order brings it further away; it is checked nevertheless.
    fn about_in_zone(&mut self, op: CompareOp, binary: &BinaryExpr) -> Option<Predicate> {
        let (op, moment, constant) = match (in_zone(&binary.left), in_zone(&binary.right)) {
            (true, false) => (op, &binary.left, &binary.right),
            (false, true) => (op.flipped(), &binary.right, &binary.left),
            _ => return None,
        };
        let constant = self.operand(constant)?;
        let one = |op, by| {
            let about = self.operand(&moved_from_zone(moment, by)?)?;
            Some(Predicate::compare(op, about, constant.clone()))
        };
        let mut all = match op {
            CompareOp::Lt | CompareOp::LtEq => vec![one(op, -ZONE_OFFSET_MAX)?],
            CompareOp::Gt | CompareOp::GtEq => vec![one(op, ZONE_OFFSET_MAX)?],
            CompareOp::Eq => vec![
                one(CompareOp::LtEq, -ZONE_OFFSET_MAX)?,
                one(CompareOp::GtEq, ZONE_OFFSET_MAX)?,
            ],
            CompareOp::NotEq => return None,
        };
        all.push(self.opaque(&Expr::BinaryExpr(binary.clone())));
        Some(Predicate::And(all))
    }

    fn between(&mut self, between: &Between) -> Option<Predicate> {
        let (operand, low, high) = (
            self.operand(&between.expr)?,
            self.operand(&between.low)?,
            self.operand(&between.high)?,
        );
        let both = Predicate::And(vec![
            Predicate::compare(CompareOp::GtEq, operand.clone(), low),
            Predicate::compare(CompareOp::LtEq, operand, high),
        ]);
        Some(match between.negated {
            false => both,
            true => Predicate::Not(Box::new(both)),
        })
    }

    fn in_list(&mut self, list: &InList) -> Option<Predicate> {
        let operand = self.operand(&list.expr)?;
        let elements = list
            .list
            .iter()
            .map(|element| self.operand(element))
            .collect::<Option<Vec<_>>>()?;
        Some(Predicate::In {
            operand,
            list: elements,
            negated: list.negated,
        })
    }

    fn like(&mut self, like: &Like) -> Option<Predicate> {
        Some(Predicate::Like {
            operand: self.operand(&like.expr)?,
            pattern: self.operand(&like.pattern)?,
            escape: like.escape_char,
            case_insensitive: like.case_insensitive,
            negated: like.negated,
        })
    }

    /// A regular expression whose matches all begin with one of a few texts; it is checked nevertheless.
    fn regex(&mut self, text: &Expr, pattern: &Expr, whole: &Expr) -> Option<Predicate> {
        let Expr::Literal(pattern, _) = pattern else {
            return None;
        };
        let operand = self.operand(text)?;
        let prefixes = regex_prefixes(text_of(pattern)?)?;
        let starts = prefixes.into_iter().map(|prefix| Predicate::StartsWith {
            operand: operand.clone(),
            prefix: Operand::text(prefix),
        });
        let mut starts: Vec<Predicate> = starts.collect();
        let starts = match starts.len() {
            1 => starts.remove(0),
            _ => Predicate::Or(starts),
        };
        let whole = self.opaque(whole);
        Some(Predicate::And(vec![starts, whole]))
    }

    fn starts_with(&mut self, arguments: &[Expr]) -> Option<Predicate> {
        let [operand, prefix] = arguments else { return None };
        Some(Predicate::StartsWith {
            operand: self.operand(operand)?,
            prefix: self.operand(prefix)?,
        })
    }

    /// `ip <<= '10.0.0.0/8'` is a range of addresses, and `net >>= '10.1.2.3'` one of each network that contains the address.
    fn networks(&mut self, call: &ScalarFunction) -> Option<Predicate> {
        let constant = |expr: &Expr| match expr {
            Expr::Literal(ScalarValue::FixedSizeBinary(_, Some(bytes)), _) => Inet::of_wide(bytes),
            _ => None,
        };
        let [left, right] = call.args.as_slice() else {
            return None;
        };
        let (operand, is_inside, of) = match (call.name(), constant(left), constant(right)) {
            ("network_sub" | "network_subeq", None, Some(of)) => (left, true, of),
            ("network_sup" | "network_supeq", Some(of), None) => (right, true, of),
            ("network_sup" | "network_supeq", None, Some(of)) => (left, false, of),
            ("network_sub" | "network_subeq", Some(of), None) => (right, false, of),
            _ => return None,
        };
        let is_other = matches!(call.name(), "network_sub" | "network_sup");
        let operand = self.address(operand)?;
        let compare = |op, value: Inet| {
            let constant = Constant::new(Datum::Inet(value.to_form()), DataType::Inet);
            Predicate::compare(op, operand.clone(), Operand::Constant(constant))
        };
        if is_inside {
            let (first, last) = of.contained();
            let low = match is_other {
                true => compare(CompareOp::Gt, of.broadcast()),
                false => compare(CompareOp::GtEq, first),
            };
            return Some(Predicate::And(vec![low, compare(CompareOp::LtEq, last)]));
        }
        // NULL is in no network, and not in none.
        if is_other && of.mask() == 0 {
            return None;
        }
        let networks = of
            .containing()
            .filter(|network| !is_other || network.mask() < of.mask());
        let one = |network: Inet| {
            let ends = [(CompareOp::GtEq, network), (CompareOp::LtEq, network.broadcast())];
            Predicate::And(ends.map(|(op, value)| compare(op, value)).to_vec())
        };
        Some(Predicate::Or(networks.map(one).collect()))
    }

    /// Returns an operand that is an address; a network is one.
    fn address(&self, expr: &Expr) -> Option<Operand> {
        let operand = self.operand(expr)?;
        self.type_of_operand(&operand)?.is_inet().then_some(operand)
    }

    /// `doc @> '{"user": "ada"}'`: what indexes read of the document is what they read of its part; it is checked nevertheless.
    fn contains(&mut self, call: &ScalarFunction) -> Option<Predicate> {
        let literal = |expr: &Expr| match expr {
            Expr::Literal(ScalarValue::LargeBinary(Some(form)), _) => Some(form.clone()),
            _ => None,
        };
        let (document, part) = match (call.name(), call.args.as_slice()) {
            ("jsonb_contains", [document, part]) => (document, literal(part)?),
            ("jsonb_contained", [part, document]) => (document, literal(part)?),
            _ => return None,
        };
        let mut all = Vec::new();
        self.members(document, Jsonb::new(&part), 0, &mut all);
        if all.is_empty() {
            return None;
        }
        all.push(self.opaque(&Expr::ScalarFunction(call.clone())));
        Some(Predicate::And(all))
    }

    /// Adds what index expressions read of a document that has these members.
    fn members(&self, document: &Expr, part: Jsonb<'_>, depth: usize, all: &mut Vec<Predicate>) {
        /// Levels of objects that indexes are looked for.
        const DEPTH_MAX: usize = 8;
        if self.expressions.is_empty() || depth > DEPTH_MAX {
            return;
        }
        for (name, value) in part.members() {
            let member = |function| documents::member(function, document, name);
            match value.kind() {
                JsonbKind::Object => {
                    if let Some(inner) = member("jsonb_object_field") {
                        self.members(&inner, value, depth + 1, all);
                    }
                }
                JsonbKind::Text | JsonbKind::Number | JsonbKind::Bool(_) => {
                    let Some(read) = member("jsonb_object_field_text") else {
                        continue;
                    };
                    let (read, shown) = (
                        matched_text(self.table, &read),
                        value.as_text().unwrap_or_default(),
                    );
                    for (position, known) in self.expressions.iter().enumerate() {
                        let ty = match known
                            .strip_prefix("CAST(")
                            .and_then(|known| known.strip_prefix(&read))
                        {
                            Some(cast) => cast
                                .strip_prefix(" AS ")
                                .and_then(|ty| ty.strip_suffix(')')?.parse().ok()),
                            None if *known == read => Some(DataType::Varchar(None)),
                            None => None,
                        };
                        // Equal numbers may be other texts.
                        let is_number = |ty: &DataType| ty.is_integer() || ty.is_float() || ty.is_decimal();
                        let is_same = |ty: &DataType| value.kind() != JsonbKind::Number || is_number(ty);
                        if let Some(ty) = ty.filter(is_same)
                            && let Ok(datum) = ty.parse_text(&shown)
                        {
                            let term = Operand::Term(TermId::expression(position as u32));
                            let constant = Operand::Constant(Constant::new(datum, ty));
                            all.push(Predicate::compare(CompareOp::Eq, term, constant));
                        }
                    }
                }
                JsonbKind::Array | JsonbKind::Null => {}
            }
        }
    }

    fn operand(&self, expr: &Expr) -> Option<Operand> {
        if let Some(term) = self.expression_term(expr) {
            return Some(Operand::Term(term));
        }
        match expr {
            Expr::Alias(alias) => self.operand(&alias.expr),
            Expr::Column(column) => self
                .table
                .column_named(&column.name)
                .map(|column| Operand::column(column.id)),
            Expr::Literal(value, _) => constant_of_scalar(value).map(Operand::Constant),
            Expr::Placeholder(placeholder) => parameter(placeholder).map(Operand::Parameter),
            Expr::Cast(cast) => self.cast(&cast.expr, cast.field.data_type()),
            Expr::Negative(inner) => match self.operand(inner)? {
                Operand::Constant(_) => None,
                operand => {
                    // It is computed in the type of the operand.
                    let ty = self.type_of_operand(&operand).filter(DataType::is_integer);
                    let zero = Constant::new(Datum::Int(0), ty.unwrap_or(DataType::SmallInt));
                    Some(function(Function::SubFrom(zero), operand))
                }
            },
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => self.computed(*op, left, right),
            declared if declared_value(declared).is_some() => self.operand(declared_value(declared)?),
            Expr::ScalarFunction(call) => {
                let to = number_cast(&call.func).or_else(|| time_cast(&call.func));
                if let (Some(to), [inner]) = (to, call.args.as_slice()) {
                    return self.cast(inner, to);
                }
                match (checked_operator(&call.func), call.args.as_slice()) {
                    // An address that is a network compares as one.
                    (None, [network]) if call.name() == TO_INET => self.operand(network),
                    (Some(op), [left, right]) => self.computed(op, left, right),
                    _ => self.call(call.name(), &call.args),
                }
            }
            _ => None,
        }
    }

    /// Returns the term of an index expression that equals `expr`.
    fn expression_term(&self, expr: &Expr) -> Option<TermId> {
        if self.expressions.is_empty() || matches!(expr, Expr::Column(_) | Expr::Literal(..)) {
            return None;
        }
        let sql = matched_text(self.table, expr);
        let position = self.expressions.iter().position(|known| *known == sql)?;
        Some(TermId::expression(position as u32))
    }

    /// Translates casts that keep order and lose nothing.
    fn cast(&self, inner: &Expr, to: &datafusion::arrow::datatypes::DataType) -> Option<Operand> {
        let operand = self.operand(inner)?;
        let to = data_type_of_arrow(to);
        if let Operand::Constant(_) = operand {
            return None;
        }
        let from = self.type_of(inner).or_else(|| self.type_of_operand(&operand))?;
        if from == DataType::Uuid || matches!(from, DataType::Char(_)) {
            return None;
        }
        match (from, to) {
            (from, to) if from == to => Some(operand),
            (DataType::Timestamp { .. }, DataType::Date) => Some(function(Function::CastDate, operand)),
            (from, to) if widens(&from, &to) => Some(function(Function::Cast(to), operand)),
            (DataType::BigInt | DataType::Decimal { .. }, DataType::Double) => {
                Some(function(Function::Cast(to), operand))
            }
            (from, to) if to.is_integer() && is_whole(&from, &operand) => {
                Some(function(Function::Cast(to), operand))
            }
            _ => None,
        }
    }

    fn type_of_operand(&self, operand: &Operand) -> Option<DataType> {
        match operand {
            Operand::Term(term) => match term.kind() {
                TermKind::Column(column) => self.table.column(column).map(|column| column.ty),
                _ => None,
            },
            Operand::Function(function, inner) => function.result_type(self.type_of_operand(inner)?),
            Operand::Constant(_) | Operand::Parameter(_) => None,
        }
    }

    fn type_of(&self, expr: &Expr) -> Option<DataType> {
        match expr {
            Expr::Column(column) => self.table.column_named(&column.name).map(|column| column.ty),
            Expr::Cast(cast) => Some(data_type_of_arrow(cast.field.data_type())),
            Expr::ScalarFunction(call) => match (call.name(), call.args.as_slice()) {
                (DATE_PART, [Expr::Literal(part, _), _]) if is_whole_part(part) => Some(DataType::Integer),
                _ => number_cast(&call.func)
                    .or_else(|| time_cast(&call.func))
                    .map(data_type_of_arrow),
            },
            Expr::Placeholder(placeholder) => placeholder
                .field
                .as_ref()
                .map(|field| data_type_of_arrow(field.data_type())),
            _ => None,
        }
    }

    /// A date or timestamp moved by a constant interval without months.
    fn moved(&self, moment: &Expr, by: &Expr, make: fn(Constant) -> Function) -> Option<Operand> {
        let Expr::Literal(by, _) = by else { return None };
        let micros = micros_of(by)?;
        let k = match self.type_of(moment)? {
            DataType::Timestamp { .. } | DataType::TimestampTz { .. } => micros,
            DataType::Date if micros % DAY_MICROS == 0 => micros / DAY_MICROS,
            _ => return None,
        };
        let k = Constant::new(Datum::Int(k), DataType::BigInt);
        match self.operand(moment)? {
            Operand::Constant(_) | Operand::Parameter(_) => None,
            operand => Some(function(make(k), operand)),
        }
    }

    fn computed(&self, op: Operator, left: &Expr, right: &Expr) -> Option<Operand> {
        match op {
            Operator::Plus => self.sum(left, right),
            Operator::Minus => self.difference(left, right),
            Operator::Multiply => match (self.operand(left)?, self.operand(right)?) {
                (operand, Operand::Constant(k)) | (Operand::Constant(k), operand) if is_number(&k) => {
                    Some(function(Function::Multiply(k), operand))
                }
                _ => None,
            },
            Operator::Divide => match (self.operand(left)?, self.operand(right)?) {
                (operand, Operand::Constant(k)) if is_number(&k) => {
                    Some(function(Function::Divide(k), operand))
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn sum(&self, left: &Expr, right: &Expr) -> Option<Operand> {
        let moved = self.moved(left, right, Function::Add);
        if let Some(moved) = moved.or_else(|| self.moved(right, left, Function::Add)) {
            return Some(moved);
        }
        match (self.operand(left)?, self.operand(right)?) {
            (operand, Operand::Constant(k)) | (Operand::Constant(k), operand) if is_number(&k) => {
                Some(function(Function::Add(k), operand))
            }
            _ => None,
        }
    }

    fn difference(&self, left: &Expr, right: &Expr) -> Option<Operand> {
        if let Some(moved) = self.moved(left, right, Function::Subtract) {
            return Some(moved);
        }
        match (self.operand(left)?, self.operand(right)?) {
            (operand, Operand::Constant(k)) if is_number(&k) => {
                Some(function(Function::Subtract(k), operand))
            }
            (Operand::Constant(k), operand) if is_number(&k) => Some(function(Function::SubFrom(k), operand)),
            _ => None,
        }
    }

    fn call(&self, name: &str, arguments: &[Expr]) -> Option<Operand> {
        match (name, arguments) {
            ("date_trunc", [Expr::Literal(unit, _), operand]) => {
                let unit = time_unit(text_of(unit)?)?;
                Some(function(Function::DateTrunc(unit), self.operand(operand)?))
            }
            (DATE_PART, [Expr::Literal(part, _), operand])
                if text_of(part)?.eq_ignore_ascii_case("epoch") =>
            {
                Some(function(Function::Epoch, self.operand(operand)?))
            }
            (EXTRACT, [Expr::Literal(part, _), operand]) if text_of(part)?.eq_ignore_ascii_case("epoch") => {
                Some(function(Function::Seconds, self.operand(operand)?))
            }
            (DATE_PART, [Expr::Literal(part, _), operand]) if text_of(part)?.eq_ignore_ascii_case("year") => {
                Some(function(Function::Year, self.operand(operand)?))
            }
            ("substr" | "substring", [operand, Expr::Literal(from, _), Expr::Literal(length, _)])
                if int_of(from) == Some(1) =>
            {
                let length = u32::try_from(int_of(length)?).ok()?;
                Some(function(Function::Substr(length), self.operand(operand)?))
            }
            ("left" | CAST_VARCHAR, [operand, Expr::Literal(length, _)]) => {
                let length = u32::try_from(int_of(length)?).ok()?;
                Some(function(Function::Substr(length), self.operand(operand)?))
            }
            ("floor", [operand]) => Some(function(Function::Floor, self.operand(operand)?)),
            ("ceil", [operand]) => Some(function(Function::Ceil, self.operand(operand)?)),
            ("round" | "rint", [operand]) => Some(function(Function::Round, self.operand(operand)?)),
            ("trunc", [operand]) => Some(function(Function::Trunc, self.operand(operand)?)),
            ("round", [operand, Expr::Literal(places, _)]) => {
                let places = i32::try_from(int_of(places)?).ok()?;
                let operand = self.operand(operand)?;
                let single = self.type_of_operand(&operand)? == DataType::Real;
                Some(function(Function::RoundTo { places, single }, operand))
            }
            (TIMEZONE, [Expr::Literal(zone, _), operand]) if is_utc(text_of(zone)?) => {
                let operand = self.operand(operand)?;
                let to = match self.type_of_operand(&operand)? {
                    DataType::Timestamp { .. } => DataType::TIMESTAMP_TZ,
                    _ => DataType::TIMESTAMP,
                };
                Some(function(Function::Cast(to), operand))
            }
            ("to_timestamp", [operand]) => Some(function(Function::ToTimestamp, self.operand(operand)?)),
            ("date_bin", [Expr::Literal(step, _), operand]) => {
                let step = micros_of(step)?;
                Some(function(
                    Function::DateBin { step, origin: 0 },
                    self.operand(operand)?,
                ))
            }
            ("date_bin", [Expr::Literal(step, _), operand, Expr::Literal(origin, _)]) => {
                let (step, origin) = (micros_of(step)?, instant_of(origin)?);
                Some(function(
                    Function::DateBin { step, origin },
                    self.operand(operand)?,
                ))
            }
            ("hash", [Expr::Column(column), Expr::Literal(bytes, _)]) => {
                let column = self.table.column_named(&column.name)?;
                match int_of(bytes)? {
                    bytes @ (4 | 8 | 16) => Some(Operand::Term(TermId::hash(column.id, bytes as u8))),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

fn function(function: Function, operand: Operand) -> Operand {
    Operand::Function(function, Box::new(operand))
}

/// Returns whether a cast keeps every value apart and in order.
pub(crate) fn widens(from: &DataType, to: &DataType) -> bool {
    let rank = |ty: &DataType| match ty {
        DataType::TinyInt => Some(1),
        DataType::SmallInt => Some(2),
        DataType::Integer => Some(3),
        DataType::BigInt => Some(4),
        _ => None,
    };
    let digits = |ty: &DataType| match ty {
        DataType::TinyInt => Some(3),
        DataType::SmallInt => Some(5),
        DataType::Integer => Some(10),
        DataType::BigInt => Some(19),
        _ => None,
    };
    match (from, to) {
        (DataType::Real, DataType::Double) => true,
        (DataType::Date, DataType::Timestamp { .. }) => true,
        (DataType::Varchar(_), DataType::Varchar(None)) => true,
        (DataType::Varbinary(_) | DataType::Binary(_), DataType::Varbinary(None)) => true,
        (
            DataType::Decimal { precision, scale },
            DataType::Decimal {
                precision: p,
                scale: s,
            },
        ) => s >= scale && p - s >= precision - scale,
        (from, to) if *to == DataType::NUMERIC && (from.is_integer() || from.is_decimal()) => true,
        (
            DataType::Decimal { precision, scale },
            DataType::Numeric {
                precision: p,
                scale: s,
            },
        ) => s >= scale && p - s >= precision - scale,
        (from, DataType::Numeric { precision, scale }) => {
            digits(from).is_some_and(|d| precision - scale >= d)
        }
        (from, DataType::Decimal { precision, scale }) => {
            digits(from).is_some_and(|d| precision - scale >= d)
        }
        (DataType::TinyInt | DataType::SmallInt | DataType::Integer, DataType::Double) => true,
        (DataType::TinyInt | DataType::SmallInt, DataType::Real) => true,
        (from, to) => matches!((rank(from), rank(to)), (Some(f), Some(t)) if f <= t),
    }
}

/// Returns a literal as a constant of the type it has; `None` for kinds that keys do not hold.
pub(crate) fn constant_of_scalar(value: &ScalarValue) -> Option<Constant> {
    if value.is_null() {
        return Some(Constant::new(Datum::Null, DataType::Varchar(None)));
    }
    let (datum, ty) = datum_of_scalar(value)?;
    Some(Constant::new(datum, ty))
}

/// Returns parameters as the planner compares with them; `None` if one is of no type of a column, or a NULL of
/// a type that operators may not take.
pub(crate) fn constants_of(params: &[Constant]) -> Option<Cow<'_, [Constant]>> {
    if params.iter().all(is_own_constant) {
        return Some(Cow::Borrowed(params));
    }
    let is_typed_null = |param: &Constant| param.datum.is_null() && param.ty != DataType::Varchar(None);
    if params.iter().any(is_typed_null) {
        return None;
    }
    let constant = |param: &Constant| constant_of_scalar(&scalar_from_datum(&param.datum, &param.ty));
    params.iter().map(constant).collect::<Option<_>>().map(Cow::Owned)
}

/// Whether a parameter is the constant that it stands for, its type included.
fn is_own_constant(param: &Constant) -> bool {
    match param.ty {
        DataType::Varchar(None) => true,
        DataType::Boolean | DataType::TinyInt | DataType::SmallInt | DataType::Integer | DataType::BigInt => {
            !param.datum.is_null()
        }
        DataType::Double | DataType::Date | DataType::Timestamp { .. } | DataType::TimestampTz { .. } => {
            !param.datum.is_null()
        }
        _ => false,
    }
}

/// Returns a predicate that is NULL: neither true nor, under NOT, false.
fn unknown() -> Predicate {
    let null = || Operand::Constant(Constant::new(Datum::Null, DataType::Boolean));
    Predicate::compare(CompareOp::Eq, null(), null())
}

/// Returns a predicate that is true where another is, and false elsewhere.
fn is_true(predicate: Predicate) -> Predicate {
    Predicate::Not(Box::new(Predicate::NotTrue(Box::new(predicate))))
}

/// Returns the microseconds of an interval without months.
fn micros_of(value: &ScalarValue) -> Option<i64> {
    let whole = |nanos: i64| (nanos % 1_000 == 0).then_some(nanos / 1_000);
    match value {
        ScalarValue::IntervalMonthDayNano(Some(interval)) if interval.months == 0 => {
            let days = i64::from(interval.days).checked_mul(DAY_MICROS)?;
            days.checked_add(whole(interval.nanoseconds)?)
        }
        ScalarValue::DurationSecond(Some(seconds)) => seconds.checked_mul(1_000_000),
        ScalarValue::DurationMillisecond(Some(millis)) => millis.checked_mul(1_000),
        ScalarValue::DurationMicrosecond(Some(micros)) => Some(*micros),
        ScalarValue::DurationNanosecond(Some(nanos)) => whole(*nanos),
        _ => None,
    }
}

fn is_number(constant: &Constant) -> bool {
    match constant.datum {
        Datum::Int(_) | Datum::Decimal(_) => true,
        Datum::Numeric(ref form) => *form != NUMERIC_NAN,
        Datum::Float(value) => value.is_finite(),
        _ => false,
    }
}

/// Whether an operand of a type has whole values only, so that a cast to integers rounds nothing.
fn is_whole(ty: &DataType, operand: &Operand) -> bool {
    use Function::{Ceil, Floor, Round, Trunc};
    match ty {
        DataType::Decimal { scale: 0, .. } => true,
        ty if ty.is_float() => matches!(operand, Operand::Function(Round | Floor | Ceil | Trunc, _)),
        ty => ty.is_integer(),
    }
}

/// Returns the microseconds since 1970 of a timestamp.
fn instant_of(value: &ScalarValue) -> Option<i64> {
    match datum_of_scalar(value)? {
        (Datum::Timestamp(micros), _) => Some(micros),
        _ => None,
    }
}

fn parameter(placeholder: &Placeholder) -> Option<usize> {
    placeholder
        .id
        .strip_prefix('$')?
        .parse::<usize>()
        .ok()?
        .checked_sub(1)
}

fn text_of(value: &ScalarValue) -> Option<&str> {
    value.try_as_str().flatten()
}

fn int_of(value: &ScalarValue) -> Option<i64> {
    match value {
        ScalarValue::Int64(value) => *value,
        ScalarValue::Int32(value) => value.map(i64::from),
        ScalarValue::UInt64(value) => value.and_then(|v| i64::try_from(v).ok()),
        _ => None,
    }
}
