import { computed } from 'vue'
import { useNotifications } from '../../ui/useNotifications.ts'
import { useAskedRow } from './useAskedRow.ts'
import { type RowSource } from './useRowOf.ts'

/** Several things, as an address names them: `of=KEY,KEY`. */
interface Choice<T> {
  readonly key: string
  readonly things: readonly T[]
}

/**
 * Like `useAskedRow`, for several things. Things that are not loaded are fetched; those that are gone, or do not fit the dialog, are left
 * out. If none is left, the dialog does not open.
 */
export function useAskedRows<T>(name: string, { keyOf, rows, find, fits = () => true }: RowSource<T>) {
  const notifications = useNotifications()

  async function rowOf(key: string, signal: AbortSignal): Promise<T | undefined> {
    try {
      return rows()?.find(one => keyOf(one) === key) ?? (await find?.(key, signal))
    } catch (error) {
      if (!signal.aborted) notifications.error(error)
      return undefined
    }
  }
  const { asked, asking, ask } = useAskedRow<Choice<T>>(name, {
    keyOf: ({ key }) => key,
    // No row stands for several things: `find` combines them once there are rows.
    rows: () => rows() && [],
    async find(key, signal) {
      const found = await Promise.all(key.split(',').map(one => rowOf(one, signal)))
      return { key, things: found.filter(one => one !== undefined).filter(fits) }
    },
    fits: ({ things }) => things.length > 0,
  })
  return {
    asked: computed(() => asked.value?.things),
    asking,
    ask: (things: readonly T[]) => ask({ key: things.map(keyOf).join(), things }),
  }
}
