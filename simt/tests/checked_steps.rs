//! Runs every step with every type, block size and special size under all three schedules, with all
//! checks on.

use crate::common::{Device, ELEMENTS, STEPS, Step};
use simt::{Module, Schedule};

const BLOCKS: [u32; 5] = [64, 128, 256, 512, 1024];
const SIZES: [usize; 14] =
    [0, 1, 31, 32, 33, 63, 64, 65, 255, 256, 257, 1023, 1025, (1 << 14) + 13];

/// Checks that the sum is correct, and that there are no findings.
fn sums(step: &Step, schedules: &[Schedule]) {
    for element in ELEMENTS {
        let module = Module::parse(&step.ptx(element)).unwrap();
        for &schedule in schedules {
            let mut device = Device::new(schedule);
            for n in SIZES {
                let (bytes, values) = element.input(n);
                let input = device.put(&bytes);
                let expected = values.iter().sum::<i64>() as f64;
                for block in BLOCKS {
                    let what = format!("{} {element:?} {schedule} n {n} block {block}", step.name);
                    let sum = step.sum(&mut device, &module, element, block, input, n);
                    let sum = sum.unwrap_or_else(|e| panic!("{what}: {e}"));
                    assert_eq!(sum, expected, "{what}");
                    assert!(device.findings().is_empty(), "{what}: {}", device.said());
                }
                device.gpu.free(input).unwrap();
            }
        }
    }
}

macro_rules! steps {
    ($($name:ident $index:literal)+) => {
        $(#[test]
        fn $name() {
            sums(&STEPS[$index], &[Schedule::Converged, Schedule::MinPc, Schedule::Adversarial(42)]);
        })+
    };
}

steps!(v0 0 v1 1 v2 2 v3 3 v4 4 v5 5 v6 6);

/// One, two and five worker threads give the same bits, counts and findings.
#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    for step in STEPS {
        let element = crate::common::Element::F32;
        let module = Module::parse(&step.ptx(element)).unwrap();
        let outcomes: Vec<_> = [1, 2, 5]
            .map(|threads| {
                let mut device = Device::with(|c| c.threads = threads);
                let mut watch = simt::counting(simt::Counters::default());
                // Sums of these numbers are rounded, so another order of additions would change the
                // bits.
                let n = 100_003;
                let bytes: Vec<u8> =
                    (0..n).flat_map(|i| (1.0f32 / (i + 1) as f32).to_le_bytes()).collect();
                let input = device.put(&bytes);
                let sum = step.sum(&mut device, &module, element, 128, input, n).unwrap();
                let room = device.room(4 * n);
                let args =
                    vec![simt::Arg::U64(input), simt::Arg::U64(room), simt::Arg::U64(n as u64)];
                let entry = step.entry(128);
                let launch = crate::common::launch(&entry, 391, 128, 512, args);
                device.gpu.launch_watched(&module, &launch, Some(&mut watch)).unwrap();
                let counters = simt::counted(watch);
                (sum.to_bits(), format!("{counters:?}"), device.said())
            })
            .into();
        assert_eq!(outcomes[0], outcomes[1], "{}", step.name);
        assert_eq!(outcomes[0], outcomes[2], "{}", step.name);
    }
}
