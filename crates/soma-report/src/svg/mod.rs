//! SVG: two axes with marks between them, as text that any browser draws.
//!
//! Colours are CSS variables, so that a page draws the same figure in dark and light; beside each
//! stands the light colour as an attribute, for programs that know no variables. A value is read by
//! pointing at a mark: its `<title>` says it, and the script of the page interpolates along lines.

mod escape;
mod ink;
mod marks;
mod number;
mod panel;
mod plot;
mod scale;
mod width;

pub use escape::escape;
pub use ink::{Ink, STYLE, VARIABLES};
pub use number::{decimals, fixed, number, probability_decimals};
pub use panel::Panel;
pub use plot::{Axis, Plot, Size};
pub use scale::{Scale, ticks};
