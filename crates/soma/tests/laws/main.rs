//! The laws of the kernels: what theory says of one move and of many, against what they do.
//!
//! Written from the paper and through the public interface only. A new kernel is one line in
//! `kernels.rs`; everything here then holds of it too.

mod acceptance;
mod discrete;
mod extreme;
mod kernels;
mod matrices;
mod moments;
mod target;
mod toys;
