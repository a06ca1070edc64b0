//! Blocks of PL/pgSQL.

use crate::parse_procedure;
use crate::tree::{LoopQuery, ProcedureAction, ProcedureBlock, ProcedureStep, Raised, VariableKind};

fn read(text: &str) -> ProcedureBlock {
    parse_procedure(text).unwrap_or_else(|error| panic!("{text}: {error:?}"))
}

/// Says in words what steps do.
fn said(steps: &[ProcedureStep]) -> String {
    let said: Vec<String> = steps.iter().map(one).collect();
    said.join("; ")
}

fn one(step: &ProcedureStep) -> String {
    use ProcedureAction as Action;
    let into = |into: &Option<crate::tree::Into>| match into {
        None => String::new(),
        Some(into) => {
            let targets: Vec<&str> = into.targets.iter().map(|target| target.text.as_str()).collect();
            let strict = if into.strict { " strictly" } else { "" };
            format!(" into{strict} {}", targets.join("+"))
        }
    };
    let query = |query: &LoopQuery| match query {
        LoopQuery::Written(query) => format!("[{}]", query.text),
        LoopQuery::Computed { sql, using } => format!("run [{}] with {}", sql.text, using.len()),
    };
    match &step.action {
        Action::Block(block) => format!("block({})", said(&block.body)),
        Action::Assign { target, value } => format!("{} gets [{}]", target.text, value.text),
        Action::If {
            arms,
            otherwise,
            is_case,
        } => {
            let arms: Vec<String> = arms
                .iter()
                .map(|(test, body)| format!("[{}]({})", test.text, said(body)))
                .collect();
            let otherwise = otherwise.as_deref().map(said);
            format!(
                "{}{} else {otherwise:?}",
                if *is_case { "case " } else { "if " },
                arms.join(" ")
            )
        }
        Action::Case {
            operand,
            arms,
            otherwise,
        } => {
            let arms: Vec<String> = arms
                .iter()
                .map(|(values, body)| {
                    let values: Vec<&str> = values.iter().map(|value| value.text.as_str()).collect();
                    format!("{values:?}({})", said(body))
                })
                .collect();
            format!(
                "case [{}] {} else {}",
                operand.text,
                arms.join(" "),
                otherwise.is_some()
            )
        }
        Action::Loop {
            label,
            condition,
            body,
        } => {
            let test = condition.as_ref().map(|test| test.text.as_str());
            format!("loop {label:?} {test:?}({})", said(body))
        }
        Action::ForRange {
            variable,
            reverse,
            from,
            to,
            by,
            body,
            ..
        } => {
            let by = by.as_ref().map(|by| by.text.as_str());
            let (from, to) = (&from.text, &to.text);
            format!(
                "count {variable} {reverse} [{from}] [{to}] {by:?}({})",
                said(body)
            )
        }
        Action::ForQuery {
            targets,
            query: rows,
            body,
            ..
        } => {
            format!("each {} of {}({})", targets.len(), query(rows), said(body))
        }
        Action::ForEach {
            target, array, body, ..
        } => {
            format!("each {} in [{}]({})", target.text, array.text, said(body))
        }
        Action::Leave { goes_on, label, when } => {
            let when = when.as_ref().map(|when| when.text.as_str());
            format!(
                "{} {label:?} {when:?}",
                if *goes_on { "continue" } else { "exit" }
            )
        }
        Action::Return(value) => format!("return {:?}", value.as_ref().map(|value| value.text.as_str())),
        Action::ReturnRows(rows) => format!("give {}", query(rows)),
        Action::Raise(raise) => {
            let what = match &raise.what {
                Some(Raised::Format(format, values)) => format!("{format:?} {}", values.len()),
                other => format!("{other:?}"),
            };
            let options: Vec<&str> = raise.options.iter().map(|(name, _)| name.as_str()).collect();
            format!("raise {} {what} {options:?}", raise.level)
        }
        Action::Assert { condition, message } => {
            format!("assert [{}] {}", condition.text, message.is_some())
        }
        Action::Perform(sql) => format!("perform [{}]", sql.text),
        Action::Sql { sql, into: targets } => format!("sql [{}]{}", sql.text, into(targets)),
        Action::Execute {
            sql,
            into: targets,
            using,
        } => {
            format!("execute [{}]{} with {}", sql.text, into(targets), using.len())
        }
        Action::Diagnostics { stacked, items } => {
            let items: Vec<String> = items
                .iter()
                .map(|(target, item)| format!("{}={item}", target.text))
                .collect();
            format!("diagnostics {stacked} {}", items.join(" "))
        }
        Action::Open { cursor, query: rows } => format!("open {cursor} {:?}", rows.as_ref().map(query)),
        Action::Fetch {
            cursor,
            direction,
            targets,
        } => {
            format!("fetch {cursor} {direction:?} {}", targets.len())
        }
        Action::Close(cursor) => format!("close {cursor}"),
        Action::EndTransaction { commits } => format!("commit {commits}"),
        Action::Nothing => "nothing".to_string(),
    }
}

#[test]
fn statements_of_blocks_are_read() {
    for (body, expected) in [
        ("NULL;", "nothing"),
        ("x := 1 + 2;", "x gets [1 + 2]"),
        (
            "x = 1; r.a := 'a;b'; l[i + 1] := f(a, b);",
            "x gets [1]; r.a gets ['a;b']; l[i + 1] gets [f(a, b)]",
        ),
        ("IF a THEN NULL; END IF;", "if [a](nothing) else Some(\"\")"),
        (
            "IF a = 'THEN' THEN x := 1; ELSIF (CASE WHEN b THEN c END) THEN NULL; ELSE y := 2; END IF;",
            "if [a = 'THEN'](x gets [1]) [(CASE WHEN b THEN c END)](nothing) else Some(\"y gets [2]\")",
        ),
        (
            "CASE WHEN a THEN NULL; ELSE NULL; END CASE;",
            "case [a](nothing) else Some(\"nothing\")",
        ),
        (
            "CASE x WHEN 1, 2 THEN NULL; END CASE;",
            "case [x] [\"1\", \"2\"](nothing) else false",
        ),
        ("LOOP EXIT; END LOOP;", "loop None None(exit None None)"),
        (
            "<<l>> WHILE i < 3 LOOP CONTINUE l WHEN i = 2; EXIT WHEN true; END LOOP l;",
            "loop Some(\"l\") Some(\"i < 3\")(continue Some(\"l\") Some(\"i = 2\"); exit None Some(\"true\"))",
        ),
        (
            "FOR i IN 1..10 LOOP NULL; END LOOP;",
            "count i false [1] [10] None(nothing)",
        ),
        (
            "FOR \"I\" IN REVERSE f('..') .. a[1] BY 2 LOOP NULL; END LOOP;",
            "count I true [f('..')] [a[1]] Some(\"2\")(nothing)",
        ),
        (
            "FOR r IN SELECT '..' AS a FROM t LOOP NULL; END LOOP;",
            "each 1 of [SELECT '..' AS a FROM t](nothing)",
        ),
        (
            "FOR a, b IN EXECUTE 'SELECT ' || x USING 1, f(2, 3) LOOP NULL; END LOOP;",
            "each 2 of run ['SELECT ' || x] with 2(nothing)",
        ),
        (
            "FOREACH x IN ARRAY ARRAY[1, 2] LOOP NULL; END LOOP;",
            "each x in [ARRAY[1, 2]](nothing)",
        ),
        ("RETURN; RETURN x + 1;", "return None; return Some(\"x + 1\")"),
        (
            "RETURN QUERY SELECT 1; RETURN NEXT x;",
            "give [SELECT 1]; give [SELECT x]",
        ),
        ("RAISE;", "raise exception None []"),
        ("RAISE NOTICE 'a % b %%', x;", "raise notice \"a % b %%\" 1 []"),
        (
            "RAISE 'no' USING ERRCODE = 'unique_violation', HINT = f(a, b);",
            "raise exception \"no\" 0 [\"errcode\", \"hint\"]",
        ),
        (
            "RAISE unique_violation; RAISE SQLSTATE '23505';",
            "raise exception Some(Condition(Named(\"unique_violation\", 13))) []; raise exception Some(Condition(SqlState(\"23505\"))) []",
        ),
        ("ASSERT a = b, 'no';", "assert [a = b] true"),
        ("PERFORM f(1);", "perform [f(1)]"),
        ("INSERT INTO t VALUES (1);", "sql [INSERT INTO t VALUES (1)]"),
        (
            "INSERT INTO t VALUES (1) RETURNING a, b INTO STRICT x, r.y;",
            "sql [INSERT INTO t VALUES (1) RETURNING a, b] into strictly x+r.y",
        ),
        ("SELECT a INTO x FROM t;", "sql [SELECT a FROM t] into x"),
        ("SELECT (SELECT 1 INTO x);", "sql [SELECT (SELECT 1 INTO x)]"),
        ("CREATE TABLE t (a int);", "sql [CREATE TABLE t (a int)]"),
        (
            "EXECUTE format('SELECT %s', 1) INTO x USING a, b;",
            "execute [format('SELECT %s', 1)] into x with 2",
        ),
        ("GET DIAGNOSTICS n = ROW_COUNT;", "diagnostics false n=row_count"),
        (
            "GET STACKED DIAGNOSTICS a := MESSAGE_TEXT, b = RETURNED_SQLSTATE;",
            "diagnostics true a=message_text b=returned_sqlstate",
        ),
        (
            "OPEN c; OPEN c FOR SELECT 1;",
            "open c None; open c Some(\"[SELECT 1]\")",
        ),
        (
            "FETCH c INTO a, b; FETCH ABSOLUTE 2 FROM c INTO a; MOVE NEXT IN c; CLOSE c;",
            "fetch c None 2; fetch c Some(\"ABSOLUTE 2\") 1; fetch c Some(\"NEXT\") 0; close c",
        ),
        (
            "BEGIN NULL; END; COMMIT; ROLLBACK;",
            "block(nothing); commit true; commit false",
        ),
    ] {
        let block = read(&format!("BEGIN {body} END"));
        assert_eq!(said(&block.body), expected, "{body}");
    }
}

#[test]
fn variables_are_declared() {
    let block = read(
        "<<outer>> DECLARE a int; b CONSTANT numeric(10, 2) NOT NULL := 1.5; c t.x%TYPE DEFAULT f(1); \
         d ALIAS FOR $1; e CURSOR (n int) FOR SELECT n; f text[] = '{}'; BEGIN END outer;",
    );
    assert_eq!(block.label.as_deref(), Some("outer"));
    let said: Vec<String> = block
        .declarations
        .iter()
        .map(|declared| match &declared.kind {
            VariableKind::Value {
                ty,
                constant,
                not_null,
                default,
            } => {
                let default = default.as_ref().map(|default| default.text.as_str());
                format!("{} {} {constant} {not_null} {default:?}", declared.name, ty.text)
            }
            VariableKind::Alias(of) => format!("{} is {of}", declared.name),
            VariableKind::Cursor { parameters, query } => {
                format!("{} of {} [{}]", declared.name, parameters.len(), query.text)
            }
        })
        .collect();
    assert_eq!(
        said,
        [
            "a int false false None",
            "b numeric(10, 2) true true Some(\"1.5\")",
            "c t.x%TYPE false false Some(\"f(1)\")",
            "d is $1",
            "e of 1 [SELECT n]",
            "f text[] false false Some(\"'{}'\")",
        ]
    );
}

#[test]
fn handlers_have_conditions() {
    let block = read(
        "BEGIN x := 1; EXCEPTION WHEN duplicate_object OR SQLSTATE '42P07' THEN NULL; WHEN others THEN RAISE; END",
    );
    let counts: Vec<(usize, String)> = block
        .handlers
        .iter()
        .map(|handler| (handler.conditions.len(), said(&handler.body)))
        .collect();
    assert_eq!(
        counts,
        [
            (2, "nothing".to_string()),
            (1, "raise exception None []".to_string())
        ]
    );
}

#[test]
fn errors_have_their_places() {
    for (text, position, message) in [
        ("SELECT 1", 1, "syntax error at or near \"SELECT\""),
        ("BEGIN NULL END", 12, "syntax error at or near \"END\""),
        ("BEGIN x := ; END", 12, "syntax error at or near \";\""),
        ("BEGIN IF a THEN NULL; END;", 26, "syntax error at or near \";\""),
        ("BEGIN NULL;", 12, "syntax error at end of input"),
        (
            "<<a>> BEGIN END b",
            17,
            "end label \"b\" differs from block's label \"a\"",
        ),
        (
            "BEGIN RAISE 'a %'; END",
            13,
            "too few parameters specified for RAISE",
        ),
        ("BEGIN END; x", 12, "syntax error at or near \"x\""),
    ] {
        let error = parse_procedure(text).expect_err(text);
        assert_eq!(
            (error.position, error.message.as_str()),
            (Some(position), message),
            "{text}"
        );
    }
}

#[test]
fn deep_blocks_are_refused() {
    let text = format!("{}{}", "BEGIN ".repeat(5_000), "END; ".repeat(5_000));
    let error = parse_procedure(&text).expect_err("too deep");
    assert_eq!(error.sqlstate, "54001");
}

#[test]
fn do_has_a_block() {
    let read = super::summary::parse;
    for sql in [
        "DO $$ BEGIN NULL; END $$",
        "DO LANGUAGE plpgsql 'BEGIN NULL; END'",
        "DO $a$BEGIN NULL; END$a$ LANGUAGE 'plpgsql';",
    ] {
        let statement = read(sql).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
        assert!(matches!(statement, crate::Statement::Do(_)), "{sql}");
    }
    for (sql, sqlstate, position) in [
        ("DO", "42601", 3),
        ("DO $$ BEGIN NULL END $$", "42601", 18),
        ("DO $body$ BEGIN\n NULL END $body$", "42601", 23),
        ("DO 'BEGIN x'", "42601", 12),
        ("DO LANGUAGE sql 'SELECT 1'", "0A000", 13),
        ("DO LANGUAGE c 'x'", "42704", 13),
        ("DO $$ BEGIN END $$ $$ $$", "42601", 20),
    ] {
        let error = read(sql).expect_err(sql);
        assert_eq!(
            (error.sqlstate, error.position),
            (sqlstate, Some(position)),
            "{sql}: {error:?}"
        );
    }
}
