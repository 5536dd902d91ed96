# Thin verbs. Each gets what it needs on a fresh Debian 12 machine, as root or with sudo, and is
# quick when there is nothing to do.
#
#   make            release build: build/release/seedance
#   make demo       builds the program alone, starts a server, streams from it through a cut
#                   connection and a killed worker, and over SSE
#   make serve      runs the server; ARGS="--port 9000 ..." goes to it
#   make test       unit tests, simulation, end-to-end tests and a short chaos run
#   make sim        SECONDS=60 of ever new seeds for the simulator; ARGS="--scenario NAME ..."
#   make chaos      KILLS=200 kills of server and worker each, with clients on a weak network; ARGS
#                   goes to tests/chaos/chaos.mjs
#   make card       measures the demo model against its card
#   make lint       every rule that a machine can check; make format repairs the layout
#   make bench      compares with llama.cpp's own server, in one table; ARGS="--models 15m --parts
#                   short,shared ..." goes to bench/engine.py, whose --help tells all of it
#   make asan tsan  unit tests under sanitizers
#   make fuzz       SECONDS=10 for each decoder
#   make setup      only gets the packages, llama.cpp and Node
#   make clean      removes build/; make distclean removes .deps/ as well
#
# MODEL=PATH is the model of demo and serve; without it, the demo model that is in the repository.
# SEEDANCE_CUDA=1 and SEEDANCE_LLAMA_DIR=DIR choose another llama.cpp.
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := release
.PHONY: release program demo serve test sim chaos card lint format bench asan tsan fuzz
.PHONY: setup clean distclean help
.NOTPARALLEL:

release:
	@tools/build.sh release

program:
	@tools/build.sh release seedance

demo: program
	@tools/demo

serve: program
	@build/release/seedance serve $(if $(MODEL),--model "$(MODEL)") $(ARGS)

test:
	@tools/test.sh release

sim: release
	@build/release/seedance-sim --seconds $(or $(SECONDS),60) $(ARGS)

card: release
	@tools/setup --node
	@tests/card/card_test.py --print build/release/tests/seedance-card models/demo
	@.deps/bin/node --test tests/e2e/demo.test.mjs

chaos: release
	@tools/setup --node
	@.deps/bin/node tests/chaos/chaos.mjs --kills $(or $(KILLS),200) $(ARGS)

lint:
	@tools/lint.sh

format:
	@tools/setup --lint
	@git ls-files -co --exclude-standard '*.cc' '*.h' | xargs -r clang-format-19 -i

bench: release
	@tools/setup --bench
	@bench/engine.py $(ARGS)

asan tsan:
	@tools/test.sh $@

fuzz:
	@SEEDANCE_FUZZ_SECONDS=$(or $(SECONDS),10) tools/test.sh fuzz

setup:
	@tools/setup --node

clean:
	rm -rf build

distclean: clean
	rm -rf .deps tools/node/node_modules tests/e2e/node_modules

help:
	@sed -n '/^# *make/s/^# *//p' Makefile
