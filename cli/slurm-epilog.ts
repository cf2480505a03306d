import { LABEL_SLURM_JOB, LABEL_SLURM_START } from '#agent/contract'

/** Seconds for Berth to end the session by itself, with its own reason; then Docker ends its containers. */
const WAIT_S = 15
/** Seconds between SIGTERM and SIGKILL. */
const GRACE_S = 10

/**
 * Script for `Epilog` of slurm.conf. Slurm gives the resources of a job to the next one only when its epilog has ended. It asks Docker and not
 * the agent, because the agent may be away just then. It fails if containers are left or Docker does not answer: Slurm then drains the node.
 *
 * Slurm runs it as SlurmdUser, usually root, on the nodes of each job. Users cannot choose what it sees: the number of the job is Slurm's, and
 * the labels are set by the agent.
 */
export const SLURM_EPILOG = `#!/bin/sh
# Epilog of Berth: ends the containers of a session whose job has ended, before its GPUs are given to the next job.
PATH=\${PATH:+$PATH:}/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
[ -n "$SLURM_JOB_ID" ] || exit 0
command -v docker >/dev/null || exit 0

# A number is used again when the controller has forgotten a job: the start tells the jobs apart, where this Slurm knows it.
containers() {
  set -- --quiet --filter "label=${LABEL_SLURM_JOB}=$SLURM_JOB_ID"
  [ -z "$SLURM_JOB_START_TIME" ] || set -- "$@" --filter "label=${LABEL_SLURM_START}=$SLURM_JOB_START_TIME"
  docker ps "$@"
}

found=$(containers) || exit 1
waited=0
while [ -n "$found" ] && [ "$waited" -lt "\${BERTH_EPILOG_WAIT:-${WAIT_S}}" ]; do
  sleep 1
  waited=$((waited + 1))
  found=$(containers) || exit 1
done
[ -n "$found" ] || exit 0
# Unquoted: one word for each container.
docker stop --time ${GRACE_S} $found >/dev/null
found=$(containers) || exit 1
[ -z "$found" ]
`
