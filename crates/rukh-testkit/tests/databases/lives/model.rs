//! What the table must show: all images of its rows, with the times that say which of them live.

use std::collections::BTreeMap;

/// The key of a row: group and name.
pub type Key = (i64, &'static str);

/// The columns outside of the key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Values {
    pub a: Option<i64>,
    pub note: Option<String>,
    pub c: i64,
    /// A second.
    pub ts: Option<i64>,
    /// In a family that may live for a time of its own.
    pub tag: Option<String>,
    /// Added and dropped by ALTER TABLE.
    pub x: Option<i64>,
}

/// What a row was, from a second on and, unless it stands, before another.
#[derive(Clone, Debug)]
pub struct Image {
    pub values: Values,
    /// `None` where rows carried no times when it was written.
    written: Option<i64>,
    /// Since when its life counts, if by the value of a column; `i64::MAX` is never.
    counted: Option<i64>,
    /// When the column of the family with a TTL last changed.
    tagged: i64,
    pub end: Option<i64>,
}

/// The TTL of the table.
#[derive(Clone, Copy, Debug)]
pub struct Lifetime {
    pub ttl: i64,
    pub from_column: bool,
    /// Since when rows count that carry no time.
    pub since: i64,
}

/// The table.
#[derive(Clone, Debug, Default)]
pub struct Model {
    pub now: i64,
    /// When the open transaction began.
    pub began: Option<i64>,
    /// By key, oldest first; at most the last stands.
    images: BTreeMap<Key, Vec<Image>>,
    pub lifetime: Option<Lifetime>,
    /// How many images are kept, and since when.
    pub versions: Option<(usize, i64)>,
    pub family_ttl: Option<i64>,
    pub timed: bool,
    /// Whether there is the column `x`.
    pub has_x: bool,
}

/// The value of `x` in rows that were there before it, by default.
pub const DEFAULT_X: i64 = 7;

impl Model {
    fn is_alive(&self, image: &Image) -> bool {
        self.lifetime.is_none_or(|lifetime| {
            let counted = image.counted.or(image.written).unwrap_or(lifetime.since);
            counted == i64::MAX || self.now < counted + lifetime.ttl
        })
    }

    /// The values of an image as they are shown now.
    fn shown(&self, image: &Image) -> Values {
        let mut values = image.values.clone();
        if self.family_ttl.is_some_and(|ttl| self.now >= image.tagged + ttl) {
            values.tag = None;
        }
        values
    }

    /// When what a statement does now is said to have happened.
    fn moment(&self) -> i64 {
        match (self.began, self.versions) {
            (Some(began), Some(_)) => began,
            _ => self.now,
        }
    }

    /// When an image began to stand.
    pub fn start(&self, image: &Image) -> i64 {
        image
            .written
            .unwrap_or(self.versions.map_or(0, |(_, since)| since))
    }

    /// The row under a key.
    pub fn present(&self, key: Key) -> Option<Values> {
        let last = self.images.get(&key)?.last()?;
        (last.end.is_none() && self.is_alive(last)).then(|| self.shown(last))
    }

    /// All rows.
    pub fn standing(&self) -> Vec<(Key, Values)> {
        let keys = self.images.keys();
        keys.filter_map(|key| Some((*key, self.present(*key)?))).collect()
    }

    /// All images that are alive, in order of key and start.
    pub fn images(&self) -> Vec<(Key, Image, Values)> {
        let all = self
            .images
            .iter()
            .flat_map(|(key, images)| images.iter().map(move |image| (*key, image)));
        all.filter(|(_, image)| self.is_alive(image))
            .map(|(key, image)| (key, image.clone(), self.shown(image)))
            .collect()
    }

    /// Ends the row under a key, if there is one; of former images the newest are kept.
    pub fn end(&mut self, key: Key) {
        let moment = self.moment();
        let was_there = self.present(key).is_some();
        let Some(mut images) = self.images.remove(&key) else {
            return;
        };
        if images.last().is_some_and(|last| last.end.is_none()) {
            let mut last = images.pop().expect("it was looked at");
            // What is dead was forgotten before, and what ends when it began was never seen.
            if was_there && self.versions.is_some() && self.start(&last) < moment {
                last.end = Some(moment);
                images.push(last);
            }
        }
        self.keep_newest(&mut images);
        if !images.is_empty() {
            self.images.insert(key, images);
        }
    }

    fn keep_newest(&self, images: &mut Vec<Image>) {
        images.retain(|image| self.is_alive(image));
        let kept = self.versions.map_or(0, |(kept, _)| kept - 1);
        let former = images.iter().filter(|image| image.end.is_some()).count();
        images.drain(..former.saturating_sub(kept));
    }

    /// Writes a row.
    pub fn put(&mut self, key: Key, values: Values) {
        let moment = self.moment();
        let before = self.present(key);
        let tagged_before = self
            .images
            .get(&key)
            .and_then(|images| images.last())
            .map(|image| image.tagged);
        self.end(key);
        let tagged = match (before, tagged_before) {
            (Some(before), Some(tagged)) if before.tag == values.tag => tagged,
            _ => moment,
        };
        let from_column = self.lifetime.is_some_and(|lifetime| lifetime.from_column);
        let image = Image {
            counted: from_column.then(|| values.ts.unwrap_or(i64::MAX)),
            written: self.timed.then_some(moment),
            tagged,
            end: None,
            values,
        };
        self.images.entry(key).or_default().push(image);
    }

    /// Removes everything.
    pub fn clear(&mut self) {
        self.images.clear();
    }

    /// Changes how long rows live: what is dead stays so.
    pub fn set_lifetime(&mut self, ttl: Option<(i64, bool)>) {
        self.forget_dead();
        let since = self.lifetime.map_or(self.now, |before| before.since);
        self.lifetime = ttl.map(|(ttl, from_column)| Lifetime {
            ttl,
            from_column,
            since,
        });
        self.timed |= self.lifetime.is_some();
    }

    fn forget_dead(&mut self) {
        let before = self.clone();
        for images in self.images.values_mut() {
            images.retain(|image| before.is_alive(image));
            for image in images {
                image.values = before.shown(image);
            }
        }
        self.images.retain(|_, images| !images.is_empty());
    }

    /// Changes how many images are kept.
    pub fn set_versions(&mut self, kept: Option<usize>) {
        let since = self.versions.map_or(self.now, |(_, since)| since);
        self.versions = kept.map(|kept| (kept, since));
        self.timed |= kept.is_some();
        let mut all = std::mem::take(&mut self.images);
        for images in all.values_mut() {
            self.keep_newest(images);
        }
        all.retain(|_, images| !images.is_empty());
        self.images = all;
    }

    /// Adds or drops the column `x`.
    pub fn set_x(&mut self, has_x: bool) {
        self.has_x = has_x;
        for image in self.images.values_mut().flatten() {
            image.values.x = has_x.then_some(DEFAULT_X);
        }
    }

    /// The values of a row of which nothing is said.
    pub fn defaults(&self) -> Values {
        Values {
            x: self.has_x.then_some(DEFAULT_X),
            ..Values::default()
        }
    }
}
