//! How often each basic block ran, estimated from samples without branch stacks.
//!
//! A block of *n* instructions that ran *x* times gets about *n·x* samples (in units of an
//! instruction's time). Samples divided by instructions estimate *x*, but badly: short blocks get
//! few samples, one slow load gets many, and an interrupt is often taken some instructions late.
//! Control flow knows better: a block runs as often as it is entered, and is entered as often as
//! the blocks before it leave towards it.
//!
//! So: each edge gets a flow, first by the samples at its ends. Then, again and again, each block's
//! count becomes the mean of what its own samples say, weighted by its instructions, and of what
//! its edges say, weighted by [`TRUST`], and its edges are scaled to that count (iterative
//! proportional fitting). Edges into the function, out of it, and through tables of jumps, whose
//! other ends are not known, take what is left over.
//!
//! Compilers infer flow from a profile too (LLVM's *profi*, GCC's `afdo_propagate`). They can't
//! know how many instructions a position had, and they see only the largest count or the sum of a
//! line.

use super::dwarf::Code;
use super::image::Image;
use super::instructions::{self, Flow, Instruction};
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

/// Counts are executions in units of so many samples an instruction, to be whole numbers.
const SCALE: f64 = 64.0;

/// How many instructions' samples weigh as much as what the flow says.
const TRUST: f64 = 64.0;

/// Rounds of fitting. Blocks without samples lose at least a fifth of what flows into them in each
/// (one of an instruction); ten to twenty rounds settle the rest.
const ROUNDS: usize = 32;

/// Bytes of an average instruction, where instructions are not known.
const AVERAGE: u64 = 4;

/// The basic blocks of a function.
#[derive(Debug, Default)]
struct Graph {
    blocks: Vec<Block>,
    /// From block, to block; [`Graph::OPEN`] for an end that isn't known.
    edges: Vec<(usize, usize)>,
}

#[derive(Debug)]
struct Block {
    code: Range<u64>,
    instructions: u64,
}

/// What is estimated of a function.
#[derive(Debug, Default)]
pub(super) struct Estimate {
    /// Code and how often it ran, in order of address, not overlapping.
    pub(super) blocks: Vec<(Range<u64>, u64)>,
    /// How often it was entered.
    pub(super) entered: u64,
}

/// Estimates how often the blocks of a function ran; `samples` counts samples in a range.
pub(super) fn estimate(
    image: &Image<'_>,
    code: &Code,
    samples: impl Fn(&Range<u64>) -> u64,
) -> Estimate {
    let graph = Graph::of(image, code);
    let weights: Vec<f64> = graph
        .blocks
        .iter()
        .map(|block| samples(&block.code) as f64)
        .collect();
    let (counts, flows) = graph.fit(&weights);
    let scaled = |count: f64| (count * SCALE).round() as u64;
    let entry = graph
        .blocks
        .iter()
        .position(|block| block.code.start == code.entry);
    let entered = graph
        .edges
        .iter()
        .zip(&flows)
        .filter(|((from, to), _)| *from == Graph::OPEN && Some(*to) == entry)
        .map(|(_, flow)| *flow)
        .sum();
    let mut blocks: Vec<_> = graph
        .blocks
        .into_iter()
        .zip(counts)
        .map(|(block, count)| (block.code, scaled(count)))
        .collect();
    blocks.sort_by_key(|(code, _)| code.start);
    Estimate {
        blocks,
        entered: scaled(entered),
    }
}

impl Graph {
    const OPEN: usize = usize::MAX;

    fn of(image: &Image<'_>, code: &Code) -> Graph {
        let mut graph = Graph::default();
        // The last instruction of each block.
        let mut ends: Vec<Option<Instruction>> = Vec::new();
        let mut decoded = Vec::new();
        let mut leaders = BTreeSet::from([code.entry]);
        for range in &code.ranges {
            let bytes = image.code(range.start, range.end - range.start);
            let Some(instructions) = instructions::decode(image.machine, bytes, range.start) else {
                return Graph::without_flow(code);
            };
            for instruction in &instructions {
                let next = instruction.address + instruction.length;
                match instruction.flow {
                    Flow::Branch(to) | Flow::Jump(Some(to)) => leaders.extend([to, next]),
                    Flow::Jump(None) | Flow::End => _ = leaders.insert(next),
                    Flow::Next | Flow::Call(_) => {}
                }
            }
            decoded.push((range, instructions));
        }
        for (range, instructions) in decoded {
            let mut begin = range.start;
            let mut count = 0;
            for (index, instruction) in instructions.iter().enumerate() {
                let next = instruction.address + instruction.length;
                count += 1;
                if leaders.contains(&next) || index + 1 == instructions.len() {
                    graph.blocks.push(Block {
                        code: begin..next,
                        instructions: count,
                    });
                    ends.push(Some(*instruction));
                    (begin, count) = (next, 0);
                }
            }
            // Data, or what isn't an instruction.
            if begin < range.end {
                graph.blocks.push(Block {
                    code: begin..range.end,
                    instructions: (range.end - begin).div_ceil(AVERAGE),
                });
                ends.push(None);
            }
        }
        graph.connect(code.entry, &ends);
        graph
    }

    fn without_flow(code: &Code) -> Graph {
        let stretches = code.stretches.iter();
        let blocks = stretches.map(|stretch| Block {
            code: stretch.code.clone(),
            instructions: (stretch.code.end - stretch.code.start).div_ceil(AVERAGE),
        });
        Graph {
            blocks: blocks.collect(),
            edges: Vec::new(),
        }
    }

    fn connect(&mut self, entry: u64, ends: &[Option<Instruction>]) {
        let by_start: HashMap<u64, usize> = self
            .blocks
            .iter()
            .enumerate()
            .map(|(index, block)| (block.code.start, index))
            .collect();
        let at = |address: u64| by_start.get(&address).copied().unwrap_or(Graph::OPEN);
        let mut entered = vec![false; self.blocks.len()];
        for (index, (block, end)) in self.blocks.iter().zip(ends).enumerate() {
            let next = at(block.code.end);
            let targets = match end.map(|end| end.flow) {
                Some(Flow::Next | Flow::Call(_)) => [Some(next), None],
                Some(Flow::Branch(to)) => [Some(next), Some(at(to))],
                Some(Flow::Jump(Some(to))) => [Some(at(to)), None],
                Some(Flow::Jump(None) | Flow::End) | None => [Some(Graph::OPEN), None],
            };
            for to in targets.into_iter().flatten() {
                self.edges.push((index, to));
                if let Some(entered) = entered.get_mut(to) {
                    *entered = true;
                }
            }
        }
        for (index, block) in self.blocks.iter().enumerate() {
            if block.code.start == entry || !entered[index] {
                self.edges.push((Graph::OPEN, index));
            }
        }
    }

    /// Executions of each block, in samples an instruction, and flow of each edge.
    fn fit(&self, samples: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let size = |block: usize| self.blocks[block].instructions.max(1) as f64;
        let mut counts: Vec<f64> = (0..self.blocks.len())
            .map(|block| samples[block] / size(block))
            .collect();
        let mut into = vec![Vec::new(); counts.len()];
        let mut out = vec![Vec::new(); counts.len()];
        for (edge, &(from, to)) in self.edges.iter().enumerate() {
            if let Some(out) = out.get_mut(from) {
                out.push(edge);
            }
            if let Some(into) = into.get_mut(to) {
                into.push(edge);
            }
        }
        let share = |block: usize, edges: &[Vec<usize>]| {
            let edges = edges.get(block)?.len().max(1);
            Some(counts[block] / edges as f64)
        };
        let mut flows: Vec<f64> = self
            .edges
            .iter()
            .map(|&(from, to)| match (share(from, &out), share(to, &into)) {
                (Some(from), Some(to)) => (from + to) / 2.0,
                (one, other) => one.or(other).unwrap_or(0.0),
            })
            .collect();
        for round in 0..ROUNDS {
            for index in 0..counts.len() {
                // Forth and back, so that flow spreads both ways equally fast.
                let block = if round % 2 == 0 {
                    index
                } else {
                    counts.len() - 1 - index
                };
                let sum = |edges: &[usize], flows: &[f64]| -> f64 {
                    edges.iter().map(|&edge| flows[edge]).sum()
                };
                let (mut said, mut trust) = (0.0, 0.0);
                for edges in [&into[block], &out[block]] {
                    if !edges.is_empty() {
                        said += sum(edges, &flows) * TRUST / 2.0;
                        trust += TRUST / 2.0;
                    }
                }
                let count = (samples[block] + said) / (size(block) + trust);
                counts[block] = count;
                for edges in [&into[block], &out[block]] {
                    let flow = sum(edges, &flows);
                    for &edge in edges {
                        flows[edge] = if flow > 0.0 {
                            flows[edge] * count / flow
                        } else {
                            count / edges.len() as f64
                        };
                    }
                }
            }
        }
        (counts, flows)
    }
}
