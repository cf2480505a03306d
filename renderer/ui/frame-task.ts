export interface FrameTask {
  /** Runs the task with the next frame; several calls before it are one. */
  soon(): void
  /** Runs the task now if it has been asked for and has not run yet. */
  now(): void
}

/** Hidden pages get no frames, and need none often. */
const HIDDEN_MS = 250

/** A task that runs at most once per frame, for work that many answers ask for at once. */
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
