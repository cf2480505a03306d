/** Time of the last use of the console in any tab of this browser: milliseconds since 1970. */
const KEY = 'berth.last-use'
/** Consecutive uses are written once within this time. */
const WRITE_MS = 5_000

export interface IdleClock {
  /** Call when a person, or an app that a person has opened, uses the console. */
  use(): void
  /** Reads the last use again, for example after another tab wrote it. Starts over after `onOver`. */
  check(): void
  stop(): void
}

export interface IdleClockDeps {
  /** Milliseconds without use after which `onOver` is called. */
  readonly limitMs: number
  /** `onWarn` is called this many milliseconds earlier. */
  readonly warnMs: number
  readonly storage: Pick<Storage, 'getItem' | 'setItem'>
  /** Whether something runs that must not be interrupted, such as an upload; it counts as a use. */
  readonly isBusy: () => boolean
  readonly onWarn: (endsAt: Date) => void
  /** Called when the console is used again after a warning. */
  readonly onUse: () => void
  readonly onOver: () => void
}

/**
 * Detects that nobody has used any tab of the console for a time. Wall-clock time counts, so that sleep counts too. The clock starts as if
 * just used.
 */
export function createIdleClock({ limitMs, warnMs, storage, isBusy, onWarn, onUse, onOver }: IdleClockDeps): IdleClock {
  let timer: ReturnType<typeof setTimeout> | undefined
  let state: 'used' | 'warned' | 'over' = 'used'
  let writtenAt = 0

  function write(): void {
    writtenAt = Date.now()
    storage.setItem(KEY, String(writtenAt))
  }
  function check(): void {
    clearTimeout(timer)
    if (isBusy()) write()
    // A time in the future means that the clock was set back.
    const idle = Date.now() - Math.min(Number(storage.getItem(KEY)) || 0, Date.now())
    const before = state
    state = idle >= limitMs ? 'over' : idle >= limitMs - warnMs ? 'warned' : 'used'
    if (state === 'over') {
      onOver()
      return
    }
    timer = setTimeout(check, (state === 'warned' ? limitMs : limitMs - warnMs) - idle)
    if (state === 'warned' && before !== 'warned') onWarn(new Date(Date.now() + limitMs - idle))
    if (state === 'used' && before === 'warned') onUse()
  }

  write()
  check()
  return {
    use() {
      if (state === 'used' && Date.now() - writtenAt < WRITE_MS) return
      write()
      if (state === 'warned') check()
    },
    check,
    stop: () => clearTimeout(timer),
  }
}
