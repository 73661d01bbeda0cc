#!/bin/sh
# Perl for the configuration of OpenSSL (OPENSSL_SRC_PERL), without the flag -static. With it, OpenSSL is built
# without locks and atomic counters, and librdkafka calls it from many threads. It is an archive in any case.
for argument; do
    shift
    [ "$argument" = -static ] || set -- "$@" "$argument"
done
exec perl "$@"
