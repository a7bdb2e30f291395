//! Sizes of files and buffers in words.

/// A number of bytes from a number with K, M or G behind it, powers of 1024 as perf takes them:
/// `512M`, `4 GiB`. `None` for anything else, a bare number too: nobody means bytes.
pub fn bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    let number: u64 = text[..end].parse().ok()?;
    let shift = match text[end..].trim_start() {
        "K" | "KB" | "KiB" => 10,
        "M" | "MB" | "MiB" => 20,
        "G" | "GB" | "GiB" => 30,
        _ => return None,
    };
    number.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn a_size_has_a_unit() {
        assert_eq!(bytes("512M"), Some(512 << 20));
        assert_eq!(bytes("4 GiB"), Some(4 << 30));
        for bad in ["4", "M", "", "1.5G", "-1M", "99999999999999G", "4T"] {
            assert_eq!(bytes(bad), None, "{bad}");
        }
    }
}
