//! Compiles the programs of `bpf/` for the kernel with clang, and the arithmetic they share with the tests for the host.

use std::path::{Path, PathBuf};
use std::process::{Command, exit};

/// The programs, each an object of its own that the binary embeds.
const PROGRAMS: [&str; 3] = ["ackloss", "sockets", "station"];

fn main() {
    println!("cargo::rerun-if-changed=bpf");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    let headers = std::env::var_os("DEP_BPF_INCLUDE").expect("libbpf-sys says where libbpf's headers are");
    for name in PROGRAMS {
        compile(name, Path::new(&headers), &out);
    }
    // For tests/header.rs only: nothing in the program itself calls it, so that it is not linked there.
    cc::Build::new().file("bpf/host.c").warnings_into_errors(true).compile("ackloss_host");
}

fn compile(name: &str, headers: &Path, out: &Path) {
    let target = match std::env::var("CARGO_CFG_TARGET_ENDIAN").as_deref() {
        Ok("big") => "bpfeb",
        _ => "bpfel",
    };
    let arch = match std::env::var("CARGO_CFG_TARGET_ARCH").as_deref() {
        Ok("x86_64") => "x86",
        Ok("aarch64") => "arm64",
        Ok("arm") => "arm",
        Ok("riscv64") => "riscv",
        Ok(other) => {
            fail(&format!("no BPF programs for {other}: x86_64, aarch64, arm and riscv64 are known"))
        }
        Err(_) => fail("cargo names no architecture"),
    };
    let clang = std::env::var_os("CLANG").unwrap_or_else(|| "clang".into());
    println!("cargo::rerun-if-env-changed=CLANG");
    let output = Command::new(&clang)
        .args(["-O2", "-g", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-target", target])
        .arg(format!("-D__TARGET_ARCH_{arch}"))
        .arg("-I")
        .arg(headers)
        .arg("-c")
        .arg(format!("bpf/{name}.bpf.c"))
        .arg("-o")
        .arg(out.join(format!("{name}.bpf.o")))
        .output();
    match output {
        Ok(output) if output.status.success() => {}
        Ok(output) => fail(&String::from_utf8_lossy(&output.stderr)),
        Err(error) => fail(&format!(
            "clang (11 or later) compiles the BPF programs of airwattd: {}: {error}; install it, or name it in CLANG",
            clang.to_string_lossy()
        )),
    }
}

fn fail(what: &str) -> ! {
    for line in what.lines() {
        println!("cargo::error={line}");
    }
    exit(1);
}
