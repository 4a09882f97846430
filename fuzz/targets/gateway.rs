//! The configuration of a gateway: TOML text to what is to be opened and what is to run; a reload of it by itself.
#![no_main]

use libfuzzer_sys::fuzz_target;
use qdelay_core::component::Registry;
use qdelay_gateway::config::Config;
use qdelay_study::traces::Library;
use qdelay_terminal::error::Failure;
use std::sync::LazyLock;

static LIBRARY: LazyLock<Library> = LazyLock::new(Library::new);

fuzz_target!(|text: &str| {
    match Config::parse("g.toml", text, &LIBRARY, &Registry::default()) {
        Ok(config) => {
            assert!(config.check_reload(&config).is_ok());
            assert!(!config.summary().contains('\n'));
            let _ = (config.settings(), config.interfaces(), config.mtu(), config.wait());
            let _ = (
                config.user(),
                config.listen(),
                config.control(),
                qdelay_gateway::config::file(&config.tables.log.pcap),
            );
        }
        Err(Failure::Input { place, message }) => {
            assert!(place == "g.toml" && !message.contains('\n') && message.len() > 10, "{message}");
        }
        Err(other) => panic!("{other:?}"),
    }
});
