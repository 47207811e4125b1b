//! Tests the answers that a page gets for the steps in its figure.

use page_time::{Answer, Filmed, Question, ask, run};
use serde_json::Value;
use steps::{STEPS, step};

fn question(name: &str) -> Question {
    let step = step(name).unwrap();
    let ptx = step.kernel.ptx(common::Element::F32).to_owned();
    Question { step: name.to_owned(), ptx, ..Question::default() }
}

fn film(question: &Question) -> Filmed {
    let Answer { stopped, film, .. } = run(question);
    assert_eq!(stopped, None);
    film.unwrap()
}

/// Returns the fraction of the time that warp slots spend in a state.
fn share(film: &Filmed, wanted: u32) -> f64 {
    let mut sum = 0;
    for lane in film.lanes.iter().flatten() {
        let pairs: Vec<&[u32]> = lane.states.chunks(2).collect();
        let mut now = 0;
        for (at, pair) in pairs.iter().enumerate() {
            now += pair[0];
            let next = pairs.get(at + 1).map_or(film.cycles - now, |next| next[0]);
            sum += if pair[1] % 16 == wanted { next } else { 0 };
        }
    }
    f64::from(sum) / 64.0 / f64::from(film.cycles)
}

const MEMORY: u32 = predict::State::Memory as u32;

#[test]
fn every_step_has_a_film() {
    for step in STEPS {
        let film = film(&question(step.name));
        let lanes: Vec<usize> = film.lanes.iter().map(Vec::len).collect();
        assert!(lanes.iter().all(|&lanes| lanes <= 16) && lanes.len() == 4, "{}", step.name);
        assert!(film.kib > 1.0 && film.rows.len() == 4, "{}: {}", step.name, film.words);
        // Every load has a line of the kernel.
        let of = |flight: &[u32; 8]| film.lines[flight[2] as usize];
        assert!(film.flights.iter().all(|flight| of(flight) > 0), "{}", step.name);
    }
}

#[test]
fn v7_has_more_in_flight_than_v6_and_v8_fills_the_bus() {
    let kib = |name| film(&question(name)).kib;
    let (v6, v7, v8) = (kib("v6-shuffle"), kib("v7-grid-stride"), kib("v8-wide-loads"));
    assert!(v7 > 1.15 * v6 && v8 > 1.15 * v7, "{v6} {v7} {v8}");
    let waits = |name| share(&film(&question(name)), MEMORY);
    assert!(waits("v7-grid-stride") > waits("v6-shuffle"));
}

#[test]
fn the_words_and_the_table_agree_with_the_bus() {
    for name in STEPS.map(|step| step.name).into_iter().chain(["v8-wide-loads/one-word"]) {
        for latency in [1.0, 4.0] {
            let film = film(&Question { latency: Some(latency), ..question(name) });
            let most = film.rate * f64::from(film.cycles) / 1024.0;
            assert!(film.kib <= most + 1e-6, "{name}: {} of {most} KiB", film.kib);
            let number = |cell: &String| cell.trim_end_matches(" %").parse::<f64>().unwrap();
            let kib: f64 = film.rows.iter().map(|row| number(&row[8])).sum();
            assert!((kib - film.kib).abs() < 0.3, "{name}: {kib} and {} KiB", film.kib);
            let said = format!("transfers {:.1} KiB, {:.0} %", film.kib, 100.0 * film.kib / most);
            assert!(film.words.contains(&said), "{name}: {said}: {}", film.words);
            // The parts of the slots' time are the whole, up to rounding.
            for row in &film.rows {
                let sum: f64 = row[2..7].iter().map(number).sum();
                assert!((98.0..=102.0).contains(&sum), "{name}: {row:?}");
            }
        }
    }
}

#[test]
fn the_caption_has_the_blocks_that_are_resident_at_the_same_time() {
    let one = film(&question("v8-wide-loads/one-word"));
    assert_eq!((one.resident, one.fits), (4, (8, "threads")));
    let said = "8 fit on the multiprocessor (limit: threads), and at most 4 are on it at a time";
    assert!(one.caption.contains(said), "{}", one.caption);
    let v6 = film(&question("v6-shuffle"));
    assert!(
        v6.resident == 8 && v6.blocks > 8 && v6.words.contains("A block starts"),
        "{}",
        v6.words
    );
}

#[test]
fn the_sliders_change_the_film() {
    let v7 = question("v7-grid-stride");
    let usual = film(&v7).kib;
    let slow = film(&Question { latency: Some(2.0), ..v7.clone() }).kib;
    let narrow = film(&Question { bandwidth: Some(0.25), ..v7.clone() }).kib;
    let few = film(&Question { sms: Some(66), ..v7.clone() }).kib;
    assert!(slow < 0.8 * usual && narrow < 0.6 * usual && few > usual, "{slow} {narrow} {few}");
    let small = film(&Question { threads: Some(64), ..v7 });
    assert_eq!((small.threads, small.resident), (64, 32));
}

#[test]
fn a_prediction_is_that_of_the_program_and_has_a_range_only_for_a_real_gpu() {
    let asked = Question { cycles: Some(0), n: Some(1 << 12), ..question("v3-first-add") };
    let answer = run(&asked);
    let predicted = answer.predicted.unwrap();
    assert!(answer.film.is_none() && (3.0..15.0).contains(&predicted.us), "{predicted:?}");
    let [least, most] = predicted.range.unwrap();
    assert!(least < predicted.us && predicted.us < most);
    let slow = run(&Question { latency: Some(2.0), ..asked }).predicted.unwrap();
    assert!(slow.us > predicted.us && slow.range.is_none());
}

#[test]
fn odd_questions_are_sentences() {
    let v7 = question("v7-grid-stride");
    let stopped = |question: &Question| run(question).stopped.unwrap_or_default();
    for (odd, said) in [
        (Question { sms: Some(0), ..v7.clone() }, "0 multiprocessors were requested"),
        (Question { latency: Some(f64::NAN), ..v7.clone() }, "NaN times the latency"),
        (Question { bandwidth: Some(0.0), ..v7.clone() }, "choose 0.1 to 8"),
        (Question { cycles: Some(1 << 20), ..v7.clone() }, "1048576 cycles"),
        (Question { n: Some(1 << 40), ..v7.clone() }, "elements were requested"),
        (Question { threads: Some(48), ..v7.clone() }, "48"),
        (Question { ptx: "what".into(), ..v7.clone() }, "this PTX"),
        (Question { step: "v99".into(), ..v7.clone() }, "v99"),
    ] {
        let text = stopped(&odd);
        assert!(text.contains(said), "{said}: {text}");
    }
    let endless = v7.ptx.replacen("ld.global", "$again:\nbra $again;\nld.global", 1);
    let text = stopped(&Question { ptx: endless, threads: Some(64), ..v7 });
    assert!(text.contains("interpreting"), "{text}");
    let none: Value = serde_json::from_str(&ask("{}}")).unwrap();
    assert!(none["stopped"].as_str().unwrap().contains("not a valid question"), "{none}");
}
