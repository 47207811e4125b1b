//! Tests files of matrices: writing, adding, and every kind of malformed file.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use common::{plan::Order, testing::unwrapped};
use matrix_sum::file;

const PROGRAM: &str = env!("CARGO_BIN_EXE_matrix-sum");

/// Returns an empty folder for a test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn run(args: &[&str], path: &Path) -> Output {
    Command::new(PROGRAM).args(args).arg(path).output().unwrap()
}

/// Returns the error of a command that fails. Standard error is a pipe, so lines have at most 100
/// columns.
fn refused(args: &[&str], path: &Path) -> String {
    let output = run(args, path);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(output.stdout.is_empty(), "{said}");
    assert_eq!(said.matches("error:").count(), 1, "{said}");
    assert!(said.lines().all(|line| line.chars().count() <= 100), "{said}");
    unwrapped(&said).replace(&path.display().to_string(), "FILE")
}

/// Returns the four sums that a command prints.
fn sums(args: &[&str], path: &Path) -> Vec<f64> {
    let output = run(&[&["sum", "--device", "simt"], args].concat(), path);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().filter_map(|line| line.trim().strip_prefix("sum "));
    lines.map(|line| line.split_whitespace().nth(1).unwrap().parse().unwrap()).collect()
}

/// The messages contain the arguments, so long arguments make long messages.
#[test]
fn long_arguments_are_wrapped() {
    let path = folder("arguments").join("a file of many words ".repeat(10));
    let long = "a value of many words ".repeat(12);
    refused(&["sum"], &path);
    for words in [
        &["generate", "--matrices", &long][..],
        &["generate", "--order", &long],
        &["sum", "--way", &long],
        &["sum", "--device", &long],
        &["measure", "--volume", &long, "--out"],
        &["measure", "--nosuch"],
        &[&long],
    ] {
        refused(words, &path);
    }
}

#[test]
fn both_orders_hold_the_same_matrices() {
    let folder = folder("orders");
    for count in [0usize, 1, 31, 1025] {
        let read = |order| {
            let path = folder.join(format!("{order:?}"));
            file::generate(&path, order, count as u64, 7).unwrap();
            let read = file::read(&path).unwrap();
            assert_eq!((read.order, read.values.len()), (order, 4 * count));
            read.values
        };
        let (row, column) = (read(Order::Row), read(Order::Column));
        for (at, value) in column.iter().enumerate() {
            assert_eq!(*value, row[4 * (at % count) + at / count]);
        }
    }
    assert_eq!(fs::read_dir(folder).unwrap().count(), 2, "nothing else is left there");
}

#[test]
fn every_way_has_the_four_sums_of_a_file() {
    let folder = folder("sums");
    for (name, order) in [("row", Order::Row), ("column", Order::Column)] {
        for count in [0, 1, 1023, 1025, 2500] {
            let path = folder.join(format!("{name}-{count}"));
            file::generate(&path, order, count, 7).unwrap();
            let values = file::read(&path).unwrap().values;
            let mut exact = [0.0; 4];
            for (at, value) in values.iter().enumerate() {
                let entry = if name == "row" { at % 4 } else { at / count as usize };
                exact[entry] += f64::from(*value);
            }
            let ways = ["naive", "compressed", "banks", "first", "unrolled", "wide", "one-pass"];
            let ways = ways.map(|way| vec!["--way", way]);
            let before = [vec!["--pad"], vec!["--pre-reduce"]];
            for args in ways.into_iter().chain(before) {
                if args == ["--pre-reduce"] && (1..1024).contains(&count) {
                    continue;
                }
                for (sum, exact) in sums(&args, &path).into_iter().zip(exact) {
                    assert!((sum - exact).abs() < 1e-4, "{args:?} {name} {count}: {sum}, {exact}");
                }
            }
        }
    }
}

#[test]
fn pieces_give_the_sums_of_the_whole() {
    let folder = folder("pieces");
    for (name, order) in [("row", Order::Row), ("column", Order::Column)] {
        for count in [0, 1, 31, 33, 2500] {
            let path = folder.join(format!("{name}-{count}"));
            file::generate(&path, order, count, 7).unwrap();
            let whole = sums(&[], &path);
            // A piece has at most 32, 64 or 1024 matrices, or all of them.
            for volume in ["1024", "2049", "32768", "2^20"] {
                for (sum, whole) in sums(&["--volume", volume], &path).into_iter().zip(&whole) {
                    assert!((sum - whole).abs() < 1e-4, "{volume} {name} {count}: {sum}, {whole}");
                }
            }
        }
    }
}

#[test]
fn the_cpu_may_finish() {
    let folder = folder("threshold");
    for (name, order) in [("row", Order::Row), ("column", Order::Column)] {
        for count in [0, 1, 33, 2500] {
            let path = folder.join(format!("{name}-{count}"));
            file::generate(&path, order, count, 7).unwrap();
            let whole = sums(&[], &path);
            // A block of the version `first` reduces 512 matrices to one.
            let blocks = if count <= 5 { count } else { count.div_ceil(512) };
            for (threshold, left) in [("1", 1.min(count)), ("5", blocks), ("2^20", count)] {
                let args =
                    ["sum", "--device", "simt", "--way", "first", "--cpu-threshold", threshold];
                let text = String::from_utf8(run(&args, &path).stdout).unwrap();
                let line = format!("by the CPU, which added the last {left} matrices");
                assert!(text.contains(&line), "{threshold}, {count}: {text}");
                for (sum, whole) in sums(&args[3..], &path).into_iter().zip(&whole) {
                    assert!(
                        (sum - whole).abs() < 1e-4,
                        "{threshold} {name} {count}: {sum}, {whole}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_bad_volume_is_an_error() {
    let folder = folder("volume");
    let path = folder.join("file");
    file::generate(&path, Order::Row, 100, 7).unwrap();
    let said = |volume| refused(&["sum", "--device", "simt", "--volume", volume], &path);
    for volume in ["0", "1", "1023"] {
        let text = said(volume);
        assert!(text.contains(&format!("is {volume} bytes, but two pieces of 32")), "{text}");
    }
    // A number that is not finite is found in its piece, but the error gives the number's index in
    // the file.
    for order in [Order::Row, Order::Column] {
        file::generate(&path, order, 100, 7).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        let at = if order == Order::Row { 4 * 70 + 2 } else { 2 * 100 + 70 };
        bytes[16 + 4 * at..][..4].copy_from_slice(&f32::INFINITY.to_le_bytes());
        fs::write(&path, bytes).unwrap();
        let text = said("1024");
        assert!(text.contains("FILE holds inf, entry 2 of matrix 70"), "{text}");
    }
}

#[test]
fn a_bad_file_is_an_error() {
    let folder = folder("bad");
    let path = folder.join("file");
    file::generate(&path, Order::Row, 10, 7).unwrap();
    let good = fs::read(&path).unwrap();
    let said = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        refused(&["sum", "--device", "simt"], &path)
    };
    let mut odd = good.clone();
    odd.truncate(good.len() - 3);
    let mut magic = good.clone();
    magic[7] = b'2';
    let mut many = good.clone();
    many[8..16].fill(0xff);
    let mut nan = good.clone();
    nan[16 + 4 * 6..][..4].copy_from_slice(&f32::NAN.to_le_bytes());
    let mut large = good.clone();
    large[16..].chunks_exact_mut(4).for_each(|v| v.copy_from_slice(&3e38f32.to_le_bytes()));
    for (bytes, why) in [
        (&b""[..], "FILE is empty: write it with `matrix-sum generate`"),
        (&good[..9], "FILE has 9 bytes, but the header alone has 16: it was truncated"),
        (&good[..good.len() - 16], "FILE declares 10 matrices but has 9: it was truncated"),
        (&odd, "declares 10 matrices but has 9 and 13 bytes of another: it was truncated"),
        (&[&good[..], &[0; 16]].concat(), "declares 10 matrices but has 11: data was appended"),
        (&magic, "FILE starts with `2x2 row2`, but a file of matrices starts with `2x2 row1`"),
        (&many, "declares 18446744073709551615 matrices but has 10"),
        (&nan, "FILE holds NaN, entry 2 of matrix 1: only finite numbers can be added"),
        (&large, "the magnitudes add up to 1.200e40, but the largest f32 is 3.403e38"),
    ] {
        let said = said(bytes);
        assert!(said.contains(why), "{said}");
    }
    let said = refused(&["sum", "--device", "simt"], &folder);
    assert!(said.contains("FILE is a folder: name a file"), "{said}");
    let said = refused(&["generate"], &folder);
    assert!(said.contains("FILE is a folder: name a file"), "{said}");
    let said = refused(&["sum", "--device", "simt"], &folder.join("none"));
    assert!(said.contains("reading FILE: No such file"), "{said}");
    file::generate(&path, Order::Row, 10, 7).unwrap();
    let said = refused(&["sum", "--device", "simt", "--way", "best"], &path);
    assert!(
        said.contains("`best` is not a version for --way: choose naive, compressed, banks"),
        "{said}"
    );
    let said = refused(&["sum", "--device", "simt", "--pre-reduce"], &path);
    assert!(said.contains("but the file has 10: choose `--pad`"), "{said}");
}

#[cfg(unix)]
#[test]
fn a_pipe_is_neither_read_nor_replaced() {
    let pipe = folder("pipe").join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let said = refused(&["sum", "--device", "simt"], &pipe);
    assert!(
        said.contains("FILE is not a regular file: copy its contents to a regular file"),
        "{said}"
    );
    let said = refused(&["generate", "--matrices", "1"], &pipe);
    assert!(said.contains("FILE exists and is not a regular file: name another"), "{said}");
    assert!(!pipe.is_file(), "the pipe is still one");
}

/// Like a full disk, a limit on the file size makes a write fail.
#[cfg(unix)]
#[test]
fn a_full_disk_leaves_no_half_file() {
    let folder = folder("full");
    let path = folder.join("file");
    let generate = || {
        let script = "trap '' XFSZ; ulimit -f 64; exec \"$0\" generate --matrices 2^20 \"$1\"";
        Command::new("bash").args(["-c", script, PROGRAM]).arg(&path).output().unwrap()
    };
    for before in [None, Some(b"what was there")] {
        if let Some(text) = before {
            fs::write(&path, text).unwrap();
        }
        let output = generate();
        let said = unwrapped(&String::from_utf8(output.stderr).unwrap());
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("writing 16777232 bytes to "), "{said}");
        assert!(said.contains("none of which were kept: File too large"), "{said}");
        let kept: Vec<_> = fs::read_dir(&folder).unwrap().collect();
        assert_eq!(kept.len(), usize::from(before.is_some()), "{kept:?}");
        assert_eq!(fs::read(&path).ok(), before.map(|text| text.to_vec()));
    }
}

/// If the disk lacks space, the error comes before anything is written, because writing would take
/// hours.
#[cfg(target_os = "linux")]
#[test]
fn space_on_the_disk_is_reserved_first() {
    let folder = folder("room");
    let started = std::time::Instant::now();
    let said = refused(&["generate", "--matrices", "2^44"], &folder.join("file"));
    assert!(
        said.contains("writing 281474976710672 bytes to FILE, none of which were kept"),
        "{said}"
    );
    assert!(started.elapsed().as_secs() < 10);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "nothing is left there");
}

#[cfg(unix)]
#[test]
fn an_interrupt_leaves_no_part_of_a_file() {
    let folder = folder("interrupt");
    for signal in ["-INT", "-TERM"] {
        let args = ["generate", "--matrices", "2^26"];
        let mut child = Command::new(PROGRAM).args(args).arg(folder.join("file")).spawn().unwrap();
        // Once the file exists, the handler is installed.
        let part = folder.join("file.part");
        while fs::metadata(&part).map_or(true, |facts| facts.len() == 0) {
            assert!(child.try_wait().unwrap().is_none(), "it ended before it was interrupted");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        assert_eq!(child.wait().unwrap().code(), Some(130));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "{signal}");
    }
}

/// Block sizes that no kernel has are rejected, not ignored. The table names the kernel file for
/// each row.
#[test]
fn the_table_rejects_other_blocks_and_names_the_kernels() {
    let run = |args: &[&str]| {
        Command::new(PROGRAM).args(["--device", "simt", "--n", "33"]).args(args).output().unwrap()
    };
    let output = run(&["--threads", "64"]);
    let said = unwrapped(&String::from_utf8(output.stderr).unwrap());
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("blocks of 64 threads: choose a supported size (256, 512, 1024), or omit"),
        "{said}"
    );
    let table = unwrapped(&String::from_utf8(run(&[]).stdout).unwrap());
    let files = "in studies/matrix-sum/src: naive.cu: naive-row, naive-column; compressed.cu:";
    assert!(table.contains(files), "{table}");
    let help = String::from_utf8(run(&["--help"]).stdout).unwrap();
    assert!(!help.contains("--kernel"), "{help}");
}

/// The error suggests pieces, because a file cannot be summed with a smaller `--n`.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_does_not_fit_is_added_in_pieces() {
    let path = folder("memory").join("file");
    file::generate(&path, Order::Row, 1 << 20, 7).unwrap();
    let script = "ulimit -v 200000; exec \"$0\" sum --device simt \"$1\"";
    let output = Command::new("bash").args(["-c", script, PROGRAM]).arg(&path).output().unwrap();
    let said = unwrapped(&String::from_utf8_lossy(&output.stderr));
    assert!(!said.contains("--n`"), "{said}");
}
