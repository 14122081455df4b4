# Two commands: `make demo` and `make test`. Both install what is missing, build into build/ and run.
.PHONY: demo test wheel lint tidy format build setup docs bench sanitize clean
.DEFAULT_GOAL := build
CONFIGURE = [ -f build/build.ninja ] || scripts/configure.sh build

setup:
	@scripts/setup.sh

build: setup
	@$(CONFIGURE)
	@ninja -C build

# The demo builds the library alone; `make build` and `make test` also build the tools and the tests.
demo: setup
	@scripts/build.sh tandem tandem_runtime_library tandem_python
	@.venv/bin/python -m demo

# `make test ROOM=compiler/layout` runs the tests of one folder and those below it.
test: setup
	@scripts/build.sh all
	@ctest --test-dir build --output-on-failure -j 2 $(if $(ROOM),--no-tests=error -L '^$(ROOM)(/|$$)')

# The wheel in dist/. Made on Debian 12 it runs where glibc is 2.34 or later, which auditwheel checks in what it needs; made on a newer
# system it needs the glibc and libstdc++ of that.
WHEELS = dist
PLATFORM := $(shell . /etc/os-release; [ "$$ID:$$VERSION_ID" = debian:12 ] && echo manylinux_2_34_x86_64 || echo linux_x86_64)
wheel: setup
	@scripts/build.sh tandem_distribution
	@.venv/bin/python -m pip wheel . --quiet --disable-pip-version-check --no-build-isolation --no-deps -w $(WHEELS) \
	  --config-settings=--build-option=--plat-name=$(PLATFORM)
	@[ $(PLATFORM) = linux_x86_64 ] || .venv/bin/auditwheel show $(WHEELS)/tandem-*-$(PLATFORM).whl | tr '\n' ' ' | grep -q 'following platform tag: "$(PLATFORM)"' || \
	  { echo "error: the wheel needs more than $(PLATFORM) has:"; .venv/bin/auditwheel show $(WHEELS)/tandem-*-$(PLATFORM).whl; exit 1; }
	@ls -l $(WHEELS)/tandem-*-$(PLATFORM).whl | awk '{print $$NF ": " int($$5 / 1e6) " MB"}'

# This target makes the checks of the tests `rooms`, `links`, `ruff` and `format`, in seconds and without a build; `make format` rewrites
# what is formatted otherwise.
lint: setup
	@python3 test/rooms.py && python3 test/links.py && .venv/bin/ruff check --no-cache --quiet && scripts/format.sh --check

# clang-tidy over all C++ files, twenty minutes on two cores; a test does the same with those that the last commit changed.
tidy: build
	@scripts/tidy.sh --all

format: setup
	@scripts/format.sh

# The unit tests again, with AddressSanitizer and UndefinedBehaviorSanitizer. LLVM's arenas poison what they hand out when a header sees
# ASan; Debian's LLVM is built without it and never unpoisons, so that is off.
sanitize: setup
	@scripts/configure.sh build-sanitize -DTANDEM_SANITIZE=ON
	@ninja -C build-sanitize --quiet
	@ASAN_OPTIONS=allow_user_poisoning=0 ctest --test-dir build-sanitize --output-on-failure -j 2 -LE needs_python

# The dialects' pages, and the site in build/site, which pages open from the disk (its search needs `python3 -m http.server -d build/site`).
docs: build
	@ninja -C build docs
	@PYTHONPATH=build/python NO_MKDOCS_2_WARNING=1 .venv/bin/python -m mkdocs build --quiet

bench: build
	@ninja -C build --quiet tandem_interpreter_bench
	@build/bench/tandem_interpreter_bench
	@.venv/bin/python bench/simulator.py

clean:
	rm -rf build build-sanitize .venv
