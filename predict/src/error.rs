//! Reasons why there is no prediction.

/// The reason why there is no prediction.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The GPU has no table.
    #[error(
        "there is no table for the GPU `{gpu}`: choose one of {known}, or name a folder that `ladder probe` has written on that GPU"
    )]
    Unknown {
        /// The name that was given.
        gpu: String,
        /// The names of the GPUs that have a table.
        known: String,
    },
    /// A file with a table cannot be read.
    #[error("reading {file}: {why}; `ladder probe` writes this file")]
    Unread {
        /// The name of the file.
        file: String,
        /// The reason why the file cannot be read.
        why: String,
    },
    /// The kernel requires a newer GPU.
    #[error("{kernel} needs compute capability {}.{}, but {gpu} has {}.{}", needs / 10, needs % 10, has / 10, has % 10)]
    Newer {
        /// The name of the kernel.
        kernel: String,
        /// The compute capability that the kernel needs, times ten.
        needs: u32,
        /// The name of the GPU.
        gpu: String,
        /// The GPU's compute capability, times ten.
        has: u32,
    },
    /// The last line of a table is not complete.
    #[error("`{file}` is truncated: it ends in `{last}`; run `ladder probe` again")]
    Cut {
        /// The name of the file.
        file: String,
        /// The incomplete last line.
        last: String,
    },
    /// A table lacks an entry.
    #[error(
        "the table of `{file}` has no `{key}`: the file is truncated or damaged; run `ladder probe` again"
    )]
    Table {
        /// The name of the file that contains the table.
        file: String,
        /// The key of the missing entry.
        key: String,
    },
    /// An entry of a table is not a number.
    #[error(
        "the table of `{file}` has `{key} = {value}`, which is too large or not a positive number: run `ladder probe` again"
    )]
    Number {
        /// The name of the file that contains the table.
        file: String,
        /// The key of the entry.
        key: String,
        /// The value of the entry, as text.
        value: String,
    },
}
