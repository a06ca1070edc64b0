//! Tests of rukh-planner from the outside: random worlds in which the planned scan must equal full
//! scan and filter, spellings that must give one plan, bounds of work, and golden scripts.

mod choices;
mod domains;
mod exhaustive;
mod headline;
mod limits;
mod loose;
mod predicates;
mod quick;
mod scripts;
mod spellings;
mod syntax;
mod unions;
mod worlds;
