//! The messages of HBase's protocol, those of them that the client sends or reads.
//!
//! They are written by hand as prost structs, so that building needs no `protoc`. Names and numbers are
//! HBase's (2.6); fields that the client neither sets nor reads are left out, and unknown fields that a server
//! sends are passed over. Nothing here has a meaning of its own: see the modules that use them.
#![allow(missing_docs)]

pub mod admin;
pub mod common;
pub mod data;
pub mod filter;
pub mod rpc;
