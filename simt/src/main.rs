//! Load check, for now.
fn main() {
    for f in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&f).unwrap();
        for e in simt::Module::missing(&text) {
            println!("{f}: {e}");
        }
    }
}
