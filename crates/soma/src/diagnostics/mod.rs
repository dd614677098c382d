//! Whether draws can be trusted: R-hat, effective sample sizes, Monte Carlo errors.
