//! TPC-H's line items, as its own generator makes them: scale factor 1 (6 million lines) for 10 million scans, in proportion for
//! other numbers.

use std::io::{self, Write};

use tpchgen::csv::LineItemCsv;
use tpchgen::generators::LineItemGenerator;

/// Rukh's table.
pub const TABLE: &str = "CREATE TABLE lineitem (
    l_orderkey BIGINT NOT NULL, l_partkey BIGINT NOT NULL, l_suppkey BIGINT NOT NULL, l_linenumber INTEGER NOT NULL,
    l_quantity DECIMAL(15,2) NOT NULL, l_extendedprice DECIMAL(15,2) NOT NULL, l_discount DECIMAL(15,2) NOT NULL,
    l_tax DECIMAL(15,2) NOT NULL, l_returnflag VARCHAR NOT NULL, l_linestatus VARCHAR NOT NULL, l_shipdate DATE NOT NULL,
    l_commitdate DATE NOT NULL, l_receiptdate DATE NOT NULL, l_shipinstruct VARCHAR NOT NULL, l_shipmode VARCHAR NOT NULL,
    l_comment VARCHAR NOT NULL, PRIMARY KEY (l_orderkey, l_linenumber))";

/// Rows of scans for one unit of the scale factor.
const SCANS_OF_ONE: f64 = 10_000_000.0;

/// Writes the lines that go with so many scans as CSV, with a header.
pub fn write_csv(scans: u64, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", LineItemCsv::header())?;
    let scale = scans as f64 / SCANS_OF_ONE;
    for line in LineItemGenerator::new(scale, 1, 1).iter() {
        writeln!(out, "{}", LineItemCsv::new(line))?;
    }
    Ok(())
}
