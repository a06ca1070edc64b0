//! Functions around DataFusion's, which they stand in for.

/// Implements methods of a function as those of its field `usual`, a function of DataFusion: `as_usual!(name signature)`.
macro_rules! as_usual {
    ($($method:ident)*) => {
        $($crate::usual::as_usual!(@$method);)*
    };
    (@name) => {
        fn name(&self) -> &str {
            self.usual.name()
        }
    };
    (@signature) => {
        fn signature(&self) -> &::datafusion::logical_expr::Signature {
            self.usual.signature()
        }
    };
    (@coerce_types) => {
        fn coerce_types(&self, types: &[::datafusion::arrow::datatypes::DataType]) -> ::datafusion::error::Result<Vec<::datafusion::arrow::datatypes::DataType>> {
            self.usual.coerce_types(types)
        }
    };
    (@aliases) => {
        fn aliases(&self) -> &[String] {
            self.usual.aliases()
        }
    };
    (@return_type) => {
        fn return_type(&self, types: &[::datafusion::arrow::datatypes::DataType]) -> ::datafusion::error::Result<::datafusion::arrow::datatypes::DataType> {
            self.usual.return_type(types)
        }
    };
    (@is_strict) => {
        fn is_strict(&self) -> bool {
            self.usual.inner().is_strict()
        }
    };
    (@state_fields) => {
        fn state_fields(&self, arguments: ::datafusion::logical_expr::function::StateFieldsArgs<'_>) -> ::datafusion::error::Result<Vec<::datafusion::arrow::datatypes::FieldRef>> {
            self.usual.state_fields(arguments)
        }
    };
    (@set_monotonicity) => {
        fn set_monotonicity(&self, ty: &::datafusion::arrow::datatypes::DataType) -> ::datafusion::logical_expr::SetMonotonicity {
            self.usual.inner().set_monotonicity(ty)
        }
    };
    (@output_ordering) => {
        fn output_ordering(&self, input: &[::datafusion::logical_expr::sort_properties::ExprProperties]) -> ::datafusion::error::Result<::datafusion::logical_expr::sort_properties::SortProperties> {
            self.usual.output_ordering(input)
        }
    };
    (@groups_accumulator_supported) => {
        fn groups_accumulator_supported(&self, arguments: ::datafusion::logical_expr::function::AccumulatorArgs<'_>) -> bool {
            self.usual.groups_accumulator_supported(arguments)
        }
    };
    (@create_groups_accumulator) => {
        fn create_groups_accumulator(&self, arguments: ::datafusion::logical_expr::function::AccumulatorArgs<'_>) -> ::datafusion::error::Result<Box<dyn ::datafusion::logical_expr::GroupsAccumulator>> {
            self.usual.create_groups_accumulator(arguments)
        }
    };
    (@order_sensitivity) => {
        fn order_sensitivity(&self) -> ::datafusion::logical_expr::utils::AggregateOrderSensitivity {
            self.usual.order_sensitivity()
        }
    };
}

pub(crate) use as_usual;
