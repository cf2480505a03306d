/** Stops fork bombs, leaves room for Java and Jupyter kernels. */
const MOST = 4096
/** A small session still runs its terminals, SSH and a notebook. */
const LEAST = 128
/** The other half is for the host itself, the engine's processes for each container among them. */
const FOR_SESSIONS = 0.5

/**
 * Processes and threads that a session may have: its share of those of the host, by its share of the memory, which is never given out
 * twice. So all sessions together leave the host and each other enough, whatever a few of them do.
 *
 * @param mem of the session, in bytes @param hostMem of the host, in bytes
 * @param hostProcesses number of processes and threads that the host can have; undefined if unknown
 */
export function processLimit({
  mem,
  hostMem,
  hostProcesses,
}: {
  readonly mem: number
  readonly hostMem: number
  readonly hostProcesses: number | undefined
}): number {
  if (hostProcesses === undefined) return MOST
  const share = Math.floor(hostProcesses * FOR_SESSIONS * (mem / hostMem))
  return Math.min(MOST, Math.max(LEAST, share))
}
