//! `--sweep PARAMETER=VALUES`.

/// A parameter and the values that it gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sweep {
    /// Its name.
    pub parameter: String,
    /// At least two, each once.
    pub values: Vec<String>,
}

impl std::str::FromStr for Sweep {
    type Err = String;

    fn from_str(text: &str) -> Result<Sweep, String> {
        const FORM: &str = "must be PARAMETER=VALUE,VALUE… or PARAMETER=FIRST..LAST";
        let (parameter, values) = text.split_once('=').ok_or(FORM)?;
        let parameter = parameter.trim();
        if parameter.is_empty() {
            return Err(FORM.into());
        }
        let values = match values.split_once("..") {
            Some((first, last)) if !values.contains(',') => doubled(first, last).ok_or(
                "FIRST..LAST must be whole numbers, from 1 up, the first less than the last",
            )?,
            _ => values
                .split(',')
                .map(|value| value.trim().to_owned())
                .collect(),
        };
        if values.iter().any(String::is_empty) || values.len() < 2 {
            return Err(format!("{FORM}, with two values or more"));
        }
        for (at, value) in values.iter().enumerate() {
            if values[..at].contains(value) {
                return Err(format!("has `{value}` twice"));
            }
        }
        Ok(Sweep {
            parameter: parameter.to_owned(),
            values,
        })
    }
}

/// The first, twice that and so on, and the last.
fn doubled(first: &str, last: &str) -> Option<Vec<String>> {
    let (first, last): (u64, u64) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    if first == 0 || first >= last {
        return None;
    }
    let steps = std::iter::successors(Some(first), |value| value.checked_mul(2));
    let mut values: Vec<u64> = steps.take_while(|value| *value < last).collect();
    values.push(last);
    Some(values.iter().map(u64::to_string).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_ranges_are_read() {
        let values = |text: &str| text.parse::<Sweep>().map(|sweep| sweep.values.join(" "));
        assert_eq!(values("users=1,2, 8").unwrap(), "1 2 8");
        assert_eq!(values("policy=lru,clock").unwrap(), "lru clock");
        assert_eq!(values("data=../a,../b").unwrap(), "../a ../b");
        assert_eq!(values("users=1..16").unwrap(), "1 2 4 8 16");
        assert_eq!(values("users=3..20").unwrap(), "3 6 12 20");
        for wrong in [
            "users",
            "users=",
            "users=1",
            "=1,2",
            "users=1,,2",
            "users=1,1",
            "u=0..4",
            "u=4..4",
            "u=a..b",
        ] {
            assert!(values(wrong).is_err(), "{wrong}");
        }
    }
}
