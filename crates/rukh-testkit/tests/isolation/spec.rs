//! The files of PostgreSQL's isolation tester: sessions with named steps, and the orders in which these are run.

use std::collections::BTreeMap;

/// A spec.
#[derive(Debug, Default)]
pub struct Spec {
    /// What is run before each order, in this order.
    pub setups: Vec<String>,
    pub teardown: String,
    pub sessions: Vec<Session>,
    /// Steps by name, in the order in which they are run.
    pub orders: Vec<Vec<String>>,
}

/// A connection.
#[derive(Debug, Default)]
pub struct Session {
    pub setup: String,
    pub teardown: String,
    pub steps: Vec<(String, String)>,
}

/// A word, a block in braces, or a remark in parentheses.
#[derive(Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Block(String),
    Remark,
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let until = |open: usize, close: char| {
            let end = rest[open..]
                .find(close)
                .ok_or_else(|| format!("there is no {close}"))?;
            Ok::<_, String>((rest[open..open + end].to_string(), open + end + 1))
        };
        let length = match first {
            '#' => rest.find('\n').unwrap_or(rest.len()),
            '{' => {
                let (block, length) = until(1, '}')?;
                tokens.push(Token::Block(block));
                length
            }
            '(' => {
                tokens.push(Token::Remark);
                until(1, ')')?.1
            }
            '"' => {
                let (word, length) = until(1, '"')?;
                tokens.push(Token::Word(word));
                length
            }
            _ => {
                let end = |c: char| c.is_whitespace() || "#{(\"".contains(c);
                let length = rest.find(end).unwrap_or(rest.len());
                tokens.push(Token::Word(rest[..length].to_string()));
                length
            }
        };
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

impl Spec {
    /// Reads a spec.
    pub fn read(text: &str) -> Result<Spec, String> {
        let mut spec = Spec::default();
        let mut tokens = tokens(text)?.into_iter().peekable();
        while let Some(token) = tokens.next() {
            let Token::Word(word) = token else {
                return Err(format!("{token:?} stands by itself"));
            };
            let mut name = || match tokens.next() {
                Some(Token::Word(name)) => Ok(name),
                other => Err(format!("{word} is followed by {other:?}")),
            };
            match word.as_str() {
                "session" => {
                    name()?;
                    spec.sessions.push(Session::default());
                    continue;
                }
                "permutation" => {
                    let mut order = Vec::new();
                    while let Some(token) = tokens.next_if(|token| match token {
                        Token::Word(word) => word != "permutation",
                        token => *token == Token::Remark,
                    }) {
                        if let Token::Word(step) = token {
                            order.push(step);
                        }
                    }
                    spec.orders.push(order);
                    continue;
                }
                _ => {}
            }
            let step = match word.as_str() {
                "step" => name()?,
                _ => String::new(),
            };
            let Some(Token::Block(block)) = tokens.next() else {
                return Err(format!("{word} has no block"));
            };
            match (word.as_str(), spec.sessions.last_mut()) {
                ("setup", None) => spec.setups.push(block),
                ("teardown", None) => spec.teardown = block,
                ("setup", Some(session)) => session.setup = block,
                ("teardown", Some(session)) => session.teardown = block,
                ("step", Some(session)) => session.steps.push((step, block)),
                _ => return Err(format!("{word} is not known")),
            }
        }
        if spec.orders.is_empty() {
            let mut left: Vec<&[(String, String)]> =
                spec.sessions.iter().map(|session| &session.steps[..]).collect();
            let mut orders = Vec::new();
            interleave(&mut left, &mut Vec::new(), &mut orders);
            spec.orders = orders;
        }
        Ok(spec)
    }

    /// Steps by name: the session, and the statements.
    pub fn steps(&self) -> BTreeMap<&str, (usize, &str)> {
        let sessions = self.sessions.iter().enumerate();
        sessions
            .flat_map(|(at, session)| {
                let steps = session.steps.iter();
                steps.map(move |(name, sql)| (name.as_str(), (at, sql.as_str())))
            })
            .collect()
    }
}

/// Most orders that are made of steps; a file with more says which of them it wants.
const ORDERS_MAX: usize = 1000;

/// Makes all orders in which steps of sessions can follow one another.
fn interleave(left: &mut Vec<&[(String, String)]>, begun: &mut Vec<String>, orders: &mut Vec<Vec<String>>) {
    if orders.len() >= ORDERS_MAX {
        return;
    }
    if left.iter().all(|steps| steps.is_empty()) {
        orders.push(begun.clone());
        return;
    }
    for at in 0..left.len() {
        let steps = left[at];
        if let Some(((name, _), behind)) = steps.split_first() {
            left[at] = behind;
            begun.push(name.clone());
            interleave(left, begun, orders);
            begun.pop();
            left[at] = steps;
        }
    }
}

#[test]
fn a_spec_is_read() {
    let text = "# a comment\nsetup { CREATE TABLE t (a int); }\nsetup{B}\nteardown { DROP TABLE t; }\n\
                session s1\nsetup { BEGIN; }\nstep a { SELECT 1; }\nstep \"b c\" { COMMIT; }\n\
                session \"s2\" step d { SELECT 2; } # another\nteardown { X }\npermutation a d(*) \"b c\"(a d)\npermutation d a";
    let spec = Spec::read(text).expect("it is one");
    assert_eq!(spec.setups.len(), 2);
    assert_eq!(spec.orders, [vec!["a", "d", "b c"], vec!["d", "a"]]);
    assert_eq!(spec.steps()["b c"], (0, " COMMIT; "));
    assert_eq!(spec.sessions[1].teardown, " X ");
    let all = Spec::read(text.split("permutation").next().expect("there is a first part"));
    assert_eq!(all.expect("it is one").orders.len(), 3);
    assert!(Spec::read("step { }").is_err());
}
