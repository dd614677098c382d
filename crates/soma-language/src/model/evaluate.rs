//! Evaluation of a model.

use rand::Rng;

use super::{Model, OutOfSupport};
use crate::program::{Inputs, Program, Workspace};

impl Model {
    /// The numbers that the text of the parameters computes from theta.
    pub fn derived(&self, theta: &[f64], out: &mut [f64], workspace: &mut Workspace) {
        self.programs.derived.run(at(theta), 0, workspace, out, &mut []);
    }

    /// Whether records can be drawn at `theta`.
    pub fn check_theta(
        &self,
        theta: &[f64],
        workspace: &mut Workspace,
    ) -> Result<(), OutOfSupport> {
        let names = self.parameters();
        let refuse = |k: usize, allowed: String| {
            Err(OutOfSupport { parameter: names[k].clone(), given: theta[k], allowed })
        };
        for (k, value) in theta.iter().enumerate() {
            if !value.is_finite() {
                return refuse(k, "a finite number".into());
            }
        }
        let mut ends = vec![0.0; 2 * theta.len()];
        self.programs.support.run(at(theta), 0, workspace, &mut ends, &mut []);
        for (k, (&value, end)) in theta.iter().zip(ends.chunks_exact(2)).enumerate() {
            // The support is open: a parameter at a finite bound is rejected.
            if !(value > end[0] && value < end[1]) {
                return refuse(k, format!("a number above {} and below {}", end[0], end[1]));
            }
        }
        if self.log_prior(theta, workspace) == f64::NEG_INFINITY {
            return refuse(0, "a theta with a positive prior density".into());
        }
        Ok(())
    }

    /// Draws theta from the prior.
    pub fn sample_prior(&self, theta: &mut [f64], rng: &mut impl Rng, workspace: &mut Workspace) {
        self.programs.sample_prior.run_random(
            Inputs::default(),
            0,
            &mut &mut *rng,
            workspace,
            theta,
            &mut [],
        );
    }

    /// The normalised log prior density at theta; minus infinity outside the support.
    pub fn log_prior(&self, theta: &[f64], workspace: &mut Workspace) -> f64 {
        let mut value = [0.0];
        self.programs.log_prior.run(at(theta), 0, workspace, &mut value, &mut []);
        value[0]
    }

    /// [`log_prior`](Model::log_prior) and its gradient.
    pub fn log_prior_gradient(
        &self,
        theta: &[f64],
        gradient: &mut [f64],
        workspace: &mut Workspace,
    ) -> f64 {
        self.programs.log_prior_gradient.value_and_slopes(at(theta), 0, gradient, workspace)
    }

    /// theta without constraints, of the same length.
    pub fn unconstrain(&self, theta: &[f64], free: &mut [f64], workspace: &mut Workspace) {
        self.programs.unconstrain.run(at(theta), 0, workspace, free, &mut []);
    }

    /// The inverse of [`unconstrain`](Model::unconstrain).
    pub fn constrain(&self, free: &[f64], theta: &mut [f64], workspace: &mut Workspace) {
        let inputs = Inputs { free, ..Inputs::default() };
        self.programs.constrain.run(inputs, 0, workspace, theta, &mut []);
    }

    /// The log prior density of the unconstrained theta: that of theta with the log Jacobian.
    pub fn log_prior_free(&self, free: &[f64], workspace: &mut Workspace) -> f64 {
        let inputs = Inputs { free, ..Inputs::default() };
        let mut value = [0.0];
        self.programs.log_prior_free.run(inputs, 0, workspace, &mut value, &mut []);
        value[0]
    }

    /// [`log_prior_free`](Model::log_prior_free) and its gradient.
    pub fn log_prior_free_gradient(
        &self,
        free: &[f64],
        gradient: &mut [f64],
        workspace: &mut Workspace,
    ) -> f64 {
        let inputs = Inputs { free, ..Inputs::default() };
        self.programs.log_prior_free_gradient.value_and_slopes(inputs, 0, gradient, workspace)
    }

    /// Turns a gradient with respect to theta into one with respect to the unconstrained theta.
    pub fn free_gradient(
        &self,
        free: &[f64],
        theta_gradient: &[f64],
        out: &mut [f64],
        workspace: &mut Workspace,
    ) {
        let inputs = Inputs { free, beside: theta_gradient, ..Inputs::default() };
        self.programs.free_gradient.run(inputs, 0, workspace, out, &mut []);
    }

    fn rows(&self, length: usize) -> usize {
        length / self.record.coordinates
    }

    /// Draws as many records as `records` holds.
    pub fn propose(
        &self,
        theta: &[f64],
        records: &mut [f64],
        rng: &mut impl Rng,
        workspace: &mut Workspace,
    ) {
        let n = self.rows(records.len());
        self.programs.propose.run_random(at(theta), n, &mut &mut *rng, workspace, &mut [], records);
    }

    /// Draws records from the model at theta. Coordinates of `before` (drawn at another theta)
    /// whose distribution does not depend on theta are kept.
    pub fn redraw(
        &self,
        theta: &[f64],
        before: &[f64],
        records: &mut [f64],
        rng: &mut impl Rng,
        workspace: &mut Workspace,
    ) {
        let n = self.rows(records.len());
        let inputs = Inputs { records: before, ..at(theta) };
        self.programs.redraw.run_random(inputs, n, &mut &mut *rng, workspace, &mut [], records);
    }

    /// The normalised log density of each record; minus infinity outside the support.
    pub fn log_densities(
        &self,
        theta: &[f64],
        records: &[f64],
        out: &mut [f64],
        workspace: &mut Workspace,
    ) {
        let inputs = Inputs { records, ..at(theta) };
        self.programs.log_densities.run(inputs, out.len(), workspace, &mut [], out);
    }

    /// log f(record | to) - log f(record | from) of each record.
    pub fn log_ratios(
        &self,
        from: &[f64],
        to: &[f64],
        records: &[f64],
        out: &mut [f64],
        workspace: &mut Workspace,
    ) {
        let inputs = Inputs { records, beside: to, ..at(from) };
        self.programs.log_ratios.run(inputs, out.len(), workspace, &mut [], out);
    }

    /// The sum of the log densities of the records, without variables whose distribution does not
    /// depend on theta.
    pub fn log_likelihood(&self, theta: &[f64], records: &[f64], workspace: &mut Workspace) -> f64 {
        let mut value = [0.0];
        let inputs = Inputs { records, ..at(theta) };
        self.programs.log_likelihood.run(
            inputs,
            self.rows(records.len()),
            workspace,
            &mut value,
            &mut [],
        );
        value[0]
    }

    /// [`log_likelihood`](Model::log_likelihood) and its gradient with respect to theta.
    pub fn log_likelihood_gradient(
        &self,
        theta: &[f64],
        records: &[f64],
        gradient: &mut [f64],
        workspace: &mut Workspace,
    ) -> f64 {
        let inputs = Inputs { records, ..at(theta) };
        let n = self.rows(records.len());
        self.programs.log_likelihood_gradient.value_and_slopes(inputs, n, gradient, workspace)
    }

    /// The records x = T(theta, e) of the noise e.
    pub fn forward(
        &self,
        theta: &[f64],
        noise: &[f64],
        records: &mut [f64],
        workspace: &mut Workspace,
    ) {
        let inputs = Inputs { noise, ..at(theta) };
        self.programs.forward.run(inputs, self.rows(records.len()), workspace, &mut [], records);
    }

    /// The noise e with x = T(theta, e). The noise of a discrete coordinate is drawn from the
    /// interval that gives it.
    pub fn inverse(
        &self,
        theta: &[f64],
        records: &[f64],
        noise: &mut [f64],
        rng: &mut impl Rng,
        workspace: &mut Workspace,
    ) {
        let inputs = Inputs { records, ..at(theta) };
        let n = self.rows(records.len());
        self.programs.inverse.run_random(inputs, n, &mut &mut *rng, workspace, &mut [], noise);
    }

    /// The gradient with respect to theta and to e of a function of the records x = T(theta, e),
    /// given its derivatives `slopes` with respect to each coordinate of each record.
    pub fn pull_back(
        &self,
        theta: &[f64],
        noise: &[f64],
        slopes: &[f64],
        theta_gradient: &mut [f64],
        noise_gradient: &mut [f64],
        workspace: &mut Workspace,
    ) {
        let inputs = Inputs { noise, beside_rows: slopes, ..at(theta) };
        let n = self.rows(slopes.len());
        self.programs.pull_back.run(inputs, n, workspace, theta_gradient, noise_gradient);
    }

    /// The derivative of the records x = T(theta, e) along a direction of theta and of e.
    pub fn push_forward(
        &self,
        theta: &[f64],
        noise: &[f64],
        theta_direction: &[f64],
        noise_direction: &[f64],
        out: &mut [f64],
        workspace: &mut Workspace,
    ) {
        let inputs =
            Inputs { noise, beside: theta_direction, beside_rows: noise_direction, ..at(theta) };
        self.programs.push_forward.run(inputs, self.rows(out.len()), workspace, &mut [], out);
    }

    /// Whether a record is an affine function of its noise, x = shift + factor e.
    pub fn is_affine(&self) -> bool {
        self.programs.affine.is_some()
    }

    /// The shift, and the factor row by row. Returns false, and writes nothing, if the record is
    /// not an affine function of its noise.
    pub fn affine(
        &self,
        theta: &[f64],
        shift: &mut [f64],
        factor: &mut [f64],
        workspace: &mut Workspace,
    ) -> bool {
        let Some(program) = &self.programs.affine else { return false };
        program.run(at(theta), 0, workspace, &mut [], &mut []);
        program.read(shift.iter_mut().chain(factor), workspace);
        true
    }

    /// The compiled programs by name, for another backend. `posterior` is among them if the model
    /// [has one](Model::has_log_posterior).
    pub fn programs(&self) -> Vec<(&'static str, &Program)> {
        let p = &self.programs;
        let posterior = p.posterior.iter().map(|program| ("posterior", program));
        let always = [
            ("sample_prior", &p.sample_prior),
            ("log_prior", &p.log_prior),
            ("unconstrain", &p.unconstrain),
            ("constrain", &p.constrain),
            ("log_prior_free", &p.log_prior_free),
            ("log_prior_free_gradient", &p.log_prior_free_gradient),
            ("propose", &p.propose),
            ("log_densities", &p.log_densities),
            ("log_ratios", &p.log_ratios),
            ("log_likelihood", &p.log_likelihood),
            ("log_likelihood_gradient", &p.log_likelihood_gradient),
            ("forward", &p.forward),
            ("inverse", &p.inverse),
            ("pull_back", &p.pull_back),
        ];
        always.into_iter().chain(posterior).collect()
    }
}

fn at(theta: &[f64]) -> Inputs<'_> {
    Inputs { theta, ..Inputs::default() }
}
