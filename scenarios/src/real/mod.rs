//! Stories on real processes: clusters, proxies between their members, and what goes wrong with them.
