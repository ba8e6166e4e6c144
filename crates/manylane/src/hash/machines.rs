//! What a function runs on.

use digest::Update as _;

use super::Algorithm;
use crate::{
    cpu::Machine,
    sha3::{self, Function, Sha3_256},
    sm3::{self, Sm3},
};

/// The machines that this library chooses for a function, as their kernels name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machines {
    /// For many messages, side by side.
    pub lanes: Machine,
    /// How many it takes at a time.
    pub lane_count: usize,
    /// For one stream.
    pub stream: Machine,
}

impl Algorithm {
    /// What the function runs on: found by letting it run, over a block.
    pub fn machines(self) -> Machines {
        let block = [0; super::MAX_BLOCK_LEN];
        match self {
            Algorithm::Sm3 => {
                let mut lanes = sm3::Lanes::new();
                let lane_count = lanes.count();
                let kernel = lanes.compress(&vec![&block[..sm3::BLOCK_LEN]; lane_count]);
                let mut stream = Sm3::default();
                stream.update(&block);
                let stream = stream.kernel().expect("it had whole blocks").machine();
                Machines { lanes: kernel.machine(), lane_count, stream }
            }
            // All have one permutation, and the same kernels.
            _ => {
                let function = Function::SHA3_256;
                let mut lanes = sha3::Lanes::new(function);
                let lane_count = lanes.count();
                let kernel = lanes.absorb(&vec![&block[..function.rate()]; lane_count]);
                let mut stream = Sha3_256::default();
                stream.update(&block);
                let stream = stream.kernel().expect("it had a whole block").machine();
                Machines { lanes: kernel.machine(), lane_count, stream }
            }
        }
    }
}
