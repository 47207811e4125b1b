//! Why a command of the ladder stops, as the harness says it.

use common::{DRIVER, Error, cli::Stop};

/// Without a GPU there are no times: one sentence, with the way out.
pub(crate) fn needs_a_gpu(command: &str) -> impl Fn(Error) -> Stop {
    let command = command.to_owned();
    move |error| match error {
        Error::NoDriver | Error::NoGpu => {
            let why = match error {
                Error::NoDriver => {
                    &format!("there is no NVIDIA driver here ({DRIVER} cannot be loaded)")
                }
                _ => "no GPU was found or asked for",
            };
            Error::Usage(format!(
                "`ladder {command}` times kernels on a GPU, and {why}: carry `cargo x bundle` to a machine that has one, or count without one by `ladder --device simt`"
            ))
            .into()
        }
        error => error.into(),
    }
}

/// A fault of a results file, as the harness reports errors.
pub(crate) fn file(error: measured::Error) -> Stop {
    Error::Usage(error.to_string()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_gpu_it_is_said_why() {
        for (error, why) in [
            (
                Error::NoDriver,
                format!("there is no NVIDIA driver here ({DRIVER} cannot be loaded)"),
            ),
            (Error::NoGpu, "no GPU was found or asked for".to_owned()),
        ] {
            let Stop::Error(Error::Usage(said)) = needs_a_gpu("compare")(error) else {
                panic!("{why}")
            };
            assert!(said.contains("`ladder compare`") && said.contains(&why), "{said}");
        }
    }
}
