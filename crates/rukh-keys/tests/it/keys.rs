//! Properties of encoded keys: order, round trip, prefix-freedom, places of columns, buckets.

use crate::support::{Row, config, hex, layout_and_rows};
use proptest::prelude::*;
use rukh_keys::{DataType, Datum, DatumRef, KeyLayout, SortOrder, hash_datum};

/// Whether the last column is the rest of the key, so that one key may begin with another.
fn ends_raw(layout: &KeyLayout) -> bool {
    layout.columns().last().is_some_and(|column| {
        let variable = matches!(column.ty, DataType::Varchar(_) | DataType::Varbinary(_));
        variable && column.order == SortOrder::Asc
    })
}

fn salt_values(layout: &KeyLayout, row: &Row) -> Vec<Datum> {
    let salt = layout.salt().into_iter().flat_map(|salt| &salt.columns);
    salt.map(|column| row[*column].clone()).collect()
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn bytes_compare_as_rows_do((layout, rows) in layout_and_rows(2)) {
        let start = usize::from(layout.salt().is_some());
        let keys: Vec<Vec<u8>> = rows.iter().map(|row| layout.encode(row).unwrap()).collect();
        prop_assert_eq!(keys[0][start..].cmp(&keys[1][start..]), layout.compare(&rows[0], &rows[1]));
    }

    #[test]
    fn keys_decode_to_their_rows((layout, rows) in layout_and_rows(1)) {
        let key = layout.encode(&rows[0]).unwrap();
        prop_assert_eq!(&layout.decode(&key).unwrap(), &rows[0]);
        for (column, datum) in rows[0].iter().enumerate() {
            prop_assert_eq!(&layout.decode_column(&key, column).unwrap().into_owned(), datum);
        }
        let refs: Vec<DatumRef<'_>> = rows[0].iter().map(Datum::as_ref).collect();
        let mut out = vec![1, 2, 3];
        layout.encode_into(&refs, &mut out).unwrap();
        prop_assert_eq!(&out[..3], [1, 2, 3]);
        prop_assert_eq!(&out[3..], &key);
    }

    #[test]
    fn no_key_begins_with_another((layout, rows) in layout_and_rows(2)) {
        if ends_raw(&layout) || rows[0] == rows[1] {
            return Ok(());
        }
        let keys: Vec<Vec<u8>> = rows.iter().map(|row| layout.encode(row).unwrap()).collect();
        prop_assert!(!keys[0].starts_with(&keys[1]) && !keys[1].starts_with(&keys[0]));
    }

    #[test]
    fn the_bucket_depends_on_the_salt_columns((layout, rows) in layout_and_rows(1)) {
        let key = layout.encode(&rows[0]).unwrap();
        let bucket = layout.salt().map(|_| key[0]);
        prop_assert_eq!(layout.bucket(&rows[0]), bucket);
        prop_assert_eq!(layout.bucket_of(&salt_values(&layout, &rows[0])), bucket);
        prop_assert!(bucket.is_none_or(|bucket| layout.buckets().any(|one| one == bucket)));
    }

    #[test]
    fn a_key_cut_short_does_not_decode((layout, rows) in layout_and_rows(1), cut in any::<prop::sample::Index>()) {
        if ends_raw(&layout) {
            return Ok(());
        }
        let key = layout.encode(&rows[0]).unwrap();
        prop_assert!(layout.decode(&key[..cut.index(key.len())]).is_err());
    }

    #[test]
    fn the_places_of_columns_do_not_move((layout, rows) in layout_and_rows(2)) {
        // Exchanging one column's value changes bytes of its field only.
        let keys: Vec<Vec<u8>> = rows.iter().map(|row| layout.encode(row).unwrap()).collect();
        for column in 0..layout.columns().len() {
            let Some(field) = layout.field(column) else { continue };
            let Some(width) = field.width else { continue };
            let mut mixed = rows[0].clone();
            mixed[column] = rows[1][column].clone();
            let mixed = layout.encode(&mixed).unwrap();
            let place = field.offset..field.offset + width;
            prop_assert_eq!(mixed.len(), keys[0].len());
            if field.bit.is_none() {
                prop_assert_eq!(&mixed[place.clone()], &keys[1][place.clone()]);
            } else {
                let mask = 0x80 >> field.bit.unwrap();
                prop_assert_eq!(mixed[field.offset] & mask, keys[1][field.offset] & mask);
                prop_assert_eq!(mixed[field.offset] & !mask, keys[0][field.offset] & !mask);
            }
            prop_assert_eq!(&mixed[place.end..], &keys[0][place.end..]);
        }
    }
}

#[test]
fn an_error_leaves_the_buffer_alone() {
    let layout = KeyLayout::new(
        vec![
            crate::support::ascending(DataType::Integer),
            crate::support::ascending(DataType::TinyInt),
        ],
        None,
    );
    let mut out = vec![7];
    let row = [DatumRef::Int(1), DatumRef::Int(1000)];
    assert!(layout.encode_into(&row, &mut out).is_err());
    assert!(layout.encode_into(&row[..1], &mut out).is_err());
    assert_eq!(out, [7]);
}

#[test]
fn hashes_are_the_first_bytes_of_md5() {
    let hash = |datum: Datum, bytes| match hash_datum(&datum, bytes) {
        Datum::Bytes(hash) => hex(&hash),
        other => other.to_string(),
    };
    let text = |text: &str| Datum::Text(text.into());
    assert_eq!(hash(text("dave"), 4), "16108387");
    assert_eq!(hash(text(""), 16), "d41d8cd98f00b204e9800998ecf8427e");
    assert_eq!(hash(text("abc"), 8), "900150983cd24fb0");
    assert_eq!(hash(Datum::Bytes(b"abc".to_vec()), 8), "900150983cd24fb0");
    assert_eq!(hash(Datum::Null, 8), "NULL");
    // Numbers are hashed in one width, whatever their column's.
    let one = Datum::Bytes(crate::support::unhex("8000000000000001"));
    assert_eq!(hash(Datum::Int(1), 8), hash(one, 8));
    assert_eq!(hash(Datum::Float(-0.0), 8), hash(Datum::Float(0.0), 8));
}

#[test]
fn the_next_prefix_of_a_text_skips_what_is_no_character() {
    let next = |text: &str| Datum::Text(text.into()).prefix_successor();
    assert_eq!(next("ab"), Some(Datum::Text("ac".into())));
    assert_eq!(next("a\u{10ffff}"), Some(Datum::Text("b".into())));
    assert_eq!(next("\u{d7ff}"), Some(Datum::Text("\u{e000}".into())));
    assert_eq!(next("\u{10ffff}"), None);
    assert_eq!(next(""), None);
    assert_eq!(
        Datum::Bytes(vec![0x61, 0xff]).prefix_successor(),
        Some(Datum::Bytes(vec![0x62]))
    );
    assert_eq!(Datum::Int(1).prefix_successor(), None);
}
