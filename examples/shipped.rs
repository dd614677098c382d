//! The shipped specs, for the programs that print or run them: a spec is one file beside this one
//! and one line below.

macro_rules! shipped {
    ($($name:literal),* $(,)?) => {
        /// Name and text of each. The first comment of a text says what it is.
        pub const SHIPPED: &[(&str, &str)] =
            &[$(($name, include_str!(concat!($name, ".toml")))),*];
    };
}

shipped![
    "atus-female",
    "atus-male",
    "regression-n100-eps30",
    "regression-n100-eps3",
    "regression-n10-eps30",
    "regression-n10-eps3",
    "private-mean-n2",
    "histogram-n50",
    "histogram-n20",
    "category-counts",
    "cross-table",
    "normal-gaussian-noise",
];
