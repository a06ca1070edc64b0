//! The words that are coloured and completed.
//!
//! The lists are for people's eyes and fingers: a word that is missing here works all the same.

use std::sync::LazyLock;

/// Words of the language.
const KEYWORDS_TEXT: &str = "
    ABORT ADD ALL ALTER ANALYZE AND ANTI ANY AS ASC BEGIN BERNOULLI BETWEEN BIGINT BINARY BOOLEAN
    BOTH BY BYTEA CASE CAST CHAIN CHAR CHARACTER CHECK COLUMN COLUMNS COMMIT COMMITTED CONFLICT
    CONSTRAINT COPY COUNTER CREATE CROSS CSV CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP DATE
    DECIMAL DEFAULT DELETE DELIMITER DESC DESCRIBE DISTINCT DO DOUBLE DROP ELSE END ESCAPE EXCEPT
    EXISTS EXPLAIN EXTRACT FALSE FAMILY FETCH FILTER FIRST FLOAT FOLLOWING FOR FORMAT FROM FULL
    GROUP GROUPING HAVING HEADER IF ILIKE IMMUTABLE IN INCLUDE INDEX INDEXES INNER INSERT INT
    INTEGER INTERSECT INTERVAL INTO IS ISOLATION JOIN JSON KEY LAST LATERAL LEADING LEFT LEVEL LIKE
    LIMIT LOCAL NATURAL NOT NOTHING NULL NULLS NUMERIC OF OFFSET ON ONLY OR ORDER OUTER OVER
    PARTITION PRECEDING PRECISION PRIMARY RANGE READ REAL RECURSIVE RELEASE REPEATABLE RETURNING
    RIGHT ROLLBACK ROW ROWS SALT_BUCKETS SAVEPOINT SELECT SEMI SET SHOW SIMILAR SMALLINT SPLIT START
    STATS SUBSTRING SYSTEM_TIME TABLE TABLES TABLESAMPLE TEXT THEN TIME TIMESTAMP TIMESTAMPTZ
    TINYINT TO TRAILING TRANSACTION TRIM TRUE TRUNCATE TTL UNBOUNDED UNION UNIQUE UPDATE UPSERT
    USING UUID VALUES VARBINARY VARCHAR VARYING VERSIONS VIEW WHEN WHERE WINDOW WITH WITHOUT WORK
    WRITE ZONE";

/// Functions offered where an expression may stand.
const FUNCTIONS_TEXT: &str = "
    abs array_agg avg ceil char_length coalesce concat count date_part date_trunc dense_rank
    first_value floor greatest hash lag last_value lead least left length lower lpad ltrim max md5
    median min mod now nullif power random rank regexp_like regexp_replace repeat replace reverse
    right round row_number rpad rtrim sign split_part sqrt starts_with stddev string_agg strpos
    substr sum to_char to_timestamp trim trunc upper";

/// Keywords that cannot be names without quotes.
const RESERVED_TEXT: &str = "
    ALL ANALYZE AND ANY AS ASC BETWEEN BOTH CASE CAST CHECK COLUMN CONSTRAINT CREATE CROSS
    CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP DEFAULT DESC DISTINCT DO ELSE END EXCEPT FALSE FETCH
    FOR FROM FULL GROUP HAVING ILIKE IN INNER INTERSECT INTO IS JOIN LATERAL LEADING LEFT LIKE LIMIT
    NATURAL NOT NULL OFFSET ON OR ORDER OUTER PRIMARY RETURNING RIGHT SELECT SIMILAR TABLE
    TABLESAMPLE THEN TO TRAILING TRUE UNION UNIQUE USING VALUES WHEN WHERE WINDOW WITH";

/// Words of the language, in alphabetical order.
pub static KEYWORDS: LazyLock<Vec<&str>> = LazyLock::new(|| KEYWORDS_TEXT.split_whitespace().collect());

/// Functions offered where an expression may stand, in alphabetical order.
pub static FUNCTIONS: LazyLock<Vec<&str>> = LazyLock::new(|| FUNCTIONS_TEXT.split_whitespace().collect());

static RESERVED: LazyLock<Vec<&str>> = LazyLock::new(|| RESERVED_TEXT.split_whitespace().collect());

/// Returns whether `word` is a keyword that cannot be a name without quotes.
pub fn is_reserved(word: &str) -> bool {
    RESERVED
        .binary_search(&word.to_ascii_uppercase().as_str())
        .is_ok()
}

/// Returns whether `word` is a keyword, in any letter case.
pub fn is_keyword(word: &str) -> bool {
    KEYWORDS
        .binary_search(&word.to_ascii_uppercase().as_str())
        .is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_in_order() {
        assert!(KEYWORDS.is_sorted() && RESERVED.is_sorted() && FUNCTIONS.is_sorted());
        assert!(is_keyword("select") && is_keyword("ZONE") && !is_keyword("users"));
    }
}
