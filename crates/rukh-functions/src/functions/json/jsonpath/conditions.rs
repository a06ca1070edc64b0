//! Conditions of a path: true, false, or unknown where values do not compare or cannot be computed.

use std::cmp::Ordering;

use rukh_keys::JsonbKind;

use super::failure::Failure;
use super::item::Item;
use super::moments::{self, Order};
use super::run::{Found, Scope, Search};
use super::tree::{Chain, Comparison, Condition};

/// True or false; `None` is unknown.
type Truth = Option<bool>;

impl<'d> Search<'_, 'd> {
    pub(super) fn condition(&self, condition: &Condition, scope: &Scope<'d>) -> Result<Truth, Failure> {
        let deeper = scope.deeper()?.quiet();
        Ok(match condition {
            Condition::And(sides) => match self.condition(&sides[0], &deeper)? {
                Some(false) => Some(false),
                left => match self.condition(&sides[1], &deeper)? {
                    Some(true) => left,
                    right => right,
                },
            },
            Condition::Or(sides) => match self.condition(&sides[0], &deeper)? {
                Some(true) => Some(true),
                left => match self.condition(&sides[1], &deeper)? {
                    Some(false) => left,
                    right => right,
                },
            },
            Condition::Not(of) => self.condition(of, &deeper)?.map(|truth| !truth),
            Condition::IsUnknown(of) => Some(self.condition(of, &deeper)?.is_none()),
            Condition::Exists(of) => self.exists(of, &deeper)?,
            Condition::Compares(comparison, sides) => {
                let Some(lefts) = known(self.unwrapped(&sides[0], &deeper))? else {
                    return Ok(None);
                };
                let Some(rights) = known(self.unwrapped(&sides[1], &deeper))? else {
                    return Ok(None);
                };
                self.any_of(lefts.iter(), |left| {
                    self.any_of(rights.iter(), |right| self.compare(*comparison, left, right))
                })?
            }
            Condition::StartsWith(sides) => {
                let Some(lefts) = known(self.unwrapped(&sides[0], &deeper))? else {
                    return Ok(None);
                };
                let Some(rights) = known(self.values(&sides[1], &deeper))? else {
                    return Ok(None);
                };
                self.any_of(lefts.iter(), |left| {
                    self.any_of(rights.iter(), |right| {
                        let (text, start) = (left.text(), right.text());
                        Ok(text.zip(start).map(|(text, start)| text.starts_with(start)))
                    })
                })?
            }
            Condition::LikeRegex(of, like) => {
                let Some(items) = known(self.unwrapped(of, &deeper))? else {
                    return Ok(None);
                };
                self.any_of(items.iter(), |item| {
                    let matched = item.text().map(|text| like.regex.is_match(text));
                    matched.transpose().map_err(Failure::Hard)
                })?
            }
        })
    }

    fn exists(&self, chain: &Chain, scope: &Scope<'d>) -> Result<Truth, Failure> {
        match self.is_lax() {
            true => known(self.run(chain, scope, &mut Found::first())),
            false => known(self.values(chain, scope).map(|all| !all.is_empty())),
        }
    }

    /// Whether a test holds for any value. In the mode `strict` it has to be known for all.
    fn any_of<'i>(
        &self,
        items: impl Iterator<Item = &'i Item<'d>>,
        mut test: impl FnMut(&'i Item<'d>) -> Result<Truth, Failure>,
    ) -> Result<Truth, Failure>
    where
        'd: 'i,
    {
        let (mut any, mut is_unknown) = (false, false);
        for item in items {
            match test(item)? {
                Some(true) if self.is_lax() => return Ok(Some(true)),
                Some(true) => any = true,
                Some(false) => {}
                None if self.is_lax() => is_unknown = true,
                None => return Ok(None),
            }
        }
        Ok(match (any, is_unknown) {
            (true, _) => Some(true),
            (false, true) => None,
            (false, false) => Some(false),
        })
    }

    fn compare(&self, comparison: Comparison, left: &Item<'d>, right: &Item<'d>) -> Result<Truth, Failure> {
        let order = match (left, right) {
            (Item::Moment(left), Item::Moment(right)) => match moments::order(left, right, self.has_zone)? {
                Order::Is(order) => Some(order),
                Order::None => None,
            },
            _ => {
                let (left_kind, right_kind) = (left.kind(), right.kind());
                let is_moment = |item: &Item<'_>| matches!(item, Item::Moment(_));
                match (left_kind, right_kind) {
                    (JsonbKind::Null, JsonbKind::Null) => Some(Ordering::Equal),
                    // Null is not equal to anything else.
                    (JsonbKind::Null, _) | (_, JsonbKind::Null) => {
                        return Ok(Some(comparison == Comparison::NotEqual));
                    }
                    _ if is_moment(left) || is_moment(right) => None,
                    (JsonbKind::Bool(left), JsonbKind::Bool(right)) => Some(left.cmp(&right)),
                    (JsonbKind::Number, JsonbKind::Number) => left
                        .number()
                        .zip(right.number())
                        .and_then(|(left, right)| left.partial_cmp(&right)),
                    (JsonbKind::Text, JsonbKind::Text) => {
                        left.text().zip(right.text()).map(|(left, right)| left.cmp(right))
                    }
                    _ => None,
                }
            }
        };
        Ok(order.map(|order| match comparison {
            Comparison::Equal => order.is_eq(),
            Comparison::NotEqual => order.is_ne(),
            Comparison::Less => order.is_lt(),
            Comparison::LessOrEqual => order.is_le(),
            Comparison::Greater => order.is_gt(),
            Comparison::GreaterOrEqual => order.is_ge(),
        }))
    }
}

/// Takes an error of the values as unknown.
fn known<T>(result: Result<T, Failure>) -> Result<Option<T>, Failure> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Failure::Soft(_)) => Ok(None),
        Err(hard) => Err(hard),
    }
}
