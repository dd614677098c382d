//! Scores and quantiles of gamma, beta and Student's t variables: the text, compiled as C++, against the CPU's functions.

use std::process::Command;

use libloading::Library;
use soma_gpu::Emulated;
use soma_language::special::{
    beta_quantile, beta_score, gamma_quantile, gamma_score, student_quantile, student_score,
};

const TEXTS: &[&str] = &[
    include_str!("../src/emulate/words.h"),
    include_str!("../src/text/random.cu"),
    include_str!("../src/text/functions.cu"),
    include_str!("../src/text/quantiles.cu"),
    include_str!("../src/text/shape_quantiles.cu"),
    "extern \"C\" double of(int which, double a, double b, double x) {\n\
     switch (which) {\n\
     case 0: return gamma_score(a, x);\n\
     case 1: return gamma_quantile(a, x);\n\
     case 2: return beta_score(a, b, x);\n\
     case 3: return beta_quantile(a, b, x);\n\
     case 4: return student_score(a, x);\n\
     case 5: return student_quantile(a, x);\n\
     case 6: return logit_beta_score(shapes_of(a, b), x);\n\
     default: return logit_beta_quantile(shapes_of(a, b), x, log(a / b));\n\
     }\n}\n",
];

/// The functions of the text; nothing, with a message, where there is no C++ compiler.
fn compiled(folder: &std::path::Path) -> Option<Library> {
    if !Emulated::is_there() {
        eprintln!("skipped: there is no C++ compiler (c++, or the variable CXX)");
        return None;
    }
    let (source, built) = (folder.join("quantiles.cpp"), folder.join("quantiles.so"));
    std::fs::write(&source, TEXTS.concat()).unwrap();
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".into());
    let arguments = ["-std=c++17", "-O1", "-w", "-shared", "-fPIC", "-o"];
    let told = Command::new(compiler).args(arguments).args([&built, &source]).output().unwrap();
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    // SAFETY: the library was made of our own text, and does nothing when it is loaded.
    Some(unsafe { Library::new(built) }.unwrap())
}

const NOISE: [f64; 11] = [-6.0, -3.0, -1.5, -0.7, -1e-4, 0.3, 0.9, 1.7, 2.6, 4.0, 6.0];

#[test]
fn scores_and_quantiles_are_those_of_the_cpu() {
    let folder = tempfile::tempdir().unwrap();
    let Some(library) = compiled(folder.path()) else { return };
    type Of = unsafe extern "C" fn(i32, f64, f64, f64) -> f64;
    // SAFETY: this is the function's type in the text.
    let of = unsafe { library.get::<Of>("of") }.unwrap();
    let of = |which: i32, a: f64, b: f64, x: f64| unsafe { of(which, a, b, x) };
    let is_near = |ours: f64, theirs: f64, what: &str| {
        let error = (ours - theirs).abs();
        assert!(error < 1e-8 * (1.0 + theirs.abs()), "{what}: {ours} and not {theirs}");
    };
    // What single precision stores: beyond it, nothing is carried.
    let is_stored = |x: f64, most: f64| x > 2e-37 && x < most;
    let mut compared = 0;
    for e in NOISE {
        for a in [0.02, 0.3, 1.0, 2.5, 20.0, 300.0, 1e4] {
            let x = gamma_quantile(a, e);
            if is_stored(x, f64::INFINITY) {
                is_near(of(1, a, 0.0, e).ln(), x.ln(), &format!("gamma({a}) at {e}"));
                is_near(of(0, a, 0.0, x), gamma_score(a, x), &format!("gamma({a}), score at {x}"));
                compared += 1;
            }
        }
        for (a, b) in [(0.02, 0.5), (0.3, 0.3), (1.0, 1.0), (2.0, 5.0), (50.0, 3.0), (1e4, 2e4)] {
            let (x, what) = (beta_quantile(a, b, e), format!("beta({a}, {b}) at {e}"));
            if is_stored(x, 0.999_999) {
                is_near(of(3, a, b, e), x, &what);
                is_near(of(2, a, b, x), beta_score(a, b, x), &what);
                compared += 1;
            }
            // Logits have no ends.
            is_near(of(6, a, b, of(7, a, b, e)), e, &format!("{what}, back"));
        }
        for freedom in [0.5, 1.0, 2.0, 4.5, 30.0, 1000.0] {
            let (t, what) = (student_quantile(freedom, e), format!("t({freedom}) at {e}"));
            is_near(of(5, freedom, 0.0, e) / t, 1.0, &what);
            is_near(of(4, freedom, 0.0, t), student_score(freedom, t), &what);
        }
    }
    assert!(compared > 100, "{compared}");
    // Rounded draws, and numbers that are none.
    for (which, a, x) in [(0, 2.0, 1e-37), (1, 0.01, -4.0), (0, 2.0, f64::NAN), (1, f64::NAN, 0.0)]
    {
        assert!(of(which, a, 1.0, x).is_nan());
    }
    assert!(of(2, 1.0, 1.0, 0.999_999_94).is_nan());
}
