//! Paths of SQL/JSON: what they find, and how they are written.

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

/// Paths of a case.
const PATHS: usize = 400;

const SCALARS: [&str; 16] = [
    "null",
    "true",
    "false",
    "0",
    "1",
    "2",
    "-1",
    "1.50",
    "1e2",
    "\"a\"",
    "\"b\"",
    "\"ab\"",
    "\"2\"",
    "\"\"",
    "\"2024-01-02\"",
    "\"10:30:00\"",
];

const NAMES: [&str; 4] = ["a", "b", "c", "a b"];

const HEADS: [&str; 14] = [
    "$",
    "$",
    "$",
    "$",
    "@",
    "@",
    "1",
    "2.50",
    "\"a\"",
    "true",
    "null",
    "$x",
    "last",
    "\"2024-01-02\".datetime()",
];

const STEPS: [&str; 25] = [
    ".a",
    ".b",
    ".c",
    ".\"a b\"",
    ".*",
    "[*]",
    "[0]",
    "[1]",
    "[last]",
    "[0, 1]",
    "[0 to last]",
    "[last - 1]",
    "[5]",
    ".**",
    ".**{1}",
    ".**{1 to 2}",
    ".**{last}",
    ".size()",
    ".type()",
    ".abs()",
    ".floor()",
    ".ceiling()",
    ".double()",
    ".datetime()",
    ".keyvalue().key",
];

fn document(random: &mut StdRng, depth: usize) -> String {
    let count = random.random_range(0..4);
    match random.random_range(0..6) {
        0 | 1 if depth > 0 => {
            let elements: Vec<String> = (0..count).map(|_| document(random, depth - 1)).collect();
            format!("[{}]", elements.join(", "))
        }
        2..4 if depth > 0 => {
            let members = NAMES
                .iter()
                .take(count)
                .map(|name| format!("\"{name}\": {}", document(random, depth - 1)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
        _ => (*SCALARS.choose(random).expect("there are scalars")).to_string(),
    }
}

fn value(random: &mut StdRng, depth: usize) -> String {
    if depth > 0 && random.random_bool(0.15) {
        let op = ["+", "-", "*", "/", "%"]
            .choose(random)
            .expect("there are operators");
        return format!("{} {op} {}", value(random, depth - 1), value(random, depth - 1));
    }
    if depth > 0 && random.random_bool(0.1) {
        return format!("-({})", value(random, depth - 1));
    }
    let head = HEADS.choose(random).expect("there are beginnings");
    let mut path = match head.starts_with(['1', '2']) {
        true => format!("({head})"),
        false => (*head).to_string(),
    };
    for _ in 0..random.random_range(0..4) {
        let step = match random.random_range(0..5) {
            0 if depth > 0 => format!(" ? ({})", condition(random, depth - 1)),
            _ => (*STEPS.choose(random).expect("there are steps")).to_string(),
        };
        path.push_str(&step);
    }
    path
}

fn condition(random: &mut StdRng, depth: usize) -> String {
    let deeper = depth.saturating_sub(1);
    match random.random_range(0..10) {
        0 if depth > 0 => format!(
            "({}) && ({})",
            condition(random, deeper),
            condition(random, deeper)
        ),
        1 if depth > 0 => format!("{} || {}", condition(random, deeper), condition(random, deeper)),
        2 if depth > 0 => format!("!({})", condition(random, deeper)),
        3 if depth > 0 => format!("({}) is unknown", condition(random, deeper)),
        4 => format!("exists({})", value(random, deeper)),
        5 => format!("{} starts with \"a\"", value(random, deeper)),
        6 => format!("{} like_regex \"^A|2\" flag \"i\"", value(random, deeper)),
        _ => {
            let op = ["==", "!=", "<", "<=", ">", ">=", "<>"]
                .choose(random)
                .expect("there are comparisons");
            format!("{} {op} {}", value(random, deeper), value(random, deeper))
        }
    }
}

#[test]
fn paths_find_what_postgresqls_do() {
    let name = "paths_find_what_postgresqls_do";
    let Some(mut postgres) = need::or_skip(name, postgres::database()) else {
        return;
    };
    let mut rukh = Client::in_memory();
    // PostgreSQL 15.18 takes a variable beside an operator for NULL; 15.20 refuses it, as Rukh does.
    let has_null_variables = postgres.query("SELECT '1'::jsonb @? '$x' AS r").is_ok();
    let (mut failures, mut found) = (Vec::new(), 0);
    for case in Cases::from_seed(name, SEED, CASES).iter() {
        let mut random = case.random();
        for _ in 0..PATHS {
            let document = quoted(&document(&mut random, 3));
            let mode = ["", "", "lax ", "strict "]
                .choose(&mut random)
                .expect("there are modes");
            let path = match random.random_bool(0.3) {
                true => condition(&mut random, 3),
                false => value(&mut random, 3),
            };
            let path = quoted(&format!("{mode}{path}"));
            let silent = random.random_bool(0.3);
            let form = random.random_range(0..6);
            if has_null_variables && matches!(form, 1 | 2) && path.contains("$x") {
                continue;
            }
            let sql = match form {
                0 => format!("SELECT {path}::jsonpath AS r"),
                1 => format!("SELECT {document}::jsonb @? {path} AS r"),
                2 => format!("SELECT {document}::jsonb @@ {path} AS r"),
                3 => format!("SELECT jsonb_path_exists({document}, {path}, '{{\"x\": 2}}', {silent}) AS r"),
                _ => format!(
                    "SELECT jsonb_path_query_array({document}, {path}, '{{\"x\": [1, \"a\"]}}', {silent}) AS r"
                ),
            };
            let (failure, is_found) = ask(&sql, &mut rukh, &mut postgres, &case);
            failures.extend(failure);
            found += usize::from(is_found);
        }
    }
    none_differs(&failures, found, 200);
}
