import { type CommandEnd, type CommandSignal } from '#manager/contract'

/** A Ctrl-C and a signal for a group of processes both arrive twice: from the terminal or the sender, and from npm or `bin/berth`. */
const SAME_PRESS_MS = 200
/** A command that ignores signals is killed with the third one. */
const PRESSES = 3
/** How long the end of a killed command may take to be heard of. */
const UNHEARD_MS = 1_000

const PASSED = ['INT', 'TERM', 'HUP', 'QUIT'] as const

export interface PassedSignals extends Disposable {
  /** Resolves if nothing was heard of the command's end, some time after it was killed. */
  readonly unheard: Promise<CommandEnd>
}

/**
 * Passes signals of this process on to a command elsewhere, which decides what they mean, as it would here.
 *
 * Threat model: the other side may be a false manager, or an agent that hangs, and never say that the command has ended. The third signal
 * therefore ends this program too; the command ends with the connection.
 */
export function passSignals(send: (signal: CommandSignal) => void): PassedSignals {
  const unheard = Promise.withResolvers<CommandEnd>()
  const lastAt = new Map<CommandSignal, number>()
  let presses = 0
  let timer: NodeJS.Timeout | undefined
  const listeners = PASSED.map(name => {
    const pass = () => {
      const at = performance.now()
      if (at - (lastAt.get(name) ?? -Infinity) < SAME_PRESS_MS) return
      lastAt.set(name, at)
      const isLast = ++presses >= PRESSES
      send(isLast ? 'KILL' : name)
      if (isLast) timer ??= setTimeout(() => unheard.resolve({ reason: 'killed', exitCode: null }), UNHEARD_MS)
    }
    process.on(`SIG${name}`, pass)
    return [`SIG${name}`, pass] as const
  })
  return {
    unheard: unheard.promise,
    [Symbol.dispose]() {
      clearTimeout(timer)
      for (const [name, pass] of listeners) process.off(name, pass)
    },
  }
}
