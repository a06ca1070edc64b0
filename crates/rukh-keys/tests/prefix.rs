//! Prefixes of keys: the first columns in the form that they have in a whole key.

use proptest::prelude::*;
use rukh_keys::{DataType, Datum, DatumRef, KeyColumn, KeyDecodeError, KeyLayout, SortOrder, Span};

fn layout(columns: &[(DataType, SortOrder, bool)]) -> KeyLayout {
    let column = |(ty, order, nullable): &(DataType, SortOrder, bool)| KeyColumn {
        ty: *ty,
        order: *order,
        nullable: *nullable,
    };
    KeyLayout::new(columns.iter().map(column).collect(), None)
}

fn encode_prefix(layout: &KeyLayout, datums: &[Datum]) -> Vec<u8> {
    let refs: Vec<DatumRef<'_>> = datums.iter().map(Datum::as_ref).collect();
    let mut out = b"before".to_vec();
    layout
        .encode_prefix_into(&refs, &mut out)
        .expect("datums fit the layout");
    out.split_off(6)
}

fn datum(ty: DataType) -> BoxedStrategy<Datum> {
    match ty {
        DataType::Boolean => any::<bool>().prop_map(Datum::Boolean).boxed(),
        DataType::Integer => any::<i32>().prop_map(|v| Datum::Int(v.into())).boxed(),
        _ => "[a\0]{0,3}".prop_map(Datum::Text).boxed(),
    }
}

fn column() -> impl Strategy<Value = ((DataType, SortOrder, bool), Datum)> {
    let ty = prop_oneof![
        Just(DataType::Boolean),
        Just(DataType::Integer),
        Just(DataType::Varchar(None))
    ];
    (ty, any::<bool>(), any::<bool>(), any::<bool>()).prop_flat_map(|(ty, desc, nullable, null)| {
        let order = if desc { SortOrder::Desc } else { SortOrder::Asc };
        let datum = if null && nullable {
            Just(Datum::Null).boxed()
        } else {
            datum(ty)
        };
        datum.prop_map(move |datum| ((ty, order, nullable), datum))
    })
}

proptest! {
    #[test]
    fn prefixes_round_trip(columns in prop::collection::vec(column(), 1..6), n in 0_usize..6) {
        let (types, datums): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
        let layout = layout(&types);
        let n = n.min(datums.len());
        let prefix = encode_prefix(&layout, &datums[..n]);
        prop_assert_eq!(layout.decode_prefix(&prefix, n), Ok(datums[..n].to_vec()));
        for (at, datum) in datums[..n].iter().enumerate() {
            let decoded = layout.decode_column(&prefix, at).map(|datum| datum.into_owned());
            prop_assert_eq!(decoded, Ok(datum.clone()));
        }
        if n == datums.len() {
            prop_assert_eq!(layout.encode(&datums), Ok(prefix));
        }
        // The range of a span is exact where all datums can be encoded, as here.
        let refs: Vec<DatumRef<'_>> = datums[..n].iter().map(Datum::as_ref).collect();
        let range = layout.range(&Span::prefix(datums[..n].to_vec()), None);
        prop_assert_eq!(layout.prefix_range(&refs), Ok(range));
    }
}

#[test]
fn prefixes_keep_the_form_of_whole_keys() {
    let text = layout(&[
        (DataType::Varchar(None), SortOrder::Asc, false),
        (DataType::Integer, SortOrder::Asc, false),
    ]);
    assert_eq!(encode_prefix(&text, &[Datum::Text("a".into())]), [0x61, 0, 1]);
    let flags = layout(&[(DataType::Boolean, SortOrder::Asc, false); 2]);
    assert_eq!(encode_prefix(&flags, &[Datum::Boolean(true)]), [0x80]);
}

#[test]
fn a_prefix_of_other_length_is_refused() {
    let layout = layout(&[(DataType::TinyInt, SortOrder::Asc, false); 2]);
    let refs = [DatumRef::Int(1), DatumRef::Int(2), DatumRef::Int(3)];
    assert!(layout.encode_prefix_into(&refs, &mut Vec::new()).is_err());
    assert_eq!(
        layout.decode_prefix(&[0x81, 0x82], 1),
        Err(KeyDecodeError::TrailingBytes { offset: 1 })
    );
    assert!(layout.decode_prefix(&[], 1).is_err());
}
