//! A tree as the crate `regex` spells it.

use super::tree::{Node, Part};

/// Returns the spelling; `None` of what the crate does not have: look-around and back references.
pub(super) fn spelled(part: &Part) -> Option<String> {
    let mut text = String::new();
    spell(part, &mut text)?;
    Some(text)
}

fn spell(part: &Part, text: &mut String) -> Option<()> {
    match &part.node {
        Node::Empty => text.push_str("(?:)"),
        Node::One(set) => text.push_str(&set.spelling),
        Node::Constraint(constraint) => text.push_str(constraint.spelling()),
        Node::Around { .. } | Node::Back(_) => return None,
        // Which text a group matches the automaton finds out.
        Node::Group(_, inner) => grouped(inner, text)?,
        Node::Concat(parts) => parts.iter().try_for_each(|part| match &part.node {
            Node::Alternatives(_) => grouped(part, text),
            _ => spell(part, text),
        })?,
        Node::Alternatives(parts) => {
            for (at, part) in parts.iter().enumerate() {
                text.push_str(if at > 0 { "|" } else { "" });
                spell(part, text)?;
            }
        }
        Node::Repeat { inner, min, max, .. } => {
            grouped(inner, text)?;
            match (min, max) {
                (0, None) => text.push('*'),
                (1, None) => text.push('+'),
                (0, Some(1)) => text.push('?'),
                (min, None) => text.push_str(&format!("{{{min},}}")),
                (min, Some(max)) => text.push_str(&format!("{{{min},{max}}}")),
            }
        }
    }
    Some(())
}

fn grouped(part: &Part, text: &mut String) -> Option<()> {
    text.push_str("(?:");
    spell(part, text)?;
    text.push(')');
    Some(())
}
