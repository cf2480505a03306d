import { type DesktopWarning } from '#proxy/contract'
import { type SettingsFile } from '../settings/settings-file.ts'

/**
 * Messages of the app for its page. Each is shown until the user closes it, and a closed one does not come back at the next start, but only
 * if its cause disappears and returns, or changes.
 */
export interface Warnings {
  readonly open: readonly DesktopWarning[]
  add(warning: DesktopWarning): void
  /** Removes warnings whose cause is gone. */
  remove(kind: DesktopWarning['kind']): void
  /** Closes a warning that the user has read. */
  close(kind: DesktopWarning['kind']): void
  /** Calls the listener with all open warnings whenever these change. */
  follow(listener: (open: readonly DesktopWarning[]) => void): void
}

export interface WarningsDeps {
  readonly settings: Pick<SettingsFile, 'current' | 'update'>
  readonly log: { warn(detail: object, message: string): void }
}

const CAUSE_LENGTH = 200

export function createWarnings({ settings, log }: WarningsDeps): Warnings {
  let open: readonly DesktopWarning[] = []
  const listeners: ((open: readonly DesktopWarning[]) => void)[] = []
  const without = (kind: DesktopWarning['kind']) => open.filter(other => other.kind !== kind)

  function set(next: readonly DesktopWarning[]): void {
    open = next
    for (const listener of listeners) listener(open)
  }
  function setClosed(closedWarnings: readonly string[]): void {
    settings
      .update({ closedWarnings: [...closedWarnings] })
      .catch((error: unknown) => log.warn({ err: error }, 'a closed warning is not remembered'))
  }
  const othersClosed = (kind: DesktopWarning['kind']) =>
    settings.current.closedWarnings.filter(key => kindOf(key) !== kind)

  return {
    get open() {
      return open
    },
    add(warning) {
      if (settings.current.closedWarnings.includes(keyOf(warning))) return
      set([...without(warning.kind), warning])
    },
    remove(kind) {
      const closed = othersClosed(kind)
      if (closed.length < settings.current.closedWarnings.length) setClosed(closed)
      if (open.some(other => other.kind === kind)) set(without(kind))
    },
    close(kind) {
      const closed = open.find(other => other.kind === kind)
      if (!closed) return
      setClosed([...othersClosed(kind), keyOf(closed)])
      set(without(kind))
    },
    follow: listener => void listeners.push(listener),
  }
}

/** Kind and cause, without values that change from start to start. */
function keyOf(warning: DesktopWarning): string {
  if (warning.kind === 'sign_in_not_kept') return warning.kind
  const { cause, why } = warning.reason
  return `${warning.kind} ${(cause ?? why).slice(0, CAUSE_LENGTH)}`
}

const kindOf = (key: string) => key.split(' ', 1)[0]
