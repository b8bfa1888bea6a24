# Verbs for people; the build itself is CMake's (CMakeLists.txt, CMakePresets.json). `make` alone prints this list.
# JOBS=n limits how many programs run at once.
JOBS ?= $(shell nproc)
TSAN_TESTS = pool|exec|session|plan|prefetch|loader

.DEFAULT_GOAL := help
.PHONY: help packages configure build test test-deep quickstart format debug asan tsan clean

help: ## print this list
	@echo "halka: make VERB"
	@sed -n 's/^\([a-z-]*\):.*## /\1|/p' $(MAKEFILE_LIST) | while IFS='|' read -r verb text; do \
	    printf '  %-12s %s\n' "$$verb" "$$text"; done

packages:
	@tools/install-packages.sh

configure: packages
	@cmake --preset release

build: configure ## install what is missing, configure and build in build/release
	@cmake --build --preset release -j $(JOBS)

test: build ## build and run the tests (under ten minutes on two cores)
	@ctest --test-dir build/release --output-on-failure -j $(JOBS) -LE deep

test-deep: build ## sanitizers, contract matrix, fuzz replay, torture (well inside an hour)
	@cmake --preset asan && cmake --build --preset asan -j $(JOBS)
	@ctest --test-dir build/asan --output-on-failure -j $(JOBS)
	@ctest --test-dir build/release --output-on-failure -L deep --no-tests=ignore
	@cmake --preset tsan && cmake --build --preset tsan -j $(JOBS)
	@ctest --test-dir build/tsan --output-on-failure -R '$(TSAN_TESTS)'

quickstart: build ## train a network on Fashion-MNIST and show what came out
	@tools/quickstart.sh

format: ## format the sources that differ from the last commit, wrap long lines everywhere (clang-format)
	@git diff --name-only --diff-filter=d HEAD -- '*.c' '*.h' | xargs -r clang-format -i
	@git ls-files '*.c' '*.h' '*.inl' | xargs -r tools/wrap_lines.py

debug: packages ## build in build/debug, with assertions
	@cmake --preset debug && cmake --build --preset debug -j $(JOBS)

asan: packages ## build in build/asan, with AddressSanitizer and UBSan
	@cmake --preset asan && cmake --build --preset asan -j $(JOBS)

tsan: packages ## build in build/tsan, with ThreadSanitizer
	@cmake --preset tsan && cmake --build --preset tsan -j $(JOBS)

clean: ## remove everything that was built
	@rm -rf build
