# SPDX-License-Identifier: Apache-2.0
# Completion for bash: one file, which bash-completion looks for under the name of the command.
completion_names := $(notdir $(tool_programs))
completion_dir   := $(DESTDIR)$(PREFIX)/share/bash-completion/completions
.PHONY: install-completion
install-completion:
	$(Q)mkdir -p $(completion_dir) && cp tools/completion/tobi.bash $(completion_dir)/$(firstword $(completion_names))
	$(Q)for tool in $(wordlist 2,99,$(completion_names)); do ln -sf $(firstword $(completion_names)) $(completion_dir)/$$tool || exit 1; done
