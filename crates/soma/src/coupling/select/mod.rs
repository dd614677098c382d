//! Coupled selections of places; mirrors `kernel::select`.

pub(super) mod by_bounds;
pub(super) mod by_cells;
pub(super) mod by_darts;
pub(super) mod by_scan;
mod ensemble;
mod index;
pub(super) mod one_place;
pub(super) mod places;
mod sharp;
