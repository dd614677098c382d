//! The paper's runtime table: mean and standard deviation over 100 runs, in seconds.

use crate::paper::settings::MeanRecords;

/// A setting of the table.
#[derive(Debug, Clone, Copy)]
pub(super) enum Setting {
    /// The private mean of two records, 5,000 moves, with this epsilon.
    Mean(MeanRecords, f64),
    /// The perturbed histogram with this many records, 10,000 moves, with this epsilon.
    Histogram(usize, f64),
    /// Regression, n = 100, epsilon 30, 10,000 iterations.
    Regression100,
    /// Regression, n = 10, epsilon 30.
    Regression10Wide,
    /// Regression, n = 10, epsilon 3.
    Regression10,
}

/// A row, for CPU and GPU: Ran-IMwG, Sys-IMwG, SOMA.
#[derive(Debug, Clone, Copy)]
pub(super) struct Published {
    pub(super) name: &'static str,
    pub(super) setting: Setting,
    pub(super) cpu: [(f64, f64); 3],
    pub(super) gpu: [(f64, f64); 3],
}

/// The table.
pub(super) const PUBLISHED: [Published; 12] = [
    Published {
        name: "mean, Beta, epsilon 5",
        setting: Setting::Mean(MeanRecords::Beta, 5.0),
        cpu: [(2.1578, 0.0178), (1.4616, 0.0140), (2.6208, 0.0221)],
        gpu: [(8.5338, 0.0562), (6.6322, 0.0603), (11.3494, 0.0712)],
    },
    Published {
        name: "mean, Beta, epsilon 10",
        setting: Setting::Mean(MeanRecords::Beta, 10.0),
        cpu: [(2.1750, 0.0187), (1.4904, 0.0183), (2.6344, 0.0219)],
        gpu: [(8.5955, 0.0485), (6.8184, 0.0469), (11.2846, 0.3150)],
    },
    Published {
        name: "mean, Beta, epsilon 50",
        setting: Setting::Mean(MeanRecords::Beta, 50.0),
        cpu: [(2.2103, 0.0208), (1.5545, 0.0186), (2.6941, 0.0256)],
        gpu: [(8.7059, 0.0683), (7.2848, 0.0693), (11.2003, 0.0848)],
    },
    Published {
        name: "mean, exponential, epsilon 1",
        setting: Setting::Mean(MeanRecords::Exponential, 1.0),
        cpu: [(1.8642, 0.0218), (1.2175, 0.0133), (2.3435, 0.0160)],
        gpu: [(7.2237, 0.1338), (5.6446, 0.0837), (10.1485, 0.0462)],
    },
    Published {
        name: "mean, exponential, epsilon 2",
        setting: Setting::Mean(MeanRecords::Exponential, 2.0),
        cpu: [(1.8794, 0.0144), (1.2341, 0.0107), (2.3652, 0.0171)],
        gpu: [(7.3493, 0.1152), (5.8079, 0.0837), (10.2973, 0.0523)],
    },
    Published {
        name: "mean, exponential, epsilon 10",
        setting: Setting::Mean(MeanRecords::Exponential, 10.0),
        cpu: [(1.9076, 0.0176), (1.2896, 0.0131), (2.4150, 0.0228)],
        gpu: [(7.4223, 0.1207), (6.2104, 0.0721), (10.7829, 0.0401)],
    },
    Published {
        name: "histogram, n = 10, epsilon 3",
        setting: Setting::Histogram(10, 3.0),
        cpu: [(1.2632, 0.0213), (0.9367, 0.0110), (1.6948, 0.0163)],
        gpu: [(5.3686, 0.1272), (4.4201, 0.0355), (7.5973, 0.1477)],
    },
    Published {
        name: "histogram, n = 20, epsilon 3",
        setting: Setting::Histogram(20, 3.0),
        cpu: [(1.2571, 0.0089), (0.9405, 0.0090), (1.6990, 0.0160)],
        gpu: [(5.3741, 0.0511), (4.4333, 0.0452), (7.5172, 0.0989)],
    },
    Published {
        name: "histogram, n = 50, epsilon 3",
        setting: Setting::Histogram(50, 3.0),
        cpu: [(1.2634, 0.0111), (0.9457, 0.0104), (1.7182, 0.0164)],
        gpu: [(5.4059, 0.0382), (4.4268, 0.0313), (7.4140, 0.0916)],
    },
    Published {
        name: "regression, n = 100, epsilon 30",
        setting: Setting::Regression100,
        cpu: [(110.6691, 0.4993), (102.5582, 0.2933), (216.3009, 0.4037)],
        gpu: [(534.7907, 3.0974), (521.9027, 2.3709), (953.7772, 2.7545)],
    },
    Published {
        name: "regression, n = 10, epsilon 30",
        setting: Setting::Regression10Wide,
        cpu: [(19.4360, 0.0734), (18.4205, 0.1278), (29.0447, 0.1688)],
        gpu: [(82.4064, 0.9935), (80.9015, 1.1718), (125.8077, 0.5780)],
    },
    Published {
        name: "regression, n = 10, epsilon 3",
        setting: Setting::Regression10,
        cpu: [(20.2298, 0.0809), (18.8668, 0.0845), (29.1283, 0.1454)],
        gpu: [(84.0079, 1.1297), (83.3762, 0.8688), (126.1711, 1.3987)],
    },
];
