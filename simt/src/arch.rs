//! The limits that the simulated GPU imposes on launches.

use std::fmt;
use std::str::FromStr;

/// Limits of an architecture, and the number of multiprocessors of one GPU with this architecture.
///
/// Registers do not limit a launch, because an assembler allocates them and the interpreter has no
/// assembler. Only the bounds that a kernel declares (`.maxnreg`, `__launch_bounds__`) are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Arch {
    /// Name of the architecture, for example `sm_90`.
    pub name: &'static str,
    /// Name of a GPU of this architecture, which has `sms` multiprocessors.
    pub gpu: &'static str,
    /// Number of multiprocessors of that GPU.
    pub sms: u32,
    /// Maximum number of threads per block.
    pub threads_per_block: u32,
    /// Maximum number of threads that a multiprocessor holds.
    pub threads_per_sm: u32,
    /// Maximum number of blocks that a multiprocessor holds.
    pub blocks_per_sm: u32,
    /// Bytes of static shared memory per block.
    pub static_shared: u32,
    /// Bytes of shared memory per block, static and dynamic.
    pub shared_per_block: u32,
    /// Bytes of shared memory per multiprocessor, including the 1 KiB that the system reserves for
    /// each block.
    pub shared_per_sm: u32,
    /// Registers per thread.
    pub registers_per_thread: u32,
    /// Number of registers per block; a multiprocessor has the same number.
    pub registers_per_block: u32,
    /// Number of blocks in the largest cluster; 1 if clusters are not supported.
    pub cluster: u32,
}

const KIB: u32 = 1 << 10;

/// The architecture of the V100.
const SM_70: Arch = Arch {
    name: "sm_70",
    gpu: "V100",
    sms: 80,
    threads_per_block: 1024,
    threads_per_sm: 2048,
    blocks_per_sm: 32,
    static_shared: 48 * KIB,
    shared_per_block: 96 * KIB,
    shared_per_sm: 96 * KIB,
    registers_per_thread: 255,
    registers_per_block: 1 << 16,
    cluster: 1,
};

impl Arch {
    /// The architectures that can be simulated. Each entry represents a group of similar
    /// architectures.
    pub const ALL: [Arch; 4] = [
        SM_70,
        Arch {
            name: "sm_86",
            gpu: "RTX 3060",
            sms: 28,
            threads_per_sm: 1536,
            blocks_per_sm: 16,
            shared_per_block: 99 * KIB,
            shared_per_sm: 100 * KIB,
            ..SM_70
        },
        Arch {
            name: "sm_90",
            gpu: "H200",
            sms: 132,
            shared_per_block: 227 * KIB,
            shared_per_sm: 228 * KIB,
            cluster: 16,
            ..SM_70
        },
        Arch {
            name: "sm_120",
            gpu: "RTX 5090",
            sms: 170,
            threads_per_sm: 1536,
            blocks_per_sm: 24,
            shared_per_block: 99 * KIB,
            shared_per_sm: 100 * KIB,
            cluster: 8,
            ..SM_70
        },
    ];

    /// Returns the number in the name, such as 90 for `sm_90`.
    pub fn number(&self) -> u32 {
        number(self.name).unwrap_or(0)
    }

    /// Returns the name of the GPU with its article, such as `an H200` or `a V100`.
    pub fn a_gpu(&self) -> String {
        // The letters whose names begin with a vowel.
        let article = if self.gpu.starts_with(['A', 'H', 'L', 'R']) { "an" } else { "a" };
        format!("{article} {}", self.gpu)
    }

    /// Returns the same architecture with another number of multiprocessors.
    pub fn with_sms(self, sms: u32) -> Arch {
        Arch { sms, ..self }
    }

    /// Returns the number of blocks that fit on a multiprocessor if registers are not the limiting
    /// factor; each block has this many threads and bytes of shared memory. The result is at least
    /// 1.
    pub fn resident(&self, threads: u32, shared: u32) -> u32 {
        let own = 1 << 10;
        let by_threads = self.threads_per_sm / threads.max(1).next_multiple_of(32);
        let by_shared = self.shared_per_sm / (shared + own);
        self.blocks_per_sm.min(by_threads).min(by_shared.max(1)).max(1)
    }

    /// Returns the allocation unit of a block's shared memory, in bytes.
    pub(crate) fn shared_unit(&self) -> u32 {
        if self.number() < 80 { 256 } else { 128 }
    }

    /// Returns the oldest architecture that runs PTX for a target such as `sm_60` or `sm_90a`.
    pub fn that_runs(target: &str) -> Option<Arch> {
        let needs = number(target)?;
        Arch::ALL.into_iter().find(|arch| arch.number() >= needs)
    }

    /// Returns whether this architecture runs PTX for a target.
    pub(crate) fn runs(&self, target: &str) -> bool {
        number(target).is_none_or(|needs| needs <= self.number())
    }
}

/// Returns the number in the name of a target, such as 90 for `sm_90a`.
pub(crate) fn number(name: &str) -> Option<u32> {
    name.strip_prefix("sm_")?.trim_end_matches(['a', 'f']).parse().ok()
}

impl Default for Arch {
    fn default() -> Arch {
        Arch::ALL[2]
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl FromStr for Arch {
    type Err = String;

    /// Parses `sm_86`, or `sm_86:20` for 20 multiprocessors.
    fn from_str(text: &str) -> Result<Arch, String> {
        let (name, sms) = match text.split_once(':') {
            Some((name, sms)) => (name, Some(sms)),
            None => (text, None),
        };
        let Some(mut arch) = Arch::ALL.into_iter().find(|arch| arch.name == name) else {
            let names = Arch::ALL.map(|arch| format!("{} ({})", arch.name, arch.gpu)).join(", ");
            return Err(format!("cannot simulate the GPU `{name}`: choose {names}"));
        };
        if let Some(sms) = sms {
            arch.sms = match sms.parse() {
                Ok(sms @ 1..=65536) => sms,
                _ => {
                    return Err(format!(
                        "`{sms}` is not a number of multiprocessors: give a whole number from 1 to 65536, for example {name}:{}",
                        arch.sms
                    ));
                }
            };
        }
        Ok(arch)
    }
}

#[cfg(test)]
mod tests {
    use super::Arch;

    #[test]
    fn a_gpu_has_its_article() {
        let all = Arch::ALL.map(|arch| arch.a_gpu());
        for gpu in ["a V100", "an H200", "an RTX 5090"] {
            assert!(all.iter().any(|said| said == gpu), "{all:?}");
        }
    }
}
