# SPDX-License-Identifier: Apache-2.0
# The interface is declared in the folder: no headers are asked for. The library is loaded when it is used.
