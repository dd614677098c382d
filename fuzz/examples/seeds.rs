//! Writes the initial corpus of the fuzz targets to the folder `corpus`.

use std::path::Path;

fn main() -> std::io::Result<()> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let write = |target: &str, name: String, bytes: &[u8]| {
        std::fs::create_dir_all(corpus.join(target))?;
        std::fs::write(corpus.join(target).join(name), bytes)
    };
    for (which, stored) in soma_fuzz::all().iter().enumerate() {
        let name = format!("seed-{which}");
        let checkpoint = [&[which as u8][..], &stored.checkpoint].concat();
        write("checkpoint", name.clone(), &checkpoint)?;
        write("draws", name.clone(), &stored.draws)?;
        let manifest = soma_store::testing::text(&stored.manifest);
        write("manifest", name.clone(), manifest.as_bytes())?;
        write("spec", name, stored.manifest.spec.as_bytes())?;
    }
    Ok(())
}
