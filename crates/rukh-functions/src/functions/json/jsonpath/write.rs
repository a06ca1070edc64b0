//! Writes a path as PostgreSQL does: `$."a"[*]?(@ > 1)`.

use std::fmt::{self, Write};

use rukh_keys::quote_json;

use super::tree::{Arithmetic, Chain, Condition, Head, Path, Step};

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_strict {
            f.write_str("strict ")?;
        }
        chain(&self.root, true, f)
    }
}

/// How strongly the operators bind; a value alone the strongest.
fn binding(of: &Chain) -> u8 {
    match &of.head {
        Head::Condition(condition) => binding_of(condition),
        Head::Computed(Arithmetic::Add | Arithmetic::Subtract, _) => 3,
        Head::Computed(..) => 4,
        Head::Signed(..) => 5,
        _ => 6,
    }
}

fn binding_of(of: &Condition) -> u8 {
    match of {
        Condition::Or(_) => 0,
        Condition::And(_) => 1,
        Condition::Compares(..) | Condition::StartsWith(_) => 2,
        _ => 6,
    }
}

fn chain(of: &Chain, brackets: bool, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    // What is computed stands in parentheses before a step.
    let brackets = brackets || !of.steps.is_empty();
    match &of.head {
        Head::Null => f.write_str("null")?,
        Head::Bool(value) => write!(f, "{value}")?,
        Head::Number(number) if of.steps.is_empty() => write!(f, "{number}")?,
        Head::Number(number) => write!(f, "({number})")?,
        Head::Text(text) => quote_json(text, f)?,
        Head::Variable(name) => {
            f.write_char('$')?;
            quote_json(name, f)?;
        }
        Head::Root => f.write_char('$')?,
        Head::Current => f.write_char('@')?,
        Head::Last => f.write_str("last")?,
        Head::Signed(sign, operand) => bracketed(brackets, f, |f| {
            f.write_str(sign.spelling())?;
            chain(operand, binding(operand) <= 5, f)
        })?,
        Head::Computed(op, sides) => bracketed(brackets, f, |f| {
            let own = binding(of);
            between(f, op.spelling(), sides, |side, f| {
                chain(side, binding(side) <= own, f)
            })
        })?,
        Head::Condition(of) => condition(of, brackets, f)?,
    }
    of.steps.iter().try_for_each(|of| step(of, f))
}

fn bracketed(
    brackets: bool,
    f: &mut fmt::Formatter<'_>,
    inner: impl FnOnce(&mut fmt::Formatter<'_>) -> fmt::Result,
) -> fmt::Result {
    if brackets {
        f.write_char('(')?;
    }
    inner(f)?;
    match brackets {
        true => f.write_char(')'),
        false => Ok(()),
    }
}

fn between<T>(
    f: &mut fmt::Formatter<'_>,
    operator: &str,
    [left, right]: &[T; 2],
    side: impl Fn(&T, &mut fmt::Formatter<'_>) -> fmt::Result,
) -> fmt::Result {
    side(left, f)?;
    write!(f, " {operator} ")?;
    side(right, f)
}

fn condition(of: &Condition, brackets: bool, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let own = binding_of(of);
    let value = |side: &Chain, f: &mut fmt::Formatter<'_>| chain(side, binding(side) <= own, f);
    let part = |side: &Condition, f: &mut fmt::Formatter<'_>| condition(side, binding_of(side) <= own, f);
    match of {
        Condition::And(sides) => bracketed(brackets, f, |f| between(f, "&&", sides, part)),
        Condition::Or(sides) => bracketed(brackets, f, |f| between(f, "||", sides, part)),
        Condition::Compares(op, sides) => bracketed(brackets, f, |f| between(f, op.spelling(), sides, value)),
        Condition::StartsWith(sides) => bracketed(brackets, f, |f| between(f, "starts with", sides, value)),
        Condition::LikeRegex(of, like) => bracketed(brackets, f, |f| {
            value(of, f)?;
            f.write_str(" like_regex ")?;
            quote_json(&like.pattern, f)?;
            match like.flags.as_str() {
                "" => Ok(()),
                flags => write!(f, " flag \"{flags}\""),
            }
        }),
        Condition::Not(of) => {
            f.write_str("!(")?;
            condition(of, false, f)?;
            f.write_char(')')
        }
        Condition::IsUnknown(of) => {
            f.write_char('(')?;
            condition(of, false, f)?;
            f.write_str(") is unknown")
        }
        Condition::Exists(of) => {
            f.write_str("exists (")?;
            chain(of, false, f)?;
            f.write_char(')')
        }
    }
}

fn step(of: &Step, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match of {
        Step::Member(name) => {
            f.write_char('.')?;
            quote_json(name, f)
        }
        Step::Members => f.write_str(".*"),
        Step::Elements => f.write_str("[*]"),
        Step::Subscripts(all) => {
            f.write_char('[')?;
            for (at, (from, to)) in all.iter().enumerate() {
                f.write_str(if at > 0 { "," } else { "" })?;
                chain(from, false, f)?;
                if let Some(to) = to {
                    f.write_str(" to ")?;
                    chain(to, false, f)?;
                }
            }
            f.write_char(']')
        }
        Step::Descend(Some(0), None) => f.write_str(".**"),
        Step::Descend(None, None) => f.write_str(".**{last}"),
        Step::Descend(Some(from), Some(to)) if from == to => write!(f, ".**{{{from}}}"),
        Step::Descend(from, to) => {
            let level = |level: &Option<u32>| level.map_or("last".to_string(), |level| level.to_string());
            write!(f, ".**{{{} to {}}}", level(from), level(to))
        }
        Step::Filter(of) => {
            f.write_str("?(")?;
            condition(of, false, f)?;
            f.write_char(')')
        }
        Step::Method(method) => write!(f, ".{}()", method.name()),
        Step::DateTime(template) => {
            f.write_str(".datetime(")?;
            template.iter().try_for_each(|template| quote_json(template, f))?;
            f.write_char(')')
        }
    }
}
