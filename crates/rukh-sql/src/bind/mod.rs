//! Binding: from the tree of a statement and the definitions to a logical plan that has PostgreSQL's meaning.
//!
//! | folder     | has                                                                                             |
//! |------------|-------------------------------------------------------------------------------------------------|
//! | `names`    | which relation and column a name means: schemas, views, aliases, stars, windows, whole rows     |
//! | `spelling` | what PostgreSQL writes and DataFusion does not read, written in another way in the tree         |
//! | `system`   | the same for the queries of clients' tools on `pg_catalog`                                      |
//! | `types`    | types of literals, operands, calls, casts, and of columns that several values become; stored expressions |
//! | `plans`    | corrections of logical plans: correlated subqueries, order, volatile functions, set operations  |
//!
//! Every correction of DataFusion's meaning has its home here; `passes` has them in their order.
//!
//! Deliberately not here: access paths, operators and whatever else reads rows; sessions.

pub(crate) mod names;
pub(crate) mod passes;
pub(crate) mod plans;
pub(crate) mod spelling;
pub(crate) mod system;
pub(crate) mod types;
