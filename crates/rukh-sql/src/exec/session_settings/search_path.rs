//! The setting `search_path`: the schemas in which names without one are looked up, in order.
//!
//! Schemas of the path that are not there are passed over, as in PostgreSQL; `"$user"` is the schema named as
//! the user, if there is one. `pg_catalog` is looked at first, wherever it stands.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::bind::names::functions::OF_TEMPORARY;
use rukh_catalog::{Catalog, PUBLIC};
use rukh_syntax::TEMPORARY;

/// The value of the setting by default.
const DEFAULT: &str = "\"$user\", public";

/// What stands for the schema named as the user.
const USER: &str = "$user";

/// Returns a name for the schema of a session's temporary relations that no other session of the process has.
pub(crate) fn temporary_schema() -> Arc<str> {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    format!("{OF_TEMPORARY}{}", NEXT.fetch_add(1, Ordering::Relaxed)).into()
}

/// The path as it was set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SearchPath {
    text: Arc<str>,
    names: Arc<[String]>,
}

impl Default for SearchPath {
    fn default() -> Self {
        SearchPath {
            text: DEFAULT.into(),
            names: [USER, PUBLIC].map(String::from).into(),
        }
    }
}

impl SearchPath {
    /// Reads a list of names between commas; `None` if it is none. A text of blanks is the empty list.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text == "default" {
            return Some(SearchPath::default());
        }
        let names = match text.trim() {
            "" => Vec::new(),
            list => names_of(list)?,
        };
        Some(SearchPath {
            text: text.into(),
            names: names.into(),
        })
    }

    /// Returns the list as SHOW shows it.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the schemas of the path that are there and may hold tables, each once.
    ///
    /// That of what is temporary comes first, unless the path has another place for it.
    pub(crate) fn schemas(&self, catalog: &Catalog, user: &str, temporary: &str) -> Vec<String> {
        let mut schemas: Vec<String> = Vec::with_capacity(self.names.len() + 1);
        let has_place = self.names.iter().any(|name| name == TEMPORARY);
        if !has_place && catalog.has_schema(temporary) {
            schemas.push(temporary.to_string());
        }
        for name in self.places(user, temporary) {
            if catalog.has_schema(name) && !schemas.iter().any(|known| known == name) {
                schemas.push(name.to_string());
            }
        }
        schemas
    }

    /// Returns the schema in which something new is made: the first of the path that there is. That of temporary relations is made where
    /// it is needed.
    pub(crate) fn current(&self, catalog: &Catalog, user: &str, temporary: &str) -> Option<String> {
        let mut places = self.places(user, temporary);
        let found = places.find(|name| *name == temporary || catalog.has_schema(name));
        found.map(str::to_string)
    }

    /// Returns the names of the path with what `$user` and `pg_temp` stand for.
    fn places<'a>(&'a self, user: &'a str, temporary: &'a str) -> impl Iterator<Item = &'a str> {
        self.names.iter().map(move |name| match name.as_str() {
            USER => user,
            TEMPORARY => temporary,
            name => name,
        })
    }

    /// Whether names without a schema are those of `public`, and nothing else.
    pub(crate) fn is_public(&self, catalog: &Catalog, user: &str, temporary: &str) -> bool {
        match catalog.schemas().next() {
            None => self.names.iter().any(|name| name == PUBLIC) && catalog.has_schema(PUBLIC),
            Some(_) => self.schemas(catalog, user, temporary) == [PUBLIC],
        }
    }
}

/// Takes a list of names apart: folded to lower case unless quoted.
fn names_of(list: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut rest = list;
    loop {
        rest = rest.trim_start();
        let mut name = String::new();
        match rest.strip_prefix('"') {
            Some(quoted) => {
                rest = quoted;
                loop {
                    let (part, after) = rest.split_once('"')?;
                    name.push_str(part);
                    rest = after;
                    let Some(more) = rest.strip_prefix('"') else {
                        break;
                    };
                    name.push('"');
                    rest = more;
                }
            }
            None => {
                let end = |c: char| c == ',' || c == '"' || c.is_whitespace();
                let (part, after) = rest.split_at(rest.find(end).unwrap_or(rest.len()));
                if part.is_empty() {
                    return None;
                }
                name = part.to_lowercase();
                rest = after;
            }
        }
        names.push(name);
        rest = rest.trim_start();
        if rest.is_empty() {
            return Some(names);
        }
        rest = rest.strip_prefix(',')?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_lists_of_names() {
        let names = |text: &str| SearchPath::parse(text).map(|path| path.names.to_vec());
        let cases: [(&str, Option<&[&str]>); 10] = [
            ("", Some(&[])),
            ("\"\"", Some(&[""])),
            ("\"a\"\"b\" ,c", Some(&["a\"b", "c"])),
            ("\"a", None),
            ("default", Some(&["$user", "public"])),
            ("\"$user\", public", Some(&["$user", "public"])),
            ("$user,public", Some(&["$user", "public"])),
            ("A, \"B c\"", Some(&["a", "B c"])),
            ("a,", None),
            ("a b", None),
        ];
        for (text, expected) in cases {
            let expected = expected.map(|names| names.iter().map(|name| name.to_string()).collect());
            assert_eq!(names(text), expected, "{text}");
        }
    }
}
