//! DataFusion operators of our own: scans of an access path.

mod scan;

pub(crate) use scan::ScanExec;
