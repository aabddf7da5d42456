# Everything one does with this repository. Each target sets up what it needs; a second run does nothing twice.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CHECKED := .venv-checked
FUZZED := .venv-fuzz
FUZZ_TARGETS ?= $(basename $(notdir $(wildcard tests/fuzz/*.py)))
FUZZ_SECONDS ?= 600
export PIP_DISABLE_PIP_VERSION_CHECK = 1
PIP := -m pip install --quiet --constraint constraints.txt

# A build is wanted when a compiled module's source changed, and when the set of files did: an editable install maps
# the files that it saw.
FILES := $(sort $(shell find admin broker codecs indexes spark_sink src -type f ! -path '*/__pycache__/*' ! -path '*/.*'))
COMPILED := $(filter %.pyx %.pxd %.hpp,$(FILES))
MODULES := $(subst /,.,$(basename $(filter %.pyx,$(FILES))))
LISTING := files-$(firstword $(shell echo $(FILES) | cksum))

SANITIZERS = $$(c++ -print-file-name=libasan.so) $$(c++ -print-file-name=libubsan.so)
SANITIZED := ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc
SANITIZED_TESTS := tests/unit/indexes tests/unit/codecs tests/unit/broker/test_frozen_state.py tests/property tests/differential

# A file's tests mostly stay together, since they share what takes long to start. ARGS="-n 0" runs them one by one.
AT_A_TIME := --dist worksteal -n

.DEFAULT_GOAL := build
.PHONY: help build installed demo test chaos lint types checked fuzzed fuzz bench format pin clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "%-8s %s\n", $$1, $$2}'

build: $(VENV)/built ## make .venv with Tamis in it (the default)

demo: build ## see it work, on a real Kafka; ARGS="--seconds 10" goes to tamis demo
	$(BIN)/tamis demo $(ARGS)

test: build ## run the tests; ARGS="-k name" goes to pytest
	$(BIN)/pytest $(AT_A_TIME) 3 $(ARGS)

chaos: build ## kill and freeze everything under load, for long, results in build/chaos.ndjson; ARGS="--runs 20"
	$(BIN)/python tests/support/chaos.py $(ARGS)

lint: build ## check style: ruff, cython-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PATH="$(BIN):$$PATH" cython-lint --max-line-length 120 $(filter %.pyx %.pxd,$(COMPILED))

types: build ## check types: mypy, pyright, and the stubs against the compiled modules
	cd src && ../$(BIN)/mypy --config-file ../pyproject.toml -p tamis
	MYPYPATH=.:tests/support $(BIN)/mypy --explicit-package-bases tests benchmarks
	$(BIN)/basedpyright
	$(BIN)/stubtest --allowlist tests/stubtest-allowlist.txt $(MODULES:%=tamis.%)

checked: $(CHECKED)/built ## test the compiled modules with bounds checks and sanitizers on
	LD_PRELOAD="$(SANITIZERS)" $(SANITIZED) $(CHECKED)/bin/pytest $(AT_A_TIME) 2 $(SANITIZED_TESTS) $(ARGS)

fuzzed: $(FUZZED)/built $(FUZZED)/uncounted.so ## the same tests on the build that `fuzz` makes, for whoever needs both
	LD_PRELOAD="$(SANITIZERS) $(CURDIR)/$(FUZZED)/uncounted.so" $(SANITIZED) $(FUZZED)/bin/python -m pytest $(AT_A_TIME) 2 $(SANITIZED_TESTS) $(ARGS)

fuzz: $(FUZZED)/built ## look for inputs that break promises, FUZZ_SECONDS=600 for each of FUZZ_TARGETS
	@set -e; for target in $(FUZZ_TARGETS); do \
	  $(FUZZED)/bin/python tests/support/fuzzing.py $$target --seconds $(FUZZ_SECONDS) $(ARGS); done

installed: $(VENV)/$(LISTING) ## put this tree into .venv as users get it, by way of a source distribution and a wheel
	PIP_CONSTRAINT=$(CURDIR)/constraints.txt $(BIN)/python -m build --quiet --outdir dist .
	$(BIN)/python $(PIP) --force-reinstall --no-deps dist/*.whl
	$(BIN)/python $(PIP) "$$(echo dist/*.whl)[local,registry,spark]"
	@touch $(VENV)/built

bench: build ## measure what docs/benchmarks.md tells; downloads Kafka once more
	$(BIN)/python $(PIP) --group peers --group plots
	$(BIN)/python -m benchmarks.language
	$(BIN)/python -m benchmarks.vocabulary
	$(BIN)/python -m benchmarks.codecs
	$(BIN)/python -m benchmarks.engines
	$(BIN)/python -m benchmarks.encoding
	$(BIN)/python -m benchmarks.subscriptions
	$(BIN)/python -m benchmarks.broker
	$(BIN)/python -m benchmarks.broker.metering
	$(BIN)/python -m benchmarks.fan_out
	$(BIN)/python -m benchmarks.bad_topics
	$(BIN)/python -m benchmarks.ps_tree
	$(BIN)/python -m benchmarks.matching
	$(BIN)/python -m benchmarks.archive
	$(BIN)/python -m benchmarks.replay
	$(BIN)/python -m benchmarks.peers
	$(BIN)/python -m benchmarks.papers.ps_tree_2018 --fresh --publish
	$(BIN)/python -m benchmarks.local_stack --download

format: build ## let ruff put the sources in shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

pin: ## choose the newest versions of everything, into constraints.txt
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --group dev --group fuzz --group peers --group plots --editable '.[local,registry,spark]'
	{ sed -n 1p constraints.txt; $(BIN)/python -m pip freeze --all --exclude-editable; } > $(VENV)/constraints.txt
	mv $(VENV)/constraints.txt constraints.txt

clean: ## remove all that these targets made
	rm -rf $(VENV) $(CHECKED) $(FUZZED) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(VENV)/ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Tamis needs Python 3.11 or newer, and $(PYTHON) is not. Name one: make PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP) pip
	$(BIN)/python $(PIP) --group dev
	@touch $@

$(VENV)/built: $(VENV)/ready CMakeLists.txt $(COMPILED) $(VENV)/$(LISTING)
	$(BIN)/python $(PIP) --no-build-isolation --editable '.[local,registry,spark]'
	@touch $@

%/$(LISTING): | %/ready
	@rm -f $*/files-*
	@touch $@

$(CHECKED)/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(CHECKED)
	$(CHECKED)/bin/python $(PIP) pip
	$(CHECKED)/bin/python $(PIP) --group checked
	@touch $@

$(CHECKED)/built: $(CHECKED)/ready CMakeLists.txt $(COMPILED) $(CHECKED)/$(LISTING)
	$(CHECKED)/bin/python $(PIP) --no-build-isolation --no-deps --editable . \
	  --config-settings build-dir=build/checked --config-settings cmake.define.CHECKED=ON
	@touch $@

$(FUZZED)/ready: pyproject.toml constraints.txt
	@test -f "$$($${CXX:-c++} -print-file-name=libasan.so)" || \
	  { echo "Fuzzing needs g++ and its sanitizers, libasan and libubsan. Name one: make fuzz CXX=g++" >&2; exit 1; }
	$(PYTHON) -m venv $(FUZZED)
	$(FUZZED)/bin/python $(PIP) pip
	$(FUZZED)/bin/python $(PIP) --only-binary atheris --group fuzz || \
	  { echo "Fuzzing needs atheris, whose wheels are for Linux on x86-64 and Python 3.11 to 3.13." >&2; exit 1; }
	@touch $@

$(FUZZED)/libfuzzer.so: $(FUZZED)/ready tests/fuzz/coverage.cpp
	$${CXX:-c++} -std=c++20 -O2 -Wall -Wextra -fPIC -shared -o $@ tests/fuzz/coverage.cpp -Wl,-z,muldefs \
	  -Wl,--whole-archive \
	  "$$($(FUZZED)/bin/python -c 'import atheris; print(atheris.path())')/libclang_rt.fuzzer_no_main.a" \
	  -Wl,--no-whole-archive

$(FUZZED)/uncounted.so: $(FUZZED)/ready tests/fuzz/uncounted.cpp
	$${CXX:-c++} -std=c++20 -O2 -fPIC -shared -o $@ tests/fuzz/uncounted.cpp

# Not editable: atheris instruments only what Python's own loaders import.
$(FUZZED)/built: $(FUZZED)/libfuzzer.so CMakeLists.txt $(FILES)
	$(FUZZED)/bin/python $(PIP) --no-build-isolation --no-deps . --config-settings build-dir=build/fuzzed \
	  --config-settings cmake.define.CHECKED=ON --config-settings cmake.define.FUZZED=ON \
	  --config-settings install.strip=false
	@touch $@
