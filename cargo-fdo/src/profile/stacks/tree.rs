//! Distinct stacks with their counts, as a tree: stacks that begin alike share their beginning.

use rustc_hash::FxHashMap;

/// One level of a stack, before it has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Frame {
    /// The thread, by the number of its name.
    Thread(u32),
    /// The callers from here on are not known.
    Truncated,
    /// Code of a file, by the file's number and the offset in it: of the instruction that ran, or
    /// of the last byte of the call.
    Code {
        /// Number in [`Files`](super::files::Files).
        file: u32,
        /// Bytes from its beginning.
        offset: u64,
    },
    /// Code of the kernel or a module of it.
    Kernel(u64),
    /// Code that no file holds.
    Unknown,
    /// Code of a program in a virtual machine.
    Guest,
}

/// All stacks of a recording. Memory goes with the distinct ones.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// Frames by number.
    frames: Vec<Frame>,
    numbers: FxHashMap<Frame, u32>,
    nodes: Vec<Node>,
    /// Nodes by parent and frame; parents are numbered from 1, 0 is the outside.
    children: FxHashMap<(u32, u32), u32>,
}

#[derive(Debug, Clone, Copy)]
struct Node {
    /// 0 for an outermost one, else one more than the index.
    parent: u32,
    frame: u32,
    count: u64,
}

impl Tree {
    /// Counts a stack, outermost frame first.
    pub(super) fn add(&mut self, stack: impl Iterator<Item = Frame>) {
        let mut parent = 0;
        for frame in stack {
            let next = u32::try_from(self.frames.len()).unwrap_or(u32::MAX);
            let number = *self.numbers.entry(frame).or_insert(next);
            if number == next {
                self.frames.push(frame);
            }
            let (frame, nodes) = (number, &mut self.nodes);
            parent = *self.children.entry((parent, frame)).or_insert_with(|| {
                nodes.push(Node {
                    parent,
                    frame,
                    count: 0,
                });
                // Four thousand million distinct callers are more memory than there is.
                u32::try_from(nodes.len()).unwrap_or(u32::MAX)
            });
        }
        if let Some(node) = self.node(parent) {
            let node = node as usize;
            self.nodes[node].count += 1;
        }
    }

    /// The index of a node that has a number.
    fn node(&self, number: u32) -> Option<u32> {
        number
            .checked_sub(1)
            .filter(|&at| (at as usize) < self.nodes.len())
    }

    /// All distinct frames, by number.
    pub(super) fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// Samples in which each frame is, by the frame's number, recursion counted each time.
    pub(super) fn weights(&self) -> Vec<u64> {
        let mut below: Vec<u64> = self.nodes.iter().map(|node| node.count).collect();
        let mut weights = vec![0; self.frames.len()];
        // Children come after their parents.
        for at in (0..self.nodes.len()).rev() {
            let node = self.nodes[at];
            weights[node.frame as usize] += below[at];
            if let Some(parent) = self.node(node.parent) {
                below[parent as usize] += below[at];
            }
        }
        weights
    }

    /// Calls `visit` with each stack, as numbers of frames, outermost first, and its count.
    pub(super) fn stacks(&self, mut visit: impl FnMut(&[u32], u64)) {
        let mut stack = Vec::new();
        for (at, node) in self.nodes.iter().enumerate() {
            if node.count == 0 {
                continue;
            }
            stack.clear();
            let mut next = Some(at);
            while let Some(at) = next {
                stack.push(self.nodes[at].frame);
                next = self.node(self.nodes[at].parent).map(|at| at as usize);
            }
            stack.reverse();
            visit(&stack, node.count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_are_counted_and_share_their_beginnings() {
        let mut tree = Tree::default();
        let code = |offset| Frame::Code { file: 0, offset };
        let (a, b, c) = (code(1), code(2), code(3));
        for stack in [&[a, b][..], &[a, b], &[a], &[a, c, a]] {
            tree.add(stack.iter().copied());
        }
        assert_eq!((tree.nodes.len(), tree.frames.len()), (4, 3));
        let mut found = Vec::new();
        tree.stacks(|stack, count| {
            let stack: Vec<Frame> = stack.iter().map(|&at| tree.frames()[at as usize]).collect();
            found.push((stack, count));
        });
        found.sort();
        assert_eq!(found, [(vec![a], 1), (vec![a, b], 2), (vec![a, c, a], 1)]);
        assert_eq!(tree.weights(), [5, 2, 1]);
    }

    #[test]
    fn no_stack_is_no_count() {
        let mut tree = Tree::default();
        tree.add(std::iter::empty());
        tree.stacks(|_, _| panic!("there is none"));
    }
}
