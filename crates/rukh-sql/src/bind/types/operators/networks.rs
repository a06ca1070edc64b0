//! Operators of addresses and networks, which functions compute.

use datafusion::arrow::datatypes::DataType as ArrowType;
use datafusion::common::DFSchema;
use datafusion::logical_expr::planner::RawBinaryExpr;
use datafusion::logical_expr::{Expr, ExprSchemable, Operator, binary_expr};
use rukh_functions::casts::table::Kind;
use rukh_functions::functions::by_row;
use rukh_functions::functions::networks::NETWORK_SHOW;
use rukh_functions::functions::networks::network_type;
use rukh_functions::types::{arrow_type, data_type_of_arrow};
use rukh_keys::DataType;

use crate::bind::types::bound_operators::operand;
use crate::bind::types::coercions::converted;
use crate::bind::types::typed_casts::literal_text;

/// Returns the type that a literal has beside an address or a network: beside a network INET, where the literal is an address in one.
pub(crate) fn type_beside(literal: &Expr, ty: &ArrowType) -> ArrowType {
    let is_read = |ty: DataType| literal_text(literal).is_some_and(|text| ty.parse_text(text).is_ok());
    match data_type_of_arrow(ty) {
        DataType::Cidr if !is_read(DataType::Cidr) && is_read(DataType::Inet) => arrow_type(&DataType::Inet),
        _ => ty.clone(),
    }
}

/// Casts what is compared to INET, if one side is a network and the other an address.
pub(crate) fn alike(left: Expr, right: Expr, schema: &DFSchema) -> (Expr, Expr) {
    let types = left.get_type(schema).ok().zip(right.get_type(schema).ok());
    let common = types.and_then(|(left, right)| network_type([&left, &right]));
    let both = common.and_then(|ty| {
        let converted = |side: &Expr| converted(side.clone(), &ty, schema).ok();
        converted(&left).zip(converted(&right))
    });
    both.unwrap_or((left, right))
}

/// Returns the call that an operator of addresses is; `None` of all others. Literals have been read as what the operator takes.
pub(crate) fn planned(expr: &RawBinaryExpr, schema: &DFSchema) -> Option<Expr> {
    let kinds = [operand(&expr.left, schema)?, operand(&expr.right, schema)?];
    let [is_left, is_right] = kinds.map(|kind| matches!(kind, Some(Kind::Inet | Kind::Cidr)));
    let op = expr.op.to_string();
    if op == "||" && is_left != is_right {
        let shown = |side: &Expr, is_address: bool| match is_address {
            true => by_row::call(NETWORK_SHOW, vec![side.clone()]),
            false => Some(side.clone()),
        };
        let (left, right) = (shown(&expr.left, is_left)?, shown(&expr.right, is_right)?);
        return Some(binary_expr(left, Operator::StringConcat, right));
    }
    if kinds.contains(&None) {
        return None;
    }
    let function = match (op.as_str(), is_left, is_right) {
        ("<<", true, true) => "network_sub",
        ("<<=", true, true) => "network_subeq",
        (">>", true, true) => "network_sup",
        (">>=", true, true) => "network_supeq",
        ("&&", true, true) => "network_overlap",
        ("&", true, true) => "inetand",
        ("|", true, true) => "inetor",
        ("-", true, true) => "inetmi",
        ("+", true, false) => "inetpl",
        ("-", true, false) => "inetmi_int8",
        ("+", false, true) => "int8pl_inet",
        _ => return None,
    };
    let argument = |side: &Expr, is_address: bool| {
        let ty = if is_address {
            DataType::Inet
        } else {
            DataType::BigInt
        };
        converted(side.clone(), &arrow_type(&ty), schema).ok()
    };
    let arguments = vec![argument(&expr.left, is_left)?, argument(&expr.right, is_right)?];
    by_row::call(function, arguments)
}
