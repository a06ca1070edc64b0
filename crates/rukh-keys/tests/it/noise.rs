//! Decoding of bytes that are no keys: never a panic, and whatever decodes is canonical.

use crate::support::{any_layout, config, layout_and_rows};
use proptest::collection::vec;
use proptest::prelude::*;
use rukh_keys::KeyLayout;

/// Decodes in all ways; what decodes must encode to the same bytes but the salt.
fn check(layout: &KeyLayout, bytes: &[u8]) -> Result<(), TestCaseError> {
    let start = usize::from(layout.salt().is_some());
    let decoded = layout.decode(bytes);
    if let Ok(row) = &decoded {
        prop_assert_eq!(
            &layout.encode(row).expect("decoded rows encode")[start..],
            &bytes[start..]
        );
    }
    for column in 0..layout.columns().len() {
        let alone = layout.decode_column(bytes, column);
        if let Ok(row) = &decoded {
            prop_assert_eq!(
                &alone.expect("decoded with the others").into_owned(),
                &row[column]
            );
        }
    }
    prop_assert!(!layout.describe(bytes).is_empty() || bytes.is_empty());
    Ok(())
}

proptest! {
    #![proptest_config(config(1200))]

    #[test]
    fn random_bytes_never_panic(layout in any_layout(), bytes in vec(any::<u8>(), 0..40)) {
        check(&layout, &bytes)?;
    }

    #[test]
    fn bytes_that_look_like_keys_never_panic(
        layout in any_layout(),
        bytes in vec(proptest::sample::select(vec![0_u8, 0, 1, 1, 2, 0x61, 0x80, 0xfd, 0xfe, 0xff]), 0..30),
    ) {
        check(&layout, &bytes)?;
    }

    #[test]
    fn damaged_keys_never_panic(
        (layout, rows) in layout_and_rows(1),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..3),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut key = layout.encode(&rows[0]).unwrap();
        for (at, byte) in damage {
            let at = at.index(key.len().max(1));
            if let Some(place) = key.get_mut(at) {
                *place = byte;
            }
        }
        check(&layout, &key)?;
        key.truncate(cut.index(key.len() + 1));
        check(&layout, &key)?;
    }
}
