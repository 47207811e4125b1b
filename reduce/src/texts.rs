//! The PTX templates of the shapes. A template has placeholders for the instructions of an
//! operation, so one template for each shape and layout serves all types and operations.

/// The templates for elements and values of certain sizes.
#[derive(Debug)]
pub(crate) struct Texts {
    /// The size of an element in bytes.
    pub(crate) element: u32,
    /// The templates for a slice, one for each [`Family`](crate::Family).
    pub(crate) slices: [&'static str; 6],
    /// The templates for several GPUs, one for each [`Stage`](crate::stages::Stage).
    pub(crate) stages: [&'static str; 4],
    /// The templates for rows, one for each [`rows::Family`](crate::rows::Family).
    pub(crate) rows: [&'static str; 12],
    /// The templates for operations whose results do not depend on the order, one for each
    /// [`select::Family`](crate::select::Family).
    pub(crate) selections: [&'static str; 4],
    /// The template for columns.
    pub(crate) columns: &'static str,
    /// The templates for a queue of chunks, and for ragged rows.
    pub(crate) queue: [&'static str; 2],
    /// The template for means and variances of rows.
    pub(crate) moments: &'static str,
    /// The template for log-sum-exps of rows.
    pub(crate) log_sum_exp: &'static str,
    /// The templates for dot products of many chunks, and of all other shapes.
    pub(crate) products: [&'static str; 2],
}

/// Stands for the template of a kernel that does not exist. It is never loaded.
const NONE: &str = "";

macro_rules! text {
    ($layout:literal $shape:literal) => { text!($layout $shape 70) };
    ($layout:literal $shape:literal $architecture:literal) => {
        include_str!(concat!("ptx/", $layout, "_", $shape, ".", $architecture, ".ptx"))
    };
}

macro_rules! slices {
    ($layout:literal) => {
        [
            text!($layout "block_32"),
            text!($layout "block_256"),
            text!($layout "block_1024"),
            text!($layout "spread"),
            text!($layout "chunks"),
            text!($layout "across"),
        ]
    };
}

/// The templates of the stages. `$finish` is the layout of the values.
macro_rules! stages {
    ($layout:literal $finish:literal) => {
        [
            text!($layout "partials"),
            text!($finish "finish"),
            text!($layout "exchange"),
            text!($layout "elements"),
        ]
    };
}

/// The templates for rows. Elements smaller than four bytes have no ring, because an asynchronous
/// copy moves at least four bytes.
macro_rules! rows {
    ($layout:literal) => { rows!($layout, text!($layout "rows_spread_across")) };
    ($layout:literal ring) => { rows!($layout, text!($layout "rows_ring_across" 90)) };
    ($layout:literal, $ring:expr) => {
        [
            text!($layout "rows_short"),
            text!($layout "rows_short_across"),
            text!($layout "rows_lanes"),
            text!($layout "rows_lanes_across"),
            text!($layout "rows_block"),
            text!($layout "rows_block_across"),
            text!($layout "rows_spread"),
            text!($layout "rows_spread_across"),
            text!($layout "rows_chunks"),
            text!($layout "rows_chunks_across"),
            text!($layout "rows_long_across"),
            $ring,
        ]
    };
}

macro_rules! products {
    ($layout:literal) => {
        [text!($layout "dot_chunks"), text!($layout "dot_few")]
    };
}

macro_rules! selections {
    ($layout:literal) => {
        [
            text!($layout "arg_chunks"),
            text!($layout "arg_lanes"),
            text!($layout "extremes_chunks"),
            text!($layout "extremes_lanes"),
        ]
    };
}

/// Elements and values of four bytes.
pub(crate) static E4A4: Texts = Texts {
    element: 4,
    slices: slices!("e4a4"),
    stages: stages!("e4a4" "e4a4"),
    rows: rows!("e4a4" ring),
    selections: selections!("e4a4"),
    columns: text!("e4a4" "columns"),
    queue: [text!("e4a4" "queue"), text!("e4a4" "ragged")],
    moments: text!("e4a4" "moments"),
    log_sum_exp: text!("e4a4" "log_sum_exp"),
    products: products!("e4a4"),
};
/// Elements and values of eight bytes.
pub(crate) static E8A8: Texts = Texts {
    element: 8,
    slices: slices!("e8a8"),
    stages: stages!("e8a8" "e8a8"),
    rows: rows!("e8a8" ring),
    selections: selections!("e8a8"),
    columns: text!("e8a8" "columns"),
    queue: [text!("e8a8" "queue"), text!("e8a8" "ragged")],
    moments: text!("e8a8" "moments"),
    log_sum_exp: text!("e8a8" "log_sum_exp"),
    products: products!("e8a8"),
};
/// Elements of two bytes and values of four bytes.
pub(crate) static E2A4: Texts = Texts {
    element: 2,
    slices: slices!("e2a4"),
    stages: stages!("e2a4" "e4a4"),
    rows: rows!("e2a4"),
    selections: selections!("e2a4"),
    columns: text!("e2a4" "columns"),
    queue: [text!("e2a4" "queue"), text!("e2a4" "ragged")],
    moments: text!("e2a4" "moments"),
    log_sum_exp: text!("e2a4" "log_sum_exp"),
    products: products!("e2a4"),
};
/// Elements of two bytes that are combined in pairs, and values of four bytes.
pub(crate) static P2A4: Texts = Texts {
    element: 2,
    slices: slices!("p2a4"),
    stages: stages!("p2a4" "e4a4"),
    rows: [NONE; 12],
    selections: [NONE; 4],
    columns: NONE,
    queue: [NONE; 2],
    moments: NONE,
    log_sum_exp: NONE,
    products: [NONE; 2],
};
/// Elements of one byte and values of eight bytes.
pub(crate) static E1A8: Texts = Texts {
    element: 1,
    slices: slices!("e1a8"),
    stages: [NONE; 4],
    rows: rows!("e1a8"),
    selections: selections!("e1a8"),
    columns: text!("e1a8" "columns"),
    queue: [text!("e1a8" "queue"), text!("e1a8" "ragged")],
    moments: NONE,
    log_sum_exp: NONE,
    products: [NONE; 2],
};
/// Elements of two bytes and values of eight bytes.
pub(crate) static E2A8: Texts = Texts {
    element: 2,
    slices: slices!("e2a8"),
    stages: [NONE; 4],
    rows: rows!("e2a8"),
    selections: selections!("e2a8"),
    columns: text!("e2a8" "columns"),
    queue: [text!("e2a8" "queue"), text!("e2a8" "ragged")],
    moments: NONE,
    log_sum_exp: NONE,
    products: [NONE; 2],
};
/// Elements of four bytes and values of eight bytes.
pub(crate) static E4A8: Texts = Texts {
    element: 4,
    slices: slices!("e4a8"),
    stages: [NONE; 4],
    rows: rows!("e4a8" ring),
    selections: [NONE; 4],
    columns: text!("e4a8" "columns"),
    queue: [text!("e4a8" "queue"), text!("e4a8" "ragged")],
    moments: NONE,
    log_sum_exp: NONE,
    products: products!("e4a8"),
};
