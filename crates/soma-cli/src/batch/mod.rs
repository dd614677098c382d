//! `soma fit` on many specs: one pool of threads over all chains of all fits, one table of results.

mod plan;
mod pool;
mod progress;
mod summary;
mod table;

use soma_store::{Batch, FolderLock, write_results};

use crate::exit::{self, Failed, Outcome};
use crate::fit::Args;
use crate::interrupt;
use pool::Pool;
use progress::BatchProgress;
use summary::Summary;

/// Fits all specs of the command line, or the missing fits of a batch in a folder.
pub fn run(args: &Args) -> Outcome {
    // Two batches would not mix their fits, but each would write its own list of them.
    let _lock = args.out.as_deref().map(FolderLock::acquire).transpose()?;
    let fits = plan::plan(args)?;
    if let Some(folder) = &args.out {
        Batch::new(fits.clone()).write(folder)?;
    }
    let progress = (!args.quiet).then(|| BatchProgress::new(&fits));
    let pool = Pool::new(args, &fits, progress.as_ref());
    BatchProgress::during(progress.as_ref(), || pool.run(args.threads.count()));
    let summary = Summary::of(pool.into_done());
    if let Some(folder) = &args.out {
        write_results(&folder.join(Batch::RESULTS), &summary.rows())?;
    }
    if interrupt::seen() && !args.quiet {
        let resume = " The same command with --resume does the rest.";
        let resume = if args.out.is_some() { resume } else { "" };
        eprintln!("Stopped: the table has the draws so far.{resume}");
    }
    let table = args.out.as_ref().map(|folder| folder.join(Batch::RESULTS));
    exit::print(&if args.json { summary.json() } else { summary.text(table.as_deref()) })?;
    ended(&summary, args.strict)
}

/// The result of the batch: an error if a fit failed, or with `--strict` if one cannot be trusted.
fn ended(summary: &Summary, strict: bool) -> Outcome {
    let all = summary.count(|_| true);
    let failed = summary.count(|done| done.verdict == "failed");
    let untrusted = summary.count(|done| done.verdict != "trusted");
    if failed > 0 {
        return Err(Failed::Run(format!("{failed} of {all} fits failed")));
    }
    if strict && untrusted > 0 {
        let message = format!("--strict: {untrusted} of {all} fits are not to be trusted");
        return Err(Failed::Untrusted(message));
    }
    Ok(())
}
