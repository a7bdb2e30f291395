//! "did you mean": the known name that a mistyped one is nearest to.

/// `; did you mean `weight`?`, or nothing if no known name is near.
pub(crate) fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    match nearest(name, known) {
        Some(known) => format!("; did you mean `{known}`?"),
        None => String::new(),
    }
}

/// The nearest known name, the first of equally near ones.
fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    // One slip in three letters, as rustc has it: more than that is another word.
    let limit = name.chars().count().max(3) / 3;
    known
        .into_iter()
        .map(|known| {
            // Swapped letters are one slip.
            let distance = strsim::osa_distance(&name, &known.to_lowercase());
            (distance, known)
        })
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_offered_and_far_ones_are_not() {
        let known = ["weight", "c-compiler", "run", "env"];
        assert_eq!(nearest("wieght", known), Some("weight"));
        assert_eq!(nearest("c_compiler", known), Some("c-compiler"));
        assert_eq!(nearest("Run", known), Some("run"));
        assert_eq!(nearest("cwd", known), None);
        assert_eq!(nearest("", known), None);
        assert_eq!(nearest("weight", []), None);
    }
}
