"""What people came for, from source to pictures; `demo` shows it on a synthetic street."""
