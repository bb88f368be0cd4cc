# SPDX-License-Identifier: Apache-2.0
# The manual: man pages and a site from tools/manual/NAME.SECTION.md by pandoc, and a reference of the public headers by Doxygen.
# `make docs` installs both and starts `make manual`, which needs no compiler. The pages are in tools because most of them
# describe tools, and because libcore holds only what programs link.
manual_sources := $(wildcard tools/manual/*.[17].md)
manual_pages   := $(notdir $(manual_sources:.md=))
man_pages      := $(foreach p,$(manual_pages),$(OUT)/man/man$(patsubst .%,%,$(suffix $(p)))/$(p))
html_pages     := $(patsubst %,$(OUT)/html/%.html,$(manual_pages) index)
manual_kit     := tools/manual/page.html tools/manual/links.lua

.PHONY: docs manual install-manual
docs:
	$(Q)tools/make/packages docs && $(again) manual
	@echo '  the manual: man -M $(OUT)/man tobi, and $(OUT)/html/index.html'
manual: $(man_pages) $(html_pages) $(OUT)/html/api/index.html

pandoc   := pandoc --standalone --from markdown-smart
man_page  = $(pandoc) --to man -V title=$(basename $(@F)) -V section=$(patsubst .%,%,$(suffix $(@F))) -V header='Tobiuo manual' -V adjusting=l -M hyphenate=false \
  -V footer='Tobiuo $(VERSION)' $< -o $@
html_page = $(pandoc) --to html --toc --template tools/manual/page.html --lua-filter tools/manual/links.lua \
  -M pagetitle='$(patsubst %.html,%,$(@F))' -V version=$(VERSION) $< -o $@
$(OUT)/man/man1/%: tools/manual/%.md FORCE
	$(call made,MAN,$(man_page))
$(OUT)/man/man7/%: tools/manual/%.md FORCE
	$(call made,MAN,$(man_page))
$(OUT)/html/%.html: tools/manual/%.md $(manual_kit) FORCE
	$(call made,HTML,$(html_page))
$(OUT)/html/api/index.html: tools/manual/Doxyfile tools/manual/comments.awk tools/manual/api.dox $(shell find libcore/include/tobi -name '*.hpp') FORCE
	$(call made,API,(cat tools/manual/Doxyfile; echo 'OUTPUT_DIRECTORY=$(OUT)/html'; echo 'PROJECT_NUMBER=$(VERSION)') | doxygen - && touch $@)

# The pages that `make docs` has made; the Markdown is not installed.
install-manual:
	$(Q)for section in $(notdir $(wildcard $(OUT)/man/man*)); do mkdir -p $(DESTDIR)$(PREFIX)/share/man/$$section && \
	  cp $(OUT)/man/$$section/* $(DESTDIR)$(PREFIX)/share/man/$$section/ || exit 1; done
	$(if $(wildcard $(OUT)/man/man*),,@echo '  the manual is not made yet, and so not installed: make docs, and then make install again')
