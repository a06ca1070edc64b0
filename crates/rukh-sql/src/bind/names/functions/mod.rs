//! Functions that the database defines: their bodies, put in the place of calls before a statement is planned.
//!
//! | a call of                       | becomes                                                                        |
//! |---------------------------------|--------------------------------------------------------------------------------|
//! | an expression                   | the expression, arguments in the place of parameters                           |
//! | a query                         | a subquery: the query, arguments in the place of parameters                    |
//! | a query that has names of columns of the arguments | a subquery whose FROM has the arguments as a row, and beside it, LATERAL, the query |
//! | a set, in FROM                  | the same, as a query in FROM                                                   |
//!
//! An argument is cast to the type of its parameter, a result to that of the function. Columns of a call never meet names of a body:
//! columns of tables are qualified by relations whose names no body has, and in the third form they stand in a query without FROM, under
//! names that no statement can write.
//!
//! Deliberately not here: CREATE FUNCTION, which sees to it that a body is a query of the declared columns.
//!
//! | file     | has                                                          |
//! |----------|--------------------------------------------------------------|
//! | `calls`  | the calls of a statement that is visited, and what they become |
//! | `bodies` | bodies: their names, parameters, first rows                  |
//! | `stored` | calls in stored queries                                      |

mod bodies;
mod calls;
mod stored;

pub(crate) use bodies::{columns_of, has_query, only_item, parameter_number, substitute, typed};
pub(crate) use calls::{Calls, OF_TEMPORARY, is_temporary};
pub(crate) use stored::{called_in, calls_any, expand, rename};
