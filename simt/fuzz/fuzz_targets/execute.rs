//! Mutates the PTX and the launches of real kernels. The result may be an error, a trap or a sum,
//! but never a panic or a hang.
#![no_main]

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use simt::observe::{Memory, Prints, Races, Sync, Trace};
use simt::{Arch, Arg, Config, Counters, Gpu, Launch, Module, Schedule};

/// Returns the PTX files to mutate: the steps, the corpus, the faults and the single instructions.
fn texts() -> &'static [String] {
    static TEXTS: OnceLock<Vec<String>> = OnceLock::new();
    TEXTS.get_or_init(|| {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let steps = here.join("../../steps");
        let mut folders: Vec<_> = fs::read_dir(steps).unwrap().map(|e| e.unwrap().path().join("src")).collect();
        folders.extend(["../tests/corpus/ptx", "../tests/faults", "../tests/ptx"].map(|f| here.join(f)));
        let files = folders.iter().flat_map(|f| fs::read_dir(f).unwrap().map(|e| e.unwrap().path()));
        let mut files: Vec<_> = files.filter(|f| f.extension().is_some_and(|e| e == "ptx")).collect();
        files.sort();
        files.iter().map(|f| fs::read_to_string(f).unwrap()).collect()
    })
}

/// Input that is consumed byte by byte. After its end, all bytes are zeros.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn byte(&mut self) -> u8 {
        let [first, rest @ ..] = self.0 else { return 0 };
        self.0 = rest;
        *first
    }

    fn word(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }

    fn below(&mut self, n: usize) -> usize {
        usize::from(self.word()) % n.max(1)
    }
}

/// Splits a line into operands, opcodes, and the text between them.
fn tokens(line: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let word = |c: char| c.is_ascii_alphanumeric() || "%$_.".contains(c);
        let end = if word(c) { rest.find(|c| !word(c)).unwrap_or(rest.len()) } else { c.len_utf8() };
        let (token, left) = rest.split_at(end);
        out.push(token);
        rest = left;
    }
    out
}

const NUMBERS: [&str; 16] = [
    "0", "1", "-1", "31", "32", "33", "0xffffffff", "0x7fffffff", "0x80000000", "4294967296", "0f7FC00000",
    "0d7FF0000000000000", "0xffff", "2", "128", "18446744073709551615",
];

fn mutate(text: &str, input: &mut Bytes<'_>) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..input.byte() % 8 {
        let at = input.below(lines.len());
        match input.byte() % 8 {
            0 => {
                lines.remove(at);
            }
            1 => {
                let other = input.below(lines.len());
                lines.swap(at, other);
            }
            2 => {
                let line = lines[input.below(lines.len())].clone();
                lines.insert(at, line);
            }
            // Replace a token of this line with a token from another line.
            3..=5 => {
                let other = lines[input.below(lines.len())].clone();
                let line = lines[at].clone();
                let (mut mine, theirs) = (tokens(&line), tokens(&other));
                if mine.is_empty() || theirs.is_empty() {
                    continue;
                }
                let i = input.below(mine.len());
                mine[i] = theirs[input.below(theirs.len())];
                lines[at] = mine.concat();
            }
            6 => {
                let line = lines[at].clone();
                let mut mine = tokens(&line);
                if let Some(i) = (0..mine.len()).cycle().skip(input.below(mine.len())).take(mine.len()).find(|&i| mine[i].starts_with(|c: char| c.is_ascii_digit())) {
                    mine[i] = NUMBERS[input.below(NUMBERS.len())];
                }
                lines[at] = mine.concat();
            }
            // Add or remove a modifier of an opcode.
            _ => {
                let line = lines[at].clone();
                let mut mine: Vec<String> = tokens(&line).into_iter().map(str::to_owned).collect();
                if let Some(opcode) = mine.iter_mut().find(|t| t.contains('.') && !t.starts_with(['.', '%'])) {
                    let mut parts: Vec<&str> = opcode.split('.').collect();
                    let i = 1 + input.below(parts.len() - 1);
                    if input.byte() % 2 == 0 {
                        parts.remove(i);
                    } else {
                        const MORE: [&str; 12] = ["f32", "s64", "u16", "b128", "v4", "ftz", "sat", "shared", "local", "acq_rel", "sync", "wide"];
                        parts.insert(i, MORE[input.below(MORE.len())]);
                    }
                    *opcode = parts.join(".");
                }
                lines[at] = mine.concat();
            }
        }
        if lines.is_empty() {
            break;
        }
    }
    lines.join("\n")
}

fuzz_target!(|data: &[u8]| {
    let mut input = Bytes(data);
    let texts = texts();
    let text = mutate(&texts[input.below(texts.len())], &mut input);
    let Ok(module) = Module::parse(&text) else { return };
    let mut config = Config::default();
    config.schedule = match input.byte() % 4 {
        0 | 1 => Schedule::Converged,
        2 => Schedule::MinPc,
        _ => Schedule::Adversarial(input.byte().into()),
    };
    // The newest architecture runs PTX for every target.
    config.play(Arch::ALL[Arch::ALL.len() - 1]);
    config.budget = 1 << 14;
    config.block_budget = 1 << 13;
    config.memory = 1 << 24;
    config.threads = 1;
    let mut gpu = Gpu::with(config);
    // After the end of the input, `Bytes` returns zeros, so zeros must select a valid launch.
    let n = u64::from(input.word() % 2048) ^ 200;
    let (Ok(a), Ok(b), Ok(c)) = (gpu.alloc(8192), gpu.alloc(8192), gpu.alloc(4096)) else { return };
    let bytes: Vec<u8> = (0..8192).map(|i| (i * 7) as u8 & 0x3f).collect();
    gpu.write(a, &bytes[usize::from(input.word() % 8192)..]).unwrap();
    if input.byte() % 8 == 1 {
        gpu.free(b).unwrap();
    }
    let entries: Vec<String> = module.entries().map(str::to_owned).collect();
    let Some(entry) = entries.get(input.below(entries.len())) else { return };
    let mut args = vec![Arg::U64(a), Arg::U64(b), Arg::U64(n), Arg::U64(c)];
    match input.byte() % 8 {
        4 => args[2] = Arg::U32(n as u32),
        1 => args[usize::from(input.byte() % 4)] = Arg::U64(u64::from(input.word()) << (input.byte() % 64)),
        2 => args.insert(3, Arg::Bytes(vec![1; usize::from(input.byte())])),
        _ => {}
    }
    let size = |x: u16| match x {
        0..0x8000 => [64, 128, 32, 96, 256][usize::from(x % 5)],
        _ => u32::from(x % 1100),
    };
    let grid = [(1 + u32::from(input.byte() % 7)) % 7, 1 + u32::from(input.byte() / 128), 1];
    let block = [size(input.word()), 1 + u32::from(input.byte() / 128), 1];
    let cluster = [1 + u32::from(input.byte() % 4), 1, 1];
    let shared = 4096u32.wrapping_sub(input.word().into()) % 65536;
    let mut observer = ((Memory::new(), Races::new(), Sync::new()), (Counters::default(), Trace::new(1), Prints::new()));
    // Try every possible number of arguments, because one of these numbers is correct.
    for count in (0..=args.len()).rev() {
        let launch = Launch { entry, grid, block, cluster, shared, args: args[..count].to_vec() };
        let outcome = gpu.launch(&module, &launch, &mut observer);
        if !matches!(outcome, Err(simt::Error::Launch(_))) {
            break;
        }
    }
    let ((memory, races, sync), (_, trace, prints)) = &observer;
    for finding in memory.findings().iter().chain(races.findings()).chain(sync.findings()) {
        assert!(!finding.to_string().is_empty());
    }
    assert!(prints.printed().iter().all(|printed| !printed.to_string().is_empty()));
    let _ = memory.unwritten(a, 8192);
    let _ = trace.to_json();
});
