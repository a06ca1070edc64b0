//! A list of random numbers read as choices: dependent values of any depth from one flat strategy,
//! which shrinks by itself (fewer and smaller numbers are simpler worlds).

use proptest::prelude::*;

/// The choices of one test case; past the end every choice is the first.
#[derive(Debug)]
pub struct Choices {
    numbers: Vec<u32>,
    at: usize,
}

impl Choices {
    pub fn new(numbers: Vec<u32>) -> Choices {
        Choices { numbers, at: 0 }
    }

    /// A number below `count`.
    pub fn below(&mut self, count: usize) -> usize {
        let number = self.numbers.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        number as usize % count.max(1)
    }

    /// `true` once in `count` times; never once the numbers are used up.
    pub fn one_in(&mut self, count: usize) -> bool {
        self.below(count) + 1 == count
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    pub fn is_used_up(&self) -> bool {
        self.at >= self.numbers.len()
    }
}

/// The numbers that a case is made of.
pub fn numbers(most: usize) -> impl Strategy<Value = Vec<u32>> {
    proptest::collection::vec(0_u32..10_000, 0..most)
}
