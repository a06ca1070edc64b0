//! Comparators: a Java class and its message.

use bytes::Bytes;
use prost::Message;

use crate::proto::filter::{BinaryComparator, ByteArrayComparable, Comparator};

/// Compares whole values byte by byte.
pub(crate) fn binary(value: Bytes) -> Comparator {
    let message = BinaryComparator {
        comparable: ByteArrayComparable { value: Some(value) },
    };
    Comparator {
        name: "org.apache.hadoop.hbase.filter.BinaryComparator".to_string(),
        serialized_comparator: Some(message.encode_to_vec().into()),
    }
}
