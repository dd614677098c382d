//! The shipped specs, for the programs that print or run them: a spec is one file beside this one
//! and one line below, under what its user has in hand.

macro_rules! shipped {
    ($($group:literal: [$($name:literal),* $(,)?]),* $(,)?) => {
        /// What a user has in hand, and the names of the specs for it.
        #[allow(dead_code)]
        pub const GROUPS: &[(&str, &[&str])] = &[$(($group, &[$($name),*])),*];

        /// Name and text of each. The first comment of a text says what it is.
        pub const SHIPPED: &[(&str, &str)] =
            &[$($(($name, include_str!(concat!($name, ".toml")))),*),*];
    };
}

shipped![
    "data, and a release yet to be made": [
        "plan-a-survey",
        "plan-regression",
        "plan-time-use",
    ],
    "several parts about the same records": ["count-and-sum", "mean-and-variance"],
    "an average or a quantile of unusual noise": ["ratio-mean", "median"],
    "a mean or a sum": [
        "normal-gaussian-noise",
        "private-mean-n2",
        "proportion",
        "binomial-successes",
        "poisson-counts",
        "log-normal-mean",
    ],
    "several means of one variable": ["overdispersed-counts", "gamma-durations", "heavy-tails"],
    "counts in bins or categories": [
        "category-counts",
        "cross-table",
        "clamped-counts",
        "suppressed-counts",
        "histogram-n50",
        "histogram-n20",
    ],
    "reports by randomised response": ["randomised-response"],
    "synthetic records": ["synthetic-records"],
    "sums by group": ["two-groups"],
    "first and second moments": [
        "multivariate-normal",
        "regression-unknown-predictors",
        "regression-n100-eps30",
        "regression-n100-eps3",
        "regression-n10-eps30",
        "regression-n10-eps3",
    ],
    "sums of a yes or a count with a predictor": [
        "logistic-regression",
        "voters-three-sums",
        "poisson-regression",
    ],
    "means of logarithms of shares": ["atus-female", "atus-male"],
];
