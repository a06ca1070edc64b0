//! Regular expressions: whether they match, what, and which of their groups.

use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rukh_testkit::client::Client;
use rukh_testkit::need;
use rukh_testkit::postgres;
use rukh_testkit::seed::Cases;

use super::{ask, none_differs, quoted};

const CASES: u64 = 6;

const SEED: u64 = 1;

/// Patterns of a case.
const PATTERNS: usize = 400;

const ATOMS: [&str; 43] = [
    "a",
    "b",
    "c",
    "ab",
    "x",
    "1",
    ".",
    "[ab]",
    "[^a]",
    "[a-c]",
    "[^b-]",
    "\\d",
    "\\w",
    "\\s",
    "\\W",
    "\\D",
    "[\\w]",
    "[[:alpha:]]",
    "[[:digit:]b]",
    "\\.",
    "\\x61",
    "^",
    "$",
    "\\y",
    "\\Y",
    "\\m",
    "\\M",
    "\\A",
    "\\Z",
    "(?=a)",
    "(?!b)",
    "(?<=a)",
    "(?<!b)",
    "\\n",
    "[&&a]",
    "{",
    "]",
    "[]b]",
    "\\1",
    "",
    "\\1",
    "\\1",
    "\\2",
];

const QUANTIFIERS: [&str; 14] = [
    "", "", "", "", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,2}?",
];

const CHARACTERS: [char; 10] = ['a', 'b', 'c', 'a', 'b', ' ', '1', '.', '\n', '&'];

const FLAGS: [&str; 8] = ["", "", "", "i", "n", "p", "w", "ni"];

const CALLS: [&str; 6] = [
    "regexp_match({t}, {p}, {f})",
    "regexp_replace({t}, {p}, '<\\&|\\1>', {g})",
    "regexp_split_to_array({t}, {p}, {f})",
    "regexp_count({t}, {p}, 1, {f})",
    "{t} ~ {p}",
    "regexp_instr({t}, {p}, 1, 1, 1, {f})",
];

fn branch(random: &mut StdRng, depth: usize) -> String {
    let mut branch = String::new();
    for _ in 0..random.random_range(1..4) {
        let atom = match random.random_range(0..10) {
            0..3 if depth > 0 => format!("({})", alternatives(random, depth - 1)),
            3 if depth > 0 => format!("(?:{})", alternatives(random, depth - 1)),
            _ => (*ATOMS.choose(random).expect("there are atoms")).to_string(),
        };
        branch.push_str(&atom);
        branch.push_str(QUANTIFIERS.choose(random).expect("there are quantifiers"));
    }
    branch
}

fn alternatives(random: &mut StdRng, depth: usize) -> String {
    let count = if random.random_bool(0.3) { 2 } else { 1 };
    let branches: Vec<String> = (0..count).map(|_| branch(random, depth)).collect();
    branches.join("|")
}

fn text(random: &mut StdRng) -> String {
    let length = random.random_range(0..9);
    let character = |_| *CHARACTERS.choose(random).expect("there are characters");
    (0..length).map(character).collect()
}

#[test]
fn regular_expressions_match_as_postgresqls_do() {
    let name = "regular_expressions_match_as_postgresqls_do";
    let Some(mut postgres) = need::or_skip(name, postgres::database()) else {
        return;
    };
    let mut rukh = Client::in_memory();
    let (mut failures, mut found) = (Vec::new(), 0);
    for case in Cases::from_seed(name, SEED, CASES).iter() {
        let mut random = case.random();
        for _ in 0..PATTERNS {
            let (pattern, text) = (alternatives(&mut random, 2), text(&mut random));
            let flags = FLAGS.choose(&mut random).expect("there are flags");
            let call = CALLS.choose(&mut random).expect("there are calls");
            let call = call
                .replace("{f}", &quoted(flags))
                .replace("{g}", &quoted(&format!("{flags}g")))
                .replace("{t}", &format!("{}::text", quoted(&text)))
                .replace("{p}", &quoted(&pattern));
            let (failure, is_found) = ask(&format!("SELECT {call} AS r"), &mut rukh, &mut postgres, &case);
            failures.extend(failure);
            found += usize::from(is_found);
        }
    }
    none_differs(&failures, found, 200);
}
