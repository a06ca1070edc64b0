//! What `@>` and `?` ask of JSONB.

use super::form::{Jsonb, JsonbKind};

impl Jsonb<'_> {
    /// Whether the value contains another: `@>`.
    ///
    /// An object contains one of whose members each is contained in its member of the name, an array one of whose elements each is
    /// contained in any of its elements. By itself a scalar is contained in an array that has it.
    pub fn contains(self, part: Jsonb<'_>) -> bool {
        match (self.kind(), part.is_scalar()) {
            (JsonbKind::Array, true) => self
                .elements()
                .any(|element| element.is_scalar() && element.equals(part)),
            _ => contains(self, part),
        }
    }

    /// Whether a text is the name of a member, an element, or the value itself: `?`.
    pub fn has_name(self, name: &str) -> bool {
        let is_name = |value: Jsonb<'_>| value.kind() == JsonbKind::Text && value.text() == name;
        match self.kind() {
            JsonbKind::Object => self.member(name).is_some(),
            JsonbKind::Array => self.elements().any(is_name),
            _ => is_name(self),
        }
    }
}

fn contains(whole: Jsonb<'_>, part: Jsonb<'_>) -> bool {
    match (whole.kind(), part.kind()) {
        (JsonbKind::Object, JsonbKind::Object) => {
            let mut members = part.members();
            part.len() <= whole.len()
                && members.all(|(name, value)| whole.member(name).is_some_and(|found| contains(found, value)))
        }
        (JsonbKind::Array, JsonbKind::Array) => {
            let mut elements = part.elements();
            elements.all(|element| whole.elements().any(|found| contains(found, element)))
        }
        _ => whole.is_scalar() && part.is_scalar() && whole.equals(part),
    }
}
