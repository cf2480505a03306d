export interface FrameTask {
  /** Runs the task in the next frame; several calls before it run it once. */
  soon(): void
  /** Runs the task now if it has been requested and has not run yet. */
  now(): void
}

/** Delay in milliseconds on hidden pages, which get no frames and need few updates. */
const HIDDEN_MS = 250

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
      if (document.hidden) {
        const timer = setTimeout(run, HIDDEN_MS)
        cancel = () => clearTimeout(timer)
      } else {
        const frame = requestAnimationFrame(run)
        cancel = () => cancelAnimationFrame(frame)
      }
    },
    now() {
      if (cancel) run()
    },
  }
}
