//! Sandbox and fake tools for the end-to-end tests.
