#!/bin/sh
# Compiles every kernel here: make.sh COMPILE, where COMPILE IN OUT ARCH runs NVRTC with -lineinfo
# and -DElement=float. NVRTC 12.4 produced the committed PTX.
cd "$(dirname "$0")" || exit 1
for source in *.cu; do
    case $source in
        flag.cu) arch=compute_70 ;;
        unwaited_copy.cu | unmet_cluster.cu) arch=compute_90 ;;
        *) arch=compute_60 ;;
    esac
    "$@" "$source" "${source%.cu}.ptx" $arch || exit 1
    # The compiler's folder is removed, because it has no meaning on other machines.
    sed -i 's|\(\.file[^"]*"\)[^"]*/|\1|' "${source%.cu}.ptx"
done
