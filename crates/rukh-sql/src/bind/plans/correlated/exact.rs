//! Outer values that a domain has to keep apart though they are equal: `1 mon` and `30 days`, the documents `1` and `1.0`.
//!
//! A domain has one of several equal values, and the subquery would be computed for that one alone:
//! `(SELECT max(s.ts + t.wait) FROM s)` has another value for `30 days` than for `1 mon`. So what the domain is taken from has, beside
//! such columns, their [`exact_form`], and the subquery reads [`value_of_form`] of that.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType as ArrowType, Field};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, ExprSchema};
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, Subquery};
use rukh_functions::functions::common::exact_form::{exact_form, may_differ_when_equal, value_of_form};
use rukh_syntax::HIDDEN;

use crate::bind::plans::outer_columns::changed_within;

/// Columns of a plan, and those that have their exact forms.
pub(super) struct ExactForms(Vec<(Column, Column)>);

impl ExactForms {
    /// Adds to a plan the exact forms of those of the columns that need one.
    pub(super) fn beside(
        input: LogicalPlan,
        columns: Vec<Column>,
        domains: &mut usize,
    ) -> DataFusionResult<(LogicalPlan, ExactForms)> {
        let mut forms: Vec<(Column, Column)> = Vec::new();
        for column in columns {
            let field = input.schema().field_from_column(&column)?;
            if may_differ_when_equal(field.data_type()) && !forms.iter().any(|(of, _)| *of == column) {
                *domains += 1;
                let name = format!("exact{HIDDEN}{domains}");
                forms.push((column, Column::new_unqualified(name)));
            }
        }
        if forms.is_empty() {
            return Ok((input, ExactForms(forms)));
        }
        let all = input.schema().columns().into_iter().map(Expr::Column);
        let made = forms
            .iter()
            .map(|(column, form)| exact_form(Expr::Column(column.clone())).alias(&form.name));
        let columns: Vec<Expr> = all.chain(made).collect();
        let plan = LogicalPlanBuilder::from(input).project(columns)?.build()?;
        Ok((plan, ExactForms(forms)))
    }

    /// Has a query on the plan read the exact forms.
    pub(super) fn read_by(&self, query: Subquery) -> DataFusionResult<Subquery> {
        if self.0.is_empty() {
            return Ok(query);
        }
        changed_within(query, &mut |part| {
            let Expr::OuterReferenceColumn(field, column) = part else {
                return Ok(Transformed::no(part));
            };
            let form = self.0.iter().find(|(of, _)| *of == column);
            let read = form.and_then(|(_, form)| {
                let bytes = Field::new(&form.name, ArrowType::Binary, field.is_nullable());
                let form = Expr::OuterReferenceColumn(Arc::new(bytes), form.clone());
                value_of_form(form, field.data_type())
            });
            Ok(match read {
                Some(value) => Transformed::yes(value),
                None => Transformed::no(Expr::OuterReferenceColumn(field, column)),
            })
        })
    }
}
