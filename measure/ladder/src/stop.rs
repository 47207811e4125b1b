//! Converts errors from the ladder's commands to those of the harness.

use common::{DRIVER, Error, cli::Stop};

/// Returns the error of a command that needs a GPU: one sentence, with the remedy.
pub(crate) fn needs_a_gpu(command: &str) -> impl Fn(Error) -> Stop {
    let command = command.to_owned();
    move |error| match error {
        Error::NoDriver | Error::NoGpu | Error::Interpreter => {
            let why = match error {
                Error::NoDriver => {
                    &format!("this machine has no NVIDIA driver ({DRIVER} cannot be loaded)")
                }
                Error::Interpreter => "the interpreter is the device that was requested",
                _ => "the driver finds no GPU",
            };
            Error::Usage(format!(
                "`ladder {command}` times kernels on a GPU, but {why}: copy the output of `cargo x bundle` to a machine that has one, or count without one with `ladder --device simt`"
            ))
            .into()
        }
        error => error.into(),
    }
}

/// Converts an error from a results file to an error of the harness.
pub(crate) fn file(error: measured::Error) -> Stop {
    Error::Usage(error.to_string()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_gpu_the_error_gives_the_reason() {
        for (error, why) in [
            (
                Error::NoDriver,
                format!("this machine has no NVIDIA driver ({DRIVER} cannot be loaded)"),
            ),
            (Error::NoGpu, "the driver finds no GPU".to_owned()),
            (Error::Interpreter, "the interpreter is the device".to_owned()),
        ] {
            let Stop::Error(Error::Usage(said)) = needs_a_gpu("compare")(error) else {
                panic!("{why}")
            };
            assert!(said.contains("`ladder compare`") && said.contains(&why), "{said}");
        }
    }
}
