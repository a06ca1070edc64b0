//! Values whose types are deep, behind pointers that are known to be safe to send.
//!
//! Every call is a future that is sent between threads, and the compiler proves that by walking through all that
//! the future holds: with connections and statements in it that took minutes. Behind these traits it is proven once.

use std::sync::Arc;

/// A value that several hold.
pub(crate) trait Shared<T>: Send + Sync {
    /// Returns the value.
    fn get(&self) -> &T;
}

/// A value that one holds.
pub(crate) trait Held<T>: Send {
    /// Returns the value, to be changed.
    fn get(&mut self) -> &mut T;
}

struct Own<T>(T);

impl<T: Send + Sync> Shared<T> for Own<T> {
    fn get(&self) -> &T {
        &self.0
    }
}

impl<T: Send> Held<T> for Own<T> {
    fn get(&mut self) -> &mut T {
        &mut self.0
    }
}

/// Puts a value where several hold it.
pub(crate) fn shared<T: Send + Sync + 'static>(value: T) -> Arc<dyn Shared<T>> {
    Arc::new(Own(value))
}

/// Puts a value where one holds it.
pub(crate) fn held<T: Send + 'static>(value: T) -> Box<dyn Held<T>> {
    Box::new(Own(value))
}
