import { computed, effectScope, onScopeDispose, ref, shallowReactive, shallowRef, watch, type Ref } from 'vue'
import { type Session, type SessionId } from '#manager/contract'
import { useServices } from '../../services.ts'
import { type Log, useLog } from '../../data/logs/useLog.ts'
import { useSessions } from '../../data/sessions/useSessions.ts'
import { stampedLines, type StampedLine } from './stamped-lines.ts'

/** A log of the page. */
export interface OpenLog {
  readonly id: SessionId
  /** Undefined until the session is loaded, and if it does not exist. */
  readonly session: Session | undefined
  /** Null until the log is loaded. */
  readonly lines: readonly StampedLine[] | null
  readonly error: unknown
  readonly reload: () => void
}

/** Number of lines of each log: enough to see what happened, and few enough to read all of them every two seconds. */
const TAIL = 500

/** Reads the logs of these sessions with times, and follows those that run. */
export function useLogs(ids: Ref<readonly SessionId[]>, follow: Ref<boolean>): Ref<readonly OpenLog[]> {
  const services = useServices()
  const sessions = useSessions()
  const faults = shallowReactive(new Map<SessionId, unknown>())
  const readers = shallowReactive(
    new Map<SessionId, { log: Log; lines: Ref<readonly StampedLine[] | null>; stop: () => void }>(),
  )
  const tail = ref(TAIL)

  function open(id: SessionId, first: Session): void {
    const scope = effectScope(true)
    scope.run(() => {
      const session = shallowRef(first)
      watch(
        () => sessions.byId.get(id),
        next => next && (session.value = next),
      )
      const log = useLog(session, tail, follow, { timestamps: true, services })
      const lines = computed(() => (log.text.value === null ? null : stampedLines(log.text.value)))
      readers.set(id, { log, lines, stop: () => scope.stop() })
    })
  }
  async function begin(id: SessionId): Promise<void> {
    faults.delete(id)
    try {
      const session = await sessions.fetchOne(id)
      if (ids.value.includes(id) && !readers.has(id)) open(id, session)
    } catch (error) {
      faults.set(id, error)
    }
  }

  watch(
    ids,
    next => {
      for (const [id, reader] of readers) {
        if (next.includes(id)) continue
        reader.stop()
        readers.delete(id)
      }
      for (const id of next) if (!readers.has(id)) void begin(id)
    },
    { immediate: true },
  )
  onScopeDispose(() => {
    for (const { stop } of readers.values()) stop()
  })

  return computed(() =>
    ids.value.map(id => {
      const reader = readers.get(id)
      return {
        id,
        session: sessions.byId.get(id),
        lines: reader?.lines.value ?? null,
        error: faults.get(id) ?? reader?.log.error.value ?? null,
        reload: () => void (reader ? reader.log.load() : begin(id)),
      }
    }),
  )
}
