# What the scripts share: how they speak, and the build. Sourced by them, in the root of the tree.
# shellcheck shell=bash

say() { printf '\033[1m[%s]\033[0m %s\n' "$(basename "$0")" "$*"; }
die() {
    printf '[%s] %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

# The comment at the top of the script.
print_usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "script/$(basename "$0")"; }

# build_tree DIR [cmake options...]: configures if needed, and builds everything, or what $targets
# names; quiet when there is nothing to do.
build_tree() {
    local dir=$1
    shift
    local log=$dir/configure.log
    mkdir -p "$dir"
    # The same options again mean that ninja configures by itself if a CMake file has changed.
    local wanted="$*"
    if [ ! -f "$dir/build.ninja" ] || [ "$(cat "$dir/options" 2>/dev/null || true)" != "$wanted" ]; then
        say "configuring $dir"
        rm -f "$dir/options"
        if ! cmake -S . -B "$dir" -G Ninja "$@" >"$log" 2>&1; then
            cat "$log" >&2
            return 1
        fi
        printf '%s\n' "$wanted" >"$dir/options"
    fi
    say "building $dir"
    # shellcheck disable=SC2086 # one argument a target
    NINJA_STATUS="[%f/%t] " ninja -C "$dir" ${targets:-}
}
