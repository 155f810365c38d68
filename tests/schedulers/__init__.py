"""The files of configs/schedulers in the schedulers themselves, which `scripts/test-schedulers` installs."""
