//! The program on the CPU: the same text, compiled as C++ with a header that defines the CUDA keywords. Slow;
//! for tests without a GPU.

use std::process::Command;

use libloading::Library;
use soma::Outcome;
use tempfile::TempDir;

use crate::device::{Buffer, Device, Entry, Params, round_keys};
use crate::program::Program;

/// A program on the CPU.
#[derive(Debug)]
pub struct Emulated {
    library: Library,
    memory: Vec<Vec<u64>>,
    _folder: TempDir,
}

impl Emulated {
    /// The C++ compiler: the variable `CXX`, or `c++`.
    fn compiler() -> String {
        std::env::var("CXX").unwrap_or_else(|_| "c++".into())
    }

    /// Whether there is a C++ compiler.
    pub fn is_there() -> bool {
        Command::new(Self::compiler()).arg("--version").output().is_ok_and(|o| o.status.success())
    }

    /// Compiles a program.
    pub fn new(program: &Program) -> Outcome<Self> {
        let folder = tempfile::tempdir()?;
        let (source, built) = (folder.path().join("program.cpp"), folder.path().join("program.so"));
        let parts =
            [include_str!("emulate/words.h"), &program.text, include_str!("emulate/launch.h")];
        std::fs::write(&source, parts.concat())?;
        let compiled = Command::new(Self::compiler())
            .args(["-std=c++17", "-O1", "-w", "-shared", "-fPIC"])
            .arg(format!("-DSHARED_BYTES={}", program.shared))
            .arg("-o")
            .args([&built, &source])
            .output()?;
        if !compiled.status.success() {
            return Err(String::from_utf8_lossy(&compiled.stderr).into_owned().into());
        }
        // SAFETY: the library was made of our own text, and does nothing when it is loaded.
        let library = unsafe { Library::new(&built)? };
        Ok(Emulated { library, memory: Vec::new(), _folder: folder })
    }

    /// Output of the program's Philox for a counter and a key.
    pub fn philox(&self, counter: [u32; 4], key: [u32; 2]) -> Outcome<[u32; 4]> {
        type Philox = unsafe extern "C" fn(*const u32, *const u32, *mut u32);
        let (mut words, keys) = ([0; 4], round_keys(key));
        // SAFETY: this is the function's type in launch.h, and the arrays are as long as it needs.
        unsafe {
            let philox = self.library.get::<Philox>("soma_philox")?;
            philox(counter.as_ptr(), keys.as_ptr(), words.as_mut_ptr());
        }
        Ok(words)
    }
}

impl Device for Emulated {
    fn name(&self) -> String {
        "the CPU, emulating a GPU".into()
    }

    fn allocate(&mut self, bytes: usize) -> Outcome<Buffer> {
        let mut memory = vec![0_u64; bytes.div_ceil(8).max(1)];
        let address = memory.as_mut_ptr() as u64;
        self.memory.push(memory);
        Ok(Buffer { address, bytes })
    }

    fn write(&mut self, buffer: Buffer, bytes: &[u8]) -> Outcome {
        assert!(bytes.len() <= buffer.bytes);
        // SAFETY: the buffer is ours, and as long as it says.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), buffer.address as *mut u8, bytes.len());
        }
        Ok(())
    }

    fn read(&mut self, buffer: Buffer, bytes: &mut [u8]) -> Outcome {
        assert!(bytes.len() <= buffer.bytes);
        // SAFETY: the buffer is ours, and as long as it says.
        unsafe {
            let from = buffer.address as *const u8;
            std::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), bytes.len());
        }
        Ok(())
    }

    fn launch(&mut self, entry: Entry, _: usize, params: &Params) -> Outcome<f64> {
        let begun = std::time::Instant::now();
        // SAFETY: this is the function's type in launch.h.
        unsafe {
            let launch =
                self.library.get::<unsafe extern "C" fn(i32, *const Params)>("soma_launch")?;
            launch(entry as i32, params);
        }
        Ok(begun.elapsed().as_secs_f64())
    }
}
