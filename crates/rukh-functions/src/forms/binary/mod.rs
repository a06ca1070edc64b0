//! Values in PostgreSQL's binary form, as its protocol and binary COPY have them.
//!
//! | type                                 | bytes                                             |
//! |--------------------------------------|---------------------------------------------------|
//! | BOOLEAN                              | 0 or 1                                            |
//! | TINYINT, SMALLINT, INTEGER, BIGINT   | 2, 2, 4, 8, big-endian                            |
//! | REAL, DOUBLE                         | 4, 8                                              |
//! | DECIMAL                              | see `numeric`                                     |
//! | DATE                                 | days since 2000-01-01, 4                          |
//! | TIME                                 | microseconds of the day, 8                        |
//! | TIMESTAMP, TIMESTAMPTZ               | microseconds since 2000-01-01, 8                  |
//! | UUID                                 | 16                                                |
//! | texts, BINARY, VARBINARY             | as they are                                       |

mod numeric;
mod value;

pub use value::{read, read_decimal, write};
