//! What databases keep: histories, backups, repairs, transactions, and what several sessions see of one another. They are one program,
//! as those in `compared` are.

mod history;
mod lives;
mod operations;
mod repair;
mod sessions;
mod transactions;
