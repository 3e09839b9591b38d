#!/bin/bash
# tests/dist/two_hosts.sh [COMMAND...] - ranks on two hosts: two network namespaces of this machine with host names of
# their own, which reach each other over a pair of virtual cards and nothing else. Runs the example of MPI, or
# COMMAND, on 2 ranks each. Needs root, ip (iproute2), unshare and Open MPI; leaves nothing behind.
set -euo pipefail
cd "$(dirname "$0")/../.."

if [ "${1-}" = --agent ]; then # in place of ssh: HOST WORD...
    shift 2
    exec ip netns exec kry-2 unshare -u sh -c "hostname kry-host2; $*"
fi

cleanup()
{
    ip netns delete kry-1 2>/dev/null || true
    ip netns delete kry-2 2>/dev/null || true
}
trap cleanup EXIT
cleanup
for i in 1 2; do
    ip netns add "kry-$i"
    ip -n "kry-$i" link set lo up
done
ip link add kry-v1 netns kry-1 type veth peer name kry-v2 netns kry-2
for i in 1 2; do
    ip -n "kry-$i" address add "10.99.0.$i/24" dev "kry-v$i"
    ip -n "kry-$i" link set "kry-v$i" up
done
[ $# -gt 0 ] || set -- "$PWD/build/docs/examples/example_08_mpi"
export KRY_CL_PATH=$PWD/cl POCL_MAX_PTHREAD_COUNT=1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# shellcheck disable=SC2016 # expanded by the inner shell
ip netns exec kry-1 unshare -u sh -c 'hostname kry-host1; exec "$@"' sh \
    mpirun.openmpi --oversubscribe --mca mpi_yield_when_idle 1 --mca plm_rsh_agent "$PWD/tests/dist/two_hosts.sh --agent" \
    --mca pml ob1 --mca btl tcp,self,vader --mca btl_tcp_if_include 10.99.0.0/24 \
    --mca oob_tcp_if_include 10.99.0.0/24 -x KRY_CL_PATH -x POCL_MAX_PTHREAD_COUNT \
    -host 10.99.0.1:2,10.99.0.2:2 -n 4 "$@"
