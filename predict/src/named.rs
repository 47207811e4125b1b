//! Finds the table of a GPU by the GPU's name, or in a folder that `ladder probe` has written.

use std::path::Path;

use crate::{
    error::Error,
    gpu::{Gpu, Table},
    sheet::Sheet,
};

/// The results of the probes on a GPU, and its loaded latency, each as the name and the text of a
/// file.
const H200: [(&str, &str); 2] = [
    ("h200", include_str!("../../results/probes/2026-11-24-nvidia-h200/probe.toml")),
    ("h200", include_str!("../../results/probes/2026-11-23-nvidia-h200/latency.csv")),
];

const H100: [(&str, &str); 2] = [
    ("h100", include_str!("../../results/probes/2026-11-26-nvidia-h100-80gb-hbm3/probe.toml")),
    ("h100", include_str!("../../results/probes/2026-11-26-nvidia-h100-80gb-hbm3/latency.csv")),
];

/// The errors of the predictions for the two GPUs with probes, and the errors for the same two GPUs
/// when the predictions use only their data sheets.
const ERRORS: [&str; 3] = [
    include_str!("../../results/predictions/h200.toml"),
    include_str!("../../results/predictions/h100.toml"),
    include_str!("../../results/predictions/sheets.toml"),
];

impl Gpu {
    /// The names of the GPUs that have a table, from probes or from data sheets.
    pub const NAMES: [&str; 6] = ["h200", "h100", "a100", "rtx4090", "b200", "orin"];

    /// Returns the GPU with this name, or the GPU whose probe results are in this folder.
    pub fn named(name: &str) -> Result<Gpu, Error> {
        match name.to_ascii_lowercase().as_str() {
            "h200" => Gpu::parse(H200)?.with_errors(ERRORS[0]),
            "h100" => Gpu::parse(H100)?.with_errors(ERRORS[1]),
            key => match Sheet::named(key) {
                Some(sheet) => sheet.gpu(Gpu::parse(H200)?).with_errors(ERRORS[2]),
                None => Gpu::probed(name),
            },
        }
    }

    /// Reads a folder that `ladder probe` has written. The predictions get the same error range as
    /// those for the H100, because the model uses only probes for the H100 too.
    fn probed(folder: &str) -> Result<Gpu, Error> {
        if !Path::new(folder).is_dir() {
            let (gpu, known) = (folder.to_owned(), Gpu::NAMES.join(", "));
            return Err(Error::Unknown { gpu, known });
        }
        let read = |file: &str| {
            let path = Path::new(folder).join(file).display().to_string();
            let text = std::fs::read_to_string(&path)
                .map_err(|why| Error::Unread { file: path.clone(), why: why.to_string() })?;
            Ok((path, text))
        };
        let (probes, load) = (read("probe.toml")?, read("latency.csv")?);
        Gpu::parse([(&probes.0, &probes.1), (&load.0, &load.1)])?.with_errors(ERRORS[1])
    }

    /// Adds the prediction errors that a validation measured.
    fn with_errors(mut self, text: &str) -> Result<Gpu, Error> {
        let table = Table { file: "the validation", text };
        self.errors = [table.number("small_us")?, table.number("large")?, table.number("ratio")?];
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_gpu_and_a_cut_table_are_sentences() {
        let said = Gpu::named("h300").unwrap_err().to_string();
        assert!(said.contains("no table for the GPU `h300`: choose one of h200, h100"), "{said}");
        let [(_, probes), (_, load)] = H200;
        let said = |probes: &str, load: &str| {
            let parsed = Gpu::parse([("my.toml", probes), ("my.csv", load)]);
            parsed.unwrap_err().to_string()
        };
        let line = &probes[..probes.find("first_load_cold").unwrap()];
        let expected = "the table of `my.toml` has no `dram_gb_per_s`: the file is truncated";
        assert!(said(line, load).contains(expected), "{}", said(line, load));
        // A truncated number is still a number.
        let number = &probes[..probes.rfind(" #").unwrap() - 2];
        let expected = "`my.toml` is truncated: it ends in `dram_gb_per_s = 46`";
        assert!(said(number, load).contains(expected), "{}", said(number, load));
        let rows: String = load.lines().take(6).map(|line| format!("{line}\n")).collect();
        let expected = "`my.csv` has no `row with a throughput near the memory bandwidth`";
        assert!(said(probes, &rows).contains(expected), "{}", said(probes, &rows));
        for (key, bad) in [("mhz", "fast"), ("sms", "0"), ("sms", "-3"), ("sms", "1e9")] {
            let now = probes.lines().find(|line| line.starts_with(key)).unwrap();
            let odd = said(&probes.replace(now, &format!("{key} = {bad}")), load);
            assert!(odd.contains("or not a positive number"), "{odd}");
        }
        let odd = format!("{probes}capability = new\n");
        assert!(said(&odd, load).contains("`capability = new`"), "{}", said(&odd, load));
        let odd = load.replace("675.4", "-1");
        assert!(said(probes, &odd).contains("a row of"), "{}", said(probes, &odd));
        assert!(said(probes, "a,b\n1,2\n").contains("`my.csv` has no `gb_per_s`"));
    }

    #[test]
    fn a_table_has_the_limits_of_its_gpu() {
        let [(_, probes), load] = H200;
        let ada = format!("{probes}capability = 89\nsm_threads = 1536\nsm_blocks = 24\n");
        let gpu = Gpu::parse([("my.toml", &ada), load]).unwrap();
        assert_eq!((gpu.capability, gpu.limits.threads, gpu.limits.blocks), (89, 1536, 24));
        assert_eq!((gpu.limits.cluster, gpu.limits.registers), (1, 65536));
    }

    #[test]
    fn a_gpu_has_its_own_probes_or_its_own_data_sheet() {
        let [one, other, sheets @ ..] = Gpu::NAMES.map(|name| Gpu::named(name).unwrap());
        for (gpu, name) in [(&one, "NVIDIA H200"), (&other, "NVIDIA H100 80GB HBM3")] {
            assert_eq!((gpu.name.as_str(), gpu.source), (name, "probes"));
        }
        // Both are the same chip with different memory.
        assert_eq!(one.sms, other.sms);
        assert!((0.6..0.75).contains(&(other.dram / one.dram)), "{}", other.dram / one.dram);
        assert!(one.errors.iter().chain(&other.errors).all(|error| error.is_finite()));
        for gpu in sheets {
            assert_eq!(gpu.source, "its data sheet");
            // These are the errors for the H200 and for the H100, predicted from their data sheets
            // alone.
            assert!(gpu.errors[1] >= other.errors[1] && gpu.errors[1].is_finite(), "{}", gpu.name);
            assert!(gpu.loaded(0.99 * gpu.dram) > 2.0 * gpu.loaded(0.0), "{}", gpu.name);
            assert_eq!(gpu.limits.cluster > 1, gpu.capability >= 90, "{}", gpu.name);
        }
    }
}
