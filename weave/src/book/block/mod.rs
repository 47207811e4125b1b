//! The output of directives: listings, consoles, tables, figures and numbers.

pub(crate) mod compilers;
pub(crate) mod console;
pub(crate) mod frame;
pub(crate) mod highlight;
pub(crate) mod history;
pub(crate) mod inflight;
pub(crate) mod listing;
pub(crate) mod live;
pub(crate) mod loaded;
pub(crate) mod loops;
pub(crate) mod number;
pub(crate) mod plot;
pub(crate) mod predicted;
pub(crate) mod probe;
pub(crate) mod profiled;
pub(crate) mod repeated;
pub(crate) mod ring;
pub(crate) mod rows;
pub(crate) mod scatter;
pub(crate) mod slider;
pub(crate) mod stepper;
pub(crate) mod table;
pub(crate) mod task;
pub(crate) mod timeline;
pub(crate) mod zoo;
