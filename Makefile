# Two commands do everything on a fresh Debian 12, as root or with sudo:
#   make run    install what is missing, build, run the main job on the embedded default
#   make test   install what is missing, build, run the tests
# The rest are pieces of these, for those who work on Coppice.

.PHONY: run build test check setup bench clean

ARGS ?=

run: build
	@build/release/coppice run $(ARGS)

# The release binary, at build/release/coppice.
build: setup
	@tools/build release coppice

test: setup
	@tools/check test

# Everything that CI runs.
check: setup
	@tools/check

setup:
	@tools/setup

bench: build
	@tools/bench

clean:
	@rm -rf build
