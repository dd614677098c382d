//! The autocovariance of a chain at all lags.

use rustfft::algorithm::Radix4;
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftDirection};

/// The autocovariances (divisor: the length) of chains of equal length, averaged over the chains.
///
/// By FFT, so that a slowly mixing chain, whose autocovariances are needed at nearly all lags,
/// costs no more than another. Two chains share one transform, as its real and imaginary part.
pub(super) fn mean_autocovariance(chains: &[Vec<f64>]) -> Vec<f64> {
    let length = chains[0].len();
    let size = (2 * length).next_power_of_two();
    // No planner: it would compile the transforms of all other sizes.
    let forward = Radix4::new(size, FftDirection::Forward);
    let mut power = vec![0.0; size];
    let mut buffer = vec![Complex::default(); size];
    for pair in chains.chunks(2) {
        buffer.fill(Complex::default());
        let centre = |chain: &[f64]| super::chains::mean(chain);
        let middle = centre(&pair[0]);
        buffer.iter_mut().zip(&pair[0]).for_each(|(z, x)| z.re = x - middle);
        if let Some(second) = pair.get(1) {
            let middle = centre(second);
            buffer.iter_mut().zip(second).for_each(|(z, x)| z.im = x - middle);
        }
        forward.process(&mut buffer);
        // The power of both parts: |X(f)|^2 + |Y(f)|^2 is the even part of |Z(f)|^2.
        for f in 0..size {
            power[f] += 0.5 * (buffer[f].norm_sqr() + buffer[(size - f) % size].norm_sqr());
        }
    }
    buffer.iter_mut().zip(&power).for_each(|(z, p)| *z = Complex::new(*p, 0.0));
    forward.process(&mut buffer);
    let scale = 1.0 / (size as f64 * length as f64 * chains.len() as f64);
    buffer[..length].iter().map(|z| z.re * scale).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_definition() {
        let chains: Vec<Vec<f64>> = (0..3)
            .map(|c| (0..7).map(|t| ((t * t + 3 * c) % 5) as f64 + 0.1 * c as f64).collect())
            .collect();
        let fast = mean_autocovariance(&chains);
        for (lag, value) in fast.iter().enumerate() {
            let slow: f64 = chains
                .iter()
                .map(|chain| {
                    let m = super::super::chains::mean(chain);
                    let pairs = chain.iter().zip(&chain[lag..]);
                    pairs.map(|(a, b)| (a - m) * (b - m)).sum::<f64>() / 7.0
                })
                .sum::<f64>()
                / 3.0;
            assert!((value - slow).abs() < 1e-12, "lag {lag}: {value} and {slow}");
        }
    }
}
