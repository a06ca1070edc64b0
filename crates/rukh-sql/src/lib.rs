//! rukh-sql
