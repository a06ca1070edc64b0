//! VERSIONS of tables, from what a statement says to the definition.

use rukh_catalog::{TableOptions, Versions};

/// Lets a table keep so many images of a row from `now` on, or no former ones.
///
/// Images count as there since now if they carry no time.
pub(super) fn set_versions(options: &mut TableOptions, kept: Option<u32>, now: i64) {
    options.versions = kept.map(|kept| Versions {
        kept,
        since_micros: options.versions.map_or(now, |before| before.since_micros),
    });
    options.timed |= kept.is_some();
}
