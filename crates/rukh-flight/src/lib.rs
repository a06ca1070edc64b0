//! Arrow Flight SQL over the engine.
