//! All tests that need no GPU, except those of exact sums. These tests are in one program, because
//! each further program would compile the sums on the host again for its types.

mod bytes;
mod drawn;
mod machine;
mod play;
mod precise;

mod columns;
mod dot;
mod interpreted;
mod lists;
mod log_sum_exp;
mod moments;
mod operations;
mod order;
mod rows;
mod select;
mod values;
