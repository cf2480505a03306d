export interface FrameTask {
  /** Runs the task in the next frame; several calls before it run it once. */
  soon(): void
  /** Runs the task now if it has been requested and has not run yet. */
  now(): void
}

/** Longest delay in milliseconds. A hidden page gets no frames, not even one that was requested just before it was hidden. */
const LONGEST_MS = 250

/** Creates a task that runs at most once per frame, for work that many answers request at once. */
export function createFrameTask(task: () => void): FrameTask {
  let cancel: (() => void) | undefined

  function run(): void {
    cancel?.()
    cancel = undefined
    task()
  }
  return {
    soon() {
      if (cancel) return
      const frame = requestAnimationFrame(run)
      const timer = setTimeout(run, LONGEST_MS)
      cancel = () => {
        cancelAnimationFrame(frame)
        clearTimeout(timer)
      }
    },
    now() {
      if (cancel) run()
    },
  }
}
