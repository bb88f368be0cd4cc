# SPDX-License-Identifier: Apache-2.0
# A port's own part of the build: transports/module.mk says what may stand here. This one needs nothing.
