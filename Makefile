# GNU make 3.81 and newer. `make help` lists what there is.

GO      ?= go
BIN     ?= bin
PREFIX  ?= /usr/local
DESTDIR ?=

# The program has a version of its own, so that a tree without tags, or
# without git, needs nothing.
VERSION ?= $(if $(wildcard .git),$(patsubst v%,%,$(shell git describe --tags --dirty 2>/dev/null)))
COMMIT  ?= $(if $(wildcard .git),$(shell git rev-parse --short=12 HEAD 2>/dev/null))
LDFLAGS  = -s -w $(if $(VERSION),-X main.version=$(VERSION)) $(if $(COMMIT),-X main.commit=$(COMMIT)) $(START)

# On Linux the program looks at its limits on memory before the Go runtime does.
START = $(if $(filter linux/amd64 linux/arm64,$(shell $(GO) env GOOS)/$(shell $(GO) env GOARCH)),-E sbx_start)

# A checkout of another user (sudo make) makes git refuse to answer, and go
# build with it; the version above is all of git that the program holds.
BUILD = CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false

# The names of shells: bin/sbx-bash, and lib/sbx/shells/bash for clients that
# look for just that. A name is never missing for a moment: a client would take
# a shell without walls.
SHELLS = sh bash zsh fish dash ksh

# On macOS the hardened runtime keeps DYLD_* from loading something into sbx
# before it begins, as its being static does elsewhere.
HARDEN = if [ "$$(uname -s)" = Darwin ]; then codesign --force --sign - --options runtime '$(BIN)/sbx'; fi

TESTFLAGS  ?=
BENCHFLAGS ?=
RUNAS ?=
MEASUREFLAGS ?=

share  = $(DESTDIR)$(PREFIX)/share
gofmt  = "$$($(GO) env GOROOT)/bin/gofmt"

.PHONY: build try test everyday bench bench-docs measure lint generate install uninstall dist clean help

# The linker writes through a mapping, which leaves its file in small pages of the
# kernel's cache: a copy starts a tenth faster, and is what an installed program is.
build: ## build bin/sbx
	$(BUILD) -ldflags '$(LDFLAGS)' -o '$(BIN)/sbx' ./cmd/sbx
	@cp '$(BIN)/sbx' '$(BIN)/.sbx.new' && mv -f '$(BIN)/.sbx.new' '$(BIN)/sbx'
	@$(HARDEN)

try: ## see it work in a throw-away project; installs bubblewrap when it is missing
	@GO='$(GO)' MAKE='$(MAKE)' sh scripts/try.sh

test: ## run the tests; what fails or is skipped is shown, then the count
	@CGO_ENABLED=0 $(GO) run -buildvcs=false ./internal/tools/testsum -timeout 30m $(TESTFLAGS) ./...

everyday: ## run everyday commands with each profile and engine (tests/everyday)
	@SBX_TEST_EVERYDAY=all CGO_ENABLED=0 $(GO) run -buildvcs=false ./internal/tools/testsum -timeout 30m ./tests/everyday $(TESTFLAGS)

# Not go run, which has one status for all that fails. RUNAS='runuser -u NAME --' measures as another user.
bench: build ## measure the start of sbx against raw bwrap; fails above the ceilings
	@CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -ldflags '-s -w' -o '$(BIN)/' ./internal/bench ./internal/bench/floor
	@$(RUNAS) '$(BIN)/bench' -sbx '$(BIN)/sbx' $(BENCHFLAGS)

bench-docs: build ## measure, and write the figures and the plot of docs/performance.md
	@$(MAKE) -s bench BENCHFLAGS="-report -json $(BENCHFLAGS)" >'$(BIN)/performance.json'
	@mv '$(BIN)/performance.json' docs/performance.json
	@'$(BIN)/bench' -plot docs/performance.svg -table docs/performance.md docs/performance.json

measure: ## figures of the source and of a start; MEASUREFLAGS=-all names each finding
	@CGO_ENABLED=0 $(GO) run -buildvcs=false ./internal/tools/measure $(MEASUREFLAGS)

lint: ## gofmt, go vet for each system, staticcheck and shellcheck where installed
	@bad=$$($(gofmt) -l .) && if [ -n "$$bad" ]; then echo "gofmt -w $$bad" >&2; exit 1; fi
	$(GO) vet ./...
	GOOS=darwin $(GO) vet ./...
	@if command -v staticcheck >/dev/null; then echo staticcheck ./...; staticcheck ./...; fi
	@if command -v shellcheck >/dev/null; then echo shellcheck scripts/*.sh .ci/run; shellcheck scripts/*.sh .ci/run; fi

generate: ## write the generated files anew
	$(GO) generate ./...

install: ## install to PREFIX (/usr/local), below DESTDIR
	@case '$(PREFIX)' in '~'*) echo 'PREFIX=$(PREFIX): your shell does not expand ~ there; type PREFIX="$$HOME/…"' >&2; exit 2;; esac
	@test -x '$(BIN)/sbx' || $(MAKE) build
	install -d '$(DESTDIR)$(PREFIX)/bin' '$(DESTDIR)$(PREFIX)/lib/sbx/shells'
	install -m 755 '$(BIN)/sbx' '$(DESTDIR)$(PREFIX)/bin/.sbx.new'
	mv -f '$(DESTDIR)$(PREFIX)/bin/.sbx.new' '$(DESTDIR)$(PREFIX)/bin/sbx'
	@link() { echo "ln -sf $$1 $$2"; ln -sf "$$1" "$$2.new" && mv -f "$$2.new" "$$2"; }; \
	for shell in $(SHELLS); do \
		link sbx '$(DESTDIR)$(PREFIX)/bin/sbx-'$$shell && \
		link ../../../bin/sbx '$(DESTDIR)$(PREFIX)/lib/sbx/shells/'$$shell && \
		link ../../../bin/sbx '$(DESTDIR)$(PREFIX)/lib/sbx/shells/sbx-'$$shell || exit; \
	done
	@put() { \
		if [ -f "$$1" ]; then \
			echo "install -m 644 $$1 $$2"; \
			install -d "$${2%/*}" && install -m 644 "$$1" "$$2"; \
		fi; \
	}; \
	for page in man/*.[157]; do \
		put "$$page" '$(share)/man/man'"$${page##*.}/$${page##*/}" || exit; \
	done && \
	put completions/sbx.bash '$(share)/bash-completion/completions/sbx' && \
	put completions/_sbx '$(share)/zsh/site-functions/_sbx' && \
	put completions/sbx.fish '$(share)/fish/vendor_completions.d/sbx.fish'

uninstall: ## remove what make install put below PREFIX
	@for shell in $(SHELLS); do \
		rm -f '$(DESTDIR)$(PREFIX)/bin/sbx-'$$shell '$(DESTDIR)$(PREFIX)/lib/sbx/shells/'$$shell '$(DESTDIR)$(PREFIX)/lib/sbx/shells/sbx-'$$shell; \
	done
	@for page in man/*.[157]; do rm -f '$(share)/man/man'"$${page##*.}/$${page##*/}"; done
	rm -f '$(DESTDIR)$(PREFIX)/bin/sbx' '$(share)/bash-completion/completions/sbx' '$(share)/zsh/site-functions/_sbx' \
		'$(share)/fish/vendor_completions.d/sbx.fish'
	@rmdir '$(DESTDIR)$(PREFIX)/lib/sbx/shells' '$(DESTDIR)$(PREFIX)/lib/sbx' 2>/dev/null; true

dist: ## build the archives and packages of a release into dist/, without publishing
	@sh scripts/dist.sh

clean: ## remove what make made
	rm -rf bin dist coverage coverage.out

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile
