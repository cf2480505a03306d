/** End of a container, according to its inspection and the agent's knowledge of the engine. */
export interface Exit {
  readonly exitCode: number
  readonly startedAt: string
  /** The agent saw it running, then lost the engine, and now finds it ended. */
  readonly endedWhileEngineWasAway: boolean
  /** The agent saw it running, and the engine has been up ever since. */
  readonly ranUnderEngine: boolean
  /** Seconds since the epoch when this host booted; undefined if unknown. */
  readonly bootedAtSeconds: number | undefined
}

/**
 * 255: the engine came up and the process was gone, or the process itself exited with 255. 137, 143: killed or stopped, as an
 * engine does when it shuts down.
 */
const LOST = 255
const KILLED = new Set([LOST, 137, 143])

/**
 * Whether the shutdown of the engine, or of the whole machine, ended the container. The engine does not record it. A process that ended on
 * its own with another code while the engine was away does not count.
 */
export function wasTakenByEngine(exit: Exit): boolean {
  const { exitCode, startedAt, endedWhileEngineWasAway, bootedAtSeconds } = exit
  if (exit.ranUnderEngine) return false
  if (exitCode === LOST) return true
  if (endedWhileEngineWasAway && KILLED.has(exitCode)) return true
  return bootedAtSeconds !== undefined && Date.parse(startedAt) < bootedAtSeconds * 1000 - 1000 && KILLED.has(exitCode)
}

/** @param text of /proc/stat */
export function bootTime(text: string): number | undefined {
  const match = /^btime (\d+)$/m.exec(text)
  return match?.[1] === undefined ? undefined : Number(match[1])
}
