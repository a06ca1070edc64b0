//! DataFusion operators of our own, and the rules that place them: scans of an access path.

mod scan;
mod top_n;

pub(crate) use scan::ScanExec;
pub(crate) use top_n::TopN;
