//! The reason why a user may not create namespaces, as far as files of `/proc` show it, and the remedy.

use std::path::Path;

/// A restriction on namespaces of users who are not root, or of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restriction {
    /// AppArmor takes the capabilities in a user namespace away from programs without a profile (Ubuntu 23.10 and later).
    AppArmor,
    /// `kernel.unprivileged_userns_clone` is 0 (Debian).
    UsersForbidden,
    /// `user.max_user_namespaces` is 0.
    NoUserNamespaces,
    /// Root in a container without the capability.
    Container,
    /// A seccomp filter, as container engines use it, is the likely reason.
    Seccomp,
    /// The files show no reason.
    Unknown,
}

impl Restriction {
    /// The restriction of a process of this user, by the files in `proc`, which is `/proc`.
    pub fn detect(proc: &Path, is_root: bool) -> Self {
        let read = |path: &str| std::fs::read_to_string(proc.join(path)).unwrap_or_default();
        let is = |path: &str, value: &str| read(path).trim() == value;
        let has_filter = || {
            let status = read("self/status");
            status
                .lines()
                .find_map(|line| line.strip_prefix("Seccomp:"))
                .is_some_and(|mode| mode.trim() == "2")
        };
        if is_root {
            Restriction::Container
        } else if is("sys/user/max_user_namespaces", "0") {
            Restriction::NoUserNamespaces
        } else if is("sys/kernel/unprivileged_userns_clone", "0") {
            Restriction::UsersForbidden
        } else if has_filter() {
            Restriction::Seccomp
        } else if is("sys/kernel/apparmor_restrict_unprivileged_userns", "1") {
            Restriction::AppArmor
        } else {
            Restriction::Unknown
        }
    }

    /// The cause and the remedy, without a full stop.
    pub const fn remedy(self) -> &'static str {
        match self {
            Restriction::AppArmor => {
                "AppArmor takes the rights in user namespaces away from programs without a profile \
                 (kernel.apparmor_restrict_unprivileged_userns is 1); run as root, install an AppArmor profile with \
                 `userns,` for this program (docs/link.md has one), or `sudo sysctl -w \
                 kernel.apparmor_restrict_unprivileged_userns=0`"
            }
            Restriction::UsersForbidden => {
                "only root may do so (kernel.unprivileged_userns_clone is 0); run as root, or `sudo sysctl -w \
                 kernel.unprivileged_userns_clone=1`"
            }
            Restriction::NoUserNamespaces => {
                "user namespaces are switched off (user.max_user_namespaces is 0); run as root, or `sudo sysctl -w \
                 user.max_user_namespaces=10000`"
            }
            Restriction::Container => {
                "this looks like a container without the permission; start it with `--cap-add NET_ADMIN --cap-add SYS_ADMIN \
                 --device /dev/net/tun`"
            }
            Restriction::Seccomp => {
                "a seccomp filter, as containers have it, forbids it; start the container as root with `--cap-add NET_ADMIN \
                 --cap-add SYS_ADMIN --device /dev/net/tun`, or with a seccomp profile that permits unshare(2)"
            }
            Restriction::Unknown => "this user lacks the permission; run as root, or in a user namespace",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with these files of `/proc`.
    fn detected(name: &str, files: &[(&str, &str)], is_root: bool) -> Restriction {
        let proc = std::env::temp_dir().join(format!("qdelay-restriction-{}-{name}", std::process::id()));
        for (path, text) in files {
            let path = proc.join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("created");
            std::fs::write(path, text).expect("written");
        }
        let found = Restriction::detect(&proc, is_root);
        let _ = std::fs::remove_dir_all(proc);
        found
    }

    #[test]
    fn files_show_the_restriction() {
        const APPARMOR: (&str, &str) = ("sys/kernel/apparmor_restrict_unprivileged_userns", "1\n");
        const NONE: (&str, &str) = ("sys/user/max_user_namespaces", "0\n");
        const SECCOMP: (&str, &str) = ("self/status", "Name:\tqdelay\nSeccomp:\t2\nSeccomp_filters:\t1\n");
        for (name, files, is_root, expected) in [
            ("apparmor", &[APPARMOR][..], false, Restriction::AppArmor),
            (
                "debian",
                &[("sys/kernel/unprivileged_userns_clone", "0\n")],
                false,
                Restriction::UsersForbidden,
            ),
            ("none", &[NONE, APPARMOR], false, Restriction::NoUserNamespaces),
            ("none-root", &[NONE], true, Restriction::Container),
            ("container", &[SECCOMP], true, Restriction::Container),
            ("seccomp", &[SECCOMP, APPARMOR], false, Restriction::Seccomp),
            ("free", &[("self/status", "Seccomp:\t0\n")], false, Restriction::Unknown),
            ("nothing", &[], false, Restriction::Unknown),
        ] {
            let found = detected(name, files, is_root);
            assert_eq!(found, expected, "{name}");
            let text = found.remedy();
            assert!(text.contains("root") || text.contains("--cap-add"), "{text}");
            assert!(!text.ends_with('.') && !text.contains('\n'), "{text}");
        }
    }
}
