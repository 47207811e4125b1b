#!/usr/bin/env bash
# Runs what `cargo x bundle` gathered on a GPU machine; logs go to the folder named.
true
