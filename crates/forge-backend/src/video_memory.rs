//! How much video memory this machine has, which is what Ollama chooses its context window by.

use std::fs;
use std::path::Path;

use nvml_wrapper::Nvml;

/// Where Linux's drivers show the cards, such as `card0/device`.
const DRM: &str = "/sys/class/drm";

/// The video memory of all cards of this machine together, in bytes: NVIDIA's through NVML, AMD's as Linux shows it. None
/// where there is no such card, or no driver that says.
///
/// Blocks while the driver answers, up to about a second on a card that sleeps.
pub fn video_memory() -> Option<u64> {
    let found = [of_nvidia(), of_amd(Path::new(DRM))];
    found.into_iter().flatten().reduce(u64::saturating_add)
}

/// What NVML says. A machine without NVIDIA's driver has no library to load, which is no error.
fn of_nvidia() -> Option<u64> {
    let nvml = Nvml::init().inspect_err(|error| tracing::debug!(%error, "no NVIDIA driver")).ok()?;
    let cards = 0..nvml.device_count().ok()?;
    let memory = |card: u32| Some(nvml.device_by_index(card).ok()?.memory_info().ok()?.total);
    cards.filter_map(memory).reduce(u64::saturating_add)
}

/// What Linux's driver for AMD's cards says, in the folder that has a folder for each card (`/sys/class/drm`).
///
/// The file `mem_info_vram_total` holds bytes: the kernel's documentation of `amdgpu`, "GPU Memory Usage Information".
fn of_amd(drm: &Path) -> Option<u64> {
    let entries = fs::read_dir(drm).ok()?.filter_map(Result::ok);
    // `card0-DP-1` is a connector of `card0`.
    let cards = entries.filter(|entry| is_card(&entry.file_name().to_string_lossy()));
    let memory = |entry: fs::DirEntry| {
        let text = fs::read_to_string(entry.path().join("device").join("mem_info_vram_total")).ok()?;
        text.trim().parse::<u64>().ok()
    };
    cards.filter_map(memory).reduce(u64::saturating_add)
}

fn is_card(name: &str) -> bool {
    name.strip_prefix("card")
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drm(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (card, memory) in files {
            let device = folder.path().join(card).join("device");
            fs::create_dir_all(&device).unwrap();
            fs::write(device.join("mem_info_vram_total"), memory).unwrap();
        }
        folder
    }

    #[test]
    fn the_memory_of_all_cards_counts_once() {
        let cases = [
            (Vec::new(), None),
            (vec![("card0", "8573157376\n")], Some(8_573_157_376)),
            (vec![("card0", "8573157376\n"), ("card1", "1000\n"), ("card0-DP-1", "8573157376\n")], Some(8_573_158_376)),
            (vec![("card0", "many")], None),
            (vec![("renderD128", "8573157376"), ("card", "1")], None),
        ];
        for (files, expected) in cases {
            assert_eq!(of_amd(drm(&files).path()), expected, "{files:?}");
        }
    }

    #[test]
    fn a_machine_without_such_a_folder_has_none() {
        assert_eq!(of_amd(Path::new("/no/such/folder")), None);
    }

    #[test]
    fn asking_this_machine_is_no_error() {
        let memory = video_memory();
        assert!(memory.is_none_or(|bytes| bytes > 0), "{memory:?}");
    }
}
