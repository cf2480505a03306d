/** Time of the last use of the console in any tab of this browser: milliseconds since 1970. */
const KEY = 'berth.last-use'
/** Uses in a row are written once in this time. */
const WRITE_MS = 5_000

export interface IdleClock {
  /** A person, or an app that a person has opened, uses the console. */
  use(): void
  /** Reads the last use again, for example after another tab wrote it. Starts over after `onOver`. */
  check(): void
  stop(): void
}

export interface IdleClockDeps {
  /** Milliseconds without use after which `onOver` is called. */
  readonly limitMs: number
  /** `onWarn` is called so many milliseconds before. */
  readonly warnMs: number
  readonly storage: Pick<Storage, 'getItem' | 'setItem'>
  /** Whether something runs that must not be cut off, such as an upload: that counts as a use. */
  readonly isBusy: () => boolean
  readonly onWarn: (endsAt: Date) => void
  /** The console is used again after a warning. */
  readonly onUse: () => void
  readonly onOver: () => void
}

/**
 * Says when nobody has used any tab of the console for a time. Wall-clock time counts, so that the time in which a computer
 * sleeps counts too. The clock begins with a use.
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
    // A time in the future comes from a clock that was set back.
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
