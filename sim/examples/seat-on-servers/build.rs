//! Does nothing; a package without it could not ask for `protoc` to be there.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
}
