// Compiled by the user's rustc, whatever its age: no newer syntax.
extern "C" {
    fn fdo_canary_c(n: u32) -> u32;
}

#[inline(never)]
#[no_mangle]
pub extern "C" fn fdo_canary_rust(n: u32) -> u32 {
    let mut s = 1u32;
    for i in 0..n {
        s = s.rotate_left(5) ^ i;
    }
    s
}

fn main() {
    // Nothing that a compiler could know.
    let n = 1000 * std::env::args().count() as u32;
    let same = fdo_canary_rust(n) == unsafe { fdo_canary_c(n) };
    println!("{}", if same { "same" } else { "different" });
}
