//! Rings: files of a crate that import one another in a circle, so that none can be read, moved or built alone.
//!
//! A file imports another where it names it by a path: `crate::a::b`, `super::b`, `b::f` of a module below it, or `b::f` where `use crate::b`
//! stands above. A name that a module hands on (`pub use`) counts as that of the file which has it, and handing on is no import. Tests are left out.
//!
//! Folders import one another in no circle at all: of two rooms one comes first. A folder is a module of the root with files below it.
//! Rings of up to [`FILES_MAX`] files are allowed: a thing and its parts.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::Finding;
use super::source::{blank_out, test_lines};
use super::tree::SourceFile;

/// Most files of a ring.
const FILES_MAX: usize = 3;

/// Checks every crate.
pub fn check(files: &[SourceFile]) -> Vec<Finding> {
    let mut crates: BTreeMap<&str, Vec<&SourceFile>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.ending() == "rs") {
        if let Some((name, _)) = in_crate(&file.path) {
            crates.entry(name).or_default().push(file);
        }
    }
    crates
        .into_values()
        .flat_map(|files| check_crate(&files))
        .collect()
}

/// Returns the crate of a path and what is below its `src`.
fn in_crate(path: &str) -> Option<(&str, &str)> {
    let (name, rest) = path.strip_prefix("crates/").unwrap_or(path).split_once('/')?;
    let below = rest.strip_prefix("src/")?;
    let is_program = below == "main.rs" || below.starts_with("bin/");
    let is_test = below.ends_with("/tests.rs") || below.contains("/tests/");
    (!is_program && !is_test).then_some((name, below))
}

fn check_crate(files: &[&SourceFile]) -> Vec<Finding> {
    let house = House::of(files);
    let imports = house.imports();
    let mut findings = house.rings_of_folders(&imports);
    let mut rings = rings(&imports);
    rings.sort_by_key(|ring| std::cmp::Reverse(ring.len()));
    for ring in rings.iter().filter(|ring| ring.len() > FILES_MAX) {
        let path = &house.files[ring[0]].path;
        let members: Vec<&str> = ring.iter().take(12).map(|at| house.names[*at].as_str()).collect();
        let more = if ring.len() > members.len() { ", …" } else { "" };
        let message = format!("a ring of {} files: {}{more}", ring.len(), members.join(", "));
        findings.push(Finding::error(path, 0, message));
    }
    findings
}

/// The modules of a crate.
struct House<'a> {
    files: Vec<&'a SourceFile>,
    /// Their paths: `a::b`, the empty one for the root.
    names: Vec<String>,
    codes: Vec<String>,
    by_name: BTreeMap<String, usize>,
    /// What a module hands on: a name, and the path that it is of.
    handed_on: Vec<BTreeMap<String, Vec<String>>>,
}

impl<'a> House<'a> {
    fn of(files: &[&'a SourceFile]) -> Self {
        let mut house = House {
            files: files.to_vec(),
            names: Vec::new(),
            codes: Vec::new(),
            by_name: BTreeMap::new(),
            handed_on: Vec::new(),
        };
        for (at, file) in files.iter().enumerate() {
            let below = in_crate(&file.path).map_or("", |(_, below)| below);
            let name = below
                .trim_end_matches(".rs")
                .trim_end_matches("/mod")
                .replace('/', "::");
            let name = match name.as_str() {
                "lib" | "mod" => String::new(),
                other => other.to_string(),
            };
            house.by_name.insert(name.clone(), at);
            house.names.push(name);
            house.codes.push(production(&file.text));
        }
        for at in 0..files.len() {
            let mut handed_on = BTreeMap::new();
            for (path, name) in statements(&house.codes[at])
                .filter(|(is_public, _)| *is_public)
                .flat_map(|(_, text)| paths(text))
            {
                handed_on.insert(name, house.absolute(at, path));
            }
            house.handed_on.push(handed_on);
        }
        house
    }

    /// Returns what each module imports.
    fn imports(&self) -> Vec<BTreeSet<usize>> {
        let of = |at: usize| {
            let mut found = BTreeSet::new();
            let mut code = self.codes[at].clone();
            // What names stand for in this file.
            let mut aliases: BTreeMap<String, Vec<String>> = BTreeMap::new();
            for (is_public, text) in statements(&self.codes[at]) {
                let (from, to) = (
                    text.as_ptr() as usize - self.codes[at].as_ptr() as usize,
                    text.len(),
                );
                code.replace_range(from..from + to, &" ".repeat(to));
                for (path, name) in paths(text) {
                    if !is_public {
                        found.extend(self.home(at, path.clone()));
                    }
                    aliases.insert(name, path);
                }
            }
            let spelled_out = |path: Vec<String>| match aliases.get(&path[0]) {
                Some(alias) => [alias.as_slice(), &path[1..]].concat(),
                None => path,
            };
            found.extend(
                inline_paths(&code)
                    .into_iter()
                    .filter_map(|path| self.home(at, spelled_out(path))),
            );
            found.remove(&at);
            found
        };
        (0..self.files.len()).map(of).collect()
    }

    /// Finds folders of the root that import one another in a circle.
    fn rings_of_folders(&self, imports: &[BTreeSet<usize>]) -> Vec<Finding> {
        let below = self.names.iter().filter_map(|name| name.split_once("::"));
        let folders: Vec<&str> = below
            .map(|(folder, _)| folder)
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect();
        let folder_of = |at: usize| {
            let top = self.names[at].split("::").next()?;
            folders.iter().position(|folder| *folder == top)
        };
        let mut graph = vec![BTreeSet::new(); folders.len()];
        for (at, imported) in imports.iter().enumerate() {
            let Some(from) = folder_of(at) else { continue };
            let others = imported.iter().filter_map(|to| folder_of(*to));
            graph[from].extend(others.filter(|to| *to != from));
        }
        let path = |folder: &str| {
            let of_folder = |at: &usize| self.names[*at] == folder;
            let first = (0..self.names.len()).find(of_folder);
            first.map_or("", |at| self.files[at].path.as_str())
        };
        let finding = |ring: &Vec<usize>| {
            let names: Vec<&str> = ring.iter().map(|at| folders[*at]).collect();
            Finding::error(
                path(names[0]),
                0,
                format!("a ring of folders: {}", names.join(", ")),
            )
        };
        rings(&graph).iter().map(finding).collect()
    }

    /// Returns the module that a path of a module leads to; `None` if it leads out of the crate.
    fn home(&self, at: usize, path: Vec<String>) -> Option<usize> {
        let first = path.first()?.as_str();
        let is_ours = matches!(first, "crate" | "self" | "super") || self.child(at, first).is_some();
        is_ours
            .then(|| self.resolved(&self.absolute(at, path), 8))
            .flatten()
    }

    fn child(&self, at: usize, name: &str) -> Option<usize> {
        let of = &self.names[at];
        let path = if of.is_empty() {
            name.to_string()
        } else {
            format!("{of}::{name}")
        };
        self.by_name.get(&path).copied()
    }

    /// Returns a path from the root of the crate on.
    fn absolute(&self, at: usize, path: Vec<String>) -> Vec<String> {
        let mut here: Vec<String> = self.names[at]
            .split("::")
            .filter(|part| !part.is_empty())
            .map(str::to_string)
            .collect();
        for part in path {
            match part.as_str() {
                "crate" => here.clear(),
                "self" => {}
                "super" => {
                    here.pop();
                }
                _ => here.push(part),
            }
        }
        here
    }

    fn resolved(&self, path: &[String], depth: usize) -> Option<usize> {
        let mut at = *self.by_name.get("")?;
        for (nth, part) in path.iter().enumerate() {
            if let Some(child) = self.child(at, part) {
                at = child;
                continue;
            }
            return match self.handed_on[at].get(part) {
                Some(to) if depth > 0 => {
                    let path = [to.as_slice(), &path[nth + 1..]].concat();
                    self.resolved(&path, depth - 1).or(Some(at))
                }
                _ => Some(at),
            };
        }
        Some(at)
    }
}

/// Returns code without comments, strings and tests; lines stay where they are.
fn production(text: &str) -> String {
    let code = blank_out(text);
    let tests = test_lines(&code);
    let lines = code.lines().enumerate();
    let kept = lines.map(|(at, line)| {
        if tests.get(at).copied().unwrap_or(false) {
            ""
        } else {
            line
        }
    });
    kept.collect::<Vec<_>>().join("\n")
}

/// Returns what stands behind each `use`, up to its end, and whether it hands on.
fn statements(code: &str) -> impl Iterator<Item = (bool, &str)> {
    let mut rest = 0;
    std::iter::from_fn(move || {
        loop {
            let found = rest + code[rest..].find("use ")?;
            rest = found + 4;
            let line = code[..found].rfind('\n').map_or(0, |at| at + 1);
            let before = code[line..found].trim();
            if before.is_empty() || before.starts_with("pub") {
                let end = rest + code[rest..].find(';')?;
                let text = &code[rest..end];
                rest = end;
                return Some((!before.is_empty(), text));
            }
        }
    })
}

/// Returns the paths of a `use`, with the names that they have here.
fn paths(text: &str) -> Vec<(Vec<String>, String)> {
    let mut found = Vec::new();
    spread(&mut Vec::new(), text, &mut found);
    found
}

fn spread(before: &mut Vec<String>, text: &str, found: &mut Vec<(Vec<String>, String)>) {
    let text = text.trim();
    let length = before.len();
    let mut rest = text;
    loop {
        if let Some(group) = rest.strip_prefix('{') {
            for part in parts(group.trim_end().trim_end_matches('}')) {
                spread(before, part, found);
            }
            break;
        }
        let end = rest
            .find(|c: char| !(c.is_alphanumeric() || c == '_'))
            .unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        if word.is_empty() {
            // A star hands on, or imports, what the module has.
            if rest.starts_with('*') {
                found.push((before.clone(), "*".to_string()));
            }
            break;
        }
        before.push(word.to_string());
        match after.strip_prefix("::") {
            Some(more) => rest = more,
            None => {
                let alias = after.trim().strip_prefix("as ").map(str::trim);
                let mut path = before.clone();
                if path.last().is_some_and(|last| last == "self") && path.len() > 1 {
                    path.pop();
                }
                let name = alias.map(str::to_string).or_else(|| path.last().cloned());
                found.push((path, name.unwrap_or_default()));
                break;
            }
        }
    }
    before.truncate(length);
}

/// Takes a group apart at its commas.
fn parts(group: &str) -> Vec<&str> {
    let (mut found, mut depth, mut begin) = (Vec::new(), 0_usize, 0);
    for (at, character) in group.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                found.push(&group[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    found.push(&group[begin..]);
    found.retain(|part| !part.trim().is_empty());
    found
}

/// Returns the paths within code: `crate::a::b`, `super::f`, `child::f`.
fn inline_paths(code: &str) -> Vec<Vec<String>> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = Vec::new();
    let mut words: Vec<String> = Vec::new();
    let mut rest = code;
    while let Some(start) = rest.find(is_word) {
        let joined = rest[..start] == *"::" && !words.is_empty();
        if !joined {
            if words.len() > 1 {
                found.push(std::mem::take(&mut words));
            }
            words.clear();
        }
        let word = &rest[start..];
        let end = word.find(|c| !is_word(c)).unwrap_or(word.len());
        words.push(word[..end].to_string());
        rest = &word[end..];
    }
    if words.len() > 1 {
        found.push(words);
    }
    found
}

/// Returns the rings of a graph: Tarjan's strongly connected components of more than one node.
fn rings(graph: &[BTreeSet<usize>]) -> Vec<Vec<usize>> {
    let mut search = Search {
        graph,
        order: vec![None; graph.len()],
        low: vec![0; graph.len()],
        open: Vec::new(),
        count: 0,
        rings: Vec::new(),
    };
    for node in 0..graph.len() {
        if search.order[node].is_none() {
            search.visit(node);
        }
    }
    search.rings
}

struct Search<'a> {
    graph: &'a [BTreeSet<usize>],
    order: Vec<Option<usize>>,
    low: Vec<usize>,
    open: Vec<usize>,
    count: usize,
    rings: Vec<Vec<usize>>,
}

impl Search<'_> {
    fn visit(&mut self, node: usize) {
        let order = self.count;
        (self.order[node], self.low[node]) = (Some(order), order);
        self.count += 1;
        self.open.push(node);
        for next in self.graph[node].clone() {
            match self.order[next] {
                None => {
                    self.visit(next);
                    self.low[node] = self.low[node].min(self.low[next]);
                }
                Some(seen) if self.open.contains(&next) => self.low[node] = self.low[node].min(seen),
                Some(_) => {}
            }
        }
        if self.low[node] == order
            && let Some(first) = self.open.iter().position(|open| *open == node)
        {
            let mut ring = self.open.split_off(first);
            ring.sort_unstable();
            if ring.len() > 1 {
                self.rings.push(ring);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::lines;
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<SourceFile> = files
            .iter()
            .map(|(path, text)| SourceFile::new(&format!("crates/house/src/{path}"), text))
            .collect();
        let files: Vec<&SourceFile> = files.iter().collect();
        lines(&check_crate(&files))
    }

    const RING: &[(&str, &str)] = &[
        ("lib.rs", "mod a; mod b; mod c; mod d; mod e;"),
        ("a.rs", "use crate::b::B;\npub struct A;"),
        ("b.rs", "use super::c;"),
        ("c.rs", "fn f() { crate::d::g() }"),
        ("d.rs", "use crate::{a::{A as Other, x}, e};"),
        (
            "e.rs",
            "// use crate::a::A;\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n",
        ),
    ];

    #[test]
    fn a_ring_of_four_files_is_found() {
        assert_eq!(
            found(RING),
            ["crates/house/src/a.rs:0: a ring of 4 files: a, b, c, d"]
        );
    }

    #[test]
    fn a_name_stands_for_what_its_use_says() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c; mod d;"),
            ("a.rs", "use crate::{b, lib_of as _};\nfn f() { b::inner::g() }"),
            ("b.rs", "pub mod inner;"),
            ("b/inner.rs", "use crate::c as other;\nfn g() { other::h() }"),
            ("c.rs", "use super::d::D;\nfn h() { D::new() }"),
            ("d.rs", "use crate::a;\nimpl D { fn new() { a::f() } }"),
        ];
        assert_eq!(
            found(&files),
            ["crates/house/src/a.rs:0: a ring of 4 files: a, b::inner, c, d"]
        );
    }

    #[test]
    fn a_thing_and_its_parts_are_no_finding() {
        let files = [
            ("lib.rs", "mod a;"),
            ("a.rs", "mod b; mod c;\nfn f() { b::g(); c::h() }"),
            ("a/b.rs", "use super::f;"),
            ("a/c.rs", "use crate::a::f;"),
        ];
        assert_eq!(found(&files), Vec::<String>::new());
    }

    #[test]
    fn folders_import_one_another_in_one_direction() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a/mod.rs", "mod x;"),
            ("a/x.rs", "use crate::b::y;"),
            ("b/mod.rs", "pub mod y; mod z;"),
            ("b/y.rs", "use crate::c;"),
            ("b/z.rs", "use crate::a::X;"),
            ("c.rs", "use crate::a;"),
        ];
        assert_eq!(
            found(&files),
            ["crates/house/src/a/mod.rs:0: a ring of folders: a, b"]
        );
        let without = [files[0], files[1], files[2], files[3], files[4], files[6]];
        assert_eq!(found(&without), Vec::<String>::new());
    }

    #[test]
    fn files_of_tests_are_left_out() {
        for path in ["crates/house/src/a/tests.rs", "crates/house/src/a/tests/b.rs"] {
            assert_eq!(in_crate(path), None, "{path}");
        }
        assert_eq!(in_crate("crates/house/src/a/b.rs"), Some(("house", "a/b.rs")));
    }

    #[test]
    fn what_a_module_hands_on_is_of_the_file_that_has_it() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c; mod d; mod e;\npub use e::Error;"),
            ("a.rs", "use crate::Error; use crate::b;"),
            ("b.rs", "use crate::Error; use crate::c;"),
            ("c.rs", "use crate::Error; use crate::d;"),
            ("d.rs", "use crate::Error;"),
            ("e.rs", "use crate::a;"),
        ];
        assert_eq!(
            found(&files),
            ["crates/house/src/a.rs:0: a ring of 5 files: a, b, c, d, e"]
        );
        let without = [files[0], files[1], files[2], files[3], files[4], ("e.rs", "")];
        assert_eq!(found(&without), Vec::<String>::new());
    }
}
