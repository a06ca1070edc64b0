//! Values that a path finds.

use std::borrow::Cow;

use rukh_error::SqlError;
use rukh_keys::{Json, JsonError, Jsonb, JsonbKind};

use super::moments::Moment;

/// A value: part of a document, whose bytes it borrows, or computed.
#[derive(Clone, Debug)]
pub(crate) enum Item<'d> {
    /// A value in the form of JSONB.
    Form(Cow<'d, [u8]>),
    /// What `datetime()` has read. As JSON it is a string.
    Moment(Moment),
}

impl<'d> Item<'d> {
    /// Takes a document, or a part of one.
    pub(crate) fn of(document: Jsonb<'d>) -> Item<'d> {
        Item::Form(Cow::Borrowed(document.bytes()))
    }

    /// Makes a value that is part of no document.
    pub(super) fn made(json: &Json) -> Result<Item<'d>, JsonError> {
        Ok(Item::Form(Cow::Owned(json.to_jsonb()?)))
    }

    /// Returns the value as a JSONB; `None` of a moment.
    pub(super) fn form(&self) -> Option<Jsonb<'_>> {
        match self {
            Item::Form(bytes) => Some(Jsonb::new(bytes)),
            Item::Moment(_) => None,
        }
    }

    /// Returns the bytes of the value as a JSONB.
    pub(crate) fn into_bytes(self) -> Result<Cow<'d, [u8]>, SqlError> {
        match self {
            Item::Form(bytes) => Ok(bytes),
            Item::Moment(moment) => Ok(Cow::Owned(Json::Text(moment.to_string()).to_jsonb()?)),
        }
    }

    /// Returns what the value is; a moment is a string.
    pub(crate) fn kind(&self) -> JsonbKind {
        self.form().map_or(JsonbKind::Text, Jsonb::kind)
    }

    pub(super) fn is_array(&self) -> bool {
        self.kind() == JsonbKind::Array
    }

    pub(super) fn is_object(&self) -> bool {
        self.kind() == JsonbKind::Object
    }

    pub(super) fn is_scalar(&self) -> bool {
        self.form().is_none_or(Jsonb::is_scalar)
    }

    /// Returns the text of a string; `None` of all else, moments too.
    pub(super) fn text(&self) -> Option<&str> {
        self.form()
            .filter(|form| form.kind() == JsonbKind::Text)
            .map(Jsonb::text)
    }

    /// Returns how many elements or members there are.
    pub(super) fn len(&self) -> usize {
        self.form().map_or(0, Jsonb::len)
    }

    /// Returns a part of the value.
    fn part(&self, pick: impl for<'p> Fn(Jsonb<'p>) -> Option<Jsonb<'p>>) -> Option<Item<'d>> {
        match self {
            Item::Form(Cow::Borrowed(bytes)) => pick(Jsonb::new(bytes)).map(Item::of),
            Item::Form(Cow::Owned(bytes)) => {
                let part = pick(Jsonb::new(bytes))?;
                Some(Item::Form(Cow::Owned(part.bytes().to_vec())))
            }
            Item::Moment(_) => None,
        }
    }

    /// Returns a member by its name.
    pub(super) fn member(&self, name: &str) -> Option<Item<'d>> {
        match self.is_object() {
            true => self.part(|form| form.member(name)),
            false => None,
        }
    }

    /// Returns an element, or the value of a member, by its place.
    pub(super) fn child(&self, at: usize) -> Option<Item<'d>> {
        self.part(|form| match form.kind() {
            JsonbKind::Object => form.member_at(at).map(|(_, value)| value),
            _ => form.element(i64::try_from(at).ok()?),
        })
    }

    /// Returns the elements or the values of the members.
    pub(super) fn children(&self) -> impl Iterator<Item = Item<'d>> {
        (0..self.len()).map_while(|at| self.child(at))
    }
}
