//! Tests of the kernels: theory and practice of one move and of many.
//!
//! Written from the paper and through the public interface only. A new kernel is one line in
//! `kernels.rs`; everything here then applies to it too.

mod acceptance;
mod discrete;
mod extreme;
mod kernels;
mod matrices;
mod moments;
mod target;
mod toys;
