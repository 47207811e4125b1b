//! All tests that judge kernels. They are in one program, so that it is linked once, and so that
//! short tests run beside the long ones.

mod attacks;
mod beginners;
mod fooled;
mod mutants;
mod newcomer;
mod program;
mod said;
mod solutions;
