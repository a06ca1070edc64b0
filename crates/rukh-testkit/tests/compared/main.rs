//! Statements whose rows, values, types and errors are compared with those of PostgreSQL, or of another way to run them. They are
//! one program, since linking one with all of Rukh takes longer than most of them: what ends processes or fills disks has
//! programs of its own.

mod casts;
mod copy;
mod copy_fuzz;
mod describe;
mod dml;
mod every_function;
mod first_rows;
mod groups;
mod joins;
mod moment_texts;
mod parameter_types;
mod planner_cases;
mod point_reads;
mod shapes;
mod statistics;
mod subqueries;
mod totals;
mod url_scans;
