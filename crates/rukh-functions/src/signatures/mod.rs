//! Signatures of functions: the table, and which of them a call means.
//!
//! | module         | what                                                                          |
//! |----------------|-------------------------------------------------------------------------------|
//! | [`table`]      | the table: names, types of arguments, types of results                        |
//! | [`resolve`]    | PostgreSQL's rules that choose one of several signatures                      |
//! | [`overloaded`] | a name of the table as a function of DataFusion, until its call is bound      |

pub mod overloaded;
#[cfg(test)]
mod page;
pub mod resolve;
pub mod table;
