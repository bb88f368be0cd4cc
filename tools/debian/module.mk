# SPDX-License-Identifier: Apache-2.0
# `make dist`: a source tarball of what git tracks. `make deb`: Debian packages of it, in build/deb. The packaging is here and not in
# a folder `debian` at the top; it becomes one in the folder that the tarball is unpacked to, so that what is packaged is what is
# released. SOURCE_DATE_EPOCH, or else the last commit's date, is that of all files in the tarball: the same sources give the same bytes.
dist_name := tobi-$(VERSION)
tarball   := build/$(dist_name).tar.xz
# Without git, as in an unpacked tarball: every file but what make has made.
dist_files = if git ls-files --error-unmatch Makefile >/dev/null 2>&1; then git ls-files; else \
  find . \( -path ./build -o -path ./debian -o -path ./.git \) -prune -o \( -type f -o -type l \) -printf '%P\n'; fi
dist_date  = $${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct 2>/dev/null || stat -c %Y Makefile)}

.PHONY: dist deb deb-control man-pages
dist:
	$(Q)mkdir -p build && $(dist_files) | LC_ALL=C sort | tar --no-recursion --owner=0 --group=0 --numeric-owner --mode=u+rw,go+r,go-w \
	  --mtime="@$(dist_date)" --transform='flags=r;s|^|$(dist_name)/|' -T - -cJf $(tarball).new && mv $(tarball).new $(tarball)
	$(call say,DIST,$(tarball))
man-pages: $(man_pages)

# The build of the packages is a make of its own, which knows nothing of this one's variables.
deb_tree := build/deb/$(dist_name)
# The packages are built with what the transports' folders need.
deb_control = sed "s/@TRANSPORTS@/$$(tools/make/fabrics | awk '$$3 != "-" { print $$3 }' | sort | paste -sd, | sed 's/,/, /g')/" tools/debian/control
deb-control:
	@$(deb_control)
deb: dist
	$(Q)tools/make/packages deb
	$(Q)rm -rf build/deb && mkdir -p build/deb && tar -xf $(tarball) -C build/deb && cp $(tarball) build/deb/tobi_$(VERSION).orig.tar.xz
	$(Q)cp -r tools/debian $(deb_tree)/debian && rm $(deb_tree)/debian/module.mk $(deb_tree)/debian/changelog.awk
	$(Q)$(deb_control) >$(deb_tree)/debian/control
	$(Q)awk -v maintainer="$$(sed -n 's/^Maintainer: //p' tools/debian/control)" -f tools/debian/changelog.awk libcore/CHANGELOG.md >$(deb_tree)/debian/changelog
	$(Q)cd $(deb_tree) && env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u MAKEOVERRIDES -u MODE dpkg-buildpackage -us -uc -b -jauto
	@ls build/deb/*.deb
