//! The machine as published results describe it, from /proc and /sys (proc(5), sysfs(5)).
//!
//! Everything may be missing, in a container say: it is left out then.

use crate::comparison::facts::Machine;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Looks at this machine; `work` is the directory in which workloads run.
pub fn look(work: &Path) -> Machine {
    let cpuinfo = read("/proc/cpuinfo");
    let topology = topology();
    Machine {
        cpu: cpu_name(&cpuinfo),
        sockets: topology.map(|(sockets, _)| sockets),
        cores: topology.map(|(_, cores)| cores),
        threads: std::thread::available_parallelism().map_or(1, |n| n.get() as u32),
        caches: caches(),
        memory: meminfo("MemTotal:"),
        kernel: kernel(),
        governor: line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        disk: disk(work),
        virtual_machine: virtual_machine(&cpuinfo),
        load: read("/proc/loadavg")
            .split_ascii_whitespace()
            .next()
            .and_then(|load| load.parse().ok()),
    }
}

fn read(path: &str) -> String {
    std::fs::read(path)
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .unwrap_or_default()
}

fn line(path: impl AsRef<Path>) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn cpu_name(cpuinfo: &str) -> Option<String> {
    let of = |key: &str| {
        let line = cpuinfo.lines().find(|line| {
            line.split_once(':')
                .is_some_and(|(name, _)| name.trim() == key)
        })?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    // x86; then what boards with other processors say of themselves.
    of("model name")
        .or_else(|| of("Model"))
        .or_else(|| of("cpu"))
        .or_else(|| line("/sys/firmware/devicetree/base/model"))
}

/// Sockets and cores.
fn topology() -> Option<(u32, u32)> {
    let mut sockets = BTreeSet::new();
    let mut cores = BTreeSet::new();
    for cpu in std::fs::read_dir("/sys/devices/system/cpu").ok()?.flatten() {
        let topology = cpu.path().join("topology");
        let (Some(socket), Some(core)) = (
            line(topology.join("physical_package_id")),
            line(topology.join("core_id")),
        ) else {
            continue;
        };
        cores.insert((socket.clone(), core));
        sockets.insert(socket);
    }
    (!cores.is_empty()).then_some((sockets.len() as u32, cores.len() as u32))
}

fn caches() -> Vec<String> {
    let dir = "/sys/devices/system/cpu/cpu0/cache";
    let mut indices: Vec<PathBuf> = std::fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    indices.sort();
    indices
        .iter()
        .filter_map(|index| {
            let kind = match line(index.join("type"))?.as_str() {
                "Data" => "d",
                "Instruction" => "i",
                _ => "",
            };
            let (level, size) = (line(index.join("level"))?, line(index.join("size"))?);
            Some(format!("L{level}{kind} {size}"))
        })
        .collect()
}

/// A line of /proc/meminfo, in bytes.
pub(super) fn meminfo(key: &str) -> Option<u64> {
    let text = read("/proc/meminfo");
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    let kilobytes: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1024)
}

fn kernel() -> String {
    let of = |name: &str| line(format!("/proc/sys/kernel/{name}")).unwrap_or_default();
    format!("{} {}", of("ostype"), of("osrelease"))
}

/// Who runs this machine, as far as it says.
fn virtual_machine(cpuinfo: &str) -> Option<String> {
    let vendor = line("/sys/class/dmi/id/sys_vendor");
    let product = line("/sys/class/dmi/id/product_name");
    // The processor has this flag when a hypervisor answers `cpuid` for it.
    let is_virtual = cpuinfo.lines().any(|line| {
        line.starts_with("flags")
            && line
                .split_ascii_whitespace()
                .any(|flag| flag == "hypervisor")
    });
    let named: Vec<String> = vendor.into_iter().chain(product).collect();
    match (is_virtual, cpuinfo.contains("flags")) {
        (true, _) if named.is_empty() => Some("yes".into()),
        (true, _) => Some(named.join(" ")),
        (false, true) => Some("none".into()),
        // Other processors don't say.
        (false, false) => None,
    }
}

/// File system and kind of disk of a directory.
fn disk(dir: &Path) -> Option<String> {
    use std::os::linux::fs::MetadataExt;
    let device = dir.metadata().ok()?.st_dev();
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let number = format!("{major}:{minor}");
    let mounts = read("/proc/self/mountinfo");
    let system = mounts
        .lines()
        .find(|line| line.split_ascii_whitespace().nth(2) == Some(&number))
        .and_then(|line| {
            let (_, rest) = line.split_once(" - ")?;
            Some(rest.split_ascii_whitespace().next()?.to_owned())
        });
    let block = std::fs::canonicalize(format!("/sys/dev/block/{number}")).ok();
    // A partition's queue is its disk's.
    let queue = block.iter().flat_map(|block| {
        [
            block.join("queue"),
            block.parent().unwrap_or(block).join("queue"),
        ]
    });
    let kind = queue
        .filter_map(|queue| line(queue.join("rotational")))
        .map(|rotational| match rotational.as_str() {
            "0" => "solid state",
            _ => "rotating",
        })
        .next();
    let words: Vec<&str> = system.as_deref().into_iter().chain(kind).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_described() {
        let machine = look(Path::new("."));
        assert!(machine.threads > 0);
        assert!(machine.kernel.starts_with("Linux "), "{machine:?}");
        assert!(machine.memory.is_some_and(|bytes| bytes > 1 << 20));
    }

    #[test]
    fn the_processors_name_is_found_whatever_it_is_called() {
        let x86 = "processor\t: 0\nmodel\t\t: 85\nmodel name\t: Xeon  (R)\n";
        assert_eq!(cpu_name(x86).unwrap(), "Xeon  (R)");
        assert_eq!(cpu_name("Model : A board").unwrap(), "A board");
    }
}
