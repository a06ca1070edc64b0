//! What the server says of itself: `SqlInfo`.

use arrow_flight::error::FlightError;
use arrow_flight::sql::metadata::{SqlInfoData, SqlInfoDataBuilder};
use arrow_flight::sql::{
    SqlInfo, SqlNullOrdering, SqlOuterJoinsSupportLevel, SqlSupportedCaseSensitivity, SqlSupportedGroupBy,
    SqlSupportedSubqueries, SqlSupportedTransaction, SqlSupportedUnions, SqlTransactionIsolationLevel,
};

/// The version of Arrow that the messages are of.
const ARROW_VERSION: &str = "59.3.2";
/// Most bytes of a name.
const NAME_BYTES_MAX: i64 = 63;

/// Returns all that is said.
pub(crate) fn sql_info() -> Result<SqlInfoData, FlightError> {
    let mut info = SqlInfoDataBuilder::new();
    info.append(SqlInfo::FlightSqlServerName, "Rukh");
    info.append(SqlInfo::FlightSqlServerVersion, env!("CARGO_PKG_VERSION"));
    info.append(SqlInfo::FlightSqlServerArrowVersion, ARROW_VERSION);
    info.append(SqlInfo::FlightSqlServerReadOnly, false);
    info.append(SqlInfo::FlightSqlServerSql, true);
    info.append(SqlInfo::FlightSqlServerSubstrait, false);
    info.append(
        SqlInfo::FlightSqlServerTransaction,
        SqlSupportedTransaction::Savepoint as i32,
    );
    info.append(SqlInfo::FlightSqlServerCancel, true);
    info.append(SqlInfo::FlightSqlServerBulkIngestion, true);
    info.append(SqlInfo::FlightSqlServerIngestTransactionsSupported, true);
    // 0 is for ever.
    info.append(SqlInfo::FlightSqlServerStatementTimeout, 0);
    info.append(SqlInfo::FlightSqlServerTransactionTimeout, 0);
    info.append(SqlInfo::SqlDdlCatalog, false);
    info.append(SqlInfo::SqlDdlTable, true);
    let case = |case: SqlSupportedCaseSensitivity| i64::from(case as i32);
    info.append(
        SqlInfo::SqlIdentifierCase,
        case(SqlSupportedCaseSensitivity::SqlCaseSensitivityLowercase),
    );
    info.append(SqlInfo::SqlIdentifierQuoteChar, "\"");
    info.append(
        SqlInfo::SqlQuotedIdentifierCase,
        case(SqlSupportedCaseSensitivity::SqlCaseSensitivityCaseInsensitive),
    );
    info.append(SqlInfo::SqlAllTablesAreSelectable, true);
    info.append(
        SqlInfo::SqlNullOrdering,
        i64::from(SqlNullOrdering::SqlNullsSortedHigh as i32),
    );
    info.append(SqlInfo::SqlSearchStringEscape, "\\");
    info.append(SqlInfo::SqlSupportsColumnAliasing, true);
    info.append(SqlInfo::SqlNullPlusNullIsNull, true);
    info.append(SqlInfo::SqlSupportsTableCorrelationNames, true);
    info.append(SqlInfo::SqlSupportsDifferentTableCorrelationNames, false);
    info.append(SqlInfo::SqlSupportsExpressionsInOrderBy, true);
    info.append(SqlInfo::SqlSupportsOrderByUnrelated, true);
    info.append(
        SqlInfo::SqlSupportedGroupBy,
        1 << SqlSupportedGroupBy::SqlGroupByUnrelated as i32,
    );
    info.append(SqlInfo::SqlSupportsLikeEscapeClause, true);
    info.append(SqlInfo::SqlSupportsNonNullableColumns, true);
    info.append(
        SqlInfo::SqlOuterJoinsSupportLevel,
        1 << SqlOuterJoinsSupportLevel::SqlFullOuterJoins as i32,
    );
    info.append(SqlInfo::SqlSchemaTerm, "schema");
    info.append(SqlInfo::SqlCatalogTerm, "database");
    info.append(SqlInfo::SqlCatalogAtStart, true);
    info.append(SqlInfo::SqlSelectForUpdateSupported, false);
    info.append(SqlInfo::SqlStoredProceduresSupported, false);
    let subqueries = [
        SqlSupportedSubqueries::SqlSubqueriesInComparisons,
        SqlSupportedSubqueries::SqlSubqueriesInExists,
        SqlSupportedSubqueries::SqlSubqueriesInIns,
    ];
    info.append(
        SqlInfo::SqlSupportedSubqueries,
        subqueries
            .iter()
            .fold(0, |bits, subquery| bits | 1 << *subquery as i32),
    );
    info.append(SqlInfo::SqlCorrelatedSubqueriesSupported, true);
    let unions = [SqlSupportedUnions::SqlUnion, SqlSupportedUnions::SqlUnionAll];
    info.append(
        SqlInfo::SqlSupportedUnions,
        unions.iter().fold(0, |bits, union| bits | 1 << *union as i32),
    );
    info.append(SqlInfo::SqlMaxColumnNameLength, NAME_BYTES_MAX);
    info.append(SqlInfo::SqlMaxTableNameLength, NAME_BYTES_MAX);
    // Snapshot isolation is what comes next to it.
    let isolation = SqlTransactionIsolationLevel::SqlTransactionRepeatableRead as i32;
    info.append(SqlInfo::SqlDefaultTransactionIsolation, i64::from(isolation));
    info.append(SqlInfo::SqlTransactionsSupported, true);
    info.append(SqlInfo::SqlSupportedTransactionsIsolationLevels, 1 << isolation);
    info.append(SqlInfo::SqlDataDefinitionCausesTransactionCommit, false);
    info.append(SqlInfo::SqlDataDefinitionsInTransactionsIgnored, false);
    info.append(SqlInfo::SqlBatchUpdatesSupported, true);
    info.append(SqlInfo::SqlSavepointsSupported, true);
    info.append(SqlInfo::SqlNamedParametersSupported, false);
    info.build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_is_said_in_rows() {
        let info = sql_info().expect("it can be built");
        let all = info.record_batch([]).expect("it can be described");
        assert!(all.num_rows() > 40);
        let one = info.record_batch([SqlInfo::FlightSqlServerName as u32]);
        assert_eq!(one.expect("it can be described").num_rows(), 1);
    }
}
