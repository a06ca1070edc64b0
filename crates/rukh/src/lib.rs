//! rukh
