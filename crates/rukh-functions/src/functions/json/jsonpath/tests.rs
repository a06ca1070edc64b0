//! Paths as texts, and how far they go.

use rukh_keys::{Json, Jsonb};

use super::{Failure, Path, Search};

fn form(text: &str) -> Vec<u8> {
    Json::parse(text)
        .and_then(|json| json.to_jsonb())
        .expect("the document is one")
}

fn found(path: &str, document: &str) -> Result<usize, String> {
    let path = Path::read(path).map_err(|error| error.sqlstate.to_string())?;
    let (document, variables) = (form(document), form("{}"));
    let search = Search::new(&path, Jsonb::new(&document), Jsonb::new(&variables), false);
    let search = search.map_err(|error| error.sqlstate.to_string())?;
    match search.all(false) {
        Ok(all) => Ok(all.len()),
        Err(Failure::Soft(error) | Failure::Hard(error)) => Err(error.sqlstate.to_string()),
    }
}

#[test]
fn what_is_written_is_read_alike() {
    for text in [
        "$.\"a\"[*]?(@ > 1 && @.\"b\" == \"x\").\"d\".size()",
        "strict $.**{2 to last}.\"a\"",
        "(($.\"a\" + 1) * -$.\"b\")",
        "$[1,2 to last - 1]",
        "($.\"a\" like_regex \"^a\" flag \"im\")",
        "((1 == 1) is unknown && 1 == 2)",
        "$?(exists (@.\"a\") || !(@ == null))",
        "$.datetime(\"yyyy\")",
    ] {
        let path = Path::read(text).expect("the path is one").to_string();
        let again = Path::read(&path).expect("what is written is a path").to_string();
        assert_eq!(path, again, "{text}");
    }
}

/// A path goes down in a stack of 2 MiB, which threads have.
#[test]
fn deep_documents_and_long_paths_end() {
    let deep = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
    let objects = |levels: usize| format!("{}1{}", "{\"a\":".repeat(levels), "}".repeat(levels));
    let test = move || {
        assert_eq!(found("$.**", &deep(999)), Ok(1_000));
        assert_eq!(found(&format!("${}", ".a".repeat(400)), &objects(999)), Ok(1));
        assert_eq!(
            found(&format!("${}", ".a".repeat(1_000)), "1"),
            Err("54001".to_string())
        );
        assert_eq!(
            found(&format!("${}", ".**".repeat(20)), &deep(999)),
            Err("54000".to_string())
        );
        let exists = format!("$ ? (exists(@{}.x))", ".**".repeat(20));
        assert_eq!(found(&exists, &deep(50)), Err("54000".to_string()));
        let nested = format!("$ ? {}@ == 1{}", "(".repeat(150), ")".repeat(150));
        assert_eq!(found(&nested, "1"), Ok(1));
        let nested = format!("{}1{}", "(".repeat(100_000), ")".repeat(100_000));
        assert_eq!(found(&nested, "1"), Err("54001".to_string()));
        assert_eq!(found(&"-".repeat(100_000), "1"), Err("54001".to_string()));
        let long = format!("1{}", " + 1".repeat(100_000));
        assert_eq!(found(&long, "1"), Err("54001".to_string()));
        let all = format!("1 == 1{}", " && 1 == 1".repeat(10_000));
        assert!(found(&all, "1").is_err());
    };
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(test);
    let joined = thread.expect("a thread is made").join();
    joined.expect("the stack is large enough");
}
