//! Cutting a scan into parts of equal size, for scans by several threads.

use crate::EngineError;
use rukh_keys::KeyRange;
use rukh_kv::KvStore;

/// Pieces made for each part, so that parts come out even though pieces do not.
const PIECES_PER_PART: usize = 4;

/// Keys that a scan is cut at are chosen from about so many for each part.
pub(crate) const POINTS_PER_PART: usize = 64;

/// Most ranges whose sizes are measured one by one; more are taken as equal.
const MEASURED_RANGES_MAX: usize = 64;

/// Cuts `ranges` of one storage table into at most `parts` lists of similar size, in order.
pub(crate) fn split(
    store: &dyn KvStore,
    storage: &str,
    ranges: Vec<KeyRange>,
    parts: usize,
) -> Result<Vec<Vec<KeyRange>>, EngineError> {
    let ranges = KeyRange::merge(ranges);
    if parts <= 1 || ranges.is_empty() {
        return Ok(vec![ranges]);
    }
    let pieces = match ranges.len() <= MEASURED_RANGES_MAX {
        true => measured_pieces(store, storage, ranges, parts * PIECES_PER_PART)?,
        false => ranges.into_iter().map(|range| (range, 1)).collect(),
    };
    Ok(group(pieces, parts))
}

/// Cuts `ranges` at some of these keys, ascending and with equal amounts of data between them, into at
/// most `parts` lists of similar size, in order.
pub(crate) fn split_at(ranges: Vec<KeyRange>, points: &[Vec<u8>], parts: usize) -> Vec<Vec<KeyRange>> {
    let mut pieces = Vec::new();
    for range in KeyRange::merge(ranges) {
        let start = points.partition_point(|point| *point <= range.start);
        let end = range
            .limit
            .as_ref()
            .map(|limit| points.partition_point(|point| point < limit));
        let inside = &points[start..end.unwrap_or(points.len()).max(start)];
        pieces.extend(cut(range, inside.to_vec()).into_iter().map(|piece| (piece, 1)));
    }
    let lists = group(pieces, parts.max(1));
    lists.into_iter().map(KeyRange::merge).collect()
}

/// Cuts each range into pieces in proportion to its size; returns each with its size.
fn measured_pieces(
    store: &dyn KvStore,
    storage: &str,
    ranges: Vec<KeyRange>,
    count: usize,
) -> Result<Vec<(KeyRange, u64)>, EngineError> {
    let mut sizes = Vec::with_capacity(ranges.len());
    for range in &ranges {
        sizes.push(store.approximate_size(storage, range)?.max(1));
    }
    let total: u64 = sizes.iter().sum();
    let mut pieces = Vec::new();
    for (range, size) in ranges.into_iter().zip(sizes) {
        let share = (count as u128 * u128::from(size)).div_ceil(u128::from(total)) as usize;
        let points = store.split_points(storage, &range, share.max(1))?;
        let cut = cut(range, points);
        let each = (size / cut.len() as u64).max(1);
        pieces.extend(cut.into_iter().map(|piece| (piece, each)));
    }
    Ok(pieces)
}

/// Cuts a range at keys inside of it, given in ascending order.
fn cut(range: KeyRange, points: Vec<Vec<u8>>) -> Vec<KeyRange> {
    let mut pieces = Vec::with_capacity(points.len() + 1);
    let mut start = range.start;
    for point in points {
        let limit = Some(point.clone());
        pieces.push(KeyRange {
            start: std::mem::replace(&mut start, point),
            limit,
        });
    }
    pieces.push(KeyRange {
        start,
        limit: range.limit,
    });
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

/// Puts neighbouring pieces together until each list has its share of the total size.
fn group(pieces: Vec<(KeyRange, u64)>, parts: usize) -> Vec<Vec<KeyRange>> {
    let total: u64 = pieces.iter().map(|(_, size)| size).sum();
    let mut groups: Vec<Vec<KeyRange>> = vec![Vec::new()];
    let mut done = 0;
    for (piece, size) in pieces {
        let due = u128::from(total) * groups.len() as u128 / parts as u128;
        if u128::from(done) >= due && groups.len() < parts {
            groups.push(Vec::new());
        }
        let last = groups.last_mut().expect("there is a first group");
        last.push(piece);
        done += size;
    }
    groups.retain(|group| !group.is_empty());
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: u8, limit: u8) -> KeyRange {
        KeyRange {
            start: vec![start],
            limit: Some(vec![limit]),
        }
    }

    #[test]
    fn groups_have_equal_shares() {
        let pieces = (0..8).map(|n| (range(n, n + 1), 10)).collect();
        let sizes: Vec<_> = group(pieces, 4).iter().map(Vec::len).collect();
        assert_eq!(sizes, [2, 2, 2, 2]);
        let pieces = vec![(range(0, 1), 90), (range(1, 2), 5), (range(2, 3), 5)];
        let groups = group(pieces, 2);
        assert_eq!(groups, [vec![range(0, 1)], vec![range(1, 2), range(2, 3)]]);
    }

    #[test]
    fn a_cut_range_loses_nothing() {
        let cut = cut(range(0, 9), vec![vec![3], vec![6]]);
        assert_eq!(cut, [range(0, 3), range(3, 6), range(6, 9)]);
    }
}
