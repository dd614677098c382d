//! New tables at the shares of a draw, for replicated releases.

use super::problem::CountProblem;
use super::redraw::add_multinomial;
use super::shares::Shares;
use super::state::sums;
use crate::rng::Rng;

impl CountProblem {
    /// The true answer of each published number for new records: multinomial counts at the shares that
    /// `draw` holds, of as many records as it says where n is not public. Nothing, where a draw does
    /// not hold shares. Costs what the cells cost, whatever n is.
    pub(crate) fn replicate(&self, draw: &[f64], rng: &mut Rng) -> Option<Vec<i64>> {
        let from = match self.shares() {
            Shares::Dirichlet(_) => 0,
            Shares::Model(model) => model.parameters().len(),
        };
        let cells = self.table().cells();
        let shares = draw.get(from..from + cells).filter(|_| self.shows_shares())?;
        let n = match self.total().known() {
            Some(n) => n,
            None => *draw.get(self.output_count() - 1)? as i64,
        };
        let mut counts = vec![0; cells];
        add_multinomial(n, shares, &mut counts, rng);
        Some(sums(self, &counts))
    }
}
