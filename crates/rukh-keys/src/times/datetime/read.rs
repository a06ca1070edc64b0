//! Reads a text as a moment, or as a time of day.

use super::canonical;
use super::fields::Fields;
use super::parts::{Day, Failure, Moment, Parts};
use crate::times::zones::Zone;

/// Reads a date, or a date and a time.
pub(crate) fn read_moment(text: &str) -> Result<Moment, Failure> {
    if let Some(parts) = canonical::read(text.as_bytes()) {
        return Ok(Moment::Parts(parts));
    }
    Fields::of_moment(&text.to_ascii_lowercase())?.moment()
}

/// A moment that depends on when its text is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelativeMoment {
    /// `now`.
    Now,
    /// `today`, `tomorrow 10:00`, `yesterday PST`.
    Day {
        /// Days after today.
        from_today: i64,
        /// Microseconds of that day.
        time: i64,
        /// The zone whose clocks show the time; UTC if `None`.
        zone: Option<Zone>,
    },
}

impl RelativeMoment {
    /// Reads a text; `None` of every other text.
    pub fn of_text(text: &str) -> Option<RelativeMoment> {
        match read_moment(text).ok()? {
            Moment::Now => Some(RelativeMoment::Now),
            Moment::Parts(Parts {
                day: Day::FromToday(from_today),
                time,
                zone,
            }) => Some(RelativeMoment::Day {
                from_today,
                time,
                zone,
            }),
            _ => None,
        }
    }
}

/// Reads a time of day, in microseconds; a date and a zone are passed over.
pub(crate) fn read_time(text: &str) -> Result<i64, Failure> {
    Fields::of_time(&text.to_ascii_lowercase())?.time_of_day()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_form_of_databases_means_what_its_parts_mean(
            text in "(19|20|00)[0-9]{2}-[0-1][0-9]-[0-3][0-9]([ T][0-2][0-9]:[0-6][0-9]:[0-6][0-9](\\.[0-9]{1,7})?(Z|\\+00|\\+01)?)?"
        ) {
            if let Some(parts) = canonical::read(text.as_bytes()) {
                let taken_apart = Fields::of_moment(&text.to_ascii_lowercase()).and_then(Fields::moment);
                prop_assert_eq!(taken_apart, Ok(Moment::Parts(parts)));
            }
        }
    }
}
