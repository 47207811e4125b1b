//! Loads arbitrary bytes as PTX. The result must be a module, or an error with its position.
#![no_main]

use libfuzzer_sys::fuzz_target;
use simt::Module;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let missing = Module::missing(&text);
    match Module::parse(&text) {
        Ok(module) => {
            let refused: Vec<_> = module.refused().flat_map(|(_, errors)| errors).cloned().collect();
            assert_eq!(missing, refused, "`missing` lists the errors of the refused entries");
            assert!(module.entries().all(|e| module.kernel(e).is_some()));
        }
        Err(error) => {
            assert_eq!(missing.first(), Some(&error));
            assert!(error.line as usize <= text.lines().count() + 1, "{error}");
        }
    }
});
