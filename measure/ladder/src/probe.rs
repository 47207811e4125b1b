//! Implements `ladder probe`: compiles the small programs in `peers/` that measure the parts of a
//! multiprocessor, runs them, and writes the table that `--predict` reads.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use clap::Args;
use common::{Error, Result, cli::Stop};
use predict::Gpu;

use crate::{date, options::progress};

/// The options of `ladder probe`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// The folder in which a folder for this day and GPU is created
    #[arg(long, value_name = "FOLDER", default_value = "results/probes")]
    pub out: PathBuf,
    /// NVIDIA's compiler
    #[arg(long, value_name = "PROGRAM", default_value = "nvcc")]
    pub nvcc: PathBuf,
}

/// The probe programs, and the files that they write.
const PROGRAMS: [(&str, &str, &str); 2] = [
    ("probe", include_str!("../peers/probe.cu"), "probe.toml"),
    ("latency", include_str!("../peers/latency.cu"), "latency.csv"),
];

/// Runs the probes, and writes their outputs.
pub fn run(options: &Options) -> Result<(), Stop> {
    let work = std::env::temp_dir().join(format!("ladder-probe-{}", std::process::id()));
    let made = probes(options, &work);
    // The folder with the compiled programs is no longer needed.
    let _ = fs::remove_dir_all(&work);
    let [probe, latency] = made?;
    let usage = |error: predict::Error| Error::Usage(error.to_string());
    let gpu =
        Gpu::parse([("the output of probe.cu", &probe), ("the output of latency.cu", &latency)])
            .map_err(usage)?;
    let name = gpu.name.to_ascii_lowercase().replace(' ', "-");
    let folder = options.out.join(format!("{}-{name}", date::now().0));
    create(&folder)?;
    for ((.., file), text) in PROGRAMS.iter().zip([probe, latency]) {
        write(&folder.join(file), &text)?;
    }
    println!(
        "wrote {}; `--predict {}` uses it\n{}: {} multiprocessors at {} MHz, {:.0} GB/s, {:.0} cycles for a load, {:.2} µs for a launch",
        folder.display(),
        folder.display(),
        gpu.name,
        gpu.sms,
        gpu.mhz,
        gpu.dram * gpu.mhz / 1000.0,
        gpu.load[0][1],
        gpu.launch[0],
    );
    Ok(())
}

/// Compiles and runs the programs in a folder, and returns their outputs.
fn probes(options: &Options, work: &Path) -> Result<[String; 2]> {
    create(work)?;
    let mut outputs = [String::new(), String::new()];
    for ((name, source, _), output) in PROGRAMS.iter().zip(&mut outputs) {
        let (text, program) = (work.join(format!("{name}.cu")), work.join(name));
        write(&text, source)?;
        progress(&format!("compiling {name}.cu"));
        let mut compile = Command::new(&options.nvcc);
        compile.args(["-std=c++17", "-O3", "-arch=native", "-o"]).arg(&program).arg(&text);
        output_of(&mut compile, &format!("compiling {name}.cu with {}", options.nvcc.display()))?;
        progress(&format!("running {name}.cu, which takes about a minute"));
        *output = output_of(&mut Command::new(&program), &format!("running {name}.cu"))?;
    }
    Ok(outputs)
}

fn create(folder: &Path) -> Result<()> {
    let doing = format!("creating {}", folder.display());
    fs::create_dir_all(folder).map_err(|source| Error::File { doing, source })
}

fn write(path: &Path, text: &str) -> Result<()> {
    let doing = format!("writing {}", path.display());
    fs::write(path, text).map_err(|source| Error::File { doing, source })
}

/// Runs a command, and returns its output.
fn output_of(command: &mut Command, doing: &str) -> Result<String> {
    let ran = command.output().map_err(|source| Error::File {
        doing: format!("{doing} (the CUDA toolkit has nvcc; `--nvcc` says where)"),
        source,
    })?;
    if ran.status.success() {
        return Ok(String::from_utf8_lossy(&ran.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&ran.stderr);
    let line = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("it says nothing");
    Err(Error::Usage(format!("{doing} failed ({}): {line}", ran.status)))
}
