//! The order of JSONB, which is PostgreSQL's.
//!
//! `object > array > boolean > number > string > null`; of two arrays or objects the one with more elements or members is greater.
//! By itself a scalar compares as an array of one element that is less than such an array: so `[]` is less than `null`.

use super::form::{Jsonb, JsonbKind};
use super::number::put_order;

impl Jsonb<'_> {
    /// Returns bytes whose order is that of the values: equal where the values are.
    pub fn order_key(self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.bytes().len() + 8);
        if self.is_scalar() {
            put_count(ARRAY, 1, &mut out);
            out.push(0);
            put(self, &mut out);
            return out;
        }
        if self.kind() == JsonbKind::Array {
            put_count(ARRAY, self.len(), &mut out);
            out.push(1);
            self.elements().for_each(|element| put(element, &mut out));
            return out;
        }
        put(self, &mut out);
        out
    }

    /// Whether two values are equal: numbers are whatever digits they show.
    pub fn equals(self, other: Jsonb<'_>) -> bool {
        self == other || self.order_key() == other.order_key()
    }
}

const ARRAY: u8 = 5;
const OBJECT: u8 = 6;

fn put_count(tag: u8, count: usize, out: &mut Vec<u8>) {
    out.push(tag);
    out.extend_from_slice(&u32::try_from(count).unwrap_or(u32::MAX).to_be_bytes());
}

/// Appends a value; no string holds a zero byte, so that one ends it.
fn put(value: Jsonb<'_>, out: &mut Vec<u8>) {
    match value.kind() {
        JsonbKind::Null => out.push(0),
        JsonbKind::Text => {
            out.push(1);
            out.extend_from_slice(value.text().as_bytes());
            out.push(0);
        }
        JsonbKind::Number => {
            out.push(2);
            put_order(value.text(), out);
        }
        JsonbKind::Bool(value) => out.extend_from_slice(&[3, u8::from(value)]),
        JsonbKind::Array => {
            put_count(ARRAY, value.len(), out);
            value.elements().for_each(|element| put(element, out));
        }
        JsonbKind::Object => {
            put_count(OBJECT, value.len(), out);
            for (name, value) in value.members() {
                out.extend_from_slice(name.as_bytes());
                out.push(0);
                put(value, out);
            }
        }
    }
}
