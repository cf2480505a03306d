/** How a container ended, from its inspection and what the agent knows of the engine. */
export interface Exit {
  readonly exitCode: number
  readonly startedAt: string
  /** The agent had seen it running, then lost the engine, and now finds it ended. */
  readonly endedWhileEngineWasAway: boolean
  /** The agent had seen it running, and the engine has been there all the time since. */
  readonly ranUnderEngine: boolean
  /** Seconds since the epoch when this host booted; undefined if unknown. */
  readonly bootedAtSeconds: number | undefined
}

/** 255: the engine came up and its process was gone; or the process said so itself. 137, 143: killed or stopped, as an engine that shuts down does. */
const LOST = 255
const KILLED = new Set([LOST, 137, 143])

/**
 * Did the engine, or the whole machine, take the container along? The engine does not record it. A process that ended by itself
 * with another code while the engine was away does not count.
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
