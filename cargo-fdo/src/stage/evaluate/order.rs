//! In which order the variants of a round run.
//!
//! A machine drifts: it gets warm, a disk fills, a neighbour wakes up. If the same variant always
//! ran first, or always after the same other one, that would be in its figures. So the rounds are
//! the rows of a Williams design (E. J. Williams, "Experimental designs balanced for the estimation
//! of residual effects of treatments", 1949): over `2 n` rounds every variant stands at every
//! place equally often, and follows every other one equally often.

/// The order of round `round` (from 0) for `count` variants, by their indices.
pub(super) fn of_round(round: usize, count: usize) -> Vec<usize> {
    if count == 0 {
        return Vec::new();
    }
    let shift = round % count;
    // 0, 1, n-1, 2, n-2, …: neighbours differ by every amount once.
    let mut order: Vec<usize> = (0..count)
        .map(|at| match at % 2 {
            1 => at.div_ceil(2),
            _ => (count - at / 2) % count,
        })
        .map(|start| (start + shift) % count)
        .collect();
    // With an odd number one square can't be balanced; its mirror makes up for it.
    if (round / count) % 2 == 1 {
        order.reverse();
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn places_and_predecessors_are_balanced() {
        for count in 2..=7 {
            let (mut places, mut pairs) = (BTreeMap::new(), BTreeMap::new());
            for round in 0..2 * count {
                let order = of_round(round, count);
                for (place, &variant) in order.iter().enumerate() {
                    *places.entry((place, variant)).or_insert(0) += 1;
                }
                for pair in order.windows(2) {
                    *pairs.entry((pair[0], pair[1])).or_insert(0) += 1;
                }
            }
            assert_eq!(places.len(), count * count);
            assert!(
                places.values().all(|&times| times == 2),
                "{count}: {places:?}"
            );
            assert_eq!(pairs.len(), count * (count - 1), "{count}: {pairs:?}");
            assert!(
                pairs.values().all(|&times| times == 2),
                "{count}: {pairs:?}"
            );
        }
    }

    #[test]
    fn one_or_none() {
        assert_eq!(of_round(3, 1), [0]);
        assert!(of_round(0, 0).is_empty());
    }
}
