//! Columns that scans give out, as expressions of operators above name them.

use datafusion::common::ScalarValue;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{CastExpr, Column};
use datafusion::physical_plan::projection::ProjectionExec;
use rukh_catalog::{ColumnId, Table};
use rukh_keys::{DataType, Datum};
use rukh_planner::{Constant, Function, Operand};

use crate::exec::translate::widens;
use rukh_functions::scalars::datum_of_scalar;
use rukh_functions::types::{arrow_type, data_type_of_arrow};

/// A column of an input, and the types it is cast to in turn.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CastColumn {
    /// Position of the column.
    pub(super) position: usize,
    /// Types, the first cast first.
    pub(super) casts: Vec<DataType>,
}

impl CastColumn {
    /// Returns the column of a projection's input that an expression over the projection is, or without
    /// one the column itself.
    pub(super) fn of(expr: &dyn PhysicalExpr, projection: Option<&ProjectionExec>) -> Option<CastColumn> {
        if let Some(column) = expr.downcast_ref::<Column>() {
            return match projection {
                Some(projection) => {
                    CastColumn::of(projection.expr().get(column.index())?.expr.as_ref(), None)
                }
                None => Some(CastColumn {
                    position: column.index(),
                    casts: Vec::new(),
                }),
            };
        }
        let cast = expr.downcast_ref::<CastExpr>()?;
        let mut of = CastColumn::of(cast.expr().as_ref(), projection)?;
        of.casts.push(data_type_of_arrow(cast.cast_type()));
        Some(of)
    }
}

/// The columns that a scan gives out, in order.
#[derive(Clone, Copy)]
pub(crate) struct Outputs<'a> {
    pub(crate) table: &'a Table,
    pub(crate) columns: &'a [ColumnId],
}

/// A column of a scan's table, or its cast to a wider type.
#[derive(Clone, Debug)]
pub(super) struct ScanColumn {
    pub(super) column: ColumnId,
    pub(super) operand: Operand,
    /// Type of the operand.
    pub(super) ty: DataType,
}

impl ScanColumn {
    /// Returns what a scan gives out, unless a cast may lose something or change the order.
    pub(super) fn of(outputs: Outputs<'_>, cast: &CastColumn) -> Option<ScanColumn> {
        let column = *outputs.columns.get(cast.position)?;
        let mut of = ScanColumn {
            column,
            operand: Operand::column(column),
            ty: outputs.table.column(column)?.ty,
        };
        for to in &cast.casts {
            let keeps = widens(&of.ty, to) && !matches!(of.ty, DataType::Uuid | DataType::Char(_));
            if !keeps {
                return None;
            }
            of.operand = Operand::Function(Function::Cast(*to), Box::new(of.operand));
            of.ty = *to;
        }
        Some(of)
    }

    /// Returns a value to compare the column with; `None` where DataFusion's order of such values is not
    /// that of keys.
    pub(super) fn constant(&self, value: &ScalarValue) -> Option<Constant> {
        if value.data_type() != arrow_type(&self.ty) {
            return None;
        }
        if value.is_null() {
            return Some(Constant::new(Datum::Null, self.ty));
        }
        let (datum, ty) = datum_of_scalar(value)?;
        match (&datum, self.ty) {
            // There are several, apart from one another only for DataFusion.
            (Datum::Float(number), _) if number.is_nan() => None,
            (Datum::Text(text), DataType::Uuid) => {
                let uuid = DataType::Uuid.parse_text(text).ok()?;
                Some(Constant::new(uuid, DataType::Uuid))
            }
            _ => Some(Constant::new(datum, ty)),
        }
    }
}
