//! The memory available to a run.
//!
//! The minimum of what is free on the machine, what the container may still use (control groups of
//! either version, including all enclosing groups), and what the process may still address.

use std::path::Path;

use soma::chain::MemoryNeed;

/// Available memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Available {
    /// The number of bytes.
    pub bytes: u64,
    /// The binding limit.
    pub limit: Limit,
}

/// Limits of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// The memory of the machine.
    Machine,
    /// The control group of a container or a batch system.
    Group,
    /// The address space of the process (`ulimit -v`).
    AddressSpace,
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Limit::Machine => "on this machine",
            Limit::Group => "under the limit of the container",
            Limit::AddressSpace => "under the limit of the address space (ulimit -v)",
        })
    }
}

/// The memory available to this process; `None` if the system does not report it.
pub fn available_memory() -> Option<Available> {
    available_under(Path::new("/"))
}

/// A run that does not fit into the available memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DoesNotFit {
    /// The memory that the run needs.
    pub need: MemoryNeed,
    /// The memory that is available.
    pub available: Available,
}

impl std::error::Error for DoesNotFit {}

impl std::fmt::Display for DoesNotFit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let DoesNotFit { need, available } = self;
        let mut ways = Vec::new();
        if need.at_a_time > 1 && need.chain.saturating_add(need.draws) <= available.bytes {
            let fitting = ((available.bytes - need.draws) / need.chain.max(1)).max(1);
            ways.push(format!("{fitting} thread{}", if fitting == 1 { "" } else { "s" }));
        }
        if need.draws > available.bytes / 2 {
            ways.push("fewer draws, or draws stored in a folder".to_string());
        }
        ways.push(format!("a machine with {}", in_words(need.bytes())));
        write!(
            f,
            "memory: the run does not fit (given: about {} for {} chain{} at a time, {} for the \
             draws). Allowed: at most {}, which there is {}; so {}.",
            in_words(need.chain.saturating_mul(need.at_a_time)),
            need.at_a_time,
            if need.at_a_time == 1 { "" } else { "s" },
            in_words(need.draws),
            in_words(available.bytes),
            available.limit,
            ways.join(", or "),
        )
    }
}

/// An error if a run cannot fit. If the available memory is unknown, every run fits.
pub fn check_memory(need: MemoryNeed) -> Result<(), DoesNotFit> {
    match available_memory() {
        Some(available) if need.bytes() > available.bytes => Err(DoesNotFit { need, available }),
        _ => Ok(()),
    }
}

/// A number of bytes in readable units.
pub fn in_words(bytes: u64) -> String {
    match bytes as f64 {
        small if small < 1e6 => format!("{:.0} kB", (small / 1e3).ceil()),
        middle if middle < 1e9 => format!("{:.0} MB", (middle / 1e6).ceil()),
        large => format!("{:.1} GB", large / 1e9),
    }
}

/// The same for the system whose files are below `root`.
fn available_under(root: &Path) -> Option<Available> {
    let found = [
        (machine(root), Limit::Machine),
        (group(root), Limit::Group),
        (address_space(root), Limit::AddressSpace),
    ];
    let found =
        found.into_iter().filter_map(|(bytes, limit)| Some(Available { bytes: bytes?, limit }));
    found.min_by_key(|available| available.bytes)
}

fn read(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// The number after `key` in a text of lines.
fn number(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with(key))?;
    line[key.len()..].split_whitespace().find_map(|word| word.parse().ok())
}

fn machine(root: &Path) -> Option<u64> {
    let kilobytes = number(&read(&root.join("proc/meminfo"))?, "MemAvailable:")?;
    kilobytes.checked_mul(1024)
}

/// The minimum over the groups of the process and their enclosing groups.
fn group(root: &Path) -> Option<u64> {
    let own = read(&root.join("proc/self/cgroup"))?;
    let left = own.lines().filter_map(|line| {
        // number:controllers:path; version 2 has no controllers.
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let (mount, files) = if controllers.is_empty() {
            ("sys/fs/cgroup", VERSION_2)
        } else if controllers.split(',').any(|controller| controller == "memory") {
            ("sys/fs/cgroup/memory", VERSION_1)
        } else {
            return None;
        };
        let mount = root.join(mount);
        // In a container the path may be that of the host, of which only the end is visible.
        let groups = Path::new(path)
            .ancestors()
            .map(|group| mount.join(group.strip_prefix("/").unwrap_or(group)));
        groups.filter_map(|group| left_in(&group, files)).min()
    });
    left.min()
}

/// The files of a group: its limit, its usage, and the names of the page cache in its statistics.
type Files = [&'static str; 4];

const VERSION_2: Files = ["memory.max", "memory.current", "inactive_file ", "active_file "];
const VERSION_1: Files = [
    "memory.limit_in_bytes",
    "memory.usage_in_bytes",
    "total_inactive_file ",
    "total_active_file ",
];

/// The memory left in one group, if it has a limit. The page cache is reclaimable and counts as
/// free.
fn left_in(group: &Path, [limit, used, inactive, active]: Files) -> Option<u64> {
    let limit: u64 = read(&group.join(limit))?.trim().parse().ok()?;
    let used: u64 = read(&group.join(used))?.trim().parse().ok()?;
    let statistics = read(&group.join("memory.stat")).unwrap_or_default();
    let cached = [inactive, active].iter().filter_map(|key| number(&statistics, key)).sum::<u64>();
    Some(limit.saturating_sub(used.saturating_sub(cached)))
}

fn address_space(root: &Path) -> Option<u64> {
    const PAGE: u64 = 4096;
    let limit = number(&read(&root.join("proc/self/limits"))?, "Max address space")?;
    let pages: u64 =
        read(&root.join("proc/self/statm"))?.split_whitespace().next()?.parse().ok()?;
    Some(limit.saturating_sub(pages.saturating_mul(PAGE)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fake system with these files.
    fn system(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        root
    }

    fn found(files: &[(&str, &str)]) -> Option<(u64, Limit)> {
        available_under(system(files).path()).map(|Available { bytes, limit }| (bytes, limit))
    }

    const MACHINE: (&str, &str) =
        ("proc/meminfo", "MemTotal:       24000 kB\nMemAvailable:    9000 kB\n");
    const MEGABYTE: u64 = 1024 * 1024;

    #[test]
    fn a_machine_without_limits_has_what_it_has() {
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[MACHINE]), Some((9000 * 1024, Limit::Machine)));
        let unlimited = [
            MACHINE,
            ("proc/self/cgroup", "0::/user.slice\n"),
            ("sys/fs/cgroup/user.slice/memory.max", "max\n"),
            ("sys/fs/cgroup/user.slice/memory.current", "1\n"),
            ("proc/self/limits", "Max address space  unlimited  unlimited  bytes\n"),
            ("proc/self/statm", "100 1 1\n"),
        ];
        assert_eq!(found(&unlimited), Some((9000 * 1024, Limit::Machine)));
    }

    /// Enclosing groups count, and the page cache does not.
    #[test]
    fn groups_of_version_2_limit() {
        let files = [
            MACHINE,
            ("proc/self/cgroup", "0::/job/step\n"),
            ("sys/fs/cgroup/job/step/memory.max", "max\n"),
            ("sys/fs/cgroup/job/step/memory.current", "1000\n"),
            ("sys/fs/cgroup/job/memory.max", "6291456\n"),
            ("sys/fs/cgroup/job/memory.current", "3145728\n"),
            ("sys/fs/cgroup/job/memory.stat", "anon 5\ninactive_file 1000000\nactive_file 48576\n"),
        ];
        assert_eq!(found(&files), Some((3 * MEGABYTE + 1_048_576, Limit::Group)));
    }

    /// In a container the path is that of the host, and the files are at the root.
    #[test]
    fn groups_of_version_1_limit() {
        let files = [
            MACHINE,
            ("proc/self/cgroup", "5:cpu,cpuacct:/docker/1f\n4:memory:/docker/1f\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "4194304\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "2097152\n"),
            ("sys/fs/cgroup/memory/memory.stat", "cache 9\ntotal_inactive_file 1048576\n"),
        ];
        assert_eq!(found(&files), Some((3 * MEGABYTE, Limit::Group)));
    }

    #[test]
    fn the_address_space_limits() {
        let files = [
            MACHINE,
            (
                "proc/self/limits",
                "Limit   Soft Limit   Hard Limit   Units\nMax address space         8388608              unlimited            bytes     \n",
            ),
            ("proc/self/statm", "1024 20 3\n"),
        ];
        assert_eq!(found(&files), Some((4 * MEGABYTE, Limit::AddressSpace)));
        let spent = [MACHINE, files[1], ("proc/self/statm", "9999 20 3\n")];
        assert_eq!(found(&spent), Some((0, Limit::AddressSpace)));
    }

    #[test]
    fn a_refusal_says_what_would_fit() {
        const GIGABYTE: u64 = 1_000_000_000;
        let need = MemoryNeed { chain: GIGABYTE, at_a_time: 4, draws: GIGABYTE / 10 };
        let available = Available { bytes: 5 * GIGABYTE / 2, limit: Limit::Group };
        assert_eq!(
            DoesNotFit { need, available }.to_string(),
            "memory: the run does not fit (given: about 4.0 GB for 4 chains at a time, 100 MB for \
             the draws). Allowed: at most 2.5 GB, which there is under the limit of the container; \
             so 2 threads, or a machine with 4.1 GB."
        );
        let need = MemoryNeed { chain: 1, at_a_time: 1, draws: 3 * GIGABYTE };
        let said = DoesNotFit { need, available }.to_string();
        assert!(
            said.ends_with(
                "so fewer draws, or draws stored in a folder, or a machine with 3.0 GB."
            ),
            "{said}"
        );
        let small = MemoryNeed { chain: 1, at_a_time: 1, draws: 1 };
        assert_eq!(check_memory(small), Ok(()));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_machine_says() {
        assert!(available_memory().is_some_and(|available| available.bytes > MEGABYTE));
    }
}
