//! PL/pgSQL: blocks that a session runs statement by statement, in one transaction.
//!
//! | file         | has                                                       |
//! |--------------|-----------------------------------------------------------|
//! | `run`        | the entry                                                 |
//! | `steps`      | what each statement of a block does                       |
//! | `assign`     | what is assigned to variables                             |
//! | `sql`        | SQL of a block: expressions, queries and whole statements  |
//! | `names`      | which names in it are variables                           |
//! | `variables`  | scopes and values                                         |
//! | `conditions` | names of errors                                           |
//!
//! A block with EXCEPTION is a subtransaction: what it did is undone before the handler runs. SQL is read again each time that it runs, with the
//! values of variables in it as literals of their types.

mod assign;
mod conditions;
mod names;
pub(crate) mod run;
mod sql;
mod steps;
mod variables;
