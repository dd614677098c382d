//! The program on an NVIDIA GPU, through the driver and NVRTC. Both are loaded at run time, so that the
//! crate builds and the program runs without CUDA.

use std::sync::Arc;

use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, DevicePtr, DeviceRepr, LaunchConfig,
    PushKernelArg, sys,
};
use cudarc::nvrtc::{self, CompileOptions, Ptx};
use soma::{Failure, Outcome};

use crate::device::{Buffer, Device, Entry, Params, failure};
use crate::program::Program;

// SAFETY: plain numbers, laid out as C does.
unsafe impl DeviceRepr for Params {}

/// A program on a GPU.
#[derive(Debug)]
pub struct Cuda {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    start: CudaFunction,
    chains: CudaFunction,
    threads: usize,
    shared: u32,
    memory: Vec<CudaSlice<u8>>,
}

impl Cuda {
    /// What is missing to use a GPU, and what to do about it; `None` if a GPU can be used.
    pub fn missing() -> Option<String> {
        let go_on = "To run without a GPU: --device cpu.";
        // SAFETY: these look for libraries, and nothing else.
        let (driver, compiler) =
            unsafe { (sys::is_culib_present(), nvrtc::sys::is_culib_present()) };
        if !driver {
            return Some(format!("there is no NVIDIA driver (libcuda.so was not found). {go_on}"));
        }
        if let Err(error) = CudaContext::device_count() {
            return Some(format!("the NVIDIA driver does not start ({error:?}). {go_on}"));
        }
        if CudaContext::device_count().is_ok_and(|count| count < 1) {
            return Some(format!("the NVIDIA driver finds no GPU. {go_on}"));
        }
        if !compiler {
            return Some(format!(
                "there is no NVRTC (libnvrtc.so was not found). Install the CUDA toolkit, or \
                 `pip install nvidia-cuda-nvrtc-cu12` and put its lib folder on LD_LIBRARY_PATH. {go_on}"
            ));
        }
        None
    }

    /// Compiles a program for a card of 2020 or later, without one: `None` where there is no NVRTC.
    pub fn try_compile(program: &Program) -> Option<Outcome> {
        // SAFETY: looks for a library, and nothing else.
        if !unsafe { nvrtc::sys::is_culib_present() } {
            return None;
        }
        Some(compile(&program.text, flags("80")).map(|_| ()))
    }

    /// Bytes of shared memory that a block may have on the first GPU, if there is one.
    pub fn most_shared() -> Option<usize> {
        use sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN as MOST;
        if Self::missing().is_some() {
            return None;
        }
        usize::try_from(CudaContext::new(0).ok()?.attribute(MOST).ok()?).ok()
    }

    /// Compiles a program for the first GPU.
    pub fn new(program: &Program) -> Outcome<Self> {
        if let Some(missing) = Self::missing() {
            return Err(missing.into());
        }
        let context = CudaContext::new(0).map_err(|e| failure("start", e))?;
        let (major, minor) =
            context.compute_capability().map_err(|e| failure("compute capability", e))?;
        let binary = compile(&program.text, flags(&format!("{major}{minor}")))?;
        let module = context.load_module(binary).map_err(|e| failure("load", e))?;
        let function = |name| module.load_function(name).map_err(|e| failure(name, e));
        let chains = function("soma_chains")?;
        let shared = u32::try_from(program.shared)?;
        let limit = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        let set = chains.set_attribute(limit, i32::try_from(shared)?);
        set.map_err(|e| failure(&format!("{shared} bytes of shared memory of a block"), e))?;
        Ok(Cuda {
            start: function("soma_start")?,
            chains,
            shared,
            stream: context.default_stream(),
            context,
            threads: program.threads,
            memory: Vec::new(),
        })
    }

    /// Registers per thread, bytes of local memory per thread, and resident threads per multiprocessor.
    pub fn resources(&self) -> Outcome<(i32, i32, u32)> {
        let failed = |e| failure("attributes", e);
        let registers = self.chains.num_regs().map_err(failed)?;
        let local = self.chains.local_size_bytes().map_err(failed)?;
        let blocks = self
            .chains
            .occupancy_max_active_blocks_per_multiprocessor(
                self.threads as u32,
                self.shared as usize,
                None,
            )
            .map_err(failed)?;
        Ok((registers, local, blocks * self.threads as u32))
    }

    /// The number of multiprocessors, and the clock in Hz.
    pub fn processors(&self) -> Outcome<(i32, f64)> {
        use sys::CUdevice_attribute as Attribute;
        let get = |which| self.context.attribute(which).map_err(|e| failure("attributes", e));
        let count = get(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
        let kilohertz = get(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?;
        Ok((count, 1e3 * f64::from(kilohertz)))
    }
}

/// The flags of the compiler for an architecture.
fn flags(architecture: &str) -> CompileOptions {
    let options = vec![
        format!("--gpu-architecture=compute_{architecture}"),
        "--use_fast_math".into(),
        "--std=c++17".into(),
    ];
    CompileOptions { options, ..CompileOptions::default() }
}

/// Compiles CUDA text to PTX. The error has the compiler's messages.
fn compile(text: &str, options: CompileOptions) -> Outcome<Ptx> {
    nvrtc::compile_ptx_with_opts(text, options).map_err(|error| {
        let nvrtc::CompileError::CompileError { log, .. } = &error else {
            return failure("NVRTC", error);
        };
        Failure::from(format!("NVRTC could not compile the program: {}", log.to_string_lossy()))
    })
}

impl Device for Cuda {
    fn name(&self) -> String {
        self.context.name().unwrap_or_else(|_| "a GPU".into())
    }

    fn allocate(&mut self, bytes: usize) -> Outcome<Buffer> {
        let memory = self.stream.alloc_zeros::<u8>(bytes.max(16)).map_err(|e| {
            failure(&format!("{bytes} bytes of memory (fewer chains, or fewer draws)"), e)
        })?;
        let address = memory.device_ptr(&self.stream).0;
        self.memory.push(memory);
        Ok(Buffer { address, bytes })
    }

    fn write(&mut self, buffer: Buffer, bytes: &[u8]) -> Outcome {
        assert!(bytes.len() <= buffer.bytes);
        // SAFETY: the buffer is ours, and as long as it says.
        unsafe { cudarc::driver::result::memcpy_htod_sync(buffer.address, bytes) }
            .map_err(|e| failure("copy to it", e))
    }

    fn read(&mut self, buffer: Buffer, bytes: &mut [u8]) -> Outcome {
        assert!(bytes.len() <= buffer.bytes);
        // SAFETY: the buffer is ours, and as long as it says.
        unsafe { cudarc::driver::result::memcpy_dtoh_sync(bytes, buffer.address) }
            .map_err(|e| failure("copy from it", e))
    }

    fn launch(&mut self, entry: Entry, lanes: usize, params: &Params) -> Outcome<f64> {
        let function = match entry {
            Entry::Start => &self.start,
            Entry::Chains => &self.chains,
        };
        let (lanes, most) = match entry {
            Entry::Start => (1, 128),
            Entry::Chains => (lanes, self.threads),
        };
        let all = params.chains as usize * lanes;
        // Blocks of equal size, in as few waves as possible: a last wave of few blocks would leave most
        // multiprocessors idle.
        let processors = self.processors()?.0 as usize;
        let waves = all.div_ceil(processors * most);
        let threads = all.div_ceil(processors * waves).next_multiple_of(32).min(most);
        let config = LaunchConfig {
            grid_dim: (all.div_ceil(threads) as u32, 1, 1),
            block_dim: (threads as u32, 1, 1),
            shared_mem_bytes: if entry == Entry::Chains { self.shared } else { 0 },
        };
        self.stream.synchronize().map_err(|e| failure("launch", e))?;
        let begun = std::time::Instant::now();
        let mut launch = self.stream.launch_builder(function);
        launch.arg(params);
        // SAFETY: the function takes Params by value, whose buffers are as long as it needs.
        unsafe { launch.launch(config) }.map_err(|e| failure("launch", e))?;
        self.stream.synchronize().map_err(|e| failure("run", e))?;
        Ok(begun.elapsed().as_secs_f64())
    }
}
